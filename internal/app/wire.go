package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/app/confine"
	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/outside"
	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/memory"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/feature/prompt"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/providers/offline"
	"github.com/myelin-agent/myelin/internal/providers/record"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/sys/transport"
	"github.com/myelin-agent/myelin/internal/sys/twotier"
	"github.com/myelin-agent/myelin/internal/tools/bash"
	"github.com/myelin-agent/myelin/internal/tools/structured"
)

// rooms is everything a session is made of that is no state: connections, processes, functions. It
// is built once, in order of dependency.
type rooms struct {
	session  *Session
	settings *settings
	host     *proc.Host  // everything this session starts
	owner    *proc.Owner // its commands and hooks
	models   *models
	first    provider.Model // the model the session began with
	tape     tape           // of a session that is recorded
	pages    *twotier.Cache[[]byte]
	policy   atomic.Pointer[policy.Client] // nil: no organisation serves limits
	history  *transcript.History
	log      atomic.Pointer[*transcript.Transcript]

	hooks      *hook.Hooks
	gate       *gate.Gate
	box        *confine.Confiner
	web        *http.Client   // of everything but the models, as the environment asks for it
	guard      *outside.Guard // of what runs outside of the sandbox
	finder     proc.Finder    // of programs that are run for the session itself
	classifier *permission.Classifier
	shaper     *shaping.Shaper
	prompt     *prompt.Prompt
	memory     *memory.Instructions
	pool       *pool.Pool
	shell      *bash.Shell
	output     *structured.Output // nil: no schema was given
	live       task.Live
	watched    *watched
	door       *door
	tempBase   func() string // of the folders for temporary files; computed once
	files      tool.Files    // the door through which files are changed

	flagRules permission.Lists
	readOnly  atomic.Bool // a person declined to trust the folder
	source    string      // of the SessionStart hooks that are still to fire
	recorded  string      // permission mode of a resumed session
	bypass    bool        // bypassPermissions was made available at the start
}

// Open makes a session and everything around it. Nothing of the project runs, and no request is made,
// before the first prompt. An error may know the exit code of the program ([ExitError]) or the id of
// a conversation that was refused ([RefusedError]).
func Open(ctx context.Context, o Options) (*Session, error) { return open(ctx, o, nil) }

// open is Open with a model that was handed in.
func open(ctx context.Context, o Options, given provider.Model) (*Session, error) {
	if o.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
		o.Cwd = dir
	}
	s := newSession(o)
	if err := s.build(ctx, given); err != nil {
		s.cancel(err)
		_ = s.rooms.close(ctx) // the other error says what is wrong
		return nil, err
	}
	s.adopt()
	go s.work() // ends with the session
	return s, nil
}

// inspect builds a session that is only looked at: it keeps nothing and takes no prompt.
func inspect(ctx context.Context, o Options) (*Session, error) {
	o.NoPersist, o.Interactive = true, true // an unattended run would refuse to start; here everything is to be seen
	s := newSession(o)
	if err := s.build(ctx, offline.New()); err != nil {
		s.cancel(err)
		_ = s.rooms.close(ctx) // the other error says what is wrong
		return nil, err
	}
	close(s.done)
	return s, nil
}

func newSession(o Options) *Session {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Session{
		opts: o, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1), done: make(chan struct{}),
		bodies: map[string]proto.Prompt{}, seen: map[string]bool{}, notify: map[string]*time.Timer{},
		effects: engine.Effects{Now: time.Now, NewID: uuid.NewString},
		scope:   tool.NewScope("", o.Cwd), rooms: &rooms{},
	}
	s.rooms.session = s
	s.store = store.New(emptyState(&Process{Config: &config.State{}, Policy: &policy.State{}}), s.rooms.tape.change, func(v any) {
		s.events.Emit(proto.Notice{Level: "error", Text: fmt.Sprintf("A reaction failed inside: %v", v)})
	})
	s.part = partsOf(s.store)
	s.events = events.New(func() string { return s.part.session.Get().ID }, func() time.Time { return s.effects.Now() })
	s.asks.Tell = s.tellAsk
	s.thinking.Store(o.Thinking)
	return s
}

