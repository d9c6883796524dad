package tool_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

func paths(r *tool.Reads) []string {
	var out []string
	for _, rec := range r.Recent() {
		out = append(out, rec.Path)
	}
	return out
}

// TestReadsBounds: at the limit everything is kept, one above it the least recently used goes.
func TestReadsBounds(t *testing.T) {
	r := &tool.Reads{}
	for i := range 1000 {
		r.Put(tool.ReadRecord{Path: fmt.Sprint(i)})
	}
	if _, ok := r.Get("0"); !ok { // used now: 1 is the oldest
		t.Fatal("the 1,000th file pushed the first out")
	}
	r.Put(tool.ReadRecord{Path: "one more"})
	if _, ok := r.Get("1"); ok {
		t.Error("1,001 files are remembered")
	}
	if _, ok := r.Get("0"); !ok {
		t.Error("a file just used was forgotten")
	}

	r = &tool.Reads{}
	r.Put(tool.ReadRecord{Path: "a", Content: make([]byte, 10<<20)})
	r.Put(tool.ReadRecord{Path: "b", Content: make([]byte, 15<<20)})
	if len(paths(r)) != 2 {
		t.Errorf("at 25 MiB: %v", paths(r))
	}
	r.Put(tool.ReadRecord{Path: "c", Content: make([]byte, 1)})
	if d := cmp.Diff([]string{"c", "b"}, paths(r)); d != "" {
		t.Errorf("one byte above (-want +got)\n%s", d)
	}
	r.Put(tool.ReadRecord{Path: "huge", Content: make([]byte, 26<<20)})
	if d := cmp.Diff([]string{"huge"}, paths(r)); d != "" {
		t.Errorf("a file larger than all (-want +got)\n%s", d)
	}
	r.Put(tool.ReadRecord{Path: "huge"})
	r.Put(tool.ReadRecord{Path: "small", Content: make([]byte, 25<<20)})
	if d := cmp.Diff([]string{"small", "huge"}, paths(r)); d != "" {
		t.Errorf("a replaced record still counts its bytes (-want +got)\n%s", d)
	}
}

// TestReadsAgainstAList compares with the obvious: a list, the newest in front.
func TestReadsAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, model := &tool.Reads{}, []string{}
		remove := func(p string) {
			for i, m := range model {
				if m == p {
					model = append(model[:i:i], model[i+1:]...)
				}
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			p := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "path")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3:
				r.Put(tool.ReadRecord{Path: p, Size: 3})
				remove(p)
				model = append([]string{p}, model...)
			case 4, 5, 6:
				rec, ok := r.Get(p)
				before := len(model)
				remove(p)
				if had := len(model) < before; had != ok || ok && rec.Path != p {
					t.Fatalf("Get(%s) = %v, %v", p, rec, ok)
				} else if had {
					model = append([]string{p}, model...)
				}
			case 7, 8:
				r.Forget(p)
				remove(p)
			case 9:
				c := r.Clone()
				if !cmp.Equal(paths(c), paths(r)) {
					t.Fatalf("clone %v of %v", paths(c), paths(r))
				}
				c.Clear() // must not touch r
				if len(paths(c)) != 0 {
					t.Fatal("cleared, yet not empty")
				}
			}
			if got := paths(r); fmt.Sprint(got) != fmt.Sprint(model) {
				t.Fatalf("remembers %v, want %v", got, model)
			}
		}
	})
}

// TestScopeSideBySide uses one scope from many calls; the race detector judges.
func TestScopeSideBySide(t *testing.T) {
	s := tool.NewScope("agent-1", "/a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			p := fmt.Sprint("/f", i%3)
			s.Reads.Put(tool.ReadRecord{Path: p})
			s.Reads.Get(p)
			s.Reads.Recent()
			s.Reads.Clone()
			s.SetCwd("/b")
			_ = s.Cwd()
			s.Reads.Forget(p)
		})
	}
	wg.Wait()
	if s.Cwd() != "/b" || s.Agent != "agent-1" || len(s.Reads.Recent()) != 0 {
		t.Errorf("%+v", s)
	}
}
