package store_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// The state of these tests: two slices behind pointers, as the program's own state has twenty.
type whole struct {
	A *part
	B *part
}

type part struct {
	N    int
	List []int
}

func fresh(onChange func(store.Change[whole]), report func(any)) (*store.Store[whole], store.Slice[part], store.Slice[part]) {
	s := store.New(whole{A: &part{}, B: &part{}}, onChange, report)
	a := store.Focus(s, func(w *whole) *part { return w.A }, func(w *whole, p *part) *whole { c := *w; c.A = p; return &c })
	b := store.Focus(s, func(w *whole) *part { return w.B }, func(w *whole, p *part) *whole { c := *w; c.B = p; return &c })
	return s, a, b
}

func add(n int) func(*part) *part {
	return func(p *part) *part { c := *p; c.N += n; return &c }
}

func same(p *part) *part { return p }

func fail(t interface{ Errorf(string, ...any) }) func(any) {
	return func(r any) { t.Errorf("a listener panicked: %v", r) }
}

// TestSize pins how small the package stays: three methods, ten exported names, 150 and 100 lines
// without comments, the standard library alone.
func TestSize(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	names, methods := map[string]bool{}, map[string]bool{}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			if strings.Contains(strings.Split(imp.Path.Value, "/")[0], ".") {
				t.Errorf("%s imports %s: the standard library is enough", name, imp.Path.Value)
			}
		}
		group := "the second file"
		if name == "store.go" {
			group = name
		}
		lines[group] += codeLines(t, name)
		for _, d := range f.Decls {
			collect(d, names, methods)
		}
	}
	if lines["store.go"] > 150 {
		t.Errorf("store.go has %d lines without comments, at most 150", lines["store.go"])
	}
	if lines["the second file"] > 110 {
		t.Errorf("Snapshot, Diff and the check have %d lines without comments, at most 110", lines["the second file"])
	}
	if len(names) > 10 {
		t.Errorf("%d exported names, at most 10: %v", len(names), names)
	}
	if want := map[string]bool{"Get": true, "Set": true, "Subscribe": true}; !equalSets(methods, want) {
		t.Errorf("methods of Store: %v, want %v", methods, want)
	}
}

func collect(d ast.Decl, names, methods map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		switch {
		case !d.Name.IsExported():
		case d.Recv == nil:
			names[d.Name.Name] = true
		case strings.Contains(fmt.Sprint(receiver(d)), "Store"):
			methods[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = s.Name.IsExported()
				if !s.Name.IsExported() {
					delete(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						names[n.Name] = true
					}
				}
			}
		}
	}
}

func receiver(d *ast.FuncDecl) ast.Node {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	return t
}

