package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
	"github.com/myelin-agent/myelin/internal/providers/discover"
	"github.com/myelin-agent/myelin/internal/providers/offline"
	"github.com/myelin-agent/myelin/internal/providers/record"
	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/sys/transport"
	"github.com/myelin-agent/myelin/internal/sys/visible"
	"github.com/myelin-agent/myelin/internal/tools/websearch"
)

// models opens models by name and keeps those that were opened.
type models struct {
	find  *discover.Discovery
	given provider.Model // handed in by who started the session (the demo); nil: none
	begun provider.Model // the one the session began with

	cwd     func() string
	session store.Slice[session.State]
	cost    store.Slice[cost.State]
	shaping store.Slice[shaping.State]
	limits  *limits
	hooks   *hooks
	clock   *clock
	opts    Options
	ctx     context.Context

	classifier *permission.Classifier
	recorder   *record.Recorder
	recording  *record.Recording

	mu   sync.Mutex // guards open
	open map[string]provider.Model

	thinking atomic.Pointer[int] // budget in tokens; nil: default
}

// newModels makes the discovery of a session. It reads settings and environment as they are when a model is
// looked for, or a key is needed. run runs helpers and programs that know keys; nil: none is run.
func newModels(o Options, s *settings, run helperRunner) (*models, error) {
	cfg := discover.Config{
		Explicit: o.Model, Env: s.variable, Model: setting(s.now(), "model", ""),
		Overrides:   func() map[string]string { return setting[map[string]string](s.now(), "modelOverrides", nil) },
		Corrections: setting[map[string]json.RawMessage](s.now(), "models", nil),
		KeyHelper:   run.key(s),
		HasHelper:   func() bool { _, ok := keyHelper(s.now()); return ok },
		Run: func(ctx context.Context, name string, args ...string) ([]byte, error) {
			return run.output(ctx, helper{name: "the program for AWS credentials", words: append([]string{name}, args...)})
		},
	}
	client, err := transport.Client(s.variable)
	if err != nil {
		return nil, err
	}
	cfg.HTTP = client
	find, err := discover.New(cfg)
	if find == nil {
		return nil, err
	}
	if err != nil && o.Warn != nil { // corrections of models that cannot be read spoil only themselves
		fmt.Fprintf(o.Warn, "myelin: %s\n", visible.Text(err.Error()))
	}
	return &models{find: find, open: map[string]provider.Model{}}, nil
}

// first is the model a session begins with, and where it was found.
func (m *models) first(ctx context.Context, o Options) (provider.Model, string, error) {
	if m.given != nil {
		return m.given, "given", nil
	}
	choice, err := m.find.Resolve(ctx)
	if err != nil {
		return nil, "", signIn(err)
	}
	if choice.API == discover.Offline && o.NoOffline && !choice.Named {
		return nil, "", &ExitError{codeSignIn, errors.New("no key and no model: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or name a model with --model")}
	}
	model, err := m.opened(choice)
	return model, choice.Source, err
}

func signIn(err error) error {
	if provider.KindOf(err) == provider.KindAuth {
		return &ExitError{codeSignIn, err}
	}
	return err
}

// named opens a model by name; the same name gives the same model.
func (m *models) named(ctx context.Context, name string) (provider.Model, error) {
	if m.given != nil && (name == m.given.Info().Ref() || name == m.given.Info().ID) {
		return m.given, nil
	}
	choice, err := m.find.Named(ctx, name)
	if err != nil {
		return nil, err
	}
	return m.opened(choice)
}

func (m *models) opened(c discover.Choice) (provider.Model, error) {
	key := string(c.API) + " " + c.Info.Ref() + " " + c.File
	m.mu.Lock()
	defer m.mu.Unlock()
	if model, ok := m.open[key]; ok {
		return model, nil
	}
	model, err := m.make(c)
	if err != nil {
		return nil, err
	}
	if m.recorder != nil {
		model = m.recorder.Model(model)
	}
	m.open[key] = model
	m.open[model.Info().Ref()] = model
	return model, nil
}

