package summary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
)

// TestKF060_WhatIsToldAgain: plan, mode, todo list, running tasks, notes and the files used last, as they
// are on disk now.
func TestKF060_WhatIsToldAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small, large := write("small.go", "package small"), write("large.go", strings.Repeat("a line\n", 2000))
	secret := write("secret.env", "KEY=1")
	live := Live{
		Mode: "plan", Planning: true, PlanFile: write("plan.md", "1. look\n2. mend"),
		Todos: []proto.Todo{{ID: "1", Status: "in_progress", Subject: "look"}},
		Tasks: []task.Task{{ID: "b1", Kind: "shell", Description: "a server", OutputFile: "/out"}}, Notes: "NOTES",
		Reads:   []tool.ReadRecord{{Path: large}, {Path: small}, {Path: secret}, {Path: filepath.Join(dir, "gone")}},
		MayRead: func(path string) bool { return path != secret }, Room: 1000,
	}
	got := strings.Join(live.Texts(), "\n\n")
	for _, want := range []string{"Plan mode is still on", "2. mend", "1 [in_progress] look", "b1 (shell): a server", "NOTES", "package small", "[cut; the file has 14000 bytes]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if strings.Contains(got, "KEY=1") || len(got) > 3600 {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	if texts := (Live{Mode: "acceptEdits", PlanFile: filepath.Join(dir, "none")}).Texts(); len(texts) != 1 || !strings.Contains(texts[0], "acceptEdits") {
		t.Errorf("%q", texts)
	}
	if texts := (Live{Mode: "default", PlanFile: filepath.Join(dir, "none")}).Texts(); len(texts) != 0 {
		t.Errorf("%q", texts)
	}
}

func TestTheLargestAreCutFirst(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		room  int
		want  int
	}{{[]int{10, 1000}, 100, 90}, {[]int{60, 60}, 100, 50}, {[]int{10, 20, 30}, 60, 1 << 30}, {nil, 0, 1 << 30}, {[]int{5}, 0, 0}, {[]int{5}, -3, 0}} {
		if got := bound(c.sizes, c.room); got != c.want {
			t.Errorf("%v in %d: %d, want %d", c.sizes, c.room, got, c.want)
		}
	}
}

func TestADraftAsThePersonLeftIt(t *testing.T) {
	d := Draft{filepath.Join(t.TempDir(), "x", "summary.md")}
	if _, _, err := d.Load(); err == nil || !strings.Contains(err.Error(), "no summary waits") {
		t.Errorf("%v", err)
	}
	if err := d.Save("first\n---\nsecond", "m-1"); err != nil {
		t.Fatal(err)
	}
	if text, upto, err := d.Load(); err != nil || text != "first\n---\nsecond" || upto != "m-1" {
		t.Errorf("%q, %q, %v", text, upto, err)
	}
	for name, raw := range map[string]string{
		"no head": "just text", "no line": head + "m-1\ntext", "empty": head + "m-1" + line + " \n", "binary": "\x00\xff",
	} {
		if err := os.WriteFile(d.Path, []byte(raw), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, _, err := d.Load(); err == nil || !strings.Contains(err.Error(), d.Path) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := os.WriteFile(d.Path, []byte(strings.ReplaceAll(head+"m-1"+line+"text", "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, upto, err := d.Load(); err != nil || text != "text" || upto != "m-1" {
		t.Errorf("CRLF: %q, %q, %v", text, upto, err)
	}
	if err := d.Drop(); err != nil {
		t.Error(err)
	}
	if err := d.Drop(); err != nil {
		t.Errorf("dropped twice: %v", err)
	}
}

func TestNothingToTakeBack(t *testing.T) {
	if _, _, err := (Undo{}).Restore("x", []msg.Message{{ID: "a"}}, nil); err == nil {
		t.Error("the zero Undo takes something back")
	}
	if u, err := lastUndo(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Errorf("%+v", u)
	}
	if diff := cmp.Diff(Undo{}, func() Undo {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, []byte(`{"type":"myelin","kind":"compacted","data":{"before":"a"}}`+"\n"+`{"type":"myelin","kind":"compacted","data":null}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := lastUndo(path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}()); diff != "" {
		t.Error(diff)
	}
}
