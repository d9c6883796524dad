package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// linger is how long the end of a program is held back while something it started still holds its
// output: the last words of a process substitution arrive in that time.
const linger = 50 * time.Millisecond

// wrapTime bounds the wait for what a wrapper held.
const wrapTime = 300 * time.Millisecond

// settleLimit bounds the wait for a reader of the output that does not take it.
const settleLimit = 2 * time.Second

// Exit tells how a program ended. The zero Exit is a success.
type Exit struct {
	Code    int    // exit code; 128 + number when a signal ended it
	Signal  string // name of that signal, empty otherwise
	Stopped string // why it was stopped by us; empty: it ended by itself
	Output  error  // its output could not be taken in full; nil: it was
}

// Process is a started program. It is safe for concurrent use.
type Process struct {
	owner *Owner
	spec  Spec
	mark  string
	id    Info
	os    *os.Process
	sys   sysProcess

	pumps []*pump
	stdin *os.File // our end, while bytes are written

	done chan struct{} // closed when the program has ended and its output was taken
	once sync.Once     // closes done

	look sync.Mutex // held by Left, so that two who ask at once look once
	gone bool       // nothing of the program lives any more; guarded by look

	mu       sync.Mutex // guards all below
	exit     Exit
	ended    bool // the head has ended and was waited for
	why      string
	released bool
}

// Start starts a program. What cannot be started is an error and leaves nothing behind.
func (o *Owner) Start(spec Spec) (*Process, error) {
	env := spec.Env
	if env == nil {
		env = os.Environ()
	}
	path, err := Find(spec.Path, lookupEnv(env, "PATH"))
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.seq++
	mark := fmt.Sprintf("%s.%d", o.mark, o.seq)
	closed := o.closed
	o.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	p := &Process{owner: o, spec: spec, mark: mark, done: make(chan struct{})}
	files, err := p.open()
	if err != nil {
		return nil, err
	}
	defer files.closeTheirs()
	o.host.started.Store(true)
	o.host.record.ready()
	attr := &os.ProcAttr{Dir: spec.Dir, Env: withMark(env, mark), Files: files.all, Sys: sysAttr(spec.Keep)}
	p.os, err = o.host.starter.start(path, append([]string{spec.Path}, spec.Args...), attr)
	if err != nil {
		files.closeOurs()
		return nil, startError(path, spec.Dir, err)
	}
	p.id = Info{PID: p.os.Pid, Start: startTime(p.os.Pid), Name: spec.Label}
	p.sys = adopt(p.os)
	if !o.enter(p) {
		p.abandon(files)
		return nil, ErrClosed
	}
	o.host.record.job(p)
	files.closeTheirs()
	p.begin(files)
	return p, nil
}

// enter adds p to the living; false: the owner ended meanwhile.
func (o *Owner) enter(p *Process) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.live[p] = true
	return true
}

// abandon ends a program whose owner ended while it was started.
func (p *Process) abandon(files *fileSet) {
	files.closeOurs()
	endTrees(query{roots: []root{p.root()}, mark: p.mark}, 0)
	_, _ = p.os.Wait() // reaps; the outcome is of no interest
	children.remove(p.os.Pid)
}

func startError(path, dir string, err error) error {
	if dir != "" {
		if st, serr := os.Stat(dir); serr != nil || !st.IsDir() {
			return fmt.Errorf("start %s: working directory %s: %w", path, dir, errors.Join(os.ErrNotExist, serr))
		}
	}
	return fmt.Errorf("start %s: %w", path, err)
}

func (p *Process) begin(files *fileSet) {
	p.pumps = files.pumps
	for _, u := range p.pumps {
		go u.run()
	}
	if files.stdin != nil {
		p.stdin = files.stdin
		go p.feed(p.spec.Stdin, files.stdin)
	}
	go p.wait()
}

// feed copies the input; it ends with the input, with the program (the write then fails), or, for a
// reader that blocks, when its owner closes that reader.
func (p *Process) feed(from io.Reader, to *os.File) {
	_, _ = io.Copy(to, from) // a program need not read its input
	_ = to.Close()
	if c, ok := from.(io.Closer); ok {
		_ = c.Close()
	}
}

// wait ends with the program; it is the only caller of os.Process.Wait.
func (p *Process) wait() {
	state, err := p.os.Wait()
	children.remove(p.os.Pid)
	exit := exitOf(state, err)
	if p.stdin != nil {
		_ = p.stdin.SetWriteDeadline(time.Unix(1, 0))
	}
	exit.Output = p.drain()
	p.mu.Lock()
	exit.Stopped = p.why
	p.exit, p.ended = exit, true
	p.mu.Unlock()
	p.once.Do(func() { close(p.done) })
	p.Left() // takes p out of the living when nothing of it is left
}

// drain waits until what the program wrote has been taken.
func (p *Process) drain() error {
	hurry := time.NewTimer(linger)
	defer hurry.Stop()
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	var errs []error
	for _, u := range p.pumps {
		for waiting := true; waiting; {
			select {
			case <-u.settled:
				waiting = false
			case <-hurry.C:
				for _, v := range p.pumps {
					v.hurry()
				}
			case <-limit.C:
				return errors.Join(append(errs, errors.New("the reader of the output does not take it"))...)
			}
		}
		errs = append(errs, u.err())
	}
	return errors.Join(errs...)
}

