package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/app/notes"
	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/app/tasks"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
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
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/providers/record"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/transport"
	"github.com/myelin-agent/myelin/internal/sys/twotier"
)

// rooms is everything a session is made of. It is built once, in order of dependency.
type rooms struct {
	opts   Options
	ctx    context.Context // ends with the session
	end    func()          // ends the session from inside: whoever reads its events comes to their end
	store  *store.Store[State]
	part   parts
	events *events.Stream
	asks   proto.Asks
	clock  *clock
	scope  *tool.Scope

	settings     *settings
	consent      *consent
	limits       *limits
	models       *models
	programs     *programs
	hooks        *hooks
	rights       *rights
	gate         *gate.Gate
	tasks        *tasks.Tasks
	instructions *instructions
	pool         *pool.Pool
	turns        *turns
	main         *conversation.Conversation
	door         *door
	folders      *folders

	tape inspect.Tape[State] // of a session that is recorded
}

// clock gives the time and new ids. A recording or a replay takes it over while the session is built.
type clock struct{ engine.Effects }

func (c *clock) now() time.Time { return c.Now() }

func (c *clock) newID() string { return c.NewID() }

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
	s, err := built(ctx, o, given)
	if err != nil {
		return nil, err
	}
	s.rooms.tasks.Adopt()
	s.rooms.folders.old = announceOld(s.rooms)
	go func() { // ends with the session
		defer close(s.done)
		s.rooms.main.Work()
	}()
	return s, nil
}

// built is a session whose rooms are built and in which nothing runs yet.
func built(ctx context.Context, o Options, given provider.Model) (*Session, error) {
	s := newSession(o)
	if err := s.rooms.build(ctx, given); err != nil {
		s.cancel(err)
		_ = s.rooms.close(ctx) // the other error says what is wrong
		return nil, err
	}
	return s, nil
}

func newSession(o Options) *Session {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &rooms{
		opts: o, ctx: ctx, clock: &clock{engine.Effects{Now: time.Now, NewID: uuid.NewString}}, scope: tool.NewScope("", o.Cwd),
	}
	s := &Session{rooms: r, cancel: cancel, done: make(chan struct{})}
	r.end = func() {
		cancel(errClosed)
		go s.Close(context.Background()) //nolint:errcheck // the surface's own Close returns it
	}
	r.store = store.New(emptyState(&Process{Config: &config.State{}, Policy: &policy.State{}}), r.tape.Change, func(v any) {
		r.events.Emit(proto.Notice{Level: "error", Text: fmt.Sprintf("A reaction failed inside: %v", v)})
	})
	r.part = partsOf(r.store)
	r.folders = &folders{
		id: func() string { return r.part.session.Get().ID }, transcript: func() string { return r.main.Transcript().Path() },
		base: sync.OnceValue(func() string { return tempBase(r.settings.variable("MYELIN_TMPDIR")) }),
	}
	r.events = events.New(func() string { return r.part.session.Get().ID }, r.clock.now)
	r.asks.Tell = func(body proto.EventBody) { r.hooks.tellAsk(r.part.session, r.clock.now(), body) }
	return s
}

