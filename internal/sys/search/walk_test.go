package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWalkVisitsEachFileOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%7, i%3, i)] = ""
	}
	for i := range 300 { // more than a batch in one folder
		files[fmt.Sprintf("wide/f%d", i)] = ""
	}
	dir := tree(t, files)
	for _, workers := range []int{1, 2, 8} {
		var mu sync.Mutex
		seen := map[string]int{}
		missed, err := Walk(context.Background(), Tree{Root: dir, Workers: workers}, func(worker int, e Entry) {
			if worker < 0 || worker >= workers || e.Path != filepath.Join(dir, e.Rel) {
				t.Errorf("worker %d, entry %+v", worker, e)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[e.Rel]++
		})
		if err != nil || missed.Stopped || len(seen) != len(files) {
			t.Errorf("%d workers: %d files, want %d (%v)", workers, len(seen), len(files), err)
		}
		for name, n := range seen {
			if n != 1 {
				t.Errorf("%s was visited %d times", name, n)
			}
		}
	}
}

func TestWalkEndsSoonAfterItsContext(t *testing.T) {
	files := map[string]string{}
	for i := range 400 {
		files[fmt.Sprintf("d%d/f%d", i%40, i)] = ""
	}
	dir := tree(t, files)
	ctx, cancel := context.WithCancel(context.Background())
	var after atomic.Int64
	missed, err := Walk(ctx, Tree{Root: dir, Workers: 4}, func(int, Entry) {
		if ctx.Err() != nil {
			after.Add(1)
		}
		cancel()
	})
	if err != nil || !missed.Stopped || after.Load() > 4 {
		t.Errorf("%d visits after the end, stopped %v, %v", after.Load(), missed.Stopped, err)
	}
}

// Many files in time, and with memory that does not grow with the tree. Making 200,000 files takes
// far longer than searching them (20 s against 1 s), so a tenth is made, and a tenth of the time
// allowed; SEARCH_LARGE_TREE=1 makes them all.
func TestKF023_VeryLargeTree(t *testing.T) {
	folders, limit := 2_000, 2*time.Second
	if os.Getenv("SEARCH_LARGE_TREE") != "" {
		folders, limit = 20_000, 20*time.Second
	}
	const each = 10
	dir := t.TempDir()
	seed := filepath.Join(dir, "seed")
	if err := os.WriteFile(seed, []byte("package x // needle\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := part; i < folders; i += 4 {
				folder := filepath.Join(dir, fmt.Sprintf("a%03d", i/100), fmt.Sprintf("b%02d", i%100))
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Error(err)
					return
				}
				for k := range each { // hard links are quicker to make than files
					if err := os.Link(seed, filepath.Join(folder, fmt.Sprintf("f%d.go", k))); err != nil {
						from, _ := os.ReadFile(seed)
						if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", k)), from, 0o644); err != nil {
							t.Error(err)
							return
						}
					}
				}
			}
		})
	}
	wg.Wait()
	if err := os.Symlink("..", filepath.Join(dir, "a000", "loop")); err != nil {
		t.Fatal(err)
	}
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	found, err := Glob(context.Background(), Tree{Root: dir}, "**/*.go", 100)
	if err != nil || found.Total != int64(folders*each) || len(found.Files) != 100 {
		t.Fatalf("%d files, %d kept, %v", found.Total, len(found.Files), err)
	}
	globbed := time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("a glob left %d bytes behind", grown)
	}
	begin = time.Now()
	text := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "needle", Options{}), Mode: Lines, Keep: 250})
	t.Logf("glob %v, grep %v", globbed, time.Since(begin))
	if text.Searched != int64(folders*each+1) || globbed > limit || time.Since(begin) > limit {
		t.Errorf("%d files searched, glob %v, grep %v", text.Searched, globbed, time.Since(begin))
	}
	lines := 0
	for _, f := range text.Files {
		lines += len(f.Lines)
	}
	if lines < 250 || lines > 10_000 {
		t.Errorf("%d lines kept, want some more than 250", lines)
	}
}
