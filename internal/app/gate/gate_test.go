package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

const project = "/home/dev/app"

// rig is a gate with fakes for all it is handed.
type rig struct {
	t       *testing.T
	gate    *gate.Gate
	given   gate.Given
	turn    gate.Turn
	state   store.Slice[permission.State]
	scope   *tool.Scope
	sandbox permission.Sandbox

	mu      sync.Mutex // guards the rest
	hooks   map[hook.Name]func(context.Context, hook.Event) hook.Outcome
	fired   []string // events of hooks, with the command they are about
	asked   []proto.Ask
	granted []proto.PermissionUpdate
	told    []proto.EventBody
	prompts int
}

// newRig makes a gate under a mode and rules: "+" allows, "?" asks, "-" denies. change completes what it is handed.
func newRig(t *testing.T, mode permission.Mode, rules []string, change ...func(*rig)) *rig {
	t.Helper()
	initial, _ := (&permission.State{}).WithAvailable(true, true, nil)
	initial, err := initial.WithRules(permission.FromUser, lists(rules...)).WithMode(mode)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, scope: tool.NewScope("", project), hooks: map[hook.Name]func(context.Context, hook.Event) hook.Outcome{}}
	root := store.New(*initial, nil, func(v any) { t.Errorf("a watcher failed: %v", v) })
	r.state = store.Focus(root, func(s *permission.State) *permission.State { return s }, func(_, s *permission.State) *permission.State { return s })
	dirs := permission.Dirs{Cwd: project, Project: project, Home: "/home/dev"}
	r.given = gate.Given{
		State: r.state, Dirs: func() permission.Dirs { return dirs }, ReadOnly: func() bool { return false },
		Tool: func(name string) tool.Tool {
			return map[string]tool.Tool{"Bash": shell(), "AskUserQuestion": form()}[name]
		},
		Settings: func() gate.Settings { return gate.Settings{AutoInPlan: true} }, Sandbox: func() permission.Sandbox { return r.sandbox },
		Hooks: func() gate.Hooks { return r }, TellHook: func(hook.Outcome) {},
		Answerer: func(by string) string { return by }, Prompts: func() int { return r.prompts },
		Grant: func(u proto.PermissionUpdate) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.granted = append(r.granted, u)
		},
		Tell: func(e proto.EventBody) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, e)
		},
		Drift: func(*tool.Scope, string) string { return "" }, Note: func([]string) {}, Later: func(...string) {},
		Now: func() time.Time { return time.Unix(0, 0) }, NewID: func() string { return "q" },
	}
	for _, c := range change {
		c(r)
	}
	r.gate = gate.New(r.given)
	r.state.Watch(func(old, now *permission.State) {
		if old.Revision != now.Revision {
			r.gate.Tightened()
		}
	})
	return r
}

func lists(rules ...string) (l permission.Lists) {
	for _, text := range rules {
		r := permission.Rule{Text: text[1:], Source: permission.FromUser, Base: project}
		switch text[0] {
		case '+':
			r.List = permission.AllowList
			l.Allow = append(l.Allow, r)
		case '?':
			r.List = permission.AskList
			l.Ask = append(l.Ask, r)
		case '-':
			r.List = permission.DenyList
			l.Deny = append(l.Deny, r)
		}
	}
	return l
}

// shell is a tool that tells what it would have run, where and how.
func shell() tool.Tool {
	type input struct {
		Command   string `json:"command"`
		NoSandbox bool   `json:"dangerouslyDisableSandbox,omitempty"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"dangerouslyDisableSandbox":{"type":"boolean"}},"required":["command"]}`)
	return tool.New(tool.Spec{Name: "Bash", Schema: schema},
		func(_ context.Context, in input, c tool.Call) (tool.Result, error) {
			return tool.Text(strings.TrimSpace(in.Command + " " + string(c.Confine.Level))), nil
		},
		tool.Traiter(func(in input, _ tool.Call) tool.Traits {
			return tool.Traits{Command: in.Command, Shell: true, ReadOnly: strings.HasPrefix(in.Command, "ls")}
		}))
}

// judged is a tool whose traits are judged by the gate, as those of the shell tool are.
type judged struct {
	tool.Tool
	r *rig
}

