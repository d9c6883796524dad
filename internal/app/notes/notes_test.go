package notes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

func notes(t *testing.T, env map[string]string) (n *Notes, dir string) {
	t.Helper()
	dir = t.TempDir()
	return New(Config{
		Folder: func() string { return filepath.Join(dir, "session") }, Project: func() string { return filepath.Join(dir, "project") },
		Session: func() string { return "s" }, Plan: func() string { return "" }, Settings: func() *config.State { return &config.State{} },
		Env: func() config.Environ { return config.EnvironOfMap(env) }, Home: dir, Now: time.Now,
	}), dir
}

// TestWhatIsTheAgentsOwn: one file and one folder, nothing beside them, nothing that a link leads to.
func TestWhatIsTheAgentsOwn(t *testing.T) {
	n, dir := notes(t, nil)
	pad, memory := n.Places().Scratchpad, n.Places().Memory
	for _, d := range []string{filepath.Dir(pad), memory, filepath.Join(dir, "elsewhere")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, target := range map[string]string{memory + "/link.md": dir + "/elsewhere/x", memory + "/out": dir + "/elsewhere"} {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		pad: true, filepath.Dir(pad): false, pad + "x": false, filepath.Dir(pad) + "/other.md": false, pad + "/x": false,
		memory + "/a.md": true, memory + "/sub/a.md": true, memory: false, memory + "x/a.md": false,
		memory + "/link.md": false, memory + "/out/x": false, dir + "/elsewhere/x": false, "": false, "/": false,
	} {
		if got := n.Own(path, real(path)); got != want {
			t.Errorf("%s: %v, want %v", strings.TrimPrefix(path, dir), got, want)
		}
	}
	if err := os.Remove(memory + "/link.md"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/elsewhere/x", pad); err != nil {
		t.Fatal(err)
	}
	if n.Own(pad, real(pad)) {
		t.Error("a link in the place of the scratchpad is the agent's own")
	}
	off, dir := notes(t, map[string]string{"MYELIN_DISABLE_AUTO_MEMORY": "1"})
	if path := filepath.Join(dir, "project", "memory", "a.md"); off.Own(path, path) || off.Places().Memory != "" {
		t.Error("a memory that is off is open")
	}
}

func TestReviewLooksAtNotesAlone(t *testing.T) {
	n, dir := notes(t, nil)
	secret, err := textfile.FromString("token ghp_abcdefghijklmnopqrstuvwxyz0123456789")
	if err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]bool{n.Places().Memory + "/a.md": true, n.Places().Scratchpad: false, dir + "/a.md": false} {
		if _, problem := n.Review(path, secret); (problem != "") != refused {
			t.Errorf("%s: %q", path, problem)
		}
	}
	large, err := textfile.FromString(strings.Repeat("x", 70_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := n.Review(n.Places().Scratchpad, large); problem == "" {
		t.Error("a scratchpad of 70,000 bytes")
	}
}