func (m *models) make(c discover.Choice) (provider.Model, error) {
	switch c.API {
	case discover.Script:
		data, err := os.ReadFile(c.File)
		if err != nil {
			return nil, fmt.Errorf("read script: %w", err)
		}
		s, err := script.Parse(c.File, data)
		if err != nil {
			return nil, err
		}
		return script.New(s, script.Options{Cwd: m.cwd}), nil
	case discover.Replay:
		r, err := record.Open(c.File)
		if err != nil {
			return nil, err
		}
		m.recording = r
		return r.Model(record.Pace{}), nil
	case discover.Offline:
		return offline.New(), nil
	}
	return m.find.Open(c)
}

// ref returns an open model by provider/id; nil when it was never opened.
func (m *models) ref(ref string) provider.Model {
	if m.given != nil && m.given.Info().Ref() == ref {
		return m.given
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open[ref]
}

// info describes a model by provider/id.
func (m *models) info(ref string) (provider.Info, bool) {
	if model := m.ref(ref); model != nil {
		return model.Info(), true
	}
	service, id, ok := strings.Cut(ref, "/")
	if !ok {
		return provider.Info{}, false
	}
	return m.find.Catalog().Model(service, id)
}

// small is the model for side requests (fetch, titles, checks): the fast one of the same service
// where the catalog knows one and it may be used, else the session's own.
func (m *models) small(ctx context.Context) provider.Model {
	main := m.now()
	if ref, ok := m.find.Fast(main.Info().Provider); ok && m.given == nil && m.limits.forbiddenModel(ref) == "" {
		if model, err := m.named(ctx, ref); err == nil {
			return model
		}
	}
	return main
}

// ask makes one request beside the conversation and books what it used. The answer is whole, or an
// error.
func (m *models) ask(ctx context.Context, model provider.Model, req provider.Request, tool string) ([]msg.Block, error) {
	if why := m.limits.forbiddenModel(model.Info().Ref()); why != "" {
		return nil, errors.New(why)
	}
	req.Messages = msg.Sendable(req.Messages, msg.Bounds{})
	req.Options.SessionID = m.session.Get().ID
	if err := m.limits.spending.AdmitAside(model.Info(), req); err != nil {
		return nil, err
	}
	began := m.clock.now()
	var blocks []msg.Block
	var usage msg.Usage
	started, done := false, false
	var failure error
	for e, err := range model.Stream(ctx, req) {
		if err != nil {
			failure = err
			break
		}
		switch e := e.(type) {
		case provider.Start:
			started, usage = true, e.Usage
		case provider.BlockDone:
			if !e.Partial {
				blocks = append(blocks, e.Block)
			}
		case provider.Done:
			done, usage = true, e.Usage
		}
	}
	if started {
		m.limits.spending.Book(cost.Entry{
			Model: model.Info(), Lane: req.Lane, Tool: tool, Usage: usage, Took: m.clock.now().Sub(began), Failed: !done,
		})
	}
	switch {
	case failure != nil:
		return nil, failure
	case !done:
		return nil, &provider.Error{Kind: provider.KindStream, Provider: model.Info().Provider, Message: "the answer broke off"}
	}
	return blocks, nil
}

// askSmall asks the small model one question in a lane.
func (m *models) askSmall(ctx context.Context, lane provider.Lane, prompt, tool string) (string, error) {
	blocks, err := m.ask(ctx, m.small(ctx), provider.Request{
		Lane: lane, Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: prompt}}}},
		Options: provider.Options{NoCache: true},
	}, tool)
	return msg.TextOf(blocks), err
}

// now is the session's model at this moment.
func (m *models) now() provider.Model {
	if m := m.ref(m.session.Get().Model); m != nil {
		return m
	}
	return m.begun
}

// setModel changes the model from the next request on.
func (m *models) setModel(name string) error {
	if name == "" || name == "default" {
		name = m.begun.Info().Ref()
	}
	model, err := m.named(m.ctx, name)
	if err != nil {
		return err
	}
	from, to := m.session.Get().Model, model.Info().Ref()
	if from == to {
		return nil
	}
	if limit := m.limits.forbiddenModel(to); limit != "" {
		return fmt.Errorf("model %s: %s", to, limit)
	}
	fields := map[string]any{"from_model": from, "to_model": to, "requested_model": name, "source": "command", "context_tokens": m.shaping.Get().Used}
	o := m.hooks.Fire(m.ctx, hook.Event{Name: hook.PreModelSwitch, Match: to, Fields: fields})
	if o.Decision == "deny" || o.Block || (o.Decision == "ask" && !m.opts.Answers) {
		return fmt.Errorf("a hook refused the model %s: %s", to, orText(o.Reason, o.BlockReason))
	}
	session.SetModel(m.session, to, m.session.Get().FallbackModels)
	m.hooks.Fire(m.ctx, hook.Event{Name: hook.PostModelSwitch, Match: to, Fields: fields})
	return nil
}