func (j judged) Traits(c tool.Call) tool.Traits {
	t := j.Tool.Traits(c)
	e := j.r.gate.Effects(t.Command, c.Dir())
	t.ReadOnly, t.Beside, t.Snapshot = e.ReadOnly, e.Beside, e.Destructive
	return t
}

func commandOf(input json.RawMessage) string {
	var in struct{ Command string }
	_ = json.Unmarshal(input, &in) // what is no command is empty
	return in.Command
}

// form is a tool whose call is a question to a person.
func form() tool.Tool {
	return tool.New(tool.Spec{Name: "AskUserQuestion", Asks: tool.AsksForm, Schema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, _ map[string]any, c tool.Call) (tool.Result, error) {
			return tool.Text(string(c.Input)), nil
		},
		tool.Always[map[string]any](tool.Traits{NeedsPerson: true, NoEffect: true}))
}

// Any and Fire make the rig the hooks of its gate.
func (r *rig) Any(name hook.Name) bool { return r.hooks[name] != nil }

func (r *rig) Fire(ctx context.Context, e hook.Event) hook.Outcome {
	r.mu.Lock()
	r.fired = append(r.fired, string(e.Name)+" "+commandOf(e.Input))
	r.mu.Unlock()
	return r.hooks[e.Name](ctx, e)
}

// answers has questions answered by f, and notes them.
func answers(f func(ctx context.Context, a proto.Ask) (proto.Answer, error)) func(*rig) {
	return func(r *rig) {
		r.given.Ask = func(ctx context.Context, a proto.Ask) (proto.Answer, error) {
			r.mu.Lock()
			r.asked = append(r.asked, a)
			r.mu.Unlock()
			return f(ctx, a)
		}
	}
}

func says(a proto.Answer) func(*rig) {
	return answers(func(context.Context, proto.Ask) (proto.Answer, error) { return a, nil })
}

// never is a person who does not answer.
func never(ctx context.Context, _ proto.Ask) (proto.Answer, error) {
	<-ctx.Done()
	return proto.Answer{}, context.Cause(ctx)
}

func on(name hook.Name, o hook.Outcome) func(*rig) {
	return func(r *rig) { r.hooks[name] = func(context.Context, hook.Event) hook.Outcome { return o } }
}

func requested(a hook.PermissionAnswer) hook.Outcome { return hook.Outcome{Request: &a} }

func command(text string, more ...string) json.RawMessage {
	in := map[string]any{"command": text}
	for _, m := range more {
		in[m] = true
	}
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return raw
}

const leave = "dangerouslyDisableSandbox"

// try takes a call through the gate and tells what ran; empty: nothing did.
func (r *rig) try(input json.RawMessage) (ran string, v engine.Verdict) {
	r.t.Helper()
	return r.call("Bash", input)
}

func (r *rig) call(name string, input json.RawMessage) (ran string, v engine.Verdict) {
	r.t.Helper()
	call, traits, err := tool.Prepare(r.given.Tool(name), tool.Call{ID: "c", Name: name, Literal: input, Scope: r.scope})
	if err != nil {
		r.t.Fatal(err)
	}
	v, err = r.gate.Authorize(r.t.Context(), &r.turn, call, traits)
	if err != nil {
		r.t.Fatal(err)
	}
	if v.Run.Valid() {
		result, err := v.Run.Run(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		ran = msg.TextOf(result.Content)
	}
	r.gate.Batch(r.t.Context(), nil) // the round is over
	return ran, v
}

// last is what the ledger says of the newest call.
func (r *rig) last() permission.Entry {
	r.t.Helper()
	all := r.gate.Recent(1)
	if len(all) == 0 {
		r.t.Fatal("nothing was recorded")
	}
	return all[0]
}

var yes = proto.Answer{Behavior: "allow", By: "user"}

func TestWhatNeedsNoQuestion(t *testing.T) {
	r := newRig(t, permission.Default, []string{"+Bash(npm *)", "-Bash(npm publish *)"}, says(yes))
	if ran, v := r.try(command("npm test")); ran != "npm test" || v.Run.By() != "rule" {
		t.Errorf("ran %q, by %s", ran, v.Run.By())
	}
	if ran, v := r.try(command("npm publish x")); ran != "" || !strings.Contains(v.Message, "denied by the rule") {
		t.Errorf("ran %q: %s", ran, v.Message)
	}
	if len(r.asked) != 0 || len(r.turn.Denials()) != 1 || len(r.told) != 1 {
		t.Errorf("asked %d, denials %d, told %d", len(r.asked), len(r.turn.Denials()), len(r.told))
	}
}

func TestAnswersToAQuestion(t *testing.T) {
	r := newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "allow", Option: permission.AnswerAlways, Message: "mind the time"}))
	if ran, v := r.try(command("npm test")); ran != "npm test" || len(r.granted) != 1 || r.granted[0].Destination != "localSettings" || !strings.Contains(msg.TextOf(v.Note), "mind the time") {
		t.Errorf("always: ran %q, granted %+v, note %v", ran, r.granted, v.Note)
	}
	r = newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "deny", By: "user"}))
	if ran, v := r.try(command("npm test")); ran != "" || v.End == nil {
		t.Errorf("a bare no: ran %q, end %v", ran, v.End)
	}
	r = newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "deny", Message: "use make", By: "user"}))
	for i := range 3 {
		if ran, v := r.try(command("npm test")); ran != "" || v.Message != "use make" || (v.End != nil) != (i == 2) {
			t.Errorf("no with a comment, %d: ran %q, %+v", i+1, ran, v)
		}
	}
	r = newRig(t, permission.Default, nil, answers(func(context.Context, proto.Ask) (proto.Answer, error) { return proto.Answer{}, errors.New("gone") }))
	if ran, v := r.try(command("npm test")); ran != "" || !strings.HasPrefix(v.Message, "Tool permission request failed") {
		t.Errorf("an answerer that fails: ran %q, %s", ran, v.Message)
	}
}

