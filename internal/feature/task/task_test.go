package task_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/pmap"
)

type root struct{ Task *task.State }

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newBoard returns a board over a real store, with a clock that goes on a second a look.
func newBoard() (task.Board, store.Slice[task.State]) {
	s := store.New(root{Task: &task.State{}}, nil, nil)
	slice := store.Focus(s,
		func(r *root) *task.State { return r.Task },
		func(r *root, t *task.State) *root { n := *r; n.Task = t; return &n })
	var n atomic.Int64
	return task.Board{Slice: slice, Now: func() time.Time { return epoch.Add(time.Duration(n.Add(1)) * time.Second) }}, slice
}

func mustStart(t *testing.T, b task.Board, tasks ...task.Task) {
	t.Helper()
	for _, x := range tasks {
		if err := b.Start(x); err != nil {
			t.Fatal(err)
		}
	}
}

var statuses = []task.Status{task.Pending, task.Running, task.Completed, task.Failed, task.Killed}

func TestAll25Pairs(t *testing.T) {
	legal := map[[2]task.Status]bool{
		{task.Pending, task.Running}: true, {task.Pending, task.Killed}: true,
		{task.Running, task.Completed}: true, {task.Running, task.Failed}: true, {task.Running, task.Killed}: true,
	}
	for _, from := range statuses {
		for _, to := range statuses {
			want := legal[[2]task.Status{from, to}]
			if got := task.Legal(from, to); got != want {
				t.Errorf("%s → %s: %v, want %v", from, to, got, want)
			}
			b, slice := newBoard()
			var refused []string
			b.Refused = func(id string, f, to task.Status) { refused = append(refused, fmt.Sprint(id, f, to)) }
			mustStart(t, b, task.Task{ID: "x", Kind: task.Shell, Status: from})
			before := slice.Get()
			told := 0
			slice.Watch(func(_, _ *task.State) { told++ })
			var done bool
			if to.Final() {
				done = b.End("x", task.Outcome{Status: to})
			} else if to == task.Running {
				done = b.Run("x")
			} else {
				done = b.End("x", task.Outcome{Status: to}) // back to pending is no end
			}
			if done != want || (told == 1) != want || (len(refused) == 1) == want || (slice.Get() == before) == want {
				t.Errorf("%s → %s: done %v, told %d, refused %v", from, to, done, told, refused)
			}
		}
	}
}

func TestExitAndKillAtOnce(t *testing.T) {
	ends := map[string]int{}
	var b task.Board
	var slice store.Slice[task.State]
	for i := range 1000 {
		if i%50 == 0 { // a state that grows without end would make the search for changes in place slow
			b, slice = newBoard()
			slice.Watch(func(old, new *task.State) {
				for _, c := range task.Changes(old, new) {
					if c.Ends() {
						ends[c.New.ID]++
					}
				}
			})
		}
		id := fmt.Sprintf("b%d", i)
		mustStart(t, b, task.Task{ID: id, Kind: task.Shell})
		var wg sync.WaitGroup
		var won atomic.Int32
		zero := 0
		for _, o := range []task.Outcome{{Status: task.Completed, ExitCode: &zero}, {Status: task.Killed, Error: "by the user"}} {
			wg.Go(func() {
				if b.End(id, o) {
					won.Add(1)
				}
			})
		}
		wg.Wait()
		first, _ := slice.Get().Tasks.Get(id)
		if b.End(id, task.Outcome{Status: task.Failed}) {
			t.Fatal("ended again")
		}
		again, _ := slice.Get().Tasks.Get(id)
		if won.Load() != 1 || !first.Ended() || first.EndTime.IsZero() || !first.EndTime.Equal(again.EndTime) {
			t.Fatalf("%d winners, %+v then %+v", won.Load(), first, again)
		}
		if (first.Status == task.Killed) != (first.Error != "") || (first.Status == task.Completed) != (first.ExitCode != nil) {
			t.Fatalf("mixed ends: %+v", first)
		}
	}
	if len(ends) != 1000 {
		t.Errorf("%d ends were told", len(ends))
	}
	for id, n := range ends {
		if n != 1 {
			t.Errorf("%s: %d notices", id, n)
		}
	}
}

