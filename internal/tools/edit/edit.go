// Package edit is the tool that replaces text in a file: exactly the text that was named, literally,
// and not a byte beside it.
//
// How a file keeps its encoding, line ends and mode is known to sys/textfile, what an agent must
// have read before to [tool.Files]; who may edit what decides permission, before a call starts.
// Begin with [New].
package edit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Name is the tool's name.
const Name = "Edit"

const description = `Replaces text in a file. Read the file first. old_string must be copied exactly, without the line numbers, and must occur once; add surrounding lines to make it unique, or set replace_all. Encoding and line endings are kept; write \n for line ends.
For several changes to one file give edits instead: applied in order, all or none. An empty old_string creates a new file.`

const schema = `{"type":"object","required":["file_path"],"properties":{
"file_path":{"type":"string","description":"Absolute path"},
"old_string":{"type":"string"},
"new_string":{"type":"string"},
"replace_all":{"type":"boolean","description":"Replace every occurrence"},
"edits":{"type":"array","minItems":1,"items":{"type":"object","required":["old_string","new_string"],"properties":{
"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}}}}}}`

// Input is what the model gives: either one change or Edits.
type Input struct {
	FilePath   string   `json:"file_path"`
	Old        *string  `json:"old_string,omitempty"`
	New        *string  `json:"new_string,omitempty"`
	ReplaceAll bool     `json:"replace_all,omitempty"`
	Edits      []Change `json:"edits,omitempty"`
}

// Change is one replacement.
type Change struct {
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// New returns the tool.
func New(files tool.Files) tool.Tool {
	spec := tool.Spec{
		Name: Name, Description: description, Schema: json.RawMessage(schema), Argument: "file_path",
		Keywords: "file change modify replace patch",
	}
	e := &editor{files}
	return tool.New(spec, e.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	path, err := textfile.Absolute(in.FilePath, call.Dir())
	switch {
	case err != nil:
		return in, fmt.Errorf("InputValidationError: Edit failed: `file_path`: %w", err)
	case path == "":
		return in, errors.New("InputValidationError: Edit failed: `file_path` is empty")
	}
	in.FilePath = path
	if len(in.Edits) > 0 {
		if in.Old != nil || in.New != nil {
			return in, errors.New("InputValidationError: Edit failed: give either `edits` or `old_string` and `new_string`, not both")
		}
		return in, nil
	}
	switch missing := "InputValidationError: Edit failed due to the following issue: The required parameter `%s` is missing"; {
	case in.Old == nil:
		return in, fmt.Errorf(missing, "old_string")
	case in.New == nil:
		return in, fmt.Errorf(missing, "new_string")
	}
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	return tool.Traits{Paths: []tool.PathUse{{Path: in.FilePath, Intent: tool.Write}}, Snapshot: true}
}

// changes returns the replacements in order.
func (in Input) changes() []Change {
	if len(in.Edits) > 0 {
		return in.Edits
	}
	return []Change{{*in.Old, *in.New, in.ReplaceAll}}
}

type editor struct{ files tool.Files }

func (e *editor) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	changes := in.changes()
	for i, c := range changes {
		if c.Old == c.New {
			return tool.Misuse(at(i, changes) + "old_string and new_string are the same; nothing would change."), nil
		}
	}
	if strings.EqualFold(filepath.Ext(in.FilePath), ".ipynb") {
		return tool.Misuse(in.FilePath + " is a notebook; change it with NotebookEdit."), nil
	}
	f, exists, problem, err := e.files.Load(call, in.FilePath, "edited")
	switch {
	case err != nil:
		return tool.Result{}, err
	case problem != "":
		return tool.Misuse(problem), nil
	case !exists && changes[0].Old != "":
		return tool.Misuse(tool.Missing(call, in.FilePath)), nil
	case !exists:
		return e.create(ctx, in, changes, call)
	}
	was, stale := "", false
	if len(f.Text.Raw()) > 0 {
		if was, stale, problem = e.files.Check(call.Scope, f, false); problem != "" {
			return tool.Misuse(problem), nil
		}
	}
	next, problem := apply(f.Text, changes)
	if problem != "" {
		if stale {
			problem += "\n" + e.files.StaleText(f, was)
		}
		return tool.Misuse(problem), nil
	}
	return e.save(ctx, in, f, next, call, foreign(f, was, stale))
}

// foreign tells of what others changed in a file that is edited all the same.
func foreign(f textfile.File, was string, stale bool) string {
	switch {
	case !stale:
		return ""
	case was == "":
		return "\nThe file had also changed since you read it; Read it again before relying on other parts."
	default:
		return "\nThe file had also changed since you read it; before this edit these places read:\n" + textfile.Changes(was, f.Text.View(), 40)
	}
}

// create makes a file out of edits of which the first replaces nothing.
func (e *editor) create(ctx context.Context, in Input, changes []Change, call tool.Call) (tool.Result, error) {
	t, err := textfile.FromString(changes[0].New)
	if err != nil {
		return tool.Misuse(err.Error()), nil
	}
	t, problem := apply(t, changes[1:])
	if problem != "" {
		return tool.Misuse(problem), nil
	}
	made, problem, err := e.files.Create(ctx, call, in.FilePath, t)
	if problem != "" || err != nil {
		return tool.Failed(problem), err
	}
	return result(in, nil, made.Text.View(), "Created "+in.FilePath+".")
}

func (e *editor) save(ctx context.Context, in Input, f textfile.File, next textfile.Text, call tool.Call, more string) (tool.Result, error) {
	before := f.Text.View()
	saved, problem, err := e.files.Save(ctx, call.Scope, f, next)
	if problem != "" || err != nil {
		return tool.Failed(problem), err
	}
	view := saved.Text.View()
	text := "Edited " + in.FilePath + ". The changed places now read:\n" + textfile.Changes(before, view, 40) + more
	return result(in, &before, view, text)
}