// build makes the rooms, in order of dependency.
func (r *rooms) build(ctx context.Context, given provider.Model) error {
	decision, err := buildSettings(ctx, r)
	if err != nil {
		return err
	}
	if err := buildModels(ctx, r, given); err != nil {
		return err
	}
	beginState(r, decision.State)
	r.gate, r.programs.box = newGate(r), newConfiner(r)
	r.programs.finder = proc.Finder{Writable: r.programs.box.Roots}
	r.tasks = tasks.New(tasks.Given{State: r.part.task, Now: r.clock.now, Reachable: func() { r.door.open() }, Context: r.ctx})
	opened, err := buildConversation(r)
	if err != nil {
		return err
	}
	r.door = &door{r: r}
	r.programs.guard = newGuard(r)
	r.hooks.set = hook.New(hookConfig(r))
	r.turns.history = transcript.OpenHistory(filepath.Join(r.settings.places.Home, "history.jsonl"))
	r.folders.pages = twotier.New(twotier.Config[[]byte]{
		Dir: filepath.Join(r.settings.places.Home, "cache", "pages"), L1: pageTime(r.settings), L2: pageTime(r.settings),
		Bytes: 32 << 20, Size: func(b []byte) int { return len(b) }, Now: r.clock.now,
	})
	r.models.classifier = &permission.Classifier{Model: r.models.askClassifier, Rules: func() permission.AutoMode { return autoRules(r.settings.now()).WithDefaults() }}
	if err := r.rights.startMode(r.main.Mode()); err != nil {
		return err
	}
	r.rights.apply(r.settings.now())
	if err := r.settings.checkGuards(); err != nil {
		return err
	}
	r.programs.box.Tidy()
	if err := announceSandbox(r.programs.box); err != nil {
		return err
	}
	if err := buildTools(r); err != nil {
		return err
	}
	loadTools(r, opened)
	buildInstructions(r)
	if r.rights.planning() {
		r.pool.LoadPlanning()
	}
	reportRules(r)
	if _, problem := r.rights.plans(); problem != "" {
		r.events.Early(proto.Notice{Level: "warning", Text: problem})
	}
	react(r)
	return nil
}

// buildConversation makes the main conversation, and takes over the transcript that the options name.
func buildConversation(r *rooms) (conversation.Opened, error) {
	r.turns = &turns{
		settings: r.settings, consent: r.consent, permission: r.part.permission, session: r.part.session, events: r.events, hooks: r.hooks,
		tasks: r.tasks, rename: func(title string) { r.main.Rename(title) }, recall: r.rights.notes.Recall, setup: r.opts.Setup,
	}
	r.main = newConversation(r.ctx, r, r.scope, agentSlices{r.part.session, r.part.shaping})
	o := r.opts
	opened, err := shelf(r).Open(conversation.Query{Continue: o.Continue, Resume: o.Resume, At: o.ResumeAt, Fork: o.Fork, ID: o.SessionID})
	if err == nil {
		begin(r, opened)
	}
	return opened, err
}

// beginState enters the session begins with in its state.
func beginState(r *rooms, trusted trust.State) {
	root := r.opts.Cwd
	if repo, err := gitrepo.Find(r.opts.Cwd); err == nil {
		root = repo.Root
	}
	now := r.clock.now()
	r.part.session.Set(func(prev *session.State) *session.State {
		next := *prev
		next.Cwd, next.ProjectRoot, next.Model, next.Effort = r.opts.Cwd, root, r.models.begun.Info().Ref(), effort(r.opts, r.settings)
		next.Interactive, next.Entrypoint, next.StartedAt = r.opts.Interactive, r.opts.Entrypoint, now
		return &next
	})
	r.part.trust.Set(func(*trust.State) *trust.State { return &trusted })
}

// buildSettings reads the settings, and decides what the folder is trusted with and which limits hold.
func buildSettings(ctx context.Context, r *rooms) (decision trust.Decision, err error) {
	enter := func(now *config.State) {
		r.part.process.Set(func(p *Process) *Process {
			next := *p
			next.Config = now
			return &next
		})
	}
	r.consent = &consent{
		trust: r.part.trust, asks: &r.asks, events: r.events, clock: r.clock, opts: r.opts,
		mode: func() string { return r.rights.mode() }, apply: func() { r.rights.apply(r.settings.now()) }, end: r.end,
	}
	r.settings, decision, err = openSettings(ctx, r.opts, config.LiveOptions{
		Changed: func(_, now *config.State, _ config.Change) { enter(now) },
		Review:  r.consent.review, Veto: func(ctx context.Context, change config.Change) error { return r.hooks.veto(ctx, change) }, After: time.Second,
		Notice: func(text string) { r.events.Emit(proto.Notice{Level: "warning", Text: text}) },
	})
	if err != nil {
		return decision, err
	}
	r.settings.now = func() *config.State { return r.part.process.Get().Config }
	r.consent.settings = r.settings
	enter(r.settings.live.State())
	web, err := transport.Client(r.settings.variable)
	if err != nil {
		return decision, &ExitError{codeSettings, err}
	}
	r.hooks = &hooks{settings: r.settings, events: r.events, ctx: r.ctx, notify: map[string]*time.Timer{}}
	r.hooks.watched = hook.NewWatched(r.opts.Cwd, r.scope.Cwd, func(e hook.Event) { r.hooks.Fire(r.ctx, e) })
	r.limits = &limits{
		opts: r.opts, settings: r.settings, process: r.part.process, session: r.part.session, events: r.events, clock: r.clock,
		web: web, first: func() string { return r.models.begun.Info().Ref() }, ctx: r.ctx,
	}
	r.limits.spending = newLedger(r)
	host := proc.NewHost(proc.Options{RunDir: filepath.Join(r.settings.places.Home, "run"), Watcher: watcher()})
	r.programs = &programs{
		settings: r.settings, session: r.part.session, scope: r.scope, host: host, owner: host.Owner("session"),
		handlers: func() []*hook.Handler { return r.hooks.set.Handlers() },
	}
	r.rights = &rights{
		opts: r.opts, settings: r.settings, permission: r.part.permission, session: r.part.session, events: r.events, hooks: r.hooks,
		limits: r.limits, programs: r.programs, temp: r.folders.temp, later: func(texts ...string) { r.main.Later(texts...) }, notes: notes.New(notesConfig(r)), ctx: r.ctx,
	}
	return decision, r.limits.build(ctx, r.settings.now())
}