func TestNewest1000EndedStay(t *testing.T) {
	b, slice := newBoard()
	mustStart(t, b, task.Task{ID: "runs", Kind: task.Shell})
	for i := range 1100 {
		id := fmt.Sprintf("b%d", i)
		mustStart(t, b, task.Task{ID: id, Kind: task.Shell})
		b.End(id, task.Outcome{Status: task.Completed})
	}
	s := slice.Get()
	_, old := s.Tasks.Get("b99")
	_, kept := s.Tasks.Get("b100")
	if s.Tasks.Len() != 1001 || old || !kept || len(s.Living()) != 1 {
		t.Errorf("%d tasks, b99 %v, b100 %v, living %v", s.Tasks.Len(), old, kept, s.Living())
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back task.State
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.List(nil), back.List(nil)); diff != "" {
		t.Error(diff)
	}
	b.Slice.Set(func(*task.State) *task.State { return &back })
	b.End("runs", task.Outcome{Status: task.Killed, Error: "by the user"})
	if _, old := slice.Get().Tasks.Get("b100"); old || slice.Get().Tasks.Len() != 1000 {
		t.Errorf("after reading: %d tasks, b100 %v", slice.Get().Tasks.Len(), old)
	}
}

func TestNames(t *testing.T) {
	b, slice := newBoard()
	mustStart(t, b,
		task.Task{ID: "a1", Kind: task.Agent, AgentID: "agent-1"},
		task.Task{ID: "a2", Kind: task.Agent, AgentID: "agent-2"},
		task.Task{ID: "b1", Kind: task.Shell, Service: &task.Service{Name: "web"}})
	if err := b.Name("ada", "agent-1"); err != nil {
		t.Fatal(err)
	}
	if err := b.Name("ada", "agent-1"); err != nil {
		t.Error("the same again:", err)
	}
	if err := b.Name("ada", "agent-2"); err == nil || !strings.Contains(err.Error(), "agent-1") {
		t.Errorf("taken name: %v", err)
	}
	if err := b.Name(" ", "agent-2"); err == nil {
		t.Error("an empty name was taken")
	}
	for ref, want := range map[string]string{"ada": "a1", "a1": "a1", "agent-2": "a2", "web": "b1", "nobody": ""} {
		if got, ok := slice.Get().Find(ref); got.ID != want || ok != (want != "") {
			t.Errorf("%s denotes %q, want %q", ref, got.ID, want)
		}
	}
	b.End("a1", task.Outcome{Status: task.Completed})
	if slice.Get().Names.Len() != 0 {
		t.Error("the name was not freed")
	}
	if err := b.Name("ada", "agent-2"); err != nil {
		t.Error("a freed name:", err)
	}
	if got, _ := slice.Get().Find("ada"); got.ID != "a2" {
		t.Errorf("ada is now %s", got.ID)
	}
	if text := slice.Get().Unknown("zz"); !strings.Contains(text, "zz") || !strings.Contains(text, "a2") || strings.Contains(text, "a1") {
		t.Errorf("unknown: %s", text)
	}
}

func TestStartRefusesAnIDTwice(t *testing.T) {
	b, slice := newBoard()
	mustStart(t, b, task.Task{ID: "b1", Kind: task.Shell, Description: "first"})
	for _, x := range []task.Task{{ID: "b1"}, {}} {
		if err := b.Start(x); err == nil {
			t.Errorf("%q was entered", x.ID)
		}
	}
	if got, _ := slice.Get().Tasks.Get("b1"); got.Description != "first" || slice.Get().Tasks.Len() != 1 {
		t.Errorf("state %+v", got)
	}
}

func TestEdit(t *testing.T) {
	b, slice := newBoard()
	mustStart(t, b, task.Task{ID: "b1", Kind: task.Shell})
	ok := b.Edit("b1", func(x task.Task) task.Task {
		x.Backgrounded, x.OutputFile, x.Status, x.ID, x.Error = true, "/o", task.Killed, "zz", "no"
		return x
	})
	got, _ := slice.Get().Tasks.Get("b1")
	want := task.Task{ID: "b1", Kind: task.Shell, Status: task.Running, Backgrounded: true, OutputFile: "/o", StartTime: got.StartTime}
	if !ok || got != want {
		t.Errorf("%v, %+v", ok, got)
	}
	b.End("b1", task.Outcome{Status: task.Completed})
	if b.Edit("b1", func(x task.Task) task.Task { x.OutputFile = "/p"; return x }) {
		t.Error("an ended task was edited")
	}
	if b.Edit("zz", func(x task.Task) task.Task { return x }) {
		t.Error("an unknown task was edited")
	}
}

