package tasks

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

type whole struct{ Task *task.State }

func begin(t *testing.T) (work *Tasks, reached *int) {
	t.Helper()
	s := store.New(whole{&task.State{}}, func(store.Change[whole]) {}, func(v any) { panic(v) })
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	reached = new(int)
	return New(Given{
		State: store.Focus(s, func(w *whole) *task.State { return w.Task }, func(_ *whole, next *task.State) *whole { return &whole{next} }),
		Now:   time.Now, Reachable: func() { *reached++ }, Context: ctx,
	}), reached
}

func started(t *testing.T, w *Tasks, x task.Task) {
	t.Helper()
	if err := w.Board().Start(x); err != nil {
		t.Fatal(err)
	}
}

func TestStoppingAndReadingWork(t *testing.T) {
	w, _ := begin(t)
	stopped := ""
	started(t, w, task.Task{ID: "b1", Kind: task.Shell, Backgrounded: true, Description: "a server"})
	started(t, w, task.Task{ID: "b2", Kind: task.Shell})
	w.Live.Enter("b1", task.Control{
		Command: "serve", Stop: func(why string) { stopped = why }, Done: make(chan struct{}),
		Output: func(int) string { return "first\nthe last line\n" },
	})
	if err := w.Stop("nobody"); err == nil {
		t.Error("a task was stopped that there is not")
	}
	if err := w.Stop("b2"); err != nil { // nothing runs for it
		t.Error(err)
	}
	if err := w.Stop("b1"); err != nil || stopped != "stopped by the user" {
		t.Errorf("%v, told %q", err, stopped)
	}
	b1, _ := w.given.State.Get().Find("b1")
	b2, _ := w.given.State.Get().Find("b2")
	if w.LastLine(b1) != "the last line" || w.LastLine(b2) != "" {
		t.Errorf("the last lines are %q and %q", w.LastLine(b1), w.LastLine(b2))
	}
	if all := w.Background(); len(all) != 1 || all[0]["command"] != "serve" || all[0]["description"] != "a server" {
		t.Errorf("hooks see %v", all)
	}
	if err := w.ToBackground("call"); err == nil {
		t.Error("a command was moved although there is no shell")
	}
}

func TestOnlyNamedServicesAreKept(t *testing.T) {
	w, _ := begin(t)
	sv := &task.Service{Name: "web"}
	for id, x := range map[string]struct {
		service *task.Service
		keep    func() (task.Service, bool)
		ok      bool
	}{
		"unnamed": {nil, func() (task.Service, bool) { return task.Service{}, true }, false},
		"refuses": {sv, func() (task.Service, bool) { return task.Service{}, false }, false},
		"cannot":  {sv, nil, false},
		"named":   {sv, func() (task.Service, bool) { return *sv, true }, true},
		"already": {&task.Service{Name: "db", Keep: true}, nil, true},
	} {
		started(t, w, task.Task{ID: id, Service: x.service, Backgrounded: true})
		w.Live.Enter(id, task.Control{Keep: x.keep, Stop: func(string) {}, Done: make(chan struct{})})
		found, _ := w.given.State.Get().Find(id)
		if text, err := w.Keep(found); (err == nil) != x.ok || (text == "") == x.ok {
			t.Errorf("%s: %q, %v", id, text, err)
		}
	}
	if !w.Outlives() {
		t.Error("a kept service does not outlive the session")
	}
	w.LetGo()
	if _, live := w.Live.Get("already"); live {
		t.Error("a kept service would be stopped with the session")
	}
	if _, live := w.Live.Get("named"); !live {
		t.Error("what is not kept was let go")
	}
}

func TestServicesOfAnEarlierSessionAreTakenOver(t *testing.T) {
	w, reached := begin(t)
	self := proc.Self()
	started(t, w, task.Task{ID: "here", Service: &task.Service{Name: "here", Keep: true, PID: self.PID, PIDStart: self.Start}})
	started(t, w, task.Task{ID: "gone", Service: &task.Service{Name: "gone", Keep: true, PID: 1 << 22, PIDStart: 1}})
	w.Adopt()
	gone, _ := w.Live.Get("gone")
	if gone.Done != nil {
		<-gone.Done
	}
	if x, _ := w.given.State.Get().Find("gone"); x.Status != task.Completed {
		t.Errorf("a service that is gone is %s", x.Status)
	}
	if _, live := w.Live.Get("here"); !live || *reached != 2 {
		t.Errorf("the one that runs: live %v; reached %d times", live, *reached)
	}
	if !Lives(task.Service{PID: os.Getpid(), PIDStart: self.Start}) {
		t.Error("this process does not live")
	}
}
