package proc

import (
	"context"
	"os"
	"time"
)

// Kept is a program that was let go ([Process.Release]) to outlive who started it, by the identity that
// was written down then. The zero Kept is none.
type Kept struct {
	PID   int
	Start uint64 // its start time as [Info] has it: another process under the same number is not meant
}

// Alive reports whether it still runs.
func (k Kept) Alive() bool {
	return k.PID > 0 && k.Start != 0 && anyAlive([]row{{pid: k.PID, start: k.Start}})
}

// Self is this process.
func Self() Info { return Info{PID: os.Getpid(), Start: startTime(os.Getpid())} }

// End ends it and all it started, and returns what had to be ended. A grace of 0 means [DefaultGrace].
func (k Kept) End(grace time.Duration) []Info {
	if !k.Alive() {
		return nil
	}
	if grace <= 0 {
		grace = DefaultGrace
	}
	return endTrees(query{roots: []root{{pid: k.PID, start: k.Start}}}, grace)
}

// goneEvery is how often a process is looked for where the system does not tell of its end.
const goneEvery = 2 * time.Second

// Gone waits until it has ended, and reports that; false: ctx ended first.
func (k Kept) Gone(ctx context.Context) bool {
	if !k.Alive() {
		return true
	}
	if gone, known := k.told(ctx); known {
		return gone
	}
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for k.Alive() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