func TestResumed(t *testing.T) {
	last := epoch.Add(time.Hour)
	kept := &task.Service{Name: "web", Keep: true, PID: 7, PIDStart: 9}
	gone := &task.Service{Name: "db", Keep: true, PID: 8, PIDStart: 9}
	loose := &task.Service{Name: "x", PID: 7, PIDStart: 9}
	s := task.Resumed([]task.Task{
		{ID: "done", Status: task.Completed, EndTime: epoch},
		{ID: "ran", Status: task.Running, Held: true},
		{ID: "waited", Status: task.Pending},
		{ID: "kept", Status: task.Running, Service: kept},
		{ID: "gone", Status: task.Running, Service: gone},
		{ID: "loose", Status: task.Running, Service: loose},
		{ID: "far", Kind: task.Remote, Status: task.Running},
		{ID: "foreign", Kind: task.Remote, Status: "paused"},
	}, last, func(v task.Service) bool { return v.PID == 7 })
	got := map[string]task.Status{}
	for id, x := range s.Tasks.All() {
		got[id] = x.Status
		if (x.Status == task.Killed) != (x.Error != "") || x.Status == task.Killed && (!x.EndTime.Equal(last) || x.Held) {
			t.Errorf("%+v", x)
		}
	}
	want := map[string]task.Status{
		"done": task.Completed, "ran": task.Killed, "waited": task.Killed, "kept": task.Running, "gone": task.Killed,
		"loose": task.Killed, "far": task.Running, "foreign": task.Running,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if f, _ := s.Tasks.Get("foreign"); !f.Held {
		t.Error("paused is not shown as held")
	}
}

func TestWireAndIDs(t *testing.T) {
	one := 1
	x := task.Task{
		ID: "b1", Kind: task.Shell, Description: "d", Status: task.Failed, StartTime: epoch, EndTime: epoch.Add(time.Second),
		OutputFile: "/o", ToolUseID: "t", Error: "e", ExitCode: &one, Backgrounded: true,
	}
	w := x.Wire()
	if w.ID != "b1" || w.Kind != "shell" || w.Status != "failed" || w.EndMS-w.StartMS != 1000 || *w.ExitCode != 1 || w.Call != "t" {
		t.Errorf("%+v", w)
	}
	if id := task.NewID(task.Shell, [8]byte{7: 5}); id != "b00000005" {
		t.Error(id)
	}
	if a, b := task.NewID(task.Agent, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}), task.NewID("other", [8]byte{255, 255, 255, 255, 255, 255, 255, 255}); len(a) != 9 || a[0] != 'a' || len(b) != 9 || b[0] != 'x' {
		t.Error(a, b)
	}
}

func TestLive(t *testing.T) {
	var l task.Live
	if _, ok := l.Get("x"); ok {
		t.Error("found in an empty one")
	}
	var stopped sync.Map
	for _, id := range []string{"x", "y"} {
		l.Enter(id, task.Control{Stop: func(why string) { stopped.Store(id, why) }})
	}
	l.Leave("y")
	l.StopAll("the session ends")
	if why, _ := stopped.Load("x"); why != "the session ends" {
		t.Errorf("x was stopped by %v", why)
	}
	if _, ok := stopped.Load("y"); ok {
		t.Error("what had left was stopped")
	}
}

func BenchmarkChangeAmong10000(b *testing.B) {
	board, slice := newBoard()
	slice.Set(func(s *task.State) *task.State {
		n := *s
		n.Tasks = pmap.Map[string, task.Task]{}
		for i := range 10000 {
			id := fmt.Sprintf("b%d", i)
			n.Tasks = n.Tasks.Set(id, task.Task{ID: id, Status: task.Running})
		}
		return &n
	})
	on := false
	for b.Loop() {
		on = !on
		board.Edit("b5000", func(x task.Task) task.Task { x.Backgrounded = on; return x })
	}
}
