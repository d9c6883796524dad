package tool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// exchange swaps two entries again and again until the test is over.
func exchange(t *testing.T, a, b string) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // ends with the test
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})
	t.Cleanup(func() { close(stop); wg.Wait() })
}

// TestKF146_FilesAreChangedWhereItWasDecided: a folder and a link to one outside, or to the hooks of a
// repository, are exchanged all the time; a call that was decided for the folder never touches the other.
func TestKF146_FilesAreChangedWhereItWasDecided(t *testing.T) {
	const tries = 250
	for _, outside := range []string{"outside", "project/.git/hooks"} {
		top, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		folder, other := filepath.Join(top, "project/d"), filepath.Join(top, outside)
		for _, d := range []string{folder, other} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(other, "f"), []byte("theirs\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(top, "project/l")
		if err := os.Symlink(other, link); err != nil {
			t.Fatal(err)
		}
		exchange(t, folder, link)
		scope := tool.NewScope("", top)
		files := tool.Files{MayRead: func(string) bool { return true }}
		made, saved := 0, 0
		for i := range tries {
			fresh, err := changeOnce(t, files, scope, filepath.Join(folder, "n", strconv.Itoa(i)))
			if err == nil && fresh {
				made++
			}
			if fresh, err = changeOnce(t, files, scope, filepath.Join(folder, "f")); err == nil && !fresh {
				saved++
			}
			if err != nil && !errors.Is(err, nolink.ErrLink) {
				t.Fatal(err)
			}
		}
		if made < tries/2 || saved < tries/2 {
			t.Errorf("%s: of %d each, %d files were made and %d changed", outside, tries, made, saved)
		}
		left, err := os.ReadDir(other)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := os.ReadFile(filepath.Join(other, "f"))
		if err != nil || string(theirs) != "theirs\n" || len(left) != 1 {
			t.Errorf("%s holds %v, f reads %q, %v", outside, left, theirs, err)
		}
	}
}

// changeOnce makes or changes a file whose call was decided for its own path.
func changeOnce(t *testing.T, files tool.Files, scope *tool.Scope, path string) (fresh bool, err error) {
	t.Helper()
	call := tool.Call{Scope: scope, Where: tool.Where{Paths: []tool.PathUse{{Path: path, Real: path, Intent: tool.Write}}}}
	f, exists, problem, err := files.Load(call, path, "written")
	if err != nil {
		return false, err
	}
	if exists && problem == "" && f.Text.View() == "theirs\n" {
		t.Fatalf("%s: the other file was read", path)
	}
	next, err := textfile.FromString("ours " + strconv.Itoa(len(f.Text.View())) + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if exists {
		_, problem, err = files.Save(t.Context(), scope, f, next)
	} else {
		_, problem, err = files.Create(t.Context(), call, path, next)
	}
	if err == nil && problem != "" { // exchanged in between: there, or not there any more
		err = nolink.ErrLink
	}
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return !exists, err
}
