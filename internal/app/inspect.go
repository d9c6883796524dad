package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/providers/discover"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

// StateShape is the types of the state and who changes it.
func StateShape() inspect.Shape {
	return inspect.Shape{Process: reflect.TypeFor[Process](), Session: reflect.TypeFor[State](), Writers: writers()}
}

// writers say who changes a slice, and when. A field's own entry wins.
func writers() map[string]string {
	return map[string]string{
		"config":     "feature/config, on load and reload",
		"policy":     "feature/policy, on fetch, expiry and refresh",
		"session":    "feature/session, on operations of surfaces and turns",
		"permission": "feature/permission, on settings, answers and changes of mode",
		"trust":      "feature/trust, at the start and on the answer",
		"tool":       "app/pool, whenever the pool is assembled",
		"task":       "feature/task, from any depth",
		"surfaces":   "app, on an operation of that surface",
		"cost":       "feature/cost, from any depth",
		"shaping":    "feature/shaping, each round",
		"transcript": "feature/transcript, with each record",
		"prompt":     "feature/prompt, each round",
		"hook":       "feature/hook, on load and when hooks run",
		"todo":       "feature/todo, by the list's tools",
		"memory":     "feature/memory, when instruction files are loaded",

		"permission.sandbox": "app, when the sandbox was looked at",
		"session.cwd":        "feature/session, when a command leaves the shell elsewhere",
		"session.model":      "feature/session, on a change of model",
	}
}

// looked is a session that is only looked at: it is built like any other, but nothing is asked of a
// model, fired or recorded, and its worker never starts.
type looked struct {
	rooms  *rooms
	cancel context.CancelCauseFunc
}

// lookAt builds a session to look at. given stands in for the model; nil finds the one the session
// would have.
func lookAt(ctx context.Context, o Options, given provider.Model) (looked, error) {
	o.NoPersist, o.IgnoreBadRules, o.Resume, o.Continue, o.Record = true, true, "", false, ""
	if given != nil {
		o.Model = given.Info().Ref() // nothing is to be said of a model nobody will talk to
	}
	s, err := built(ctx, o, given)
	if err != nil {
		return looked{}, err
	}
	return looked{s.rooms, s.cancel}, nil
}

// close ends it without firing the hooks of an end: nothing has begun.
func (l looked) close(ctx context.Context) error {
	l.rooms.settings.live.Close()
	l.rooms.hooks.set.Load(nil, hook.Switches{})
	l.cancel(errClosed)
	return l.rooms.close(ctx)
}

// Look builds a session with these options to look at, without a model, and hands what there is to see of
// it to see.
func Look(ctx context.Context, o Options, see func(*inspect.Subject) error) (err error) {
	return look(ctx, o, offline.New(), see)
}

// LookAtTools is Look with the model the session would begin with: some tools go with the model.
func LookAtTools(ctx context.Context, o Options, see func(*inspect.Subject) error) error {
	o.Answers = true
	model, err := beginsWith(ctx, o)
	if err != nil { // no model: that must not keep anybody from looking at the tools
		model = offline.New()
	}
	return look(ctx, o, model, see)
}

func look(ctx context.Context, o Options, model provider.Model, see func(*inspect.Subject) error) error {
	l, err := lookAt(ctx, o, model)
	if err != nil {
		return err
	}
	return errors.Join(see(l.subject()), l.close(ctx))
}

// subject is what there is to see of the session.
func (l looked) subject() *inspect.Subject {
	r := l.rooms
	return &inspect.Subject{
		Permission: l.rooms.part.permission.Get(), Trust: l.rooms.part.trust.Get(), Problems: r.settings.now().Errors,
		HooksOff: l.rooms.part.hook.Get().Disabled, Scope: r.scope, Dirs: r.rights.dirs, Policy: r.gate.PolicyFor,
		Request: func(c tool.Call, t tool.Traits) permission.Request { return gate.Request(c, t) }, Handlers: r.hooks.set.Handlers,
		Reload: func() []hook.Problem { return r.hooks.load(r.settings.now()) }, Fire: r.hooks.set.Fire,
		Tool: r.pool.Tool, ToolNames: r.pool.Known, Pool: l.poolRows, Outside: l.runsOutside, Writable: l.writablePath(),
		Sandbox: func() inspect.Confinement {
			if r.programs.box.Wanted() == "off" {
				return inspect.Confinement{Off: true}
			}
			_, on := r.programs.box.On()
			return inspect.Confinement{On: on, Status: r.programs.box.Status()}
		},
	}
}

