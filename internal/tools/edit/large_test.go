package edit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// An edit of a large file holds the old and the new content, and its result stays small, whatever
// changed.
func TestKF176_EditOfALargeFile(t *testing.T) {
	var content bytes.Buffer
	for i := 0; content.Len() < 10<<20; i++ {
		fmt.Fprintf(&content, "a line of a large file %d\n", i)
	}
	lines := bytes.Count(content.Bytes(), []byte("\n"))
	for name, c := range map[string]struct {
		input   in
		changed int
	}{
		"every line": {in{"old_string": "line", "new_string": "row!", "replace_all": true}, lines},
		"one line":   {in{"old_string": "file 77777\n", "new_string": "other 77777\n"}, 1},
		"several":    {in{"edits": []any{in{"old_string": "file 5\n", "new_string": "5\n"}, in{"old_string": "file 77777\n", "new_string": "7\n"}}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, free())
			c.input["file_path"] = b.put("big.txt", content.String())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := b.call(c.input)
			runtime.ReadMemStats(&after)
			if err != nil || r.IsError {
				t.Fatal(err, msg.TextOf(r.Content))
			}
			if ratio := float64(after.TotalAlloc-before.TotalAlloc) / float64(content.Len()); ratio > mostAllocated {
				t.Errorf("the edit allocated %.1f times the file, with what was garbage before it ended", ratio)
			}
			var out struct {
				Patch []struct{ Lines []string }            `json:"structuredPatch"`
				Cut   struct{ Added, Removed, LeftOut int } `json:"patchCut"`
			}
			if err := json.Unmarshal(r.Structured, &out); err != nil {
				t.Fatal(err)
			}
			shown := 0
			for _, h := range out.Patch {
				shown += len(h.Lines)
			}
			if len(r.Structured) > 256<<10 || len(msg.TextOf(r.Content)) > 8<<10 || shown > 1000 || shown == 0 {
				t.Errorf("the result has %d bytes, its text %d, its patch %d lines", len(r.Structured), len(msg.TextOf(r.Content)), shown)
			}
			if r.Added != c.changed || r.Removed != c.changed {
				t.Errorf("+%d -%d, want %d", r.Added, r.Removed, c.changed)
			}
			if c.changed > 1000 && (out.Cut.Added != c.changed || out.Cut.LeftOut != 2*c.changed-1000) {
				t.Errorf("the patch says %+v of what is not in it", out.Cut)
			}
		})
	}
}
