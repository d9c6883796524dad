package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
)

// walked is what an index must know: every path below root.
func walked(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != root {
			out = append(out, path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func outermost(paths []string, pattern string) []string {
	var out []string
	for _, p := range paths {
		if ok, _ := doublestar.Match(pattern, p); ok && !slices.ContainsFunc(out, func(o string) bool { return within(p, o) }) {
			out = append(out, p)
		}
	}
	return out
}

func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ops change a tree in every way a program can.
func ops(t *testing.T, root string, r *rand.Rand) string {
	names := []string{"a", "b", ".env", ".git", "secrets", "x.go"}
	random := func() string {
		path := root
		for range 1 + r.IntN(4) {
			path = filepath.Join(path, names[r.IntN(len(names))])
		}
		return path
	}
	from, to := random(), random()
	switch r.IntN(7) {
	case 0, 1:
		_ = os.MkdirAll(from, 0o755)
		return "mkdir " + from
	case 2, 3:
		_ = os.MkdirAll(filepath.Dir(from), 0o755)
		_ = os.WriteFile(from, []byte("x"), 0o644)
		return "write " + from
	case 4:
		_ = os.RemoveAll(from)
		return "remove " + from
	case 5:
		_ = os.Rename(from, to)
		return "rename " + from + " " + to
	}
	_ = os.Symlink(from, to)
	return "link " + from + " " + to
}

// After each Sync the index knows exactly what a walk finds, whichever way it learns of changes.
func TestIndexKnowsWhatAWalkFinds(t *testing.T) {
	for name, notify := range map[string]int{"compared": 1 << 30, "notified": 1} {
		t.Run(name, func(t *testing.T) {
			root, seed := tempDir(t), rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 0))
			x := New(Options{Roots: []string{root}, Notify: notify, Scratch: t.TempDir(), Mark: func(path string, _ bool) bool { return filepath.Base(path) == ".git" }, Report: func(err error) { t.Error(err) }})
			defer x.Close()
			pattern := root + "/**/.env"
			var log []string
			for range 300 {
				for range r.IntN(5) {
					log = append(log, ops(t, root, r))
				}
				if _, err := x.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := walked(t, root)
				got := x.Below(root)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: got %v, want %v\n%s", seed, got, want, strings.Join(log[max(0, len(log)-8):], "\n"))
				}
				matched, err := x.Match(pattern)
				if err != nil || !slices.Equal(matched, outermost(want, pattern)) {
					t.Fatalf("seed %d: matched %v of %v, %v", seed, matched, want, err)
				}
				marks := 0
				for _, path := range want {
					if filepath.Base(path) == ".git" {
						marks++
					}
				}
				if got := x.Marked(); len(got) != marks {
					t.Fatalf("seed %d: marked %v of %v", seed, got, want)
				}
			}
			if (x.live != nil) != (notify == 1 && runtime.GOOS == "linux") {
				t.Error("changes were learned of in another way")
			}
		})
	}
}

// What was written to is told, the writing of files with remembered names included.
func TestChangedTellsWhatWasWritten(t *testing.T) {
	root := tempDir(t)
	must(t, os.MkdirAll(root+"/p/.vscode", 0o755))
	must(t, os.WriteFile(root+"/p/.vscode/settings.json", []byte("a"), 0o644))
	must(t, os.WriteFile(root+"/plain", []byte("a"), 0o644))
	x := New(Options{Roots: []string{root}, Notify: 1, Scratch: t.TempDir(), Mark: func(path string, _ bool) bool { return filepath.Base(path) == ".vscode" }})
	defer x.Close()
	start, err := x.Sync(t.Context())
	must(t, err)
	must(t, os.WriteFile(root+"/p/.vscode/settings.json", []byte("b"), 0o644))
	must(t, os.WriteFile(root+"/plain", []byte("b"), 0o644))
	must(t, os.MkdirAll(root+"/q/.vscode", 0o755))
	_, err = x.Sync(t.Context())
	must(t, err)
	got, known := x.Changed(start)
	if !known || !slices.Contains(got, root+"/p/.vscode/settings.json") || !slices.Contains(got, root+"/q/.vscode") || slices.Contains(got, root+"/plain") {
		t.Errorf("%v, known %v", got, known)
	}
	if got, known := x.Changed(x.seq); !known || len(got) != 0 {
		t.Errorf("later: %v, known %v", got, known)
	}
	if _, known := x.Changed(0); known {
		t.Error("what happened before the first look is known")
	}
}

func TestBoundsAreTold(t *testing.T) {
	root := tempDir(t)
	for i := range 30 {
		must(t, os.MkdirAll(fmt.Sprintf("%s/d%02d/e", root, i), 0o755))
	}
	x := New(Options{Roots: []string{root}, Max: 40})
	defer x.Close()
	_, err := x.Sync(t.Context())
	must(t, err)
	if len(x.Gaps()) == 0 || x.Covers(root) {
		t.Errorf("gaps %v", x.Gaps())
	}
	y := New(Options{Roots: []string{root}})
	defer y.Close()
	_, err = y.Sync(t.Context())
	must(t, err)
	if len(y.Gaps()) != 0 || !y.Covers(root+"/d01") || y.Covers("/elsewhere") {
		t.Errorf("gaps %v", y.Gaps())
	}
}

func TestMatchRefusesWhatItCannotRead(t *testing.T) {
	x := New(Options{Roots: []string{tempDir(t)}})
	defer x.Close()
	if _, err := x.Match("/x/[a"); !errors.Is(err, ErrPattern) {
		t.Errorf("%v", err)
	}
}

// A closed index answers nothing.
func TestCloseWhileItWalks(t *testing.T) {
	x := New(Options{Roots: []string{"/usr"}})
	x.Start()
	x.Close()
	if _, err := x.Sync(t.Context()); err == nil {
		t.Error("a closed index answers")
	}
}

func BenchmarkSync(b *testing.B) {
	root := tempDir(b)
	for i := range 1000 {
		dir := fmt.Sprintf("%s/r%04d", root, i)
		must(b, os.MkdirAll(dir+"/.git/hooks", 0o755))
		for j := range 100 {
			must(b, os.WriteFile(fmt.Sprintf("%s/f%d", dir, j), nil, 0o644))
		}
	}
	for name, notify := range map[string]int{"compared": 1 << 30, "notified": 1} {
		b.Run(name, func(b *testing.B) {
			x := New(Options{Roots: []string{root}, Notify: notify, Scratch: b.TempDir()})
			defer x.Close()
			_, err := x.Sync(b.Context())
			must(b, err)
			for i := range 50 {
				_, err := x.Match(fmt.Sprintf("%s/**/.env%d", root, i))
				must(b, err)
			}
			for b.Loop() {
				_, err := x.Sync(b.Context())
				must(b, err)
			}
		})
	}
}
