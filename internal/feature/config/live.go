package config

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/watch"
)

// Live is settings that follow their files. Its methods are safe for concurrent use.
type Live struct {
	opts LiveOptions

	mu      sync.Mutex // guards the rest
	loading sync.Mutex // one reading at a time, outside of mu
	files   *Files
	state   *State
	view    View
	held    int  // sandboxed commands that run: nothing is reloaded meanwhile
	missed  bool // something changed while held
	broken  map[string]time.Time
	watcher *watch.Watcher
	closed  bool

	stop chan struct{}  // closed by Close
	work sync.WaitGroup // the timer of the policy helper
}

// LiveOptions say what to load and whom to tell.
type LiveOptions struct {
	Options
	View View
	// Review decides, before a changed reading takes effect, what the folder's files may supply from
	// now on: an agreement holds for what was shown, and a hook that changes in mid-session is another
	// hook. Nil: the view stays.
	Review func(files *Files) View
	// Changed is told each new state, in order, from one goroutine at a time; never the first. Like
	// the other functions here it must not call Reload, SetView, Edit or Close.
	Changed func(old, now *State, cause Change)
	// Veto may refuse a change of files that are not the administrator's; it returns why, or nil.
	// What was refused stays unloaded until the file changes again. Nil: nothing is refused.
	Veto func(ctx context.Context, change Change) error
	// Notice tells people of a file that is broken for longer than a moment while an earlier version
	// stays in force. Nil: nobody.
	Notice func(text string)
	// Poll does without notifications of the kernel.
	Poll bool
	// After is how long files are not followed yet; what changes meanwhile is loaded then.
	After time.Duration
}

// Change says which files made a new state. Files is empty when only the view changed.
type Change struct {
	Files []Source
}

// brokenGrace is how long a file may be half-written before anybody is told.
const brokenGrace = 2 * time.Second

// Open reads the settings and follows their files until it is closed. An error is that of
// [Files.Err]. ctx bounds the first reading only.
func Open(ctx context.Context, opts LiveOptions) (*Live, error) {
	l := &Live{opts: opts, view: opts.View, broken: map[string]time.Time{}, stop: make(chan struct{})}
	l.files = Load(ctx, opts.Options)
	if err := l.files.Err(); err != nil {
		return nil, err
	}
	l.state = l.files.State(l.view, 1)
	paths := opts.Places.Watched()
	for _, s := range l.files.sources {
		if s.Scope == origin.Flag && s.Path != "--settings" {
			paths = append(paths, s.Path)
		}
	}
	l.watcher = watch.Start(watch.Options{
		Paths: paths, ForcePoll: opts.Poll, After: opts.After,
		Changed: func([]string) { l.Reload(context.Background()) },
		Report:  func(err error) { l.notice(err.Error()) },
	})
	if every := l.files.PolicyRefresh(); every > 0 {
		l.work.Go(func() { l.askHelper(max(every, time.Second)) })
	}
	return l, nil
}

// askHelper reloads as often as the administrator wants the policy helper asked. It ends with Close.
func (l *Live) askHelper(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.Reload(context.Background())
		}
	}
}

// Close stops following. It must not be called from a callback.
func (l *Live) Close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		close(l.stop)
	}
	l.watcher.Close()
	l.work.Wait()
}

// State is what is in force.
func (l *Live) State() *State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Files is the reading the state was made of.
func (l *Live) Files() *Files {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.files
}

// SetView changes what the folder's files may supply, as trust decides.
func (l *Live) SetView(view View) {
	l.loading.Lock()
	defer l.loading.Unlock()
	l.mu.Lock()
	if l.view == view {
		l.mu.Unlock()
		return
	}
	l.view = view
	l.mu.Unlock()
	l.publish(l.Files(), Change{})
}

// SetViewIf is SetView for the reading that is in force, when holds says yes to it: nothing is loaded
// between the two. It reports what holds said. holds must not call methods of l.
func (l *Live) SetViewIf(view View, holds func(*Files) bool) bool {
	l.loading.Lock()
	defer l.loading.Unlock()
	files := l.Files()
	if !holds(files) {
		return false
	}
	l.mu.Lock()
	same := l.view == view
	l.view = view
	l.mu.Unlock()
	if !same {
		l.publish(files, Change{})
	}
	return true
}

// Hold keeps files as they were read until it is released: what a sandboxed command writes must be
// checked before it is loaded. A change meanwhile is loaded at the release of the last hold.
func (l *Live) Hold() (release func()) {
	l.mu.Lock()
	l.held++
	l.mu.Unlock()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		l.held--
		again := l.held == 0 && l.missed
		if again {
			l.missed = false
		}
		l.mu.Unlock()
		if again {
			l.Reload(context.Background())
		}
	})
}