// askClassifier asks the classifier's model.
func (m *models) askClassifier(ctx context.Context, p permission.Prompt) (string, error) {
	blocks, err := m.ask(ctx, m.small(ctx), provider.Request{
		Lane: provider.LaneClassifier, System: []msg.Block{msg.Text{Text: p.System}},
		Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: p.Context}, msg.Text{Text: p.Question}}}},
		Options:  provider.Options{MaxTokens: p.MaxTokens, Thinking: -1},
	}, "")
	return msg.TextOf(blocks), err
}

// askHook asks a model for a hook.
func (m *models) askHook(ctx context.Context, name, text string) (string, error) {
	model := m.small(ctx)
	if name != "" {
		m, err := m.named(ctx, name)
		if err != nil {
			return "", err
		}
		model = m
	}
	blocks, err := m.ask(ctx, model, provider.Request{
		Lane: provider.LaneHook, Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}},
		Options: provider.Options{NoCache: true},
	}, "")
	return msg.TextOf(blocks), err
}

// searchWeb lets the provider search.
func (m *models) searchWeb(ctx context.Context, q websearch.Query) (websearch.Found, error) {
	model := m.now()
	if !model.Info().WebSearch {
		return websearch.Found{}, websearch.ErrUnsupported
	}
	blocks, err := m.ask(ctx, model, provider.Request{
		Lane: provider.LaneFetch, Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: websearch.Prompt(q)}}}},
		Options: provider.Options{NoCache: true, WebSearch: &provider.WebSearch{MaxUses: q.MaxUses, AllowedDomains: q.AllowedDomains, BlockedDomains: q.BlockedDomains}},
	}, websearch.Name)
	if err != nil {
		return websearch.Found{}, err
	}
	return websearch.FoundIn(blocks), nil
}

// chooseFallbacks opens the models that take over for the one in use, as the command line or the settings
// name them.
func (m *models) chooseFallbacks(ctx context.Context, warn func(text string)) {
	names := m.opts.Fallbacks
	if len(names) == 0 {
		names = setting[[]string](m.limits.settings.now(), "fallbackModel", nil)
	}
	var refs []string
	for _, name := range names[:min(len(names), 3)] {
		model, err := m.named(ctx, name)
		if err != nil {
			warn("The fallback model " + name + " cannot be used: " + err.Error())
			continue
		}
		refs = append(refs, model.Info().Ref())
	}
	m.session.Set(func(prev *session.State) *session.State {
		next := *prev
		next.FallbackModels = refs
		return &next
	})
}

// round is the model of the next round with its options.
func (m *models) round() (provider.Model, provider.Options) {
	now := m.session.Get()
	opts := provider.Options{
		MaxTokens: m.opts.MaxTokens, UserSetMaximum: m.opts.MaxTokens > 0, Effort: now.Effort, Betas: m.opts.Betas,
		SessionID: now.ID, NoCache: flagged(m.limits.settings.env(), "DISABLE_PROMPT_CACHING"),
	}
	if n := numbered(m.limits.settings.env(), "MYELIN_MAX_OUTPUT_TOKENS", 0); opts.MaxTokens == 0 && n > 0 {
		opts.MaxTokens, opts.UserSetMaximum = n, true
	}
	if budget := m.thinking.Load(); budget != nil {
		opts.Thinking = *budget
		if *budget == 0 {
			opts.Thinking = -1
		}
	} else {
		opts.Thinking = thinking(m.limits.settings)
	}
	for _, ref := range now.FallbackModels {
		if model := m.ref(ref); model != nil && m.limits.forbiddenModel(ref) == "" {
			opts.Fallbacks = append(opts.Fallbacks, model)
		}
	}
	return m.now(), opts
}