// quiet reports, cheaply, that the program left nothing behind.
func (p *Process) quiet() bool {
	for _, u := range p.pumps {
		if !u.finished() {
			return false
		}
	}
	return !groupAlive(p.id.PID) && !strays()
}

// leave takes p out of the living, unless something of it still is.
func (p *Process) leave() {
	p.owner.mu.Lock()
	defer p.owner.mu.Unlock()
	delete(p.owner.live, p)
}

// Info identifies the head of the program.
func (p *Process) Info() Info { return p.id }

// Mark is the program's mark in [MarkerVar], by which a kept one is found again.
func (p *Process) Mark() string { return p.mark }

// Done is closed when the program itself has ended and what it wrote was taken; children it left
// behind may still live.
func (p *Process) Done() <-chan struct{} { return p.done }

// OwnerDone is closed when the owner has ended, and with it all the program left behind.
func (p *Process) OwnerDone() <-chan struct{} { return p.owner.done }

// Exit tells how it ended. It is valid after [Process.Done].
func (p *Process) Exit() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Left returns what lives of the program's tree, without its head. It costs nothing when nothing
// was left behind; otherwise it looks through all processes. What a wrapper held is dying when the
// wrapper has ended, and what is being stopped ends with the stop; Left waits for both.
func (p *Process) Left() []Info {
	p.look.Lock()
	defer p.look.Unlock()
	if p.gone {
		return nil
	}
	ended, stopped := p.isEnded()
	if ended && (p.quiet() || p.spec.Wraps && waitFor(wrapTime, p.quiet)) {
		p.gone = true
		p.leave()
		return nil
	}
	out := p.below()
	if ended && stopped && len(out) > 0 {
		waitFor(p.owner.host.opts.Grace+killTime, func() bool {
			out = p.below()
			return len(out) == 0
		})
	}
	if len(out) == 0 && ended {
		p.gone = true
		p.leave()
	}
	return out
}

// below is what lives of the program's tree, without its head.
func (p *Process) below() []Info {
	found := members(query{roots: []root{p.root()}, mark: p.mark})
	return slices.DeleteFunc(found, func(i Info) bool { return i.PID == p.id.PID })
}

// Signal sends a signal to the program's process group. A program that has ended is no error.
func (p *Process) Signal(sig os.Signal) error {
	if ended, _ := p.isEnded(); ended {
		return nil
	}
	return signalGroup(p, sig)
}

// Stop ends the program and all it started: the polite signal, the grace time, the last signal. It
// returns how it ended, within the grace time and about a second more. The first reason is kept. A
// program that has ended by itself keeps its exit; what it left behind is ended.
func (p *Process) Stop(why string) Exit {
	p.stopping(why)
	endTrees(query{roots: []root{p.root()}, mark: p.mark}, p.owner.host.opts.Grace)
	p.settle()
	return p.Exit()
}

func (p *Process) stopping(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.why == "" {
		p.why = strings.TrimSpace(why)
	}
}

// settle waits for the end of a program that was just killed and forgets it.
func (p *Process) settle() {
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C: // stuck in the kernel: nothing more can be done, and nobody shall wait for it
		p.mu.Lock()
		if !p.ended {
			p.exit = Exit{Code: -1, Stopped: p.why}
		}
		p.mu.Unlock()
		p.once.Do(func() { close(p.done) })
	}
	p.leave()
}

// Release lets a program that was started with Keep outlive its owner: closing owner and host, and
// the watcher, leave it alone. It still can be stopped. It returns false when the program was not
// started with Keep or its output goes through this process, which would end with it.
func (p *Process) Release() bool {
	if !p.spec.Keep || len(p.pumps) > 0 || p.stdin != nil {
		return false
	}
	p.mu.Lock()
	p.released = true
	p.mu.Unlock()
	p.owner.mu.Lock()
	p.owner.kept = append(p.owner.kept, p.mark)
	delete(p.owner.live, p)
	p.owner.mu.Unlock()
	p.owner.host.record.keep(p)
	return true
}

// isEnded tells whether the head has ended, and whether a stop of ours ended it.
func (p *Process) isEnded() (ended, stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended, p.why != ""
}

func (p *Process) root() root {
	return root{pid: p.id.PID, start: p.id.Start, sys: &p.sys, wraps: p.spec.Wraps}
}

// Run starts a program and waits for its end. When ctx ends first, the whole tree is ended, and the
// exit tells the cause of ctx in Stopped; that is no error.
func (o *Owner) Run(ctx context.Context, spec Spec) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, fmt.Errorf("start %s: %w", spec.Path, context.Cause(ctx))
	}
	p, err := o.Start(spec)
	if err != nil {
		return Exit{}, err
	}
	select {
	case <-p.Done():
		return p.Exit(), nil
	case <-ctx.Done():
		return p.Stop(context.Cause(ctx).Error()), nil
	}
}
