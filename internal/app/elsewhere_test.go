package app

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// Another process of the user sees, follows and stops the tasks of a running session, and of one that has
// ended what was recorded.
func TestTasksAreReachedFromElsewhere(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, input: {command: "echo begun; until test -e go; do sleep 0.01; done; echo over", run_in_background: true}}]
  - content: [{tool: Bash, input: {command: "sleep 600", run_in_background: true}}]
  - content: [{text: started}]
  - content: [{text: heard}]
  - content: [{text: heard}]
`, bypass)
	st.say("go")
	st.result()
	o, id := st.rooms.opts, st.State().Session.ID
	all, err := Tasks(t.Context(), o, id)
	if err != nil || len(all) != 2 {
		t.Fatalf("tasks %+v, %v", all, err)
	}
	var out strings.Builder
	followed := make(chan error, 1)
	go func() { followed <- TaskOutput(t.Context(), o, id, all[0].ID, true, &out) }()
	put(t, filepath.Join(st.dir, "go"), "")
	if err := <-followed; err != nil || !strings.HasSuffix(out.String(), "begun\nover\n") {
		t.Errorf("followed to %q, %v", out.String(), err)
	}
	stopped, err := StopTask(t.Context(), o, id, all[1].ID)
	if err != nil || !stopped.Ended() {
		t.Errorf("stopped %+v, %v", stopped, err)
	}
	if _, err := StopTask(t.Context(), o, id, all[1].ID); err == nil || !strings.Contains(err.Error(), "ended already") {
		t.Errorf("stopped twice: %v", err)
	}
	for _, unknown := range []func() error{
		func() error { _, err := StopTask(t.Context(), o, id, "nobody"); return err },
		func() error { return TaskOutput(t.Context(), o, id, "nobody", false, &out) },
		func() error { _, err := Tasks(t.Context(), o, "nobody"); return err },
	} {
		if unknown() == nil {
			t.Error("what there is not was found")
		}
	}
	st.do(proto.Interrupt{CancelQueued: true})
	if err := st.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := Tasks(t.Context(), o, id); err != nil || len(after) != 2 || !after[0].Ended() {
		t.Errorf("recorded are %+v, %v", after, err)
	}
	if _, err := StopTask(t.Context(), o, id, all[1].ID); err == nil || !strings.Contains(err.Error(), "no running session") {
		t.Errorf("stopped after the end: %v", err)
	}
	out.Reset()
	if err := TaskOutput(t.Context(), o, id, all[0].ID, false, &out); err != nil || !strings.HasSuffix(out.String(), "over\n") {
		t.Errorf("kept is %q, %v", out.String(), err)
	}
}