// poolRows are the tools, also those that were dropped.
func (l looked) poolRows() (rows []inspect.ToolRow) {
	l.rooms.pool.Names() // assembles it
	for _, p := range l.rooms.part.pool.Get().Pool {
		row := inspect.ToolRow{Name: p.Name, State: p.State, Step: p.Step, Reason: p.Why}
		if t := l.rooms.pool.Tool(p.Name); t != nil {
			row.Description, row.Schema = t.Spec().Description, t.Spec().Schema
		}
		rows = append(rows, row)
	}
	return rows
}

// runsOutside are the commands that run outside of the sandbox.
func (l looked) runsOutside() (out []inspect.OutsideCommand) {
	for _, command := range l.rooms.programs.outsideCommands() {
		in := l.rooms.programs.guard.Inputs(command)
		out = append(out, inspect.OutsideCommand{Name: command.Name, Files: len(in.Files), Unknown: in.Unknown})
	}
	return out
}

// writablePath are the entries of PATH that commands of the model may write.
func (l looked) writablePath() (out []string) {
	path := l.rooms.settings.env().Value("PATH")
	kept := filepath.SplitList(l.rooms.programs.finder.Path(path))
	for _, dir := range filepath.SplitList(path) {
		if !slices.Contains(kept, dir) {
			out = append(out, cmp.Or(dir, "(an empty entry)"))
		}
	}
	return out
}

// OpenSettings reads the settings of a folder, without a session. Broken parts of files are problems of
// [inspect.Settings.Validate], no errors; an error has an exit code.
func OpenSettings(ctx context.Context, o Options) (*inspect.Settings, error) {
	s, err := readSettings(ctx, o)
	if err != nil {
		return nil, err
	}
	return s.toSee(), nil
}

func readSettings(ctx context.Context, o Options) (*settings, error) {
	if o.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working directory: %w", err)
		}
		o.Cwd = dir
	}
	o.IgnoreBadRules, o.Warn = true, nil
	s, _, err := openSettings(ctx, o, config.LiveOptions{})
	return s, err
}

func (s *settings) toSee() *inspect.Settings {
	return &inspect.Settings{Live: s.live, Places: s.places, Env: s.base, Sections: sections(), Variables: usedVariables(), Write: s.set, Hooks: hookSources}
}

// SettingsSchema is the JSON schema of settings files.
func SettingsSchema() (json.RawMessage, error) { return config.Schema(sections()...) }

// Doctor examines the installation and tells each finding as it is known. An error means that the
// examination itself could not be made.
func Doctor(ctx context.Context, o Options, tell func(inspect.Check)) error {
	tell(inspect.Version(o.Version))
	s, err := readSettings(ctx, o)
	if err != nil {
		tell(inspect.Check{Name: "settings", Status: "failed", Detail: err.Error()})
		return nil
	}
	defer s.live.Close()
	x := inspect.Examination{
		Settings: s.toSee(), Tell: tell, Run: filepath.Join(s.places.Home, "run"),
		Git: func(ctx context.Context, args ...string) ([]byte, error) {
			return s.git().Run(ctx, os.TempDir(), args...)
		},
		Model: func(ctx context.Context) (found inspect.Found, warning, err error) {
			m, warning := newModels(o, s, nil)
			if m == nil {
				return found, warning, nil
			}
			choice, err := m.find.Resolve(ctx)
			if err != nil {
				return found, warning, err
			}
			return inspect.Found{Offline: choice.API == discover.Offline, Ref: choice.Info.Ref(), Source: choice.Source}, warning, nil
		},
	}
	x.Machine(ctx)
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		tell(inspect.Check{Name: "session", Status: "failed", Detail: err.Error()})
		return nil
	}
	x.Subject(l.subject())
	return l.close(ctx)
}