// build makes the rooms, in order of dependency.
func (s *Session) build(ctx context.Context, given provider.Model) error {
	o, r := s.opts, s.rooms
	decision, err := s.buildSettings(ctx)
	if err != nil {
		return err
	}
	r.host = proc.NewHost(proc.Options{RunDir: filepath.Join(r.settings.places.Home, "run"), Watcher: watcher()})
	r.owner = r.host.Owner("session")
	if err := s.buildModels(ctx, given); err != nil {
		return err
	}
	now := s.effects.Now()
	root := o.Cwd
	if repo, err := gitrepo.Find(o.Cwd); err == nil {
		root = repo.Root
	}
	s.part.session.Set(func(prev *session.State) *session.State {
		next := *prev
		next.Cwd, next.ProjectRoot, next.Model, next.Effort = o.Cwd, root, r.first.Info().Ref(), o.Effort
		next.Interactive, next.Entrypoint, next.StartedAt = o.Interactive, o.Entrypoint, now
		return &next
	})
	s.part.trust.Set(func(*trust.State) *trust.State { return &decision.State })
	r.shaper = shaping.New(s.shapingConfig())
	r.gate, r.box = newGate(s), newConfiner(s)
	r.finder = proc.Finder{Writable: r.box.Roots}
	conversation, err := s.openTranscript(o)
	if err != nil {
		return err
	}
	s.begin(conversation)
	r.watched, r.door, r.tempBase = &watched{s: s}, &door{s: s}, sync.OnceValue(tempBase)
	r.guard = newGuard(s)
	r.hooks = hook.New(s.hookConfig())
	r.history = transcript.OpenHistory(filepath.Join(r.settings.places.Home, "history.jsonl"))
	r.pages = twotier.New(twotier.Config[[]byte]{
		Dir: filepath.Join(r.settings.places.Home, "cache", "pages"), L1: 15 * time.Minute, L2: 15 * time.Minute,
		Bytes: 32 << 20, Size: func(b []byte) int { return len(b) }, Now: s.effects.Now,
	})
	r.classifier = &permission.Classifier{Model: s.askClassifier, Rules: func() permission.AutoMode { return s.autoRules().WithDefaults() }}
	if err := s.startMode(); err != nil {
		return err
	}
	s.applyConfig(s.config())
	if err := s.checkGuards(); err != nil {
		return err
	}
	r.box.Tidy()
	if err := s.announceSandbox(); err != nil {
		return err
	}
	if err := s.buildTools(o); err != nil {
		return err
	}
	r.prompt, r.memory = prompt.New(s.promptConfig()), memory.New(s.memoryOptions())
	if s.planning() {
		r.pool.Load("ExitPlanMode", "AskUserQuestion")
	}
	s.reportRules()
	s.react()
	return nil
}

// buildSettings reads the settings and what the folder is trusted with.
func (s *Session) buildSettings(ctx context.Context) (trust.Decision, error) {
	var err error
	var decision trust.Decision
	s.rooms.settings, decision, err = openSettings(ctx, s.opts, config.LiveOptions{
		Changed: func(_, now *config.State, _ config.Change) {
			s.part.process.Set(func(p *Process) *Process {
				next := *p
				next.Config = now
				return &next
			})
		},
		Review: s.review, Veto: s.vetoConfig, After: time.Second,
		Notice: func(text string) { s.events.Emit(proto.Notice{Level: "warning", Text: text}) },
	})
	if err != nil {
		return decision, err
	}
	state := s.rooms.settings.live.State()
	s.part.process.Set(func(p *Process) *Process {
		next := *p
		next.Config = state
		return &next
	})
	if s.rooms.web, err = transport.Client(s.rooms.env().Value); err != nil {
		return decision, &ExitError{codeSettings, err}
	}
	return decision, s.buildPolicy(ctx, state)
}