// buildModels finds the model to begin with, and those that take over for it.
func buildModels(ctx context.Context, r *rooms, given provider.Model) error {
	m, err := newModels(r.opts, r.settings, r.programs.runHelper)
	if err != nil {
		return err
	}
	r.models = m
	m.given, m.cwd, m.session, m.cost, m.shaping = given, r.scope.Cwd, r.part.session, r.part.cost, r.part.shaping
	m.limits, m.hooks, m.clock, m.opts, m.ctx = r.limits, r.hooks, r.clock, r.opts, r.ctx
	if r.opts.Record != "" {
		m.recorder, err = record.Create(r.opts.Record, record.Options{Secrets: record.SecretsOf(varsOf(r.settings.env())), Now: time.Now, Program: "myelin " + r.opts.Version})
		if err != nil {
			return err
		}
		r.clock.Now, r.clock.NewID = m.recorder.Now(r.clock.Now), m.recorder.NewID(r.clock.NewID)
		r.tape.Begin(m.recorder, r.store.Get())
	}
	if m.begun, _, err = m.first(ctx, r.opts); err != nil {
		return err
	}
	if rec := m.recording; rec != nil {
		r.clock.Now, r.clock.NewID = rec.Now(r.clock.Now), rec.NewID(r.clock.NewID)
	}
	if m.begun.Info().Provider == "offline" && r.opts.Model == "" {
		offlineNotice(r, "No key and no local model was found; the built-in offline helper answers simple requests. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or start a local server, to talk to a model.")
	}
	if limit := r.limits.forbiddenModel(m.begun.Info().Ref()); limit != "" {
		return &ExitError{codeSettings, fmt.Errorf("model %s: %s", m.begun.Info().Ref(), limit)}
	}
	m.chooseFallbacks(ctx, func(text string) { r.events.Early(proto.Notice{Level: "warning", Text: text}) })
	return nil
}

// buildInstructions makes what stands in front of the conversation.
func buildInstructions(r *rooms) {
	r.instructions = &instructions{
		opts: r.opts, settings: r.settings, session: r.part.session, state: r.part.memory, asks: &r.asks, events: r.events, clock: r.clock,
		hooks: r.hooks, pool: r.pool, hidden: func(path string) bool { return hides(r.gate, path) }, readOnly: r.consent.readOnly.Load, ctx: r.ctx,
		environment: func() prompt.Environment { return environment(r) }, notes: r.rights.notes,
	}
	r.turns.instructions = r.instructions
	r.instructions.prompt, r.instructions.memory = prompt.New(promptConfig(r)), memory.New(r.instructions.options())
}

