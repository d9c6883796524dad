package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// HelperMain answers the modes in which the program is its own helper: inside a sandbox, or as the
// watcher that ends orphaned commands. It must be called before anything else in main; when it
// reports handled, the process must exit with the code at once.
func HelperMain() (code int, handled bool) {
	handled, code = sandbox.HelperMain()
	return code, handled
}

// box is the shell sandbox of a session: what the settings ask for, and what this machine can do.
type box struct {
	s    *Session
	sys  *sandbox.Box
	asks sync.Map // host:port → *hostAsk: one question a host, others wait
}

func newBox(s *Session) *box {
	return &box{s: s, sys: sandbox.New(sandbox.Options{
		StateDir: filepath.Join(s.rooms.settings.places.Home, "sandbox"),
		Report:   func(err error) { s.early(proto.Notice{Level: "warning", Text: err.Error()}) },
	})}
}

// tidy ends what sessions that were killed have left running, names it, and removes what their
// sandboxes left on disk.
func (b *box) tidy() {
	warn := func(text string) { b.s.early(proto.Notice{Level: "warning", Key: "leftovers", Text: text}) }
	if err := b.sys.Clean(); err != nil {
		warn(err.Error())
	}
	left, err := proc.Leftovers(filepath.Join(b.s.rooms.settings.places.Home, "run"))
	if err != nil {
		warn(err.Error())
	}
	for _, l := range left {
		names := append([]string{}, l.Labels...)
		l.End(0)
		if len(names) > 0 {
			warn("A session that was killed had left running, and it was ended: " + strings.Join(names, "; "))
		}
	}
}

// wanted is the setting sandbox.enabled: on at any level, off, or auto.
func (b *box) wanted() string {
	state := b.s.config()
	if v, _, ok := config.Value[bool](state, "sandbox.enabled"); ok {
		return map[bool]string{true: "on", false: "off"}[v]
	}
	if setting(state, "sandbox.enabled", "auto") != "auto" || b.s.opts.DropIn {
		return "off"
	}
	return "auto"
}

// status is what this machine can do. The first call may try it out.
func (b *box) status() sandbox.Status {
	return b.sys.Probe(b.s.ctx, sandbox.Config{Bwrap: setting(b.s.config(), "sandbox.bwrapPath", ""), Nested: b.weaker()})
}

func (b *box) weaker() bool { return setting(b.s.config(), "sandbox.enableWeakerNestedSandbox", false) }

// on says whether shell commands run inside, and at which level.
func (b *box) on() (sandbox.Level, bool) {
	want := b.wanted()
	if want == "off" {
		return sandbox.None, false
	}
	level := b.status().Level
	return level, level == sandbox.Full || level == sandbox.Seatbelt || (want == "on" && level == sandbox.Partial)
}

// policy is what decisions know of the sandbox.
func (b *box) policy() permission.Sandbox {
	level, on := b.on()
	state := b.s.config()
	return permission.Sandbox{
		Enabled:         on,
		NoAutoAllow:     !setting(state, "sandbox.autoAllowBashIfSandboxed", true) || (level == sandbox.Partial && !b.weaker()) || flagged(b.s.rooms.env(), "MYELIN_SUBPROCESS_ENV_SCRUB"),
		NoEscape:        !setting(state, "sandbox.allowUnsandboxedCommands", true),
		Excluded:        setting[[]string](state, "sandbox.excludedCommands", nil),
		ReadOnlyMissing: b.s.planning() && !b.readOnly(), // looked at in plan mode only, for it costs a trial
	}
}

// readOnly says whether a command can be confined to reading, which plan mode needs whatever the
// settings say.
func (b *box) readOnly() bool {
	level := b.status().Level
	return level == sandbox.Full || level == sandbox.Seatbelt
}

