package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a module with one guard, a test for it and one that sees nothing.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module a\n\ngo 1.26\n",
		"a.go":      "package a\n\nfunc guard() bool { return true }\n",
		"a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestGuard(t *testing.T) {\n\tif !guard() {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestBlind(t *testing.T) { guard() }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

func TestRun(t *testing.T) {
	dir := tree(t)
	faults := filepath.Join(dir, "faults")
	if err := os.Mkdir(faults, 0o700); err != nil {
		t.Fatal(err)
	}
	guard := "func guard() bool { return true }"
	for name, text := range map[string]string{
		"killed":   patch("TestGuard", guard, "func guard() bool { return false }"),
		"unseen":   patch("TestBlind", guard, "func guard() bool { return false }"),
		"no tests": patch("TestNone", guard, "func guard() bool { return false }"),
		"unbuilt":  patch("TestGuard", guard, "func guard() bool { return 1 }"),
		"stale":    patch("TestGuard", "func guard() bool { return 1 == 1 }", "func guard() bool { return false }"),
	} {
		if err := os.WriteFile(filepath.Join(faults, name+".patch"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Load(faults)
	if err != nil || len(list) != 5 {
		t.Fatalf("%d faults, %v", len(list), err)
	}
	want := map[string]string{"unseen": "no test fails", "no tests": "no test of ./ is named TestNone", "unbuilt": "does not build", "stale": "does not apply any more"}
	err = Run(t.Context(), dir, list, 2, func(o Outcome) {
		switch problem := want[o.Fault.Name]; {
		case problem == "" && (o.Killer != "TestGuard" || o.Problem != ""):
			t.Errorf("%s: %q, %q", o.Fault.Name, o.Killer, o.Problem)
		case !strings.Contains(o.Problem, problem) || problem != "" && o.Killer != "":
			t.Errorf("%s: %q, %q; want %q", o.Fault.Name, o.Killer, o.Problem, problem)
		}
	})
	if err != nil {
		t.Error(err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || !strings.Contains(string(raw), guard) {
		t.Errorf("the tree itself was changed: %s, %v", raw, err)
	}
}

func patch(test, from, to string) string {
	return strings.NewReplacer("PATTERN", test, "FROM", from, "TO", to).Replace(
		"Guard: a guard\nTests: ./ PATTERN\n\ndiff --git a/a.go b/a.go\n--- a/a.go\n+++ b/a.go\n@@ -1,3 +1,3 @@\n package a\n \n-FROM\n+TO\n")
}

func TestTestsThatFailByThemselvesProveNothing(t *testing.T) {
	dir := tree(t)
	if err := os.WriteFile(filepath.Join(dir, "b_test.go"), []byte("package a\n\nimport \"testing\"\n\nfunc TestBroken(t *testing.T) { t.Fatal() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), dir, []Fault{{Name: "x", Guard: "x", Tests: []Tests{{"./", "TestBroken"}}}}, 1, func(o Outcome) { t.Errorf("%+v", o) })
	if err == nil || !strings.Contains(err.Error(), "without a fault the tests TestBroken") && !strings.Contains(err.Error(), "TestBroken") {
		t.Error(err)
	}
}

// A patch that has gone stale shows at once, without waiting for its turn.
func TestEveryFaultOfTheTreeApplies(t *testing.T) {
	const root = "../../.."
	list, err := Load(filepath.Join(root, "testdata", "faults"))
	if err != nil || len(list) == 0 {
		t.Fatalf("%d faults, %v", len(list), err)
	}
	for _, f := range list {
		if out, err := git(t.Context(), root, "apply", "--check", f.Path); err != nil {
			t.Errorf("%s: %s", f.Name, out)
		}
	}
}

func TestHeads(t *testing.T) {
	for text, want := range map[string]string{
		"Guard: g\nTests: ./a TestA\nTests: ./b TestB/c\n--- a/x\n": "",
		"Tests: ./a TestA\n--- a/x\n":                               "names no guard",
		"Guard: g\n--- a/x\n":                                       "or no tests",
		"Guard: g\nTests: a TestA\n":                                "line 2",
		"Guard: g\nTests: ./a [\n":                                  "line 2",
		"Guard: g\nremark\n":                                        "line 2",
		"Guard: g\nGuard: h\n":                                      "line 2",
	} {
		_, err := parse(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
