package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A run of a few turns makes some ten megabytes of garbage, and collecting them every four takes a
// fifth of its time. So the collector waits for room megabytes, and from there on as long as usual.
const (
	room     = 24 << 20
	most     = 400 // percent of what lives, for a heap that is small
	ordinary = 100
)

// easeGarbage sets how long the collector waits. A person's GOGC counts instead.
func easeGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(most)
	afterCollection(most)
}

// afterCollection fits the wait to what lives, after each collection, so that a heap that has grown is
// never let grow by more than itself, or by room.
func afterCollection(percent int) {
	type mark struct{ _ [16]byte }
	runtime.SetFinalizer(&mark{}, func(*mark) {
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		next := most
		if live := sample[0].Value.Uint64(); live > 0 {
			next = min(max(int(room*100/live), ordinary), most)
		}
		if next != percent {
			debug.SetGCPercent(next)
		}
		afterCollection(next)
	})
}