// announce enters the state of the sandbox, and refuses to start when it is required and missing.
func (b *box) announce() error {
	want := b.wanted()
	if want == "off" {
		b.enter("off", "", nil)
		return nil
	}
	if want == "auto" && !setting(b.s.config(), "sandbox.failIfUnavailable", false) {
		return nil // looked at when the first command needs it: a start must not pay for it
	}
	st := b.status()
	b.enter(st.State(), st.Backend, st.Missing)
	if _, on := b.on(); on {
		return nil
	}
	if setting(b.s.config(), "sandbox.failIfUnavailable", false) {
		return &ExitError{codeSettings, fmt.Errorf("the sandbox is required and cannot be had: %s. %s", st.Reason, st.Fix)}
	}
	b.s.early(proto.Notice{Level: "warning", Key: "sandbox", Text: fmt.Sprintf("The sandbox is asked for and cannot be had: %s. %s Commands are asked for instead.", st.Reason, st.Fix)})
	return nil
}

func (b *box) enter(state, backend string, missing []string) {
	b.s.part.permission.Set(func(p *permission.State) *permission.State {
		if p.Sandbox.State == state && p.Sandbox.Backend == backend {
			return p
		}
		next := *p
		next.Sandbox = permission.SandboxState{State: state, Backend: backend, Missing: missing}
		return &next
	})
}

// run is the bash.Runner of the session: it starts a command as it was decided that it must be
// confined, and never otherwise.
func (b *box) run(spec proc.Spec, how tool.Confinement) (bash.Run, error) {
	if how.Level == tool.Unconfined {
		return bash.Unconfined(b.s.rooms.owner)(spec, how)
	}
	st := b.status()
	b.enter(st.State(), st.Backend, st.Missing)
	cfg, err := b.prepared(how)
	if err != nil {
		return bash.Run{}, err
	}
	release := b.s.rooms.settings.live.Hold() // what it writes is checked before it is loaded
	inside := bash.Confined(b.sys, b.s.rooms.owner, func() sandbox.Config { return cfg }, func(notes []string) {
		b.s.emit(proto.Notice{Level: "warning", Text: "The sandbox: " + strings.Join(notes, "; ")})
	})
	run, err := inside(spec, how)
	if err != nil {
		release()
		return bash.Run{}, err
	}
	told := run.After
	run.After = func(exit proc.Exit, output string) string {
		defer release()
		return told(exit, output)
	}
	return run, nil
}

// prepared is config with the folders made that must be there: what does not exist cannot be made
// writable.
func (b *box) prepared(how tool.Confinement) (sandbox.Config, error) {
	cfg := b.config(how)
	for _, dir := range []string{cfg.Cache, cfg.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return cfg, fmt.Errorf("make a folder for the sandbox: %w", err)
		}
	}
	return cfg, nil
}

// config turns the settings and the rules in force into what one command may do.
func (b *box) config(how tool.Confinement) sandbox.Config {
	s, state := b.s, b.s.config()
	p := s.rooms.settings.places
	c := sandbox.Config{
		Dir: p.Start, ReadOnly: how.Level == tool.ReadOnly, Temp: s.rooms.temp(),
		Cache:     filepath.Join(p.Home, "cache", "build", filepath.Base(s.rooms.shelf().Dir(p.Start))),
		Write:     append([]string{p.Start}, s.part.permission.Get().WorkDirs()...),
		Protect:   []string{p.Home, p.StateFile, p.GuestHome},
		FilesFree: setting(state, "sandbox.filesystem.disabled", false), UnixSockets: setting(state, "sandbox.network.allowAllUnixSockets", false),
		AllowPartial: b.wanted() == "on", Nested: b.weaker(), Bwrap: setting(state, "sandbox.bwrapPath", ""),
		Quarantine: filepath.Join(s.rooms.dir(), "quarantine"),
		Network:    sandbox.Network{Decide: b.decideHost},
	}
	c.Write = append(c.Write, b.paths("sandbox.filesystem.allowWrite")...)
	c.DenyWrite = append(b.paths("sandbox.filesystem.denyWrite"), b.rulePaths(permission.DenyList, "Edit")...)
	c.DenyRead = append(b.paths("sandbox.filesystem.denyRead"), b.rulePaths(permission.DenyList, "Read")...)
	c.AllowRead = b.paths("sandbox.filesystem.allowRead")
	c.Write = append(c.Write, b.rulePaths(permission.AllowList, "Edit")...)
	c.Show = []string{s.rooms.dir()} // aliases and what hooks left for commands
	c.DropEnv = []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
		"OPENROUTER_API_KEY", "AWS_BEARER_TOKEN_BEDROCK",
	}
	for _, v := range setting[[]credential](state, "sandbox.credentials.envVars", nil) {
		c.DropEnv = append(c.DropEnv, v.Name) // one that cannot be masked is taken away
	}
	for _, f := range setting[[]credential](state, "sandbox.credentials.files", nil) {
		c.DenyRead = append(c.DenyRead, s.absolute(f.Path))
	}
	return c
}

