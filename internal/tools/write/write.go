// Package write is the tool that writes a whole file, new or in the place of what is there.
//
// An existing file keeps its encoding, byte order mark, line ends, mode and owner (sys/textfile); what
// an agent must have read before is known to [tool.Files]; who may write where decides permission,
// before a call starts. Begin with [New].
package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Name is the tool's name.
const Name = "Write"

const description = `Writes a file with the given content, making missing folders. An existing file is replaced as a whole and must have been read before; it keeps its encoding and line endings. Prefer Edit for changing existing files.`

const schema = `{"type":"object","required":["file_path","content"],"properties":{
"file_path":{"type":"string","description":"Absolute path"},
"content":{"type":"string"}}}`

// Input is what the model gives.
type Input struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// New returns the tool.
func New(files tool.Files) tool.Tool {
	spec := tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Keywords: "file create save new overwrite", Argument: "file_path"}
	w := &writer{files}
	return tool.New(spec, w.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	path, err := textfile.Absolute(in.FilePath, call.Dir())
	switch {
	case err != nil:
		return in, fmt.Errorf("InputValidationError: Write failed: `file_path`: %w", err)
	case path == "":
		return in, errors.New("InputValidationError: Write failed: `file_path` is empty")
	}
	in.FilePath = path
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	return tool.Traits{Paths: []tool.PathUse{{Path: in.FilePath, Intent: tool.Write}}, Snapshot: true}
}

type writer struct{ files tool.Files }

func (w *writer) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	f, exists, problem, err := w.files.Load(call, in.FilePath, "written")
	switch {
	case err != nil:
		return tool.Result{}, err
	case problem != "":
		return tool.Misuse(problem), nil
	case !exists:
		return w.create(ctx, in, call)
	}
	if problem := w.check(in, f, call); problem != "" {
		return tool.Misuse(problem), nil
	}
	next, err := rewrite(f.Text, in.Content)
	if err != nil {
		return tool.Misuse(err.Error() + ". Nothing was written."), nil
	}
	before := f.Text.View()
	saved, problem, err := w.files.Save(ctx, call.Scope, f, next)
	if problem != "" || err != nil {
		return tool.Failed(problem), err
	}
	return result(in, &before, saved.Text.View())
}

// rewrite puts content into a text; an empty file has no line ends to keep.
func rewrite(t textfile.Text, content string) (textfile.Text, error) {
	if len(t.Raw()) == 0 {
		return textfile.FromString(content)
	}
	return t.Rewrite(content)
}

// check says why an existing file must not be replaced yet.
func (w *writer) check(in Input, f textfile.File, call tool.Call) string {
	if len(f.Text.Raw()) == 0 {
		return ""
	}
	was, stale, problem := w.files.Check(call.Scope, f, true)
	switch {
	case problem != "":
		return problem
	case stale:
		return w.files.StaleText(f, was)
	}
	if _, known := call.Scope.Reads.Get(f.Real); !known && strings.EqualFold(filepath.Ext(in.FilePath), ".ipynb") {
		return in.FilePath + " is a notebook that has not been read yet. Read it first, or change its cells with NotebookEdit."
	}
	return ""
}

func (w *writer) create(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	t, err := textfile.FromString(in.Content)
	if err != nil {
		return tool.Misuse(err.Error() + ". Nothing was written."), nil
	}
	if _, problem, err := w.files.Create(ctx, call, in.FilePath, t); problem != "" || err != nil {
		return tool.Failed(problem), err
	}
	return result(in, nil, t.View())
}

// output is the structured output.
type output struct {
	Type         string          `json:"type"` // create, update
	FilePath     string          `json:"filePath"`
	Content      string          `json:"content"`
	Patch        []textfile.Hunk `json:"structuredPatch"`
	PatchCut     *textfile.Rest  `json:"patchCut,omitempty"` // where not all of the change is in Patch
	OriginalFile *string         `json:"originalFile"`       // null for a new file, and for one over maxOriginal
	UserModified bool            `json:"userModified"`
}

// maxOriginal is the size up to which the old file travels with the output, in bytes.
const maxOriginal = 256 << 10

func result(in Input, before *string, after string) (tool.Result, error) {
	out := output{Type: "create", FilePath: in.FilePath, Content: in.Content, OriginalFile: before, Patch: []textfile.Hunk{}}
	text := "Created " + in.FilePath + "."
	patch := textfile.Patch{Added: textfile.CountLines(after)}
	if before != nil {
		out.Type = "update"
		patch = textfile.Diff(*before, after)
		out.Patch, out.PatchCut = patch.Hunks, patch.Rest()
		text = fmt.Sprintf("Updated %s: %d lines added, %d removed.", in.FilePath, patch.Added, patch.Removed)
		if len(*before) > maxOriginal {
			out.OriginalFile = nil
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of Write: %w", err)
	}
	return tool.Result{Content: []msg.Block{msg.Text{Text: text}}, Structured: raw, Added: patch.Added, Removed: patch.Removed}, nil
}
