package atomicfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("ATOMICFILE_TEST_ADD"); path != "" {
		os.Exit(addLines(path, os.Getenv("ATOMICFILE_TEST_NAME")))
	}
	os.Exit(m.Run())
}

// addLines is what a process of the concurrency test does: fifty updates that add a line each. It
// prints each line after it was stored.
func addLines(path, name string) int {
	for i := range 50 {
		line := name + "-" + strconv.Itoa(i)
		err := atomicfile.Update(path, 0o600, func(old []byte) ([]byte, error) {
			return append(old, line+"\n"...), nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(line)
	}
	return 0
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func put(t *testing.T, path, text string, perm fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

// names lists the folder: nothing but the files meant may be left.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWriteKeepsModeAndLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	put(t, path, "old", 0o754)
	if err := atomicfile.Write(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o754 {
		t.Errorf("mode is %o, want 754", got)
	}
	if read(t, path) != "new" || names(t, dir) != "a" {
		t.Errorf("content %q, folder holds %q", read(t, path), names(t, dir))
	}
}

func TestWriteMakesFoldersForWhomTheFileIs(t *testing.T) {
	for perm, want := range map[fs.FileMode]fs.FileMode{0o600: 0o700, 0o644: 0o755} {
		path := filepath.Join(t.TempDir(), "x", "y", "f")
		if err := atomicfile.Write(path, nil, perm); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&^0o022 != want&^0o022 {
			t.Errorf("file %o: folder has %o, want %o", perm, info.Mode().Perm(), want)
		}
	}
}

func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(real, "f"), "old", 0o640)
	for link, to := range map[string]string{"one": "two", "two": filepath.Join(real, "f"), "dir": "real", "dangling": "real/new"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../one", filepath.Join(real, "up")); err != nil {
		t.Fatal(err)
	}
	// dir is a link to real, and real/up leads up from real, not from where the link stands.
	for i, link := range []string{"one", "dir/up", "dangling"} {
		text := strconv.Itoa(i)
		if err := atomicfile.Write(filepath.Join(dir, link), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, link)); got != text {
			t.Errorf("%s reads %q, want %q", link, got, text)
		}
		info, err := os.Lstat(filepath.Join(dir, link))
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more (%v)", link, err)
		}
	}
	if got := names(t, real); got != "f new up" {
		t.Errorf("folder holds %q", got)
	}
}

func TestWriteRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := atomicfile.Write(dir, []byte("x"), 0o600); !errors.Is(err, atomicfile.ErrNotRegular) {
		t.Errorf("folder: %v", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(loop, []byte("x"), 0o600); err == nil {
		t.Error("a loop of links was written")
	}
}

func TestUpdateTellsMissingFromEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	step := func(want []byte, isNil bool, next []byte) {
		t.Helper()
		err := atomicfile.Update(path, 0o600, func(old []byte) ([]byte, error) {
			if string(old) != string(want) || (old == nil) != isNil {
				t.Errorf("edit saw %#v, want %#v", old, want)
			}
			return next, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	step(nil, true, nil)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing became a file: %v", err)
	}
	step(nil, true, []byte{})
	step([]byte{}, false, []byte("x"))
	step([]byte("x"), false, []byte("y"))
}

func TestUpdateWritesNothingWhenNothingChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "same", 0o600)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err = atomicfile.Update(path, 0o600, func([]byte) ([]byte, error) { return []byte("other"), boom })
	if !errors.Is(err, boom) {
		t.Errorf("got %v, want the error of edit", err)
	}
	if err := atomicfile.Update(path, 0o600, func([]byte) ([]byte, error) { return []byte("same"), nil }); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the file was replaced")
	}
	if got := names(t, filepath.Dir(path)); got != "f" {
		t.Errorf("folder holds %q", got)
	}
}

func TestUpdateSweepsWhatAKilledOneLeft(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "1", 0o600)
	put(t, filepath.Join(dir, ".update-f.123"), "half", 0o600)
	put(t, filepath.Join(dir, ".update-fg.123"), "other file's", 0o600)
	put(t, filepath.Join(dir, "f.lock"), "", 0o600)
	if err := atomicfile.Update(filepath.Join(dir, "f"), 0o600, func([]byte) ([]byte, error) { return []byte("2"), nil }); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != ".update-fg.123 f" {
		t.Errorf("folder holds %q", got)
	}
}

func TestUpdateExcludesGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				err := atomicfile.Update(path, 0o600, func(old []byte) ([]byte, error) {
					n, _ := strconv.Atoi(string(old))
					return []byte(strconv.Itoa(n + 1)), nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := read(t, path); got != "200" {
		t.Errorf("counted %s, want 200", got)
	}
}

// Twenty processes add lines to one file, half of them are killed: every line a process saw stored
// is there, once, and the file is never torn.
func TestKF014_ConcurrentProcessesHalfOfThemKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	type process struct {
		cmd *exec.Cmd
		out strings.Builder
	}
	procs := make([]*process, 20)
	for i := range procs {
		p := &process{cmd: exec.Command(os.Args[0])}
		p.cmd.Env = append(os.Environ(), "ATOMICFILE_TEST_ADD="+path, "ATOMICFILE_TEST_NAME=p"+strconv.Itoa(i))
		p.cmd.Stdout = &p.out
		p.cmd.Stderr = os.Stderr
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		procs[i] = p
	}
	var wg sync.WaitGroup
	for i, p := range procs {
		victim, after := i%2 == 0, rand.IntN(40)+1
		wg.Go(func() {
			if victim {
				killAfter(p.cmd, path, "p"+strconv.Itoa(i)+"-"+strconv.Itoa(after))
			}
			err := p.cmd.Wait()
			if err != nil && !victim {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	got := strings.Split(strings.TrimSuffix(read(t, path), "\n"), "\n")
	seen := map[string]int{}
	for _, line := range got {
		seen[line]++
		if !strings.HasPrefix(line, "p") || !strings.Contains(line, "-") || seen[line] > 1 {
			t.Errorf("line %q is torn or doubled", line)
		}
	}
	for _, p := range procs {
		for _, line := range strings.Fields(p.out.String()) {
			if strings.Contains(line, "-") && seen[line] == 0 {
				t.Errorf("line %q was stored and is lost", line)
			}
		}
	}
}

// killAfter ends the process as soon as the file shows the line.
func killAfter(cmd *exec.Cmd, path, line string) {
	often := time.NewTicker(2 * time.Millisecond)
	defer often.Stop()
	for range often.C {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), line+"\n") {
			_ = cmd.Process.Kill() // it may have ended by itself
			return
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	path := filepath.Join(b.TempDir(), "f")
	for i := 0; b.Loop(); i++ {
		err := atomicfile.Update(path, 0o600, func([]byte) ([]byte, error) { return []byte(strconv.Itoa(i)), nil })
		if err != nil {
			b.Fatal(err)
		}
	}
}
