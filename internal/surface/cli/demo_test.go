package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	for _, helper := range Wired().Helpers { // the program under test starts itself as its sandbox helper
		if code, mine := helper(os.Args[1:]); mine {
			os.Exit(code)
		}
	}
	os.Exit(m.Run())
}

func TestTheDemoReallyMendsItsTest(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MYELIN_HOME", filepath.Join(dir, "home"))
	t.Setenv("TMPDIR", dir)
	var out, errs bytes.Buffer
	p := Process{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv, Cwd: dir}
	code := Main([]string{"myelin", "demo", "--fast", "--svg", "demo.svg"}, p, Wired())
	if code != 0 || errs.Len() > 0 {
		t.Fatalf("code %d\n%s\n%s", code, out.String(), errs.String())
	}
	for _, want := range []string{"FAIL  greets by name", "+\tname=${1:-stranger}", "ok    greets a stranger"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("styles without a terminal")
	}
	picture, err := os.ReadFile(filepath.Join(dir, "demo.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(picture, []byte("greets a stranger")) || !bytes.Contains(picture, []byte(`fill="#98c379"`)) {
		t.Errorf("the picture holds %d bytes", len(picture))
	}
	if left, err := filepath.Glob(filepath.Join(dir, "myelin-demo-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