func equalSets(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

func codeLines(t *testing.T, name string) int {
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// --- the announcement order against a model ---

// A program is what one goroutine does: steps that may, from within a notice, do further steps.
type step struct {
	kind   string // a, b, same, both, watchA, watchB, subscribe, cancel
	at     int    // cancel: which listener
	inside []step // done by a new listener in its first notice
}

func steps(depth int) *rapid.Generator[[]step] {
	one := rapid.Custom(func(t *rapid.T) step {
		s := step{kind: rapid.SampledFrom([]string{"a", "b", "same", "both", "a", "watchA", "watchB", "subscribe", "cancel"}).Draw(t, "kind")}
		s.at = rapid.IntRange(0, 6).Draw(t, "at")
		if depth > 0 && (s.kind == "watchA" || s.kind == "watchB" || s.kind == "subscribe") {
			s.inside = steps(depth-1).Draw(t, "inside")
		}
		return s
	})
	return rapid.SliceOfN(one, 0, 6)
}

// world runs a program against something that can set, watch and subscribe, and logs the notices.
type world struct {
	set    func(a, b int)
	listen func(kind string, f func(what string)) (cancel func())

	log     []string
	cancels []func()
}

func (w *world) run(program []step) {
	for _, s := range program {
		switch s.kind {
		case "a":
			w.set(1, 0)
		case "b":
			w.set(0, 1)
		case "both":
			w.set(1, 1)
		case "same":
			w.set(0, 0)
		case "cancel":
			if s.at < len(w.cancels) {
				w.cancels[s.at]()
			}
		default:
			id, once := len(w.cancels), s.inside
			w.cancels = append(w.cancels, nil)
			w.cancels[id] = w.listen(s.kind, func(what string) {
				w.log = append(w.log, fmt.Sprint(id, " ", s.kind, " ", what))
				again := once
				once = nil
				w.run(again)
			})
		}
	}
}

func realWorld(t *rapid.T) *world {
	w := &world{}
	s, a, b := fresh(func(c store.Change[whole]) {
		w.log = append(w.log, fmt.Sprint("onChange ", c.Revision, " ", c.Old.A.N, c.Old.B.N, " ", c.New.A.N, c.New.B.N))
	}, fail(t))
	w.set = func(da, db int) {
		s.Set(func(prev *whole) *whole {
			next := *prev
			if da != 0 {
				next.A = add(da)(prev.A)
			}
			if db != 0 {
				next.B = add(db)(prev.B)
			}
			if next == *prev {
				return prev
			}
			return &next
		})
	}
	w.listen = func(kind string, f func(string)) func() {
		watch := func(old, new *part) { f(fmt.Sprint(old.N, new.N)) }
		switch kind {
		case "watchA":
			return a.Watch(watch)
		case "watchB":
			return b.Watch(watch)
		}
		return s.Subscribe(func() { f("") })
	}
	return w
}

// modelWorld is the contract in twenty lines: replace unless same, queue; the outermost set empties
// the queue; onChange, watchers, signals in order.
func modelWorld() *world {
	type listener struct {
		kind  string
		since int
		f     func(string)
	}
	w, state, revision := &world{}, [2]int{}, 0
	var queue [][3][2]int // revision, old, new
	var all []*listener
	busy := false
	w.set = func(a, b int) {
		if old := state; a != 0 || b != 0 {
			state, revision = [2]int{old[0] + a, old[1] + b}, revision+1
			queue = append(queue, [3][2]int{{revision}, old, state})
		}
		for outermost := !busy; outermost && len(queue) > 0; busy = false {
			n, old, new := queue[0][0][0], queue[0][1], queue[0][2]
			queue, busy = queue[1:], true
			w.log = append(w.log, fmt.Sprint("onChange ", n, " ", old[0], old[1], " ", new[0], new[1]))
			now := slices.Clone(all)
			slices.SortStableFunc(now, func(x, y *listener) int { return strings.Compare(y.kind[:1], x.kind[:1]) }) // w before s
			for _, l := range now {
				if i := strings.Index("AB", l.kind[len(l.kind)-1:]); l.since >= n || !slices.Contains(all, l) || i >= 0 && old[i] == new[i] {
					continue
				} else if i >= 0 {
					l.f(fmt.Sprint(old[i], new[i]))
				} else {
					l.f("")
				}
			}
		}
	}
	w.listen = func(kind string, f func(string)) func() {
		l := &listener{kind, revision, f}
		all = append(all, l)
		return func() { all = slices.DeleteFunc(all, func(x *listener) bool { return x == l }) }
	}
	return w
}

// TestOrderOfNotices runs 10,000 random single-goroutine programs against store and model.
func TestOrderOfNotices(t *testing.T) {
	const programs = 10_000
	run, notices := 0, 0
	check := func(t *rapid.T) {
		run++
		program := steps(2).Draw(t, "program")
		got, want := realWorld(t), modelWorld()
		got.run(program)
		want.run(program)
		notices += len(want.log)
		if !slices.Equal(got.log, want.log) {
			t.Fatalf("notices\n%s\nwant\n%s", strings.Join(got.log, "\n"), strings.Join(want.log, "\n"))
		}
	}
	for run < programs {
		rapid.Check(t, check)
		if t.Failed() {
			return
		}
	}
	if notices < programs {
		t.Fatalf("%d programs made only %d notices: they test nothing", run, notices)
	}
}

// --- the promises one by one ---

// TestUpdatesAreSerial sets from many goroutines: no update is lost, onChange and a watcher see
// each transition exactly once, in order, each linked to the one before.
func TestUpdatesAreSerial(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 8).Draw(rt, "workers")
		sets := rapid.IntRange(1, 40).Draw(rt, "sets")
		var seen []store.Change[whole]
		var watched [][2]*part
		s, a, b := fresh(func(c store.Change[whole]) { seen = append(seen, c) }, fail(rt))
		first := s.Get()
		a.Watch(func(old, new *part) { watched = append(watched, [2]*part{old, new}) })
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for range sets {
					if w%2 == 0 {
						a.Set(add(1))
					} else {
						b.Set(add(1))
					}
				}
			})
		}
		wg.Wait()
		settle(s)
		if got := s.Get().A.N + s.Get().B.N; got != workers*sets {
			rt.Fatalf("%d updates survived, want %d", got, workers*sets)
		}
		old := first
		n := 0
		for i, c := range seen {
			if c.Revision != uint64(i+1) || c.Old != old {
				rt.Fatalf("change %d has revision %d and does not follow the one before", i+1, c.Revision)
			}
			if c.Old.A != c.New.A {
				if watched[n] != [2]*part{c.Old.A, c.New.A} {
					rt.Fatalf("the watcher's transition %d is not that of revision %d", n, c.Revision)
				}
				n++
			}
			old = c.New
		}
		if old != s.Get() || n != len(watched) {
			rt.Fatalf("the last change told is not the current value, or %d transitions watched, want %d", len(watched), n)
		}
	})
}

