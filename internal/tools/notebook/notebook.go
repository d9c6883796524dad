// Package notebook is the tool that changes cells of a Jupyter notebook: only the bytes of the cell
// change, however the rest of the file is written.
//
// Reading notebooks is done by tools/read; what an agent must have read is known to [tool.Files]. The
// format is nbformat 4 (https://nbformat.readthedocs.io). Begin with [New].
package notebook

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
const Name = "NotebookEdit"

const description = `Replaces, inserts or deletes one cell of a Jupyter notebook (.ipynb). Read it first for the cell ids. insert puts the new cell after cell_id, or at the start, and needs cell_type. Replacing a code cell clears its outputs.`

const schema = `{"type":"object","required":["notebook_path","new_source"],"properties":{
"notebook_path":{"type":"string","description":"Absolute path"},
"new_source":{"type":"string"},
"cell_id":{"type":"string"},
"cell_type":{"type":"string","enum":["code","markdown"]},
"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"Default replace"}}}`

// Input is what the model gives.
type Input struct {
	Path   string `json:"notebook_path"`
	Source string `json:"new_source"`
	CellID string `json:"cell_id,omitempty"`
	Type   string `json:"cell_type,omitempty"`
	Mode   string `json:"edit_mode"`
}

// New returns the tool. newID makes the id of a new cell; nil: a random one.
func New(files tool.Files, newID func() string) tool.Tool {
	spec := tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Deferred: true, Keywords: "jupyter ipynb cell", Argument: "notebook_path"}
	files.MayRead = nil // cells are named by what was read
	if newID == nil {
		newID = randomID
	}
	e := &editor{files, newID}
	return tool.New(spec, e.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	path, err := textfile.Absolute(in.Path, call.Dir())
	switch {
	case err != nil:
		return in, fmt.Errorf("InputValidationError: NotebookEdit failed: `notebook_path`: %w", err)
	case path == "":
		return in, errors.New("InputValidationError: NotebookEdit failed: `notebook_path` is empty")
	}
	in.Path = path
	if in.Mode == "" {
		in.Mode = "replace"
	}
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	return tool.Traits{Paths: []tool.PathUse{{Path: in.Path, Intent: tool.Write}}, Snapshot: true}
}

type editor struct {
	files tool.Files
	newID func() string
}

func (e *editor) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	switch {
	case !strings.EqualFold(filepath.Ext(in.Path), ".ipynb"):
		return tool.Misuse(in.Path + " is not a notebook (.ipynb); use Edit."), nil
	case in.Mode == "insert" && in.Type == "":
		return tool.Misuse("cell_type is needed to insert a cell."), nil
	case in.Mode != "insert" && in.CellID == "":
		return tool.Misuse("cell_id is needed to " + in.Mode + " a cell."), nil
	}
	f, exists, problem, err := e.files.Load(call, in.Path, "edited")
	switch {
	case err != nil:
		return tool.Result{}, err
	case problem != "":
		return tool.Misuse(problem), nil
	case !exists:
		return tool.Misuse(tool.Missing(call, in.Path)), nil
	}
	was, stale, problem := e.files.Check(call.Scope, f, false)
	switch {
	case problem != "":
		return tool.Misuse(problem), nil
	case stale:
		return tool.Misuse(e.files.StaleText(f, was)), nil
	}
	return e.change(ctx, in, f, call)
}

func (e *editor) change(ctx context.Context, in Input, f textfile.File, call tool.Call) (tool.Result, error) {
	nb, err := parse(f.Text.View())
	if err != nil {
		return tool.Misuse(fmt.Sprintf("%s is no valid notebook: %v.", in.Path, err)), nil
	}
	done, edits, problem := nb.edit(in, e.newID)
	if problem != "" {
		return tool.Misuse(problem), nil
	}
	next, err := f.Text.Splice(edits...)
	if err != nil {
		return tool.Misuse(err.Error() + ". Nothing was written."), nil
	}
	if !json.Valid([]byte(next.View())) {
		return tool.Result{}, fmt.Errorf("edit %s: the notebook would no longer be valid JSON", in.Path)
	}
	before := f.Text.View()
	saved, problem, err := e.files.Save(ctx, call.Scope, f, next)
	if problem != "" || err != nil {
		return tool.Failed(problem), err
	}
	return result(in, done, nb.language, before, saved.Text.View())
}

// output is the structured output.
type output struct {
	NewSource string  `json:"new_source"`
	OldSource string  `json:"old_source"`
	CellID    string  `json:"cell_id"`
	CellType  string  `json:"cell_type"`
	Language  string  `json:"language"`
	Mode      string  `json:"edit_mode"`
	Path      string  `json:"notebook_path"`
	Original  *string `json:"original_file"` // null when larger than maxOriginal, as is Updated
	Updated   *string `json:"updated_file"`
}

// maxOriginal is the size up to which the old and the new file travel with the output, in bytes.
const maxOriginal = 256 << 10

func result(in Input, done outcome, language, before, after string) (tool.Result, error) {
	out := output{
		NewSource: in.Source, OldSource: done.old, CellID: done.id, CellType: done.kind, Language: language,
		Mode: in.Mode, Path: in.Path, Original: &before, Updated: &after,
	}
	if in.Mode == "delete" {
		out.NewSource = ""
	}
	if max(len(before), len(after)) > maxOriginal {
		out.Original, out.Updated = nil, nil
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of NotebookEdit: %w", err)
	}
	did := map[string]string{"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}[in.Mode]
	patch := textfile.Diff(before, after)
	said := fmt.Sprintf("%s cell %s of %s.", did, done.id, in.Path)
	if done.lost != "" {
		said += fmt.Sprintf(" Its %s were left out: a %s cell has none.", done.lost, done.kind)
	}
	return tool.Result{
		Content:    []msg.Block{msg.Text{Text: said}},
		Structured: raw, Added: patch.Added, Removed: patch.Removed,
	}, nil
}