// credential is an entry of sandbox.credentials.
type credential struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Mode string `json:"mode"`
}

// paths reads a list of paths; relative ones start where their file's scope says.
func (b *box) paths(key string) []string {
	var out []string
	for _, block := range b.s.config().Blocks(key) {
		base := b.s.rooms.settings.places.Start
		if block.At.Scope == origin.User {
			base = b.s.rooms.settings.places.Home
		}
		for _, path := range texts(block.JSON) {
			path = strings.Replace(path, "//", "/", 1)
			switch {
			case strings.HasPrefix(path, "~/"):
				path = filepath.Join(b.s.rooms.settings.places.UserHome, path[2:])
			case !filepath.IsAbs(path):
				path = filepath.Join(base, path)
			}
			out = append(out, path)
		}
	}
	return out
}

// rulePaths are the paths of path rules of a list, so that what a rule says of files holds for
// whatever a command does. A pattern without a slash holds at any depth.
func (b *box) rulePaths(list permission.List, name string) []string {
	var out []string
	for _, p := range b.s.rooms.gate.policy().Rules.Paths(name, list) {
		pattern := strings.Trim(p.Pattern, "/")
		if pattern != "" && !strings.Contains(strings.TrimPrefix(p.Pattern, "/"), "/") && !strings.HasPrefix(p.Pattern, "/") {
			pattern = "**/" + pattern
		}
		out = append(out, filepath.Join(p.Base, pattern))
	}
	return out
}

// decideHost decides a connection of a sandboxed command: lists and rules, then whoever can answer.
// There is one question a host; others wait for its answer.
func (b *box) decideHost(ctx context.Context, to sandbox.Host) sandbox.Decision {
	host, port := to.Name, strconv.Itoa(to.Port)
	d := permission.DecideHost(host, port, b.hostPolicy())
	if d.Behavior == permission.Allow {
		return sandbox.Decision{Allow: true, Local: d.Named}
	}
	if d.Behavior == permission.Deny || !b.s.opts.Answers {
		return sandbox.Decision{Why: orText(d.Reason, "the host is on no list, and nobody can be asked")}
	}
	return b.askHost(ctx, d.Host, port)
}

func (b *box) hostPolicy() permission.HostPolicy {
	s, state := b.s, b.s.config()
	policy := s.rooms.gate.policy()
	return permission.HostPolicy{
		Allowed: setting[[]string](state, "sandbox.network.allowedDomains", nil), Denied: setting[[]string](state, "sandbox.network.deniedDomains", nil),
		ManagedAllowed: managed(state, "sandbox.network.allowedDomains"), ManagedDenied: managed(state, "sandbox.network.deniedDomains"),
		ManagedOnly: setting(state, "sandbox.network.allowManagedDomainsOnly", false), Strict: setting(state, "sandbox.network.strictAllowlist", false),
		Rules: policy.Rules, Mode: policy.Mode, Granted: s.part.permission.Get().GrantedHosts(),
	}
}

func managed(state *config.State, key string) []string {
	var out []string
	for _, b := range state.Blocks(key) {
		if b.At.Scope == origin.Managed {
			out = append(out, texts(b.JSON)...)
		}
	}
	return out
}

// hostAsk is one open question about a host.
type hostAsk struct {
	done   chan struct{}
	answer sandbox.Decision
}

