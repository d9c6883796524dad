// Package proc runs programs that have an owner. Every program started here is the head of a
// session of its own, is recorded where the next start can find it, and is ended together with all
// it started (children that left its process group or lost their parent included) when its owner
// ends. Output is taken without letting a child that keeps the pipe open hold anybody up.
//
// Programs must not be started in a session of their own (Setsid) past this package: an orphan is
// told from a foreign child by its session. Children that stay in this process's session are left alone.
//
// It is not a shell, knows no settings and confines nothing: what may run is decided elsewhere, and
// a sandbox only changes the [Spec] that is started here.
//
// Begin with one [Host] a process, one [Owner] a session, and [Owner.Start] or [Owner.Run]:
//
//	host := proc.NewHost(proc.Options{RunDir: dir})
//	defer host.Close()
//	owner := host.Owner("session 1")
//	exit, err := owner.Run(ctx, proc.Spec{Path: "git", Args: []string{"status"}, Stdout: &out})
//
// How the tree is found: on Linux this process becomes the reaper of its descendants
// (PR_SET_CHILD_SUBREAPER), so nothing escapes by a double fork, and each program carries a marker
// in its environment ([MarkerVar]); members of a program's tree are its descendants, its session,
// its process group, and whatever carries its marker. On Windows a job object does all of it. On
// macOS the same rules hold but that an orphan without marker goes to launchd.
//
// A death of this very process (kill -9) is covered three times: the head of each program gets
// SIGKILL from the kernel (Linux), a watcher process ends the rest (see [HelperMain]), and
// [Leftovers] finds at the next start what is still there.
package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// MarkerVar is the environment variable that marks everything started by this package. Its value
// is a list of marks, the innermost last; programs must hand it on untouched.
const MarkerVar = "MYELIN_PROC"

// DefaultGrace is the time between the polite signal and the last one.
const DefaultGrace = 400 * time.Millisecond

// ErrClosed is returned by starts after the owner or the host was closed.
var ErrClosed = errors.New("the owner of the program has ended")

// Options say how a [Host] works. The zero value works, without record and watcher.
type Options struct {
	RunDir  string        // folder (made when missing, mode 0700) for the record of what runs; empty: none
	Grace   time.Duration // from the polite signal to the last; 0: [DefaultGrace]
	Watcher []string      // program and first arguments that reach [HelperMain]; nil: no watcher
	Report  func(error)   // told what went wrong beside a call (record not writable); nil: nobody. Any goroutine.
}

// Host is one process's side of all programs it runs. It is safe for concurrent use.
type Host struct {
	opts Options
	id   string

	starter *starter
	record  *record
	started atomic.Bool // a program was started

	mu     sync.Mutex // guards all below
	owners map[*Owner]bool
	seq    int
	closed bool
}

// NewHost returns a host. It starts nothing and writes nothing until the first program is started.
func NewHost(opts Options) *Host {
	if opts.Grace <= 0 {
		opts.Grace = DefaultGrace
	}
	if opts.Report == nil {
		opts.Report = func(error) {}
	}
	h := &Host{opts: opts, id: uuid.NewString()[:13], owners: map[*Owner]bool{}}
	h.starter = newStarter()
	h.record = newRecord(h.id, opts)
	return h
}

// Owner returns a new owner of programs, named for people.
func (h *Host) Owner(name string) *Owner {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	o := &Owner{host: h, name: name, mark: fmt.Sprintf("%s.%d", h.id, h.seq), live: map[*Process]bool{}, done: make(chan struct{}), closed: h.closed}
	if !h.closed {
		h.owners[o] = true
	}
	return o
}

// Close ends every owner and whatever else descends from this process by way of this package, and
// takes the record away. It returns what it had to end, and returns within a few seconds whatever
// the programs do. Later starts get [ErrClosed].
func (h *Host) Close() []Info {
	h.mu.Lock()
	h.closed = true
	owners := make([]*Owner, 0, len(h.owners))
	for o := range h.owners {
		owners = append(owners, o)
	}
	idle := !h.started.Load()
	h.mu.Unlock()
	if idle { // nothing of ours can live: the process table need not be read
		return nil
	}

	var all []Info
	var mu sync.Mutex // guards all
	var wg sync.WaitGroup
	for _, o := range owners {
		wg.Go(func() {
			ended := o.Close()
			mu.Lock()
			defer mu.Unlock()
			all = append(all, ended...)
		})
	}
	wg.Wait()
	all = append(all, endStrays(h.opts.Grace)...)
	h.record.close()
	h.starter.stop()
	return all
}

// Owner is whoever programs belong to: a session, a server connection. It is safe for concurrent
// use.
type Owner struct {
	host *Host
	name string
	mark string
	done chan struct{} // closed at the end of Close
	once sync.Once     // closes done

	mu     sync.Mutex // guards all below
	live   map[*Process]bool
	kept   []string // marks of released programs
	seq    int
	closed bool
}

// Live returns the programs that run, and those that have ended but left children behind, in no
// order.
func (o *Owner) Live() []*Process {
	var out []*Process
	for _, p := range o.snapshot() {
		if ended, _ := p.isEnded(); !ended || len(p.Left()) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (o *Owner) snapshot() []*Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]*Process, 0, len(o.live))
	for p := range o.live {
		out = append(out, p)
	}
	return out
}

// Close ends all programs of the owner and all they left behind, but what was released, and returns
// what it had to end. It is bounded by the grace time and about a second more.
func (o *Owner) Close() []Info {
	o.mu.Lock()
	o.closed = true
	kept := append([]string(nil), o.kept...)
	o.mu.Unlock()
	live := o.snapshot()

	var roots []root
	for _, p := range live {
		p.stopping("its owner has ended")
		roots = append(roots, p.root())
	}
	ended := endTrees(query{roots: roots, mark: o.mark, except: kept}, o.host.opts.Grace)
	for _, p := range live {
		p.settle()
	}
	o.host.mu.Lock()
	delete(o.host.owners, o)
	o.host.mu.Unlock()
	o.once.Do(func() { close(o.done) })
	return ended
}

// Spec says what to run.
type Spec struct {
	Path   string     // absolute, or a bare name that is looked up in the PATH of Env, never in the current directory
	Args   []string   // arguments, without the program's name
	Dir    string     // absolute working directory; empty: this process's
	Env    []string   // nil: this process's environment
	Stdin  io.Reader  // nil: the null device. A file is handed over; anything else is copied in the background and closed at its end
	Stdout io.Writer  // nil: dropped. A file is handed over; anything else is written to from one goroutine
	Stderr io.Writer  // like Stdout; the same value as Stdout: one stream, order kept
	Files  []*os.File // become descriptors 3, 4, …; stay open here
	Label  string     // one line for people and for the record
	Text   string     // the command that Path, a shell, is given, as it was written; empty: it is none
	Keep   bool       // may outlive its owner: see [Process.Release]
	Wraps  bool       // only holds what it runs, which would die with it: the polite signal goes to the rest of its tree
}

// Info tells of one process of a tree.
type Info struct {
	PID   int
	Start uint64 // clock ticks since boot on Linux, the system's own unit elsewhere; identifies the PID
	Name  string // its command line, shortened
}

func (i Info) String() string { return fmt.Sprintf("%d (%s)", i.PID, i.Name) }
