//go:build unix

package proc

import (
	"context"
	"os/exec"
	"testing"
	"time"
)

func TestKept(t *testing.T) {
	start := func() (Kept, *exec.Cmd) {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return Kept{PID: cmd.Process.Pid, Start: startTime(cmd.Process.Pid)}, cmd
	}
	k, cmd := start()
	if !k.Alive() || (Kept{PID: k.PID, Start: k.Start + 1}).Alive() || (Kept{}).Alive() {
		t.Errorf("alive: %v, another one %v, none %v", k.Alive(), Kept{PID: k.PID, Start: k.Start + 1}.Alive(), Kept{}.Alive())
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan bool, 2)
	go func() { gone <- k.Gone(ctx) }()
	cancel()
	if <-gone {
		t.Error("it was told to be gone when nobody waited any more")
	}
	go func() { gone <- k.Gone(t.Context()) }()
	if ended := k.End(100 * time.Millisecond); len(ended) != 1 || ended[0].PID != k.PID {
		t.Errorf("ended %v", ended)
	}
	_ = cmd.Wait()
	if !<-gone || k.Alive() || !k.Gone(t.Context()) || k.End(0) != nil {
		t.Error("it is not gone")
	}
}