func (b *box) askHost(ctx context.Context, host, port string) sandbox.Decision {
	mine := &hostAsk{done: make(chan struct{})}
	if other, waits := b.asks.LoadOrStore(host+":"+port, mine); waits {
		select {
		case <-other.(*hostAsk).done:
			return other.(*hostAsk).answer
		case <-ctx.Done():
			return sandbox.Decision{Why: "nobody answered in time"}
		}
	}
	defer b.asks.Delete(host + ":" + port)
	defer close(mine.done)
	answer, err := b.s.asks.Put(ctx, proto.Ask{
		ID: b.s.effects.NewID(), Kind: proto.AskHost, Title: "A command wants to connect to " + host + ":" + port, Text: host + ":" + port,
		Reason: "the host is on no list", Rule: "WebFetch(domain:" + host + ")",
		Options: []proto.Option{
			{ID: permission.AnswerSession, Label: "Yes, for this session", Behavior: "allow"},
			{ID: permission.AnswerAlways, Label: "Yes, and don't ask again in this project", Behavior: "allow", Updates: []proto.PermissionUpdate{{
				Type: "addRules", Behavior: "allow", Destination: "localSettings", Rules: []proto.RuleValue{{ToolName: "WebFetch", RuleContent: "domain:" + host}},
			}}},
			{ID: permission.AnswerNo, Label: "No", Behavior: "deny"},
		},
	})
	allowed := err == nil && answer.Behavior == "allow"
	until := "turn"
	if allowed {
		until = "session"
	}
	b.s.part.permission.Set(func(p *permission.State) *permission.State {
		return p.WithHost(host+":"+port, permission.HostFor{Allow: allowed, Until: until})
	})
	if allowed && answer.Option == permission.AnswerAlways {
		b.s.grant(proto.PermissionUpdate{Type: "addRules", Behavior: "allow", Destination: "localSettings", Rules: []proto.RuleValue{{ToolName: "WebFetch", RuleContent: "domain:" + host}}})
	}
	mine.answer = sandbox.Decision{Allow: allowed, Why: "refused by the user"}
	return mine.answer
}

// sandboxLine is the sandbox in one line, for people.
func (s *Session) sandboxLine() string {
	if s.rooms.box.wanted() == "off" {
		return "off"
	}
	return s.rooms.box.status().State()
}

// texts reads a JSON array of strings; files are checked when they are read.
func texts(raw json.RawMessage) []string {
	var out []string
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// Sandbox tells the state of the sandbox here, as "myelin sandbox status" prints it.
func Sandbox(ctx context.Context, o Options) (sandbox.Status, error) {
	s, err := inspect(ctx, o)
	if err != nil {
		return sandbox.Status{}, err
	}
	defer s.rooms.close(ctx) // nothing was started
	s.rooms.box.sys.Forget()
	return s.rooms.box.status(), nil
}

// RunSandboxed runs a program in the sandbox the settings describe, with this process's streams, and
// returns its exit code.
func RunSandboxed(ctx context.Context, o Options, args []string) (int, error) {
	s, err := inspect(ctx, o)
	if err != nil {
		return 1, err
	}
	defer s.rooms.close(context.WithoutCancel(ctx)) // the code of the program says what came of it
	spec := proc.Spec{Path: args[0], Args: args[1:], Dir: o.Cwd, Env: s.childEnv(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Label: args[0], Wraps: true}
	cfg, err := s.rooms.box.prepared(tool.Confinement{Level: tool.Sandboxed})
	if err != nil {
		return 1, err
	}
	c, err := s.rooms.box.sys.Start(s.rooms.owner, spec, cfg)
	if err != nil {
		return 1, err
	}
	var exit proc.Exit
	select {
	case <-c.Process.Done():
		exit = c.Process.Exit()
	case <-ctx.Done():
		exit = c.Process.Stop("interrupted")
	}
	if text := c.Finish("").Text(); text != "" {
		fmt.Fprintln(os.Stderr, text)
	}
	return exit.Code, nil
}
