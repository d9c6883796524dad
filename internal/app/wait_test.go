package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

// A surface that does not read changes the mode from the goroutine that should read.
func TestKF124_OperationsDoNotWaitForAReader(t *testing.T) {
	st := newStage(t, "turns:\n  - content: [{text: hi}]\n")
	unread := st.Session.Events(t.Context(), Reading{})
	done := make(chan error, 1)
	go func() {
		for n := range 3 * events.Size {
			mode := []string{"plan", "default"}[n%2]
			if err := st.Do(proto.O(proto.SetMode{Mode: mode})); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("an operation waits for a reader")
	}
	got := 0
	for e := range unread {
		if _, ok := e.Body.(proto.ModeChanged); ok {
			if got++; got == 3*events.Size {
				break
			}
		}
	}
}

// Whatever a hook does, Close returns when its context ends.
func TestKF125_CloseKeepsItsBound(t *testing.T) {
	dir := t.TempDir()
	started, ended := filepath.Join(dir, "started"), filepath.Join(dir, "ended")
	home := ""
	st := newStage(t, "turns:\n  - content: [{text: hi}]\n", func(o *Options) {
		home = o.Env["MYELIN_HOME"]
		o.Settings = fmt.Sprintf(`{"sandbox": {"enabled": false}, "hooks": {"ConfigChange": [{"hooks": [{"type": "command", "command": "trap '' TERM; touch %s; sleep 4; touch %s"}]}]}}`, started, ended)
	})
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	n := 0
	waitUntil(t, func() bool { // the folder may not be followed yet
		n++
		if n%500 == 1 {
			if err := os.WriteFile(filepath.Join(home, "settings.json"), fmt.Appendf(nil, `{"language": "l%d"}`, n), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := os.Stat(started)
		return err == nil
	})
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the caller waits no longer"))
	defer cancel()
	if err := st.Close(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := os.Stat(ended); err == nil {
		t.Error("Close waited for the hook")
	}
}
