package demo

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/providers/script"
)

// runTest runs the project's test with the shell alone on the path.
func runTest(t *testing.T, dir string) (string, bool) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", Test)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func TestTheDemoMendsTheProject(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir); err == nil {
		t.Error("the files of an earlier demo were overwritten")
	}
	s, err := Script(true)
	if err != nil {
		t.Fatal(err)
	}
	p := script.NewPlayer(s)
	f := script.Facts{Prompt: Prompt, Tools: []string{"Bash", "Read", "Edit"}}
	for range len(s.Turns) {
		turn, err := p.Next("", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range turn.Content {
			if b.Kind == script.ToolBlock {
				f.Results = append(f.Results, run(t, dir, b))
			}
		}
	}
	if p.Unused() != 0 {
		t.Errorf("%d turns were not played", p.Unused())
	}
	if out, ok := runTest(t, dir); !ok {
		t.Errorf("the test fails after the demo:\n%s", out)
	}
}

func run(t *testing.T, dir string, b script.Block) script.Result {
	t.Helper()
	var in map[string]string
	if err := json.Unmarshal([]byte(b.Input), &in); err != nil {
		t.Fatal(err)
	}
	r := script.Result{ID: b.ID, Tool: b.Tool}
	file := filepath.Join(dir, in["file_path"])
	switch b.Tool {
	case "Bash":
		if "Bash("+in["command"]+")" != Rule {
			t.Errorf("the rule %s does not cover %q", Rule, in["command"])
		}
		out, ok := runTest(t, dir)
		r.Text, r.Error = out, !ok
	case "Read":
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r.Text = string(data)
	case "Edit":
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(data), in["old_string"]) != 1 {
			t.Fatalf("%q does not stand in %s once", in["old_string"], file)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(data), in["old_string"], in["new_string"], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the demo calls %s", b.Tool)
	}
	return r
}

func TestFastLeavesThePausesOut(t *testing.T) {
	for _, fast := range []bool{true, false} {
		s, err := Script(fast)
		if err != nil {
			t.Fatal(err)
		}
		for i, turn := range s.Turns {
			if (turn.Delay == 0) != fast {
				t.Errorf("fast %t: turn %d waits %s", fast, i, turn.Delay)
			}
		}
	}
}