func TestNobodyToAskNamesTheRule(t *testing.T) {
	for _, branch := range []gate.Branch{"", gate.Alone, gate.Interactive, gate.Coordinator, gate.Worker} {
		r := newRig(t, permission.Default, nil)
		r.turn.Branch = branch
		ran, v := r.try(command("npm test"))
		if ran != "" || !strings.Contains(v.Message, "Bash(npm test *)") || r.last().By != "unattended" {
			t.Errorf("%q: ran %q, %s, by %s", branch, ran, v.Message, r.last().By)
		}
	}
}

func TestPermissionPromptsNone(t *testing.T) {
	r := newRig(t, permission.Default, []string{"+Bash(make)"}, func(r *rig) { r.given.Silent = "questions are off" })
	if ran, v := r.try(command("npm test")); ran != "" || !strings.Contains(v.Message, "questions are off") {
		t.Errorf("ran %q: %s", ran, v.Message)
	}
	if ran, _ := r.try(command("make")); ran != "make" {
		t.Errorf("ran %q", ran)
	}
}

func TestFirstDefiniteAnswerWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withdrawn := make(chan error, 1)
		r := newRig(t, permission.Default, nil, answers(func(ctx context.Context, _ proto.Ask) (proto.Answer, error) {
			<-ctx.Done()
			withdrawn <- context.Cause(ctx)
			return proto.Answer{}, context.Cause(ctx)
		}))
		r.hooks[hook.PermissionRequest] = func(context.Context, hook.Event) hook.Outcome {
			time.Sleep(time.Second) // of the bubble's own clock
			return requested(hook.PermissionAnswer{Behavior: "allow"})
		}
		if ran, v := r.try(command("npm test")); ran == "" || v.Run.By() != "hook" {
			t.Errorf("ran %q, by %s", ran, v.Run.By())
		}
		if err := <-withdrawn; err == nil || !strings.Contains(err.Error(), "hook") {
			t.Errorf("the dialog was not withdrawn: %v", err)
		}
	})
}

func TestEngagedPersonKeepsTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, permission.Default, nil, on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "allow"})),
			answers(func(context.Context, proto.Ask) (proto.Answer, error) {
				time.Sleep(time.Minute) // of the bubble's own clock
				return proto.Answer{Behavior: "deny", Message: "no", By: "user"}, nil
			}), func(r *rig) { r.given.Engaged = func(string) bool { return true } })
		if ran, v := r.try(command("npm test")); ran != "" || v.Message != "no" {
			t.Errorf("ran %q: %s", ran, v.Message)
		}
	})
}

