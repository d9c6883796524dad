// Package outside keeps what confined programs may write from deciding what runs outside of the
// sandbox. Hooks and helpers of the user and of the administrator run outside; the files that decide
// what they run, as far as they lie in writable folders, are looked at before each run. One that
// changed since it was last accepted, or while confined programs could have changed it, stops the
// run until a person has accepted it.
//
// What was accepted, and when confined programs ran, is kept in a file for all sessions of a folder.
// Begin with [New].
package outside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// ErrChanged is wrapped by the error that keeps a command from running.
var ErrChanged = errors.New("what it would run outside of the sandbox was changed, perhaps from inside")

// Config is what a [Guard] needs. File, ID, Now and Roots are needed.
type Config struct {
	File  string               // where it is kept what was accepted; its folder is made when missing
	Self  proc.Info            // this process
	ID    string               // of the session
	Alive func(proc.Info) bool // whether the process of another session lives; nil: every one does
	Roots func() []string      // folders that confined programs may write
	// Confines reports whether programs are confined here at all; asked when something changed, for it
	// may cost a trial. Nil: they are.
	Confines func() bool
	Now      func() time.Time
	// Ask asks a person whether a command may run although files changed. Nil: nobody can be asked.
	Ask func(ctx context.Context, q Question) (bool, error)
}

// Question is what a person is asked.
type Question struct {
	Name  string   // of what wants to run
	Files []string // what changed, absolute
}

// Guard looks after the commands of one session. It is safe for concurrent use.
type Guard struct {
	cfg Config

	asking sync.Mutex // held while a person is asked, so that each change is asked for once

	mu       sync.Mutex        // guards the rest
	live     int               // confined programs that run
	started  int               // confined programs that were started
	looked   map[string]bool   // commands whose files were looked at, by all that decides which they are
	known    map[string]string // digests of this session, by path
	declined map[string]string // digests a person did not accept
	entered  bool              // the file says that confined programs run here
}

// New returns a guard. It touches nothing.
func New(cfg Config) *Guard {
	if cfg.Alive == nil {
		cfg.Alive = func(proc.Info) bool { return true }
	}
	return &Guard{cfg: cfg, looked: map[string]bool{}, known: map[string]string{}, declined: map[string]string{}}
}

// Command is one that runs outside, by the name people know it by.
type Command struct {
	Name string
	fingerprint.Command
}

// Inputs are the files that decide what a command runs and that confined programs may write.
func (g *Guard) Inputs(c Command) fingerprint.Inputs {
	c.Roots = g.cfg.Roots()
	return c.Command.Inputs()
}

// Confined must be called before a confined program is started, with the commands that run outside
// in this session, and what it returns when the program has ended. An error means that it must not
// be started: nobody would know later what it could have changed.
func (g *Guard) Confined(commands []Command) (ended func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var files []string
	for _, c := range commands {
		key := fmt.Sprintf("%q %q %q", c.Text, c.Words, c.Dir)
		if g.live == 0 && !g.looked[key] {
			files = append(files, g.Inputs(c).Files...)
			g.looked[key] = true
		}
	}
	if !g.entered {
		if err := g.enter(); err != nil && len(commands) > 0 {
			return nil, fmt.Errorf("note that confined commands run, which what runs outside must know: %w", err)
		}
	}
	if err := g.learn(fingerprint.Take(slices.DeleteFunc(files, g.knows))); err != nil {
		return nil, err
	}
	g.live++
	g.started++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.live--
	}), nil
}

func (g *Guard) knows(path string) bool { _, is := g.known[path]; return is }

// learn takes prints of files that are seen for the first time for accepted, when no confined
// program can have made them what they are.
func (g *Guard) learn(prints map[string]fingerprint.Print) error {
	if len(prints) == 0 {
		return nil
	}
	kept, err := g.read()
	if err != nil {
		return err
	}
	for path, p := range prints {
		if accepted, is := kept.Known[path]; is {
			if accepted == p.Digest || !kept.within(p.Changed, g.cfg.Now()) {
				g.known[path] = p.Digest
			} else {
				g.known[path] = accepted
			}
			continue
		}
		if p.Digest == "" || !kept.within(p.Changed, g.cfg.Now()) {
			g.known[path] = p.Digest
		}
	}
	return nil
}

// Check decides whether a command may run now. It returns what to call when the command has ended,
// or an error that wraps [ErrChanged].
func (g *Guard) Check(ctx context.Context, c Command) (ended func(), err error) {
	if len(g.cfg.Roots()) == 0 {
		return func() {}, nil
	}
	var files []string
	for range 10 { // what was accepted may lead to more
		files = g.Inputs(c).Files
		changed, err := g.changed(files)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if len(changed) == 0 {
			return g.ended(files), nil
		}
		if g.cfg.Confines != nil && !g.cfg.Confines() { // whatever changed it was not confined
			return func() {}, nil
		}
		if err := g.ask(ctx, c.Name, files); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w, and goes on changing", ErrChanged)
}

// ended is what to do when a command that may run has ended.
func (g *Guard) ended(files []string) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	quiet, started := g.live == 0, g.started
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if quiet && started == g.started { // nobody but the command itself: a formatter, a lock file
			maps.Copy(g.known, digests(fingerprint.Take(files)))
		}
	}
}

func digests(prints map[string]fingerprint.Print) map[string]string {
	out := make(map[string]string, len(prints))
	for path, p := range prints {
		out[path] = p.Digest
	}
	return out
}

// changed returns which of the files are not what was accepted, with their digests.
func (g *Guard) changed(files []string) (map[string]string, error) {
	prints := fingerprint.Take(files)
	g.mu.Lock()
	defer g.mu.Unlock()
	unseen := map[string]fingerprint.Print{}
	for path, p := range prints {
		if !g.knows(path) {
			unseen[path] = p
		}
	}
	if err := g.learn(unseen); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for path, p := range prints {
		if known, is := g.known[path]; !is || known != p.Digest {
			out[path] = p.Digest
		}
	}
	return out, nil
}

// ask asks a person about what changed, and keeps the answer.
func (g *Guard) ask(ctx context.Context, name string, files []string) error {
	g.asking.Lock()
	defer g.asking.Unlock()
	changed, err := g.changed(files) // another question may have settled it meanwhile
	if err != nil || len(changed) == 0 {
		return err
	}
	names := slices.Sorted(maps.Keys(changed))
	refusal := fmt.Errorf("%w: %s", ErrChanged, strings.Join(names, ", "))
	g.mu.Lock()
	declined := true
	for path, digest := range changed {
		before, is := g.declined[path]
		declined = declined && is && before == digest
	}
	g.mu.Unlock()
	if declined {
		return fmt.Errorf("%w (it was not accepted before)", refusal)
	}
	if g.cfg.Ask == nil {
		return fmt.Errorf("%w; look at it and start myelin here in a terminal to accept it, or let the command run confined (\"confine\": true)", refusal)
	}
	ok, err := g.cfg.Ask(ctx, Question{Name: name, Files: names})
	if err != nil {
		return fmt.Errorf("%w: %w", refusal, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		maps.Copy(g.declined, changed)
		return fmt.Errorf("%w: it was not accepted", refusal)
	}
	maps.Copy(g.known, changed)
	if now := digests(fingerprint.Take(names)); !maps.Equal(now, changed) {
		return fmt.Errorf("%w, and again while you were asked", refusal)
	}
	return g.keep(changed)
}