// buildModels finds the model to begin with, and those that take over for it.
func (s *Session) buildModels(ctx context.Context, given provider.Model) error {
	o, r := s.opts, s.rooms
	var err error
	if r.models, err = newModels(o, r.env(), s.config(), s.runHelper); err != nil {
		return err
	}
	r.models.given, r.models.cwd = given, s.scope.Cwd
	if o.Record != "" {
		if r.models.recorder, err = record.Create(o.Record, record.Options{Secrets: record.SecretsOf(varsOf(r.env())), Now: time.Now, Program: "myelin " + o.Version}); err != nil {
			return err
		}
		s.effects.Now, s.effects.NewID = r.models.recorder.Now(s.effects.Now), r.models.recorder.NewID(s.effects.NewID)
		r.tape.begin(r.models.recorder, s.State())
	}
	if r.first, _, err = r.models.first(ctx, o); err != nil {
		return err
	}
	if rec := r.models.recording; rec != nil {
		s.effects.Now, s.effects.NewID = rec.Now(s.effects.Now), rec.NewID(s.effects.NewID)
	}
	if r.first.Info().Provider == "offline" && o.Model == "" {
		s.offlineNotice("No key and no local model was found; the built-in offline helper answers simple requests. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start a local server, to talk to a model.")
	}
	if limit := r.forbiddenModel(r.first.Info().Ref()); limit != "" {
		return &ExitError{codeSettings, fmt.Errorf("model %s: %s", r.first.Info().Ref(), limit)}
	}
	names := o.Fallbacks
	if len(names) == 0 {
		names = setting[[]string](s.config(), "fallbackModel", nil)
	}
	var refs []string
	for _, name := range names[:min(len(names), 3)] {
		m, err := r.models.named(ctx, name)
		if err != nil {
			s.events.Early(proto.Notice{Level: "warning", Text: "The fallback model " + name + " cannot be used: " + err.Error()})
			continue
		}
		refs = append(refs, m.Info().Ref())
	}
	s.part.session.Set(func(prev *session.State) *session.State {
		next := *prev
		next.FallbackModels = refs
		return &next
	})
	return nil
}

// startMode finds the first permission mode and takes over the rules of the command line.
func (s *Session) startMode() error {
	o, state := s.opts, s.config()
	flag, ok := permission.ParseMode(o.Mode)
	if o.Mode != "" && !ok {
		return &ExitError{2, fmt.Errorf("--permission-mode %s: expected default, acceptEdits, plan, auto, dontAsk or bypassPermissions", o.Mode)}
	}
	if o.Mode == "" {
		flag = ""
	}
	set, at, _ := config.Value[string](state, "permissions.defaultMode")
	mode, bypass, auto, notices, err := permission.StartMode(permission.Start{
		Flag: flag, Bypass: o.Bypass, AllowBypass: o.AllowBypass, Setting: permission.Mode(set), SettingFrom: permission.SourceOf(at.Scope),
		Recorded: permission.Mode(s.rooms.recorded), AutoAvailable: true, Forbidden: s.forbiddenModes(state),
	})
	if err != nil {
		return &ExitError{codeSettings, err}
	}
	if (bypass || mode == permission.Bypass) && os.Geteuid() == 0 && !flagged(s.rooms.env(), "IS_SANDBOX") && !sandbox.InContainer() {
		return &ExitError{codeSettings, errors.New("bypassPermissions is refused as root: start as an ordinary user, or in a container; IS_SANDBOX=1 says that this is one")}
	}
	for _, n := range notices {
		s.events.Early(proto.Notice{Level: "warning", Text: n})
	}
	rules := func(list permission.List, texts []string) (out []permission.Rule, err error) {
		for _, t := range texts {
			if _, err := permission.ParseRule(t); err != nil {
				return nil, &ExitError{2, fmt.Errorf("rule %q on the command line: %w", t, err)}
			}
			out = append(out, permission.Rule{List: list, Text: t, Source: permission.FromFlag})
		}
		return out, nil
	}
	if s.rooms.flagRules.Allow, err = rules(permission.AllowList, o.Allow); err != nil {
		return err
	}
	if s.rooms.flagRules.Deny, err = rules(permission.DenyList, o.Deny); err != nil {
		return err
	}
	s.rooms.bypass = bypass
	s.part.permission.Set(func(p *permission.State) *permission.State {
		p, _ = p.WithAvailable(bypass, auto, s.forbiddenModes(state))
		p, err = p.WithMode(mode)
		return p
	})
	return err
}

func (s *Session) hookConfig() hook.Config {
	r := s.rooms
	cfg := hook.Config{
		State: s.part.hook, Owner: r.owner, Env: func() []string { return r.scrubbed(r.env().Lines()) }, Cwd: s.scope.Cwd,
		Root: s.part.session.Get().ProjectRoot, Home: r.settings.places.UserHome, Dir: r.dir(), Common: s.hookCommon,
		Rule: s.matchRule, Getenv: r.variable, HTTPLimits: s.httpLimits, Tell: s.events.Emit, Now: s.effects.Now, NewID: s.effects.NewID,
		Ask: func(ctx context.Context, model, text string) (string, error) {
			return s.askHook(ctx, model, text)
		},
		Start: s.startHook, Inside: r.temp(), HTTP: r.web,
		Confines: func(x *hook.Handler) bool {
			return x.Confine && r.boxOn()
		},
		Woken: func(text string) { s.owe(reminder([]string{text})...) },
		Later: func(text string) { s.later(text) },
	}
	return cfg
}

