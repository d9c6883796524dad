package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/myelin-agent/myelin/internal/sys/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start watches paths by notifications and returns the channel of what was told.
func start(t *testing.T, paths ...string) chan []string {
	t.Helper()
	told := make(chan []string, 16)
	w := watch.Start(watch.Options{
		Paths: paths, Changed: func(p []string) { told <- p },
		Debounce: 20 * time.Millisecond, Poll: time.Hour,
		Report: func(err error) { t.Error(err) },
	})
	t.Cleanup(w.Close)
	return told
}

func expect(t *testing.T, told chan []string, want ...string) {
	t.Helper()
	select {
	case got := <-told:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("never told of %v", want)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryWayAFileChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	told := start(t, path)

	put(t, path, "1") // created
	expect(t, told, path)
	put(t, path, "22") // written
	expect(t, told, path)
	put(t, path+".new", "33") // replaced by rename
	must(t, os.Rename(path+".new", path))
	expect(t, told, path)
	must(t, os.Remove(path))
	expect(t, told, path)
}

func TestWhatChangesBeforeTheKernelIsAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	told := make(chan []string, 16)
	w := watch.Start(watch.Options{
		Paths: []string{path}, Changed: func(p []string) { told <- p },
		Debounce: time.Millisecond, Poll: time.Hour, After: 50 * time.Millisecond,
		Report: func(err error) { t.Error(err) },
	})
	t.Cleanup(w.Close)
	put(t, path, "before")
	expect(t, told, path)
	put(t, path, "after that")
	expect(t, told, path)
}

func TestFoldersThatDoNotExistYet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "f")
	told := start(t, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	put(t, path, "1")
	expect(t, told, path)
	must(t, os.RemoveAll(filepath.Dir(filepath.Dir(path))))
	expect(t, told, path)
	put(t, path, "2")
	expect(t, told, path)
}

func TestLinksThatLeadElsewhere(t *testing.T) {
	dir := t.TempDir()
	one, two, link := filepath.Join(dir, "x", "one"), filepath.Join(dir, "y", "two"), filepath.Join(dir, "l", "link")
	put(t, one, "1")
	put(t, two, "2")
	must(t, os.MkdirAll(filepath.Dir(link), 0o755))
	must(t, os.Symlink(one, link))
	told := start(t, link)
	must(t, os.Symlink(two, link+"2"))
	must(t, os.Rename(link+"2", link))
	expect(t, told, link)
	put(t, two, "changed behind the link")
	expect(t, told, link)
}

func TestEntriesOfAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	told := start(t, dir)
	must(t, os.Mkdir(dir, 0o755))
	expect(t, told, dir)
	put(t, filepath.Join(dir, "a.json"), "{}")
	expect(t, told, dir)
	put(t, filepath.Join(dir, "a.json"), "{ }")
	expect(t, told, dir)
}

func TestManyChangesAreToldOnceAndOthersNever(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	told := start(t, a, b)
	for i := range 50 {
		put(t, a, fmt.Sprint(i))
		put(t, b, fmt.Sprint(i))
		put(t, filepath.Join(dir, "other"), fmt.Sprint(i))
	}
	var seen []string
	for len(seen) < 2 {
		select {
		case got := <-told:
			seen = append(seen, got...)
		case <-time.After(20 * time.Second):
			t.Fatalf("told only of %v", seen)
		}
	}
	for _, p := range seen {
		if p != a && p != b {
			t.Errorf("told of %s", p)
		}
	}
}

func TestAddLater(t *testing.T) {
	dir := t.TempDir()
	told := make(chan []string, 16)
	w := watch.Start(watch.Options{Changed: func(p []string) { told <- p }, Debounce: time.Millisecond, Poll: 5 * time.Millisecond, ForcePoll: true})
	defer w.Close()
	path := filepath.Join(dir, "f")
	put(t, path, "before")
	w.Add(path)
	put(t, path, "after it was added")
	expect(t, told, path)
}

func TestPollingTakesOver(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	synctest.Test(t, func(t *testing.T) {
		told := make(chan []string, 8)
		w := watch.Start(watch.Options{Paths: []string{path}, Changed: func(p []string) { told <- p }, ForcePoll: true})
		defer w.Close()
		synctest.Wait() // it has looked at the start
		put(t, path, "1")
		<-time.After(1900 * time.Millisecond) // of the bubble's clock
		synctest.Wait()
		if len(told) != 0 {
			t.Errorf("told %v before the first look", <-told)
		}
		<-time.After(400 * time.Millisecond)
		synctest.Wait()
		if len(told) != 1 || !reflect.DeepEqual(<-told, []string{path}) {
			t.Error("was not told once, of the file")
		}
		<-time.After(time.Minute)
		synctest.Wait()
		if len(told) != 0 {
			t.Errorf("told of nothing: %v", <-told)
		}
	})
}

func TestCloseTwice(t *testing.T) {
	w := watch.Start(watch.Options{Changed: func([]string) {}})
	w.Close()
	w.Close()
}