// settle returns when everything that was set before it was called has been announced: a change
// of its own is announced after all of them.
func settle(s *store.Store[whole]) {
	var once sync.Once
	told := make(chan struct{})
	cancel := s.Subscribe(func() { once.Do(func() { close(told) }) })
	s.Set(func(w *whole) *whole { c := *w; return &c })
	<-told
	cancel()
}

// TestGetTakesNoLock reads while an update is held up in the middle.
func TestGetTakesNoLock(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	before := s.Get()
	inside, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		a.Set(func(p *part) *part { close(inside); <-goOn; return add(1)(p) })
	}()
	<-inside
	if s.Get() != before || a.Get() != before.A {
		t.Error("half a change can be seen")
	}
	close(goOn)
	<-done
	if got := a.Get().N; got != 1 {
		t.Errorf("N = %d after the update, want 1", got)
	}
}

// TestReadersSeeWholeChanges changes both slices together while others read.
func TestReadersSeeWholeChanges(t *testing.T) {
	s, _, _ := fresh(nil, fail(t))
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := 0
			for !stop.Load() {
				w := s.Get()
				if w.A.N != w.B.N || w.A.N < last {
					t.Errorf("read A=%d B=%d after %d", w.A.N, w.B.N, last)
					return
				}
				last = w.A.N
			}
		})
	}
	for range 2_000 {
		s.Set(func(w *whole) *whole { return &whole{A: add(1)(w.A), B: add(1)(w.B)} })
	}
	stop.Store(true)
	wg.Wait()
}

// TestNoChangeTellsNobody returns prev: no revision, no notice.
func TestNoChangeTellsNobody(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var revisions []uint64
		s, a, _ := fresh(func(c store.Change[whole]) { revisions = append(revisions, c.Revision) }, fail(rt))
		signals := 0
		s.Subscribe(func() { signals++ })
		changes := 0
		for _, change := range rapid.SliceOf(rapid.Bool()).Draw(rt, "changes") {
			before := s.Get()
			if change {
				changes++
				a.Set(add(1))
				continue
			}
			a.Set(same)
			s.Set(func(w *whole) *whole { return w })
			if s.Get() != before {
				rt.Fatal("a Set without a change replaced the value")
			}
		}
		if len(revisions) != changes || signals != changes || changes > 0 && revisions[changes-1] != uint64(changes) {
			rt.Fatalf("%d changes made revisions %v and %d signals", changes, revisions, signals)
		}
	})
}

// TestSetInsideANoticeIsQueued: what a listener sets is in force at once and announced after the
// change being announced.
func TestSetInsideANoticeIsQueued(t *testing.T) {
	var log []string
	s, a, b := fresh(nil, fail(t))
	a.Watch(func(_, new *part) {
		log = append(log, fmt.Sprint("first watcher of a: ", new.N))
		b.Set(add(10))
		log = append(log, fmt.Sprint("b is now ", b.Get().N))
	})
	a.Watch(func(_, new *part) { log = append(log, fmt.Sprint("second watcher of a: ", new.N)) })
	b.Watch(func(_, new *part) { log = append(log, fmt.Sprint("watcher of b: ", new.N)) })
	s.Subscribe(func() { log = append(log, "signal") })
	a.Set(add(1))
	want := []string{"first watcher of a: 1", "b is now 10", "second watcher of a: 1", "signal", "watcher of b: 10", "signal"}
	if !slices.Equal(log, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
}

// TestCancelInsideANotice cancels itself, one before and one behind while all are being told.
func TestCancelInsideANotice(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	var log []string
	cancels := make([]func(), 4)
	for i := range 4 {
		cancels[i] = s.Subscribe(func() {
			log = append(log, fmt.Sprint(i))
			if i == 1 {
				cancels[0]()
				cancels[1]()
				cancels[1]()
				cancels[2]()
			}
		})
	}
	a.Set(add(1))
	a.Set(add(1))
	if got, want := strings.Join(log, ""), "0133"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
}

// TestNoNoticeAfterCancel cancels while others set: once cancel has returned no call begins.
func TestNoNoticeAfterCancel(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 500 {
				a.Set(add(1))
			}
		})
	}
	for range 200 {
		var mu sync.Mutex
		gone := false
		cancel := s.Subscribe(func() {
			mu.Lock()
			defer mu.Unlock()
			if gone {
				t.Error("told after cancel")
			}
		})
		cancel()
		settle(s) // whoever was being told at that moment has been told
		mu.Lock()
		gone = true
		mu.Unlock()
	}
	wg.Wait()
}