func lookForModels(ctx context.Context, o Options) (*models, func(), error) {
	s, err := readSettings(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	m, err := newModels(o, s, nil)
	if err != nil {
		s.live.Close()
		return nil, nil, err
	}
	m.cwd = func() string { return o.Cwd }
	return m, s.live.Close, nil
}

// beginsWith is the model a session with these options would begin with.
func beginsWith(ctx context.Context, o Options) (provider.Model, error) {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	model, _, err := m.first(ctx, o)
	return model, err
}

// Models lists the models that can be used here, and the services that cannot, with why.
func Models(ctx context.Context, o Options) ([]inspect.ModelRow, error) {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	return inspect.Models(ctx, m.find), nil
}

// CheckModel tries what a session needs of a model and tells each outcome as it is known.
func CheckModel(ctx context.Context, o Options, name string, tell func(name string, ok bool, detail string)) error {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	model, err := m.named(ctx, name)
	if err != nil {
		return signIn(err)
	}
	err = discover.Check(ctx, model, func(c discover.Checked) { tell(c.Name, c.OK, c.Detail) })
	return signIn(err)
}

func shelfOf(p config.Places) transcript.Shelf {
	s := transcript.Shelf{Home: p.Home, Public: p.DropIn}
	if p.GuestHome != "" {
		s.Guests = []string{p.GuestHome}
	}
	return s
}

// Sessions lists the conversations of a folder, the newest first; of every folder when o.Cwd is empty.
func Sessions(o Options) ([]inspect.SessionRow, error) {
	cwd := o.Cwd
	o.Cwd = cmp.Or(cwd, "/")
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return nil, err
	}
	return inspect.Sessions(shelfOf(places), cwd)
}

// Prompts yields the prompts that were sent in this project, the newest first.
func Prompts(o Options) iter.Seq2[string, error] {
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return func(yield func(string, error) bool) { yield("", err) }
	}
	return inspect.Prompts(filepath.Join(places.Home, "history.jsonl"), o.Cwd)
}

// Recorded is the state of a recorded conversation as a session that resumed it would begin with:
// rebuilt from its transcript and the settings of today. Nothing runs and nothing is written. An
// empty session means the newest of the folder.
func Recorded(ctx context.Context, o Options, session string) (*State, error) {
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return nil, err
	}
	info, err := inspect.FindSession(shelfOf(places), o.Cwd, session)
	if err != nil {
		return nil, err
	}
	loaded, err := transcript.Load(info.Path, transcript.LoadOptions{})
	if err != nil {
		return nil, err
	}
	l, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return nil, err
	}
	l.rebuild(info, loaded)
	return l.rooms.store.Get(), l.close(ctx)
}

// rebuild takes over what a transcript says.
func (l looked) rebuild(info transcript.Info, loaded *transcript.Loaded) {
	begin(l.rooms, conversation.Opened{ID: info.ID, Loaded: loaded})
	l.rooms.part.transcript.Set(func(*transcript.State) *transcript.State {
		return &transcript.State{Path: info.Path, LastID: loaded.LastID, Records: loaded.Records, Bytes: loaded.Bytes}
	})
	now := *l.rooms.part.session.Get()
	now.Title, now.Name, now.ProjectDir = info.Title(), info.CustomTitle, filepath.Dir(info.Path)
	now.StartedAt = info.Started
	answers := map[string]msg.Message{}
	for _, m := range loaded.Messages {
		if m.Role != msg.Assistant {
			continue
		}
		if m.Model != "" {
			now.Model = m.Model
		}
		if m.Usage != nil {
			answers[m.Response] = m // each block repeats it; the last one knows most
		}
	}
	if l.rooms.part.cost.Get().Total.Requests == 0 { // nothing was noted: what the lines say is all that is known
		for _, m := range answers {
			model, _ := l.rooms.models.info(m.Model)
			cost.Book(l.rooms.part.cost, cost.Entry{Model: model, Usage: *m.Usage})
		}
	}
	l.rooms.part.session.Set(func(*session.State) *session.State { return &now })
}

// varsOf are the variables of an environment by name.
func varsOf(env config.Environ) map[string]string {
	out := map[string]string{}
	for _, line := range env.Lines() {
		if name, value, ok := strings.Cut(line, "="); ok {
			out[name] = value
		}
	}
	return out
}
