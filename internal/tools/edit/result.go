package edit

import (
	"encoding/json"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// output is the structured output. With several edits, the strings are those of the first.
type output struct {
	FilePath     string          `json:"filePath"`
	OldString    string          `json:"oldString"`
	NewString    string          `json:"newString"`
	OriginalFile *string         `json:"originalFile"` // null for a new file, and for one over maxOriginal
	Patch        []textfile.Hunk `json:"structuredPatch"`
	PatchCut     *textfile.Rest  `json:"patchCut,omitempty"` // where not all of the change is in Patch
	UserModified bool            `json:"userModified"`
	ReplaceAll   bool            `json:"replaceAll"`
	Edits        []Change        `json:"edits,omitempty"`
}

// maxOriginal is the size up to which the old file travels with the output, in bytes: transcripts
// and hooks carry it, and the checkpoint has it anyway.
const maxOriginal = 256 << 10

// result shows what was done; before is nil for a new file.
func result(in Input, before *string, after, text string) (tool.Result, error) {
	changes := in.changes()
	out := output{
		FilePath: in.FilePath, OldString: changes[0].Old, NewString: changes[0].New, ReplaceAll: changes[0].ReplaceAll,
		OriginalFile: before, Edits: in.Edits,
	}
	old := ""
	if before != nil {
		if old = *before; len(old) > maxOriginal {
			out.OriginalFile = nil
		}
	}
	patch := textfile.Diff(old, after)
	out.Patch, out.PatchCut = patch.Hunks, patch.Rest()
	raw, err := json.Marshal(out)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of Edit: %w", err)
	}
	return tool.Result{Content: []msg.Block{msg.Text{Text: text}}, Structured: raw, Added: patch.Added, Removed: patch.Removed}, nil
}