// TestPanickingListener loses its own turn and no other's, and is reported.
func TestPanickingListener(t *testing.T) {
	var reports []any
	var log []string
	s, a, _ := fresh(func(store.Change[whole]) { panic("onChange") }, func(r any) { reports = append(reports, r) })
	a.Watch(func(_, _ *part) { panic("watcher") })
	a.Watch(func(_, new *part) { log = append(log, fmt.Sprint("watcher ", new.N)) })
	s.Subscribe(func() { panic("signal") })
	s.Subscribe(func() { log = append(log, "signal") })
	a.Set(add(1))
	a.Set(add(1))
	if want := []any{"onChange", "watcher", "signal", "onChange", "watcher", "signal"}; !slices.Equal(reports, want) {
		t.Errorf("reported %v, want %v", reports, want)
	}
	if want := []string{"watcher 1", "signal", "watcher 2", "signal"}; !slices.Equal(log, want) {
		t.Errorf("told %v, want %v", log, want)
	}
}

// TestListenerThatEndsItsGoroutine: also then everybody else hears of the change and the store
// goes on.
func TestListenerThatEndsItsGoroutine(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	told := make(chan int, 10)
	first := true
	a.Watch(func(_, _ *part) {
		if first {
			first = false
			runtime.Goexit()
		}
	})
	a.Watch(func(_, new *part) { told <- new.N })
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Set(add(1))
		t.Error("the goroutine outlived runtime.Goexit")
	}()
	<-done
	a.Set(add(1))
	if got := []int{<-told, <-told}; !slices.Equal(got, []int{1, 2}) {
		t.Errorf("told %v, want [1 2]", got)
	}
	settle(s)
}

// TestPanicWithoutReport goes on in the caller of Set; the others still hear of the change.
func TestPanicWithoutReport(t *testing.T) {
	_, a, _ := fresh(nil, nil)
	told := make(chan int, 10)
	cancel := a.Watch(func(_, _ *part) { panic("watcher") })
	a.Watch(func(_, new *part) { told <- new.N })
	func() {
		defer func() {
			if r := recover(); r != "watcher" {
				t.Errorf("recovered %v, want the watcher's panic", r)
			}
		}()
		a.Set(add(1))
	}()
	cancel()
	if got := <-told; got != 1 {
		t.Errorf("told %d, want 1", got)
	}
}

// TestUpdateThatPanics changes nothing and blocks nobody.
func TestUpdateThatPanics(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	before := s.Get()
	for _, bad := range []func(*whole) *whole{
		func(*whole) *whole { panic("update") },
		func(*whole) *whole { return nil },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			s.Set(bad)
		}()
	}
	if s.Get() != before {
		t.Error("the value changed")
	}
	a.Set(add(1))
	if got := a.Get().N; got != 1 {
		t.Errorf("N = %d, want 1", got)
	}
}

// TestSubscribeNeverMissesTheLast: a surface that drops signals while it is busy still ends up
// with the newest value.
func TestSubscribeNeverMissesTheLast(t *testing.T) {
	s, a, _ := fresh(nil, fail(t))
	wake := make(chan struct{}, 1)
	s.Subscribe(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	const sets = 5_000
	seen := make(chan int)
	go func() {
		for {
			<-wake
			if n := a.Get().N; n == sets {
				seen <- n
				return
			}
		}
	}()
	for range sets {
		a.Set(add(1))
	}
	<-seen // a missed last signal hangs here
}

// TestWatcherIsToldOfItsPartAlone.
func TestWatcherIsToldOfItsPartAlone(t *testing.T) {
	_, a, b := fresh(nil, fail(t))
	toldA, toldB := 0, 0
	a.Watch(func(_, _ *part) { toldA++ })
	b.Watch(func(_, _ *part) { toldB++ })
	a.Set(add(1))
	a.Set(add(1))
	b.Set(add(1))
	if toldA != 2 || toldB != 1 {
		t.Errorf("told %d and %d times, want 2 and 1", toldA, toldB)
	}
}

// TestListenerHearsOnlyOfLaterChanges: one that comes inside a notice is not told of changes that
// were made before it came.
func TestListenerHearsOnlyOfLaterChanges(t *testing.T) {
	_, a, b := fresh(nil, fail(t))
	var log []string
	a.Watch(func(_, _ *part) {
		if len(log) > 0 {
			return
		}
		log = append(log, "a changed")
		b.Set(add(1)) // applied, announced later
		b.Watch(func(old, new *part) { log = append(log, fmt.Sprint("late watcher ", old.N, new.N)) })
		b.Set(add(1))
	})
	a.Set(add(1))
	if want := []string{"a changed", "late watcher 1 2"}; !slices.Equal(log, want) {
		t.Errorf("got %q, want %q", log, want)
	}
}
