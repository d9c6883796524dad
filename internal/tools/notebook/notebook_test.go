package notebook_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
	"github.com/myelin-agent/myelin/internal/tools/notebook"
)

const sample = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "m1",
   "metadata": {"big": 12345678901234567890, "keep":   [1,2]},
   "source": [
    "# Title <b>\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "c1",
   "metadata": {},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {"language_info": {"name": "python"}, "x":1.50},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

type bench struct {
	*testing.T
	tool  tool.Tool
	scope *tool.Scope
	path  string
}

func newBench(t *testing.T, content string) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "n.ipynb")
	b := &bench{t, notebook.New(tool.Files{MayRead: func(string) bool { return true }}, func() string { return "new1" }), tool.NewScope("", dir), path}
	b.put(content)
	b.read()
	return b
}

func (b *bench) put(content string) {
	b.Helper()
	if err := os.WriteFile(b.path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) read() {
	b.Helper()
	f, err := textfile.Load(b.path, 1<<20)
	if err != nil {
		b.Fatal(err)
	}
	b.scope.Reads.Put(tool.ReadRecord{Path: f.Real, Hash: f.Text.Hash(), Content: f.Text.Raw()})
}

type in map[string]any

func (b *bench) wants(input in, isError bool, parts ...string) tool.Result {
	b.Helper()
	if input["notebook_path"] == nil {
		input["notebook_path"] = b.path
	}
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	var r tool.Result
	c, err := b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
	if err != nil {
		r = tool.Misuse(err.Error())
	} else if r, err = b.tool.Run(context.Background(), c); err != nil {
		b.Fatal(err)
	}
	got := msg.TextOf(r.Content)
	if r.IsError != isError {
		b.Errorf("%v: error is %v: %s", input, r.IsError, got)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("%v: %q is not in %q", input, p, got)
		}
	}
	return r
}

// becomes compares the file with the sample in which old is replaced.
func (b *bench) becomes(was, old, with string) {
	b.Helper()
	raw, err := os.ReadFile(b.path)
	if err != nil {
		b.Fatal(err)
	}
	if !json.Valid(raw) {
		b.Errorf("the notebook is no valid JSON: %s", raw)
	}
	want := strings.Replace(was, old, with, 1)
	if old != "" && want == was && old != with {
		b.Fatalf("%q is not in the sample", old)
	}
	if d := cmp.Diff(want, string(raw)); d != "" {
		b.Error(d)
	}
}

func TestReplace(t *testing.T) {
	b := newBench(t, sample)
	r := b.wants(in{"cell_id": "m1", "new_source": "# New\nline <i>\n"}, false, "Replaced cell m1")
	b.becomes(sample, `    "# Title <b>\n",
    "text"
`, `    "# New\n",
    "line <i>\n"
`)
	var out map[string]any
	if err := json.Unmarshal(r.Structured, &out); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"old_source": "# Title <b>\ntext", "new_source": "# New\nline <i>\n", "cell_id": "m1", "cell_type": "markdown", "language": "python", "edit_mode": "replace", "original_file": sample} {
		if out[key] != want {
			t.Errorf("%s is %v, want %v", key, out[key], want)
		}
	}
}

func TestReplacingACodeCellClearsItsOutputs(t *testing.T) {
	b := newBench(t, sample)
	b.wants(in{"cell_id": "c1", "new_source": "print(2)"}, false)
	was := strings.Replace(sample, `"execution_count": 3`, `"execution_count": null`, 1)
	was = strings.Replace(was, "[\n    {\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\"]}\n   ]", "[]", 1)
	b.becomes(was, "print(1)", "print(2)")
	b.wants(in{"cell_id": "cell-1", "new_source": "print(3)"}, false) // by its place, and known by the edit before
	b.becomes(was, "print(1)", "print(3)")
}