func TestCoordinatorAsksLast(t *testing.T) {
	r := newRig(t, permission.Default, nil, says(yes), on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "deny", Message: "not here"})))
	r.turn.Branch = gate.Coordinator
	if ran, v := r.try(command("npm test")); ran != "" || len(r.asked) != 0 || v.Message != "not here" {
		t.Errorf("ran %q, asked %d: %s", ran, len(r.asked), v.Message)
	}
	r = newRig(t, permission.Default, nil, says(yes), on(hook.PermissionRequest, hook.Outcome{Guard: true, Reason: "crashed"}))
	r.turn.Branch = gate.Coordinator
	if ran, _ := r.try(command("npm test")); ran == "" || len(r.asked) != 1 {
		t.Errorf("a crashed hook settled it: ran %q, asked %d", ran, len(r.asked))
	}
}

func TestWorkerAsksItsLeader(t *testing.T) {
	r := newRig(t, permission.Default, nil)
	r.scope = tool.NewScope("builder", project)
	var sent proto.Ask
	r.turn.Branch = gate.Worker
	r.turn.Mailbox = func(_ context.Context, a proto.Ask) (proto.Answer, error) {
		sent = a
		return proto.Answer{Behavior: "allow", Option: permission.AnswerSession, By: "leader"}, nil
	}
	if ran, _ := r.try(command("npm test")); ran == "" || len(r.granted) != 1 || !strings.Contains(sent.Title, "builder") || sent.Rule != "Bash(npm test *)" {
		t.Errorf("ran %q, granted %+v, sent %+v", ran, r.granted, sent)
	}
}

func TestQuestionIsDecidedAnewWhenRulesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, permission.Default, nil, answers(never))
		go func() {
			time.Sleep(time.Minute) // of the bubble's own clock
			r.state.Set(func(s *permission.State) *permission.State {
				return s.WithRules(permission.FromUser, lists("-Bash(npm *)"))
			})
		}()
		if ran, v := r.try(command("npm test")); ran != "" || !strings.Contains(v.Message, "denied by the rule") {
			t.Errorf("ran %q: %s", ran, v.Message)
		}
	})
}

// An answer and a change of the rules at the same moment: the rule holds, and a yes to a question that is
// still the same counts.
func TestAnAnswerAtTheMomentOfAChange(t *testing.T) {
	for rule, want := range map[string]string{"-Bash(npm *)": "", "?Bash(npm *)": "", "+Bash(go *)": "npm test"} {
		asked := 0
		var r *rig
		r = newRig(t, permission.Default, nil, answers(func(context.Context, proto.Ask) (proto.Answer, error) {
			if asked++; asked > 1 {
				return proto.Answer{Behavior: "deny", Message: "no", By: "user"}, nil
			}
			r.state.Set(func(s *permission.State) *permission.State { return s.WithRules(permission.FromUser, lists(rule)) })
			return yes, nil
		}))
		if ran, v := r.try(command("npm test")); ran != want {
			t.Errorf("%s: ran %q (%s), want %q", rule, ran, v.Message, want)
		}
	}
}

func TestCancelledQuestion(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	r := newRig(t, permission.Default, nil, answers(never))
	call, traits, err := tool.Prepare(shell(), tool.Call{ID: "c", Name: "Bash", Literal: command("npm test"), Scope: r.scope})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.gate.Authorize(ctx, &r.turn, call, traits); !errors.Is(err, cause) || v.Run.Valid() {
		t.Errorf("%v", err)
	}
}

// A form is filled once: the answers are the input that runs.
func TestAFormIsAskedOnce(t *testing.T) {
	r := newRig(t, permission.Bypass, nil, says(proto.Answer{Behavior: "allow", Values: json.RawMessage(`{"Which?":"this"}`), By: "user"}))
	if ran, _ := r.call("AskUserQuestion", json.RawMessage(`{"questions":[]}`)); !strings.Contains(ran, `"answers":{"Which?":"this"}`) || len(r.asked) != 1 || r.asked[0].Kind != proto.AskQuestion {
		t.Errorf("ran %s, asked %d", ran, len(r.asked))
	}
}