func hookConfig(r *rooms) hook.Config {
	ps := r.programs
	return hook.Config{
		State: r.part.hook, Owner: ps.owner, Env: func() []string { return ps.scrubbed(r.settings.env().Lines()) }, Cwd: r.scope.Cwd,
		Root: func() string { return r.part.session.Get().ProjectRoot }, Home: r.settings.places.UserHome, Dir: r.folders.dir,
		Rule: func(rule, name string, input json.RawMessage) bool { return matchRule(r, rule, name, input) }, Getenv: r.settings.variable,
		Common: func() hook.Common {
			now := r.part.session.Get()
			return hook.Common{
				Session: now.ID, Transcript: r.main.Transcript().Path(), Cwd: now.Cwd, Mode: r.rights.mode(), Effort: now.Effort, Prompt: r.main.LastPrompt(),
			}
		},
		HTTPLimits: func() hook.HTTPLimits { return httpLimits(r.settings.now()) }, Tell: r.events.Emit, Now: r.clock.now, NewID: r.clock.newID,
		EndTimeout: time.Duration(numbered(r.settings.env(), "MYELIN_SESSIONEND_HOOKS_TIMEOUT_MS", 0)) * time.Millisecond,
		Ask:        r.models.askHook, Start: ps.startHook, Inside: r.folders.temp, HTTP: r.limits.web,
		Confines: func(x *hook.Handler) bool { return x.Confine && ps.boxOn() },
		Woken:    func(text string) { r.main.Owe(msg.Reminder([]string{text})...) },
		Later:    func(text string) { r.main.Later(text) },
	}
}

// matchRule says whether a call is of the kind a permission rule describes, for hooks.
func matchRule(r *rooms, rule, name string, input json.RawMessage) bool {
	m, err := permission.NewMatcher(rule, r.gate.Env())
	if err != nil {
		return true // a condition that cannot be read must not silence a guard
	}
	call, traits := tool.Call{Name: name, Literal: input, Input: input, Scope: r.scope}, tool.Traits{}
	if t := r.pool.Tool(name); t != nil {
		traits = t.Traits(call)
	}
	return m.Match(gate.Request(call, traits))
}

func promptConfig(r *rooms) prompt.Config {
	return prompt.Config{
		State: r.part.prompt, Replace: r.opts.SystemPrompt, Append: appended(r.opts, r.settings), Tools: r.pool.Names(), Style: r.instructions.outputStyle(),
		Model: func() string { return r.part.session.Get().Model }, Notes: r.rights.notes.Places(),
		Sources:     []prompt.Source{r.instructions.source(), r.rights.notes.Source()},
		Report:      func(err error) { r.events.Emit(proto.Notice{Level: "warning", Key: "instructions", Text: err.Error()}) },
		Environment: environment(r),
	}
}

// environment is what the system prompt tells of the machine and the folder.
func environment(r *rooms) prompt.Environment {
	now := r.part.session.Get()
	return prompt.Environment{
		Cwd: now.Cwd, Dirs: r.part.permission.Get().WorkDirs(), Platform: runtime.GOOS, Shell: filepath.Base(orText(r.settings.variable("SHELL"), "sh")),
		Started: now.StartedAt, Git: gitSnapshot(r),
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
	if r.hooks != nil && r.hooks.set != nil {
		r.hooks.end(ctx, "other")
	}
	if r.tasks != nil {
		r.tasks.LetGo()
		r.tasks.Live.StopAll("the session ended")
	}
	if r.programs != nil {
		errs = append(errs, r.programs.close())
	}
	if r.limits != nil {
		r.limits.close()
	}
	if r.main != nil {
		r.limits.spending.Account()
	}
	if r.hooks != nil {
		r.hooks.watched.Close()
	}
	if r.main != nil {
		errs = append(errs, r.main.Transcript().Close())
		if !r.tasks.Outlives() { // a service may still use them
			errs = append(errs, r.folders.empty())
		}
	}
	if r.turns != nil && r.turns.history != nil {
		errs = append(errs, r.turns.history.Close())
	}
	if r.folders.pages != nil {
		r.folders.pages.EndSession(r.part.session.Get().ID)
		errs = append(errs, r.collectPages())
		if r.folders.old != nil {
			errs = append(errs, r.folders.old.apply())
		}
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
			return err == nil && r.clock.now().Sub(st.ModTime()) < 24*time.Hour
		})
	})
	return err
}

func random8() (out [8]byte) {
	_, _ = rand.Read(out[:]) // never fails
	return out
}
