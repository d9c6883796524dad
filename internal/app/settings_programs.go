package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/app/outside"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/fingerprint"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// helper is a command of the settings that tells the harness something.
type helper struct {
	name    string // for people
	command string // for a shell; empty: words
	words   []string
	at      origin.Origin
	confine bool // the folder supplies it: it runs in the sandbox when that is on
}

// helperRunner runs a helper to its end and returns what it printed. Nil: none may run here.
type helperRunner func(context.Context, helper) ([]byte, error)

const (
	helperTime   = time.Minute
	helperOutput = 1 << 20
)

func (run helperRunner) output(ctx context.Context, h helper) ([]byte, error) {
	if run == nil {
		return nil, fmt.Errorf("run %s: it is run in a session only", h.name)
	}
	return run(ctx, h)
}

// errNoHelper answers who asks for a key although the setting is gone.
var errNoHelper = errors.New("apiKeyHelper is no longer set")

// key prints the key of the helper that the settings name now, kept for its time to live.
func (run helperRunner) key(s *settings) func(context.Context) (string, error) {
	var mu sync.Mutex // guards the rest
	var of helper
	var key string
	var until time.Time
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		h, ok := keyHelper(s.now())
		if !ok {
			return "", errNoHelper
		}
		if h.command == of.command && h.at == of.at && time.Now().Before(until) {
			return key, nil
		}
		out, err := run.output(ctx, h)
		if err != nil {
			return "", fmt.Errorf("run %s: %w", h.name, err)
		}
		ttl := time.Duration(numbered(s.env(), "MYELIN_API_KEY_HELPER_TTL_MS", 300_000)) * time.Millisecond
		of, key, until = h, strings.TrimSpace(string(out)), time.Now().Add(ttl)
		return key, nil
	}
}

// keyHelper is the setting apiKeyHelper.
func keyHelper(state *config.State) (helper, bool) {
	command, at, ok := config.Value[string](state, "apiKeyHelper")
	return helper{
		name: "apiKeyHelper", command: command, at: at, confine: at.Scope == origin.Project || at.Scope == origin.Local,
	}, ok && command != ""
}

// helpers are those of the settings in force that are commands.
func (ps *programs) helpers() []helper {
	if h, ok := keyHelper(ps.settings.now()); ok {
		return []helper{h}
	}
	return nil
}

// runHelper runs a helper: in the sandbox, or outside after a look at what it runs.
func (ps *programs) runHelper(ctx context.Context, h helper) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, fmt.Errorf("it took longer than %s", helperTime))
	defer cancel()
	out, errs := &headBuffer{left: helperOutput}, &headBuffer{left: 4 << 10}
	spec := proc.Spec{Path: "/bin/sh", Args: []string{"-c", h.command}, Dir: ps.settings.opts.Cwd, Env: ps.scrubbed(ps.settings.env().Lines()), Stdout: out, Stderr: errs, Label: h.name}
	if h.command == "" {
		path, err := ps.finder.Find(h.words[0], ps.settings.env().Value("PATH"))
		if err != nil {
			return nil, err
		}
		spec.Path, spec.Args = path, h.words[1:]
	}
	p, ended, err := ps.startHelper(ctx, h, spec)
	if err != nil {
		return nil, err
	}
	var exit proc.Exit
	select {
	case <-p.Done():
		exit = p.Exit()
	case <-ctx.Done():
		p.Stop(context.Cause(ctx).Error())
		ended(exit, "")
		return nil, context.Cause(ctx)
	}
	refused := ended(exit, errs.String())
	if exit.Code != 0 || exit.Signal != "" {
		return nil, errors.New(strings.TrimSpace(fmt.Sprintf("exit %d%s: %s %s", exit.Code, exit.Signal, strings.TrimSpace(errs.String()), refused)))
	}
	return out.Bytes(), nil
}

func (ps *programs) startHelper(ctx context.Context, h helper, spec proc.Spec) (p *proc.Process, ended func(proc.Exit, string) string, err error) {
	if h.confine && ps.boxOn() {
		run, err := ps.runProgram(spec, tool.Confinement{Level: tool.Sandboxed})
		return run.Process, run.After, err
	}
	done, err := ps.guard.Check(ctx, outside.Command{Name: h.name + " (" + h.at.Place() + ")", Command: fingerprint.Command{
		Text: h.command, Words: h.words, Dir: spec.Dir, Env: spec.Env,
	}})
	if err != nil {
		return nil, nil, err
	}
	spec.Env = ps.ownPycache(spec.Env)
	p, err = ps.owner.Start(spec)
	return p, func(proc.Exit, string) string { done(); return "" }, err
}

// headBuffer keeps the first bytes and drops the rest.
type headBuffer struct {
	bytes.Buffer
	left int
}

// Write takes all and keeps what fits.
func (b *headBuffer) Write(p []byte) (int, error) {
	n := min(b.left, len(p))
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}
