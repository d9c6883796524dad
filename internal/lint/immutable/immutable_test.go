package immutable_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/myelin-agent/myelin/internal/lint/immutable"
)

const (
	root = "../../.."
	data = "./internal/lint/immutable/testdata/src/"
)

// TestSeeded: each seeded fault is found, and nothing but those.
func TestSeeded(t *testing.T) {
	analysistest.Run(t, root, immutable.Analyzer, data+"seeded")
}

// TestGood: code that does it right is left in peace.
func TestGood(t *testing.T) {
	results := analysistest.Run(t, root, immutable.Analyzer, data+"good", data+"helpers")
	if len(results) == 0 {
		t.Fatal("nothing was analysed")
	}
}

// TestUnderGoVet runs the program as make check does.
func TestUnderGoVet(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "immutable")
	build := exec.Command("go", "build", "-o", tool, "./internal/lint/cmd/immutable")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	vet := exec.Command("go", "vet", "-vettool="+tool, data+"good", data+"seeded")
	vet.Dir = root
	out, err := vet.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "seeded.go:") || strings.Contains(string(out), "good.go:") {
		t.Errorf("%v\n%s", err, out)
	}
}