func TestChangeOfKind(t *testing.T) {
	b := newBench(t, sample)
	b.wants(in{"cell_id": "m1", "new_source": "x = 1", "cell_type": "code"}, false)
	raw, _ := os.ReadFile(b.path)
	for _, part := range []string{`"big": 12345678901234567890`, `"cell_type": "code",` + "\n   \"execution_count\": null", `"outputs": []`, "\"source\": [\n    \"x = 1\"\n   ]"} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%s is not in %s", part, raw)
		}
	}
	b.wants(in{"cell_id": "c1", "new_source": "text", "cell_type": "markdown"}, false)
	raw, _ = os.ReadFile(b.path)
	if strings.Count(string(raw), "outputs") != 1 || !json.Valid(raw) {
		t.Errorf("got %s", raw)
	}
}

func TestInsert(t *testing.T) {
	const code = `{
   "cell_type": "code",
   "execution_count": null,
   "id": "new1",
   "metadata": {},
   "outputs": [],
   "source": [
    "a\n",
    "b"
   ]
  }`
	for name, c := range map[string]struct {
		id        string
		old, with string
	}{
		"at the start": {"", `{
   "cell_type": "markdown"`, code + `,
  {
   "cell_type": "markdown"`},
		"after the first": {"m1", `  },
  {
   "cell_type": "code"`, "  },\n  " + code + `,
  {
   "cell_type": "code"`},
		"at the end": {"c1", "   ]\n  }\n ],", "   ]\n  },\n  " + code + "\n ],"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, sample)
			input := in{"new_source": "a\nb", "cell_type": "code", "edit_mode": "insert"}
			if c.id != "" {
				input["cell_id"] = c.id
			}
			b.wants(input, false, "Inserted cell new1")
			b.becomes(sample, c.old, c.with)
		})
	}
}