// One question a call, one decision an input, one account a command, however many ask about it: the traits of
// the shell tool, the condition of a hook, the decision.
func TestOneDecisionACall(t *testing.T) {
	decided, read := 0, 0
	count := func(r *rig) {
		r.given.Sandbox = func() permission.Sandbox { // asked once a decision about a command
			decided++
			return r.sandbox
		}
		bare := r.given.Tool
		r.given.Tool = func(name string) tool.Tool { return judged{bare(name), r} }
		r.hooks[hook.PreToolUse] = func(_ context.Context, e hook.Event) hook.Outcome {
			m, err := permission.NewMatcher("Bash(git *)", r.gate.Env())
			if err != nil {
				t.Error(err)
			}
			if m.Match(gate.Request(tool.Call{Name: e.Tool, Input: e.Input, Scope: r.scope}, tool.Traits{Command: commandOf(e.Input)})) {
				t.Error("the condition of a hook matches another command")
			}
			return hook.Outcome{}
		}
	}
	r := newRig(t, permission.Default, []string{"+Bash(npm *)"}, says(yes), count)
	r.gate.Accounts().Analyse = func(command string, o shellsyntax.Options) *shellsyntax.Account {
		read++
		return shellsyntax.Analyse(command, o)
	}
	for _, c := range []string{"ls", "npm test", "make"} {
		decided, read = 0, 0
		if ran, _ := r.try(command(c)); ran != c || decided != 1 || read != 1 {
			t.Errorf("%s: ran %q, decided %d times, read %d times", c, ran, decided, read)
		}
	}
	if len(r.asked) != 1 {
		t.Errorf("asked %d times", len(r.asked))
	}
	r = newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "allow", Input: command("npm run x"), By: "user"}), count)
	decided = 0
	if ran, _ := r.try(command("npm test")); ran != "npm run x" || decided != 2 {
		t.Errorf("changed: ran %q, decided %d times", ran, decided)
	}
}

// The rules are looked up once a search, however many files it meets.
func TestThePolicyIsBuiltOnceASearch(t *testing.T) {
	built := 0
	r := newRig(t, permission.Default, []string{"-Read(**/.env)"}, func(r *rig) {
		dirs := r.given.Dirs
		r.given.Dirs = func() permission.Dirs { built++; return dirs() }
	})
	built = 0
	hides := r.gate.Hidden()
	for range 1000 {
		if hides(project+"/main.go") || !hides(project+"/sub/.env") {
			t.Fatal("hides the wrong files")
		}
	}
	if built != 1 {
		t.Errorf("built %d times", built)
	}
	if newRig(t, permission.Default, []string{"-Read"}).gate.Hidden() == nil || newRig(t, permission.Default, nil).gate.Hidden() != nil {
		t.Error("a rule about every file hides all, none hides none")
	}
}

func TestHooksAfterACall(t *testing.T) {
	r := newRig(t, permission.Default, nil, on(hook.PostToolUse, hook.Outcome{Block: true, BlockReason: "untested", Context: []string{"mind"}, Stop: true, StopReason: "enough"}))
	call := tool.Call{ID: "c", Name: "Bash", Input: command("make"), Scope: r.scope}
	got, end, err := r.gate.Amend(t.Context(), call, tool.Text("made"))
	if text := msg.TextOf(got.Content); err != nil || end == nil || end.Reason != "enough" || !strings.Contains(text, "untested") || !strings.Contains(text, "mind") {
		t.Errorf("%q, %v, %v", text, end, err)
	}
	if got, end, _ = r.gate.Amend(t.Context(), call, tool.Failed("no")); msg.TextOf(got.Content) != "no" || end != nil {
		t.Errorf("%v, %v", got, end)
	}
	if !slices.Equal(r.fired, []string{"PostToolUse make"}) {
		t.Errorf("%q", r.fired)
	}
}

// Calls side by side share the gate, its accounts and the rules.
func TestManyCallsAtOnce(t *testing.T) {
	r := newRig(t, permission.Default, []string{"+Bash(npm *)", "-Bash(rm *)", "-Read(**/.env)"}, says(yes))
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			text := []string{"ls src/*.go", "npm test", "rm x", "cat .env", "make && ls"}[i%5]
			r.gate.Effects(text, project)
			call, traits, err := tool.Prepare(shell(), tool.Call{ID: fmt.Sprint(i), Name: "Bash", Literal: command(text), Scope: r.scope})
			if err != nil {
				t.Error(err)
				return
			}
			v, err := r.gate.Authorize(t.Context(), &r.turn, call, traits)
			if denied := i%5 == 2 || i%5 == 3; err != nil || v.Run.Valid() == denied {
				t.Errorf("%s: runs %v, %v", text, v.Run.Valid(), err)
			}
		})
	}
	wg.Wait()
}
