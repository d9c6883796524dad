package proc

import (
	"os"
	"time"
)

// row is one process of the machine.
type row struct {
	pid, ppid, pgrp, sid int
	start                uint64
	zombie               bool
	name                 string
}

// root is the head of a program's tree, which may have ended.
type root struct {
	pid   int
	start uint64
	sys   *sysProcess // nil when this process did not start it
	wraps bool        // see Spec.Wraps
}

// query says which processes are meant: the trees of the roots, and what carries the mark.
type query struct {
	roots  []root
	mark   string   // empty: none
	except []string // marks of what is not meant
	all    bool     // look beyond the descendants of this process
}

// head reports whether r is the head of one of the trees, or in its session or process group.
func (q query) head(r row, table map[int]row) bool {
	for _, h := range q.roots {
		if r.pid == h.pid {
			if r.start == h.start || h.start == 0 {
				return true
			}
			continue
		}
		if r.sid != h.pid && r.pgrp != h.pid {
			continue
		}
		leader, lives := table[h.pid]
		reused := lives && leader.start != h.start && h.start != 0
		if !reused && r.start >= h.start {
			return true
		}
	}
	return false
}

// select returns the processes of the table that the query means, without zombies and without this
// process.
func (q query) pick(table map[int]row) []row {
	self := os.Getpid()
	below := func(pid int) bool { return true }
	if !q.all && reaping() {
		below = descent(table, map[int]bool{self: true})
	}
	seed, not := map[int]bool{}, map[int]bool{}
	for pid, r := range table {
		if pid == self || !below(pid) {
			continue
		}
		marks := ""
		if !r.zombie && (q.mark != "" || len(q.except) > 0) {
			marks = marksOf(pid)
		}
		switch {
		case marks != "" && anyCarried(marks, q.except):
			not[pid] = true
		case q.head(r, table), marks != "" && q.mark != "" && carries(marks, q.mark):
			seed[pid] = true
		}
	}
	meant, kept := descent(table, seed), descent(table, not)
	var out []row
	for pid, r := range table {
		if pid != self && !r.zombie && meant(pid) && !kept(pid) {
			out = append(out, r)
		}
	}
	return out
}

// wrapper reports that r only holds others of the tree and must not get the polite signal before
// them. Alone it gets it.
func (q query) wrapper(r row, n int) bool {
	for _, h := range q.roots {
		if h.wraps && h.pid == r.pid {
			return n > 1
		}
	}
	return false
}

func anyCarried(marks string, of []string) bool {
	for _, m := range of {
		if carries(marks, m) {
			return true
		}
	}
	return false
}

// descent returns a function that reports whether a process is one of the seed or descends from it.
func descent(table map[int]row, seed map[int]bool) func(pid int) bool {
	known := map[int]bool{}
	for pid := range seed {
		known[pid] = true
	}
	var is func(pid, depth int) bool
	is = func(pid, depth int) bool {
		if yes, ok := known[pid]; ok {
			return yes
		}
		r, ok := table[pid]
		yes := ok && depth < 10000 && r.ppid > 0 && is(r.ppid, depth+1)
		known[pid] = yes
		return yes
	}
	return func(pid int) bool { return is(pid, 0) }
}

func members(q query) []Info {
	return infos(q.pick(table()))
}

func infos(rows []row) []Info {
	out := make([]Info, 0, len(rows))
	for _, r := range rows {
		out = append(out, Info{PID: r.pid, Start: r.start, Name: nameOf(r)})
	}
	return out
}

// killTime bounds how long what was sent the last signal is waited for. It takes that long only on a
// machine with far too much to do, or for a process stuck in the kernel.
const killTime = 3 * time.Second

// endTrees ends what the query means and returns what it had to end: everybody gets the polite
// signal at once, whoever lives after the grace time the last one, again until nobody is left.
// A grace of 0 skips the polite part.
func endTrees(q query, grace time.Duration) []Info {
	first := q.pick(table())
	ended := infos(first)
	if len(first) == 0 {
		terminateSystem(q.roots)
		return nil
	}
	if grace > 0 {
		for _, r := range first {
			if !q.wrapper(r, len(first)) {
				terminate(r.pid)
			}
		}
		if waitFor(grace, func() bool { return !anyAlive(first) }) && len(q.pick(table())) == 0 {
			terminateSystem(q.roots)
			return ended
		}
	}
	terminateSystem(q.roots)
	seen := map[int]bool{}
	for _, r := range first {
		seen[r.pid] = true
	}
	waitFor(killTime, func() bool {
		rest := q.pick(table())
		for _, r := range rest {
			kill(r.pid)
			if !seen[r.pid] {
				seen[r.pid] = true
				ended = append(ended, infos([]row{r})...)
			}
		}
		return len(rest) == 0
	})
	return ended
}

// waitFor asks done at growing intervals until it says yes or the time is over.
func waitFor(limit time.Duration, done func() bool) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		if done() {
			return true
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
	}
}

// Identity finds a program again from another process. It is data, fit to be written to a file.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"pidStart"`
	Boot  string `json:"boot,omitempty"`
	Mark  string `json:"mark,omitempty"`
}

// Identity of the program's head.
func (p *Process) Identity() Identity {
	return Identity{PID: p.id.PID, Start: p.id.Start, Boot: bootID(), Mark: p.mark}
}

// Alive reports whether that very process lives: same machine start, same PID, same start time.
func (i Identity) Alive() bool {
	if i.PID <= 0 || i.Boot != bootID() {
		return false
	}
	r, ok := table()[i.PID]
	return ok && !r.zombie && r.start == i.Start
}

// End ends the program and all it started, and returns what it had to end; nothing when it does
// not live any more. A grace of 0 means [DefaultGrace].
func (i Identity) End(grace time.Duration) []Info {
	if i.PID <= 0 || i.Boot != bootID() {
		return nil
	}
	if grace <= 0 {
		grace = DefaultGrace
	}
	q := query{mark: i.Mark, all: true}
	if i.Alive() {
		q.roots = []root{{pid: i.PID, start: i.Start}}
	}
	return endTrees(q, grace)
}