func TestInsertIntoAnEmptyNotebook(t *testing.T) {
	for _, empty := range []string{"[]", "[ ]", "[\n ]"} {
		was := "{\n \"cells\": " + empty + ",\n \"nbformat\": 4,\n \"nbformat_minor\": 2\n}"
		b := newBench(t, was)
		b.wants(in{"new_source": "é", "cell_type": "markdown", "edit_mode": "insert"}, false)
		b.becomes(was, empty, "[\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": [\n    \"é\"\n   ]\n  }\n ]")
	}
	compact := `{"cells":[{"cell_type":"code","source":"x"}],"nbformat":4,"nbformat_minor":4}`
	b := newBench(t, compact)
	b.wants(in{"cell_id": "0", "new_source": "y\n", "cell_type": "markdown", "edit_mode": "insert"}, false)
	b.becomes(compact, `"x"}]`, `"x"},{"cell_type":"markdown","metadata":{},"source":["y\n"]}]`)
	b.wants(in{"cell_id": "0", "new_source": "z"}, false) // a source that is a string stays one
	b.becomes(compact, `"x"}]`, `"z"},{"cell_type":"markdown","metadata":{},"source":["y\n"]}]`)
}

func TestDelete(t *testing.T) {
	first := sample[strings.Index(sample, "{\n   \"cell_type\": \"markdown\""):strings.Index(sample, "{\n   \"cell_type\": \"code\"")]
	b := newBench(t, sample)
	b.wants(in{"cell_id": "m1", "new_source": "", "edit_mode": "delete"}, false, "Deleted cell m1")
	b.becomes(sample, first, "")
	b.wants(in{"cell_id": "c1", "new_source": "", "edit_mode": "delete"}, false)
	raw, _ := os.ReadFile(b.path)
	if !strings.HasPrefix(string(raw), "{\n \"cells\": [],") {
		t.Errorf("got %.60s", raw)
	}
	b = newBench(t, sample)
	b.wants(in{"cell_id": "c1", "new_source": "", "edit_mode": "delete"}, false)
	raw, _ = os.ReadFile(b.path)
	if !json.Valid(raw) || strings.Contains(string(raw), "print") || !strings.Contains(string(raw), "Title") {
		t.Errorf("got %s", raw)
	}
}

func TestErrors(t *testing.T) {
	b := newBench(t, sample)
	b.wants(in{"cell_id": "nope", "new_source": "x"}, true, `Cell "nope" was not found`, "m1, c1")
	b.wants(in{"cell_id": "cell-9", "new_source": "x"}, true, "was not found")
	b.wants(in{"new_source": "x"}, true, "cell_id is needed")
	b.wants(in{"new_source": "x", "edit_mode": "insert"}, true, "cell_type is needed")
	b.wants(in{"new_source": "x", "edit_mode": "merge"}, true, "must be one of")
	b.wants(in{"notebook_path": "a.py", "new_source": "x", "cell_id": "1"}, true, "use Edit")
	b.wants(in{"notebook_path": "none.ipynb", "new_source": "x", "cell_id": "1"}, true, "does not exist")
	b.becomes(sample, "", "")
	b.put("{broken")
	b.read()
	b.wants(in{"cell_id": "1", "new_source": "x"}, true, "no valid notebook")
	b.put(`{"worksheets":[]}`)
	b.read()
	b.wants(in{"cell_id": "1", "new_source": "x"}, true, "no cells")
}

func TestMustBeReadFirst(t *testing.T) {
	b := newBench(t, sample)
	b.scope.Reads.Clear()
	b.wants(in{"cell_id": "m1", "new_source": "x"}, true, "has not been read yet")
	b.becomes(sample, "", "")
}

func TestKF020_NotebookChangedSinceItWasRead(t *testing.T) {
	b := newBench(t, sample)
	changed := strings.Replace(sample, "print(1)", "print(9)", 1)
	b.put(changed)
	b.wants(in{"cell_id": "m1", "new_source": "x"}, true, "has changed on disk", "print(9)")
	b.becomes(changed, "", "")
	b.read()
	b.wants(in{"cell_id": "m1", "new_source": "x"}, false)
}

func TestKF016_017_NotebookWithBOMAndCRLF(t *testing.T) {
	was := "\uFEFF" + strings.ReplaceAll(sample, "\n", "\r\n")
	b := newBench(t, was)
	b.wants(in{"cell_id": "c1", "new_source": "a\nb"}, false)
	raw, _ := os.ReadFile(b.path)
	if !strings.HasPrefix(string(raw), "\uFEFF{\r\n") || strings.Count(string(raw), "\n") != strings.Count(string(raw), "\r\n") || !strings.Contains(string(raw), "\"a\\n\",\r\n    \"b\"\r\n") {
		t.Errorf("got %q", raw)
	}
}

func TestSize(t *testing.T) {
	spec := notebook.New(tool.Files{}, nil).Spec()
	if n := len(spec.Description) + len(spec.Schema); n > 800 {
		t.Errorf("description and schema have %d bytes", n)
	}
}

// Attachments belong to texts: a cell that becomes code loses them, which is said, and one that becomes
// another kind of text keeps them.
func TestKF140_AttachmentsOfAChangedCell(t *testing.T) {
	with := strings.Replace(sample, `   "id": "m1",`, `   "attachments": {"a.png": {"image/png": "AAAA"}},`+"\n"+`   "id": "m1",`, 1)
	for kind, keeps := range map[string]bool{"code": false, "markdown": true} {
		b := newBench(t, with)
		r := b.wants(in{"cell_id": "m1", "new_source": "x", "cell_type": kind}, false)
		raw, err := os.ReadFile(b.path)
		if err != nil || !json.Valid(raw) {
			t.Fatalf("%s: %v: %s", kind, err, raw)
		}
		if strings.Contains(string(raw), "attachments") != keeps {
			t.Errorf("%s: %s", kind, raw)
		}
		if said := strings.Contains(msg.TextOf(r.Content), "attachments were left out"); said == keeps {
			t.Errorf("%s: the result says %q", kind, msg.TextOf(r.Content))
		}
	}
}