// Reload reads the files now. It returns when the new state, if there is one, was announced.
func (l *Live) Reload(ctx context.Context) {
	l.loading.Lock()
	defer l.loading.Unlock()
	l.mu.Lock()
	old := l.files
	if l.held > 0 || l.closed {
		l.missed = true
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	next := load(ctx, l.opts.Options, old)
	if err := next.unusable(); err != nil {
		// Only the start may be refused. The policy that was in force stays.
		l.notice(err.Error() + "; what was in force stays in force")
		return
	}
	l.noteBroken(next)
	change := Change{Files: changed(old, next)}
	if len(change.Files) == 0 {
		return
	}
	if !l.vetted(ctx, old, next, &change) {
		return
	}
	if l.opts.Review != nil {
		view := l.opts.Review(next)
		l.mu.Lock()
		l.view = view
		l.mu.Unlock()
	}
	l.publish(next, change)
}

// noteBroken begins to wait for files that are broken now, and forgets those that are mended.
func (l *Live) noteBroken(next *Files) {
	l.mu.Lock()
	for path := range l.broken {
		if _, still := next.kept[path]; !still {
			delete(l.broken, path)
		}
	}
	l.mu.Unlock()
	for path, problem := range next.kept {
		l.watchBroken(path, problem)
	}
}

func (l *Live) watchBroken(path string, problem Problem) {
	l.mu.Lock()
	_, known := l.broken[path]
	stamp := time.Now()
	if !known {
		l.broken[path] = stamp
	}
	l.mu.Unlock()
	if known {
		return
	}
	time.AfterFunc(brokenGrace, func() { // one shot: tells, or finds the file mended
		l.mu.Lock()
		still := l.broken[path].Equal(stamp) && !l.closed
		l.mu.Unlock()
		if still {
			p := problem
			p.Skipped = false
			l.notice(p.String() + "; the version before stays in force")
		}
	})
}

func (l *Live) notice(text string) {
	if l.opts.Notice != nil {
		l.opts.Notice(text)
	}
}

// changed lists the sources that differ, with those that are gone.
func changed(old, next *Files) []Source {
	var out []Source
	for path, p := range next.parts {
		before := old.parts[path]
		if before == nil && p.absent {
			continue
		}
		if before == nil || before.absent != p.absent || before.source.Hash != p.source.Hash || before.source.Bad != p.source.Bad {
			out = append(out, p.source)
		}
	}
	for path, p := range old.parts {
		if _, ok := next.parts[path]; !ok && !p.absent {
			out = append(out, p.source)
		}
	}
	slices.SortFunc(out, func(a, b Source) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return out
}

// vetted asks whether the change may take effect. Files that were refused go back to the version
// before; the administrator's are never asked about. It reports whether anything is left.
func (l *Live) vetted(ctx context.Context, old, next *Files, change *Change) bool {
	if l.opts.Veto == nil {
		return true
	}
	var passed []Source
	refused := false
	for _, s := range change.Files {
		if _, known := next.parts[s.Path]; !known || s.Scope == origin.Managed {
			passed = append(passed, s)
			continue
		}
		if err := l.opts.Veto(ctx, Change{Files: []Source{s}}); err != nil {
			refused = true
			next.revert(old, s.Path)
			continue
		}
		passed = append(passed, s)
	}
	change.Files = passed
	if refused {
		next.build()
	}
	if len(passed) == 0 {
		// Remember the refused content, so that it is not asked about again and again.
		l.mu.Lock()
		l.files = next
		l.mu.Unlock()
		return false
	}
	return true
}

// revert gives a path the values it had, under the hash it has now, so that the same content is not
// asked about again.
func (f *Files) revert(old *Files, path string) {
	p := *f.parts[path]
	p.layer, p.problems = Layer{}, nil
	if before := old.parts[path]; before != nil {
		p.layer, p.problems = before.layer, before.problems
	}
	f.parts[path] = &p
}

// publish makes the state of the files and announces it. The caller holds loading.
func (l *Live) publish(files *Files, change Change) {
	l.mu.Lock()
	old := l.state
	l.files = files
	l.state = files.State(l.view, old.Revision+1)
	now := l.state
	l.mu.Unlock()
	if l.opts.Changed != nil {
		l.opts.Changed(old, now, change)
	}
}

// Edit changes a file with one of the functions of write.go and loads it at once, so that who saved
// sees what he saved.
func (l *Live) Edit(ctx context.Context, edit func() error) error {
	if err := edit(); err != nil {
		return fmt.Errorf("save settings: %w", err)
	}
	l.Reload(ctx)
	return nil
}