func (s *Session) hookCommon() hook.Common {
	now := s.part.session.Get()
	return hook.Common{
		Session: now.ID, Transcript: s.rooms.transcript().Path(), Cwd: now.Cwd, Mode: s.mode(), Effort: now.Effort,
		Prompt: s.lastPrompt(),
	}
}

// matchRule says whether a call is of the kind a permission rule describes, for hooks.
func (s *Session) matchRule(rule, name string, input json.RawMessage) bool {
	m, err := permission.NewMatcher(rule, s.rooms.gate.Env())
	if err != nil {
		return true // a condition that cannot be read must not silence a guard
	}
	call, traits := tool.Call{Name: name, Literal: input, Input: input, Scope: s.scope}, tool.Traits{}
	if t := s.rooms.pool.Tool(name); t != nil {
		traits = t.Traits(call)
	}
	return m.Match(gate.Request(call, traits))
}

func (s *Session) promptConfig() prompt.Config {
	o, now := s.opts, s.part.session.Get()
	return prompt.Config{
		State: s.part.prompt, Replace: o.SystemPrompt, Append: o.AppendSystemPrompt, Tools: s.rooms.pool.Names(),
		Model: func() string { return s.part.session.Get().Model }, Sources: []prompt.Source{s.instructions()},
		Report: func(err error) { s.events.Emit(proto.Notice{Level: "warning", Key: "instructions", Text: err.Error()}) },
		Environment: prompt.Environment{
			Cwd: now.Cwd, Dirs: s.part.permission.Get().WorkDirs(), Platform: runtime.GOOS, Shell: filepath.Base(orText(s.rooms.env().Value("SHELL"), "sh")),
			Started: now.StartedAt, Git: s.gitSnapshot(),
		},
	}
}

// close ends everything the session started. It is safe to call on rooms that were built in part.
func (r *rooms) close(ctx context.Context) error {
	var errs []error
	if r.settings != nil {
		r.settings.live.Close()
	}
	if r.door != nil {
		r.door.close(true)
	}
	if r.hooks != nil {
		r.session.endHooks(ctx, "other")
	}
	r.session.letGo()
	r.live.StopAll("the session ended")
	if r.host != nil {
		r.host.Close()
	}
	if r.box != nil {
		r.box.Close()
	}
	if r.guard != nil {
		errs = append(errs, r.guard.Close())
	}
	if client := r.policy.Load(); client != nil {
		client.Close()
	}
	if r.watched != nil {
		r.watched.close()
	}
	errs = append(errs, r.transcript().Close(), r.emptyTemp())
	if r.history != nil {
		errs = append(errs, r.history.Close())
	}
	if r.pages != nil {
		r.pages.EndSession(r.session.part.session.Get().ID)
		errs = append(errs, r.collectPages())
	}
	if r.models != nil && r.models.recorder != nil {
		errs = append(errs, r.models.recorder.Close())
	}
	return errors.Join(errs...)
}

// collectPages removes the cached pages of sessions that were killed. One counts as alive while its
// transcript was written within a day; what is taken from a longer silence is fetched again.
func (r *rooms) collectPages() error {
	home := r.settings.places.Home
	_, err := twotier.Collect(filepath.Join(home, "cache", "pages"), func(id string) bool {
		paths, err := filepath.Glob(filepath.Join(home, "projects", "*", id+".jsonl"))
		return err != nil || slices.ContainsFunc(paths, func(path string) bool {
			st, err := os.Stat(path)
			return err == nil && r.session.effects.Now().Sub(st.ModTime()) < 24*time.Hour
		})
	})
	return err
}

// env is the environment with what the settings put over it.
func (r *rooms) env() config.Environ {
	vars, _ := r.session.config().Env()
	return r.settings.env.With(vars, false)
}

// variable is one of env, at this moment.
func (r *rooms) variable(name string) string { return r.env().Value(name) }

func random8() (out [8]byte) {
	_, _ = rand.Read(out[:]) // never fails
	return out
}
