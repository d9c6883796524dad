package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

func sandboxed(r *rig) { r.sandbox = permission.Sandbox{Enabled: true} }

// A call that asks to leave the sandbox, and an answer that takes that back: the new command runs, confined
// as its own decision has it, and the record is about it.
func TestKF109_TheConfinementIsThatOfTheInputThatRuns(t *testing.T) {
	for name, answerer := range map[string]func(*rig){
		"hook": on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "allow", Input: command("npm test")})),
		"host": says(proto.Answer{Behavior: "allow", Input: command("npm test"), By: "host"}),
		"user": says(proto.Answer{Behavior: "allow", Input: command("npm test"), By: "user"}),
	} {
		r := newRig(t, permission.Default, nil, sandboxed, answerer)
		ran, v := r.try(command("npm test", leave))
		if ran != "npm test sandboxed" {
			t.Errorf("%s: ran %q", name, ran)
		}
		if v.Run.By() != "sandbox" || r.last().Decision.Reason.Kind != permission.BySandbox {
			t.Errorf("%s: decided by %s, recorded %+v", name, v.Run.By(), r.last().Decision.Reason)
		}
	}
}

// The other way round: an answer that asks to leave is asked about itself.
func TestKF109_AnAnswerThatLeavesTheSandboxIsAskedAbout(t *testing.T) {
	r := newRig(t, permission.Default, nil, sandboxed, func(r *rig) { r.sandbox.NoAutoAllow = true },
		answers(func(_ context.Context, a proto.Ask) (proto.Answer, error) {
			if strings.Contains(string(a.Input), leave) {
				return proto.Answer{Behavior: "deny", Message: "stay", By: "user"}, nil
			}
			return proto.Answer{Behavior: "allow", Input: command("npm test", leave), By: "host"}, nil
		}))
	if ran, v := r.try(command("npm test")); ran != "" || len(r.asked) != 2 || v.Message != "stay" {
		t.Errorf("ran %q, asked %d: %s", ran, len(r.asked), v.Message)
	}
	r = newRig(t, permission.Default, nil, sandboxed, func(r *rig) { r.sandbox.NoAutoAllow = true },
		on(hook.PreToolUse, hook.Outcome{Decision: "allow", Input: command("npm test", leave)}))
	if ran, _ := r.try(command("npm test")); ran != "" {
		t.Errorf("a hook before the call let it out: %q", ran)
	}
}

// An input that somebody changes meets everything a call of the model meets.
func TestKF109_AChangedInputMeetsEveryCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  permission.Mode
		rules []string
		to    json.RawMessage
		setup func(*rig)
		asked int
		ran   string
	}{
		{name: "a deny rule", mode: permission.Default, rules: []string{"-Bash(rm *)"}, to: command("rm x"), asked: 1},
		{name: "a deny rule in bypass", mode: permission.Bypass, rules: []string{"-Bash(rm *)", "?Bash(npm *)"}, to: command("rm x"), asked: 1},
		{name: "an ask rule", mode: permission.Default, rules: []string{"?Bash(git push *)"}, to: command("git push"), asked: 2, ran: "git push"},
		{name: "a critical removal", mode: permission.Default, to: command("rm -rf /"), asked: 2, ran: "rm -rf /"},
		{name: "what cannot be read", mode: permission.Default, to: command("echo 'x"), asked: 2, ran: "echo 'x"},
		{name: "plan mode", mode: permission.Plan, to: command("make"), asked: 1, ran: "make read-only"},
		{name: "plan mode without a sandbox", mode: permission.Plan, to: command("make"), asked: 1, setup: func(r *rig) { r.sandbox.ReadOnlyMissing = true }},
		{name: "input that does not fit", mode: permission.Default, to: json.RawMessage(`{"cmd":"ls"}`), asked: 1},
		{name: "input that is no JSON", mode: permission.Default, to: json.RawMessage(`{"command`), asked: 1},
		{name: "an untrusted folder", mode: permission.Default, to: command("make"), asked: 0, setup: func(r *rig) { r.given.ReadOnly = func() bool { return true } }},
		{name: "nothing", mode: permission.Default, to: command("npm test"), asked: 1, ran: "npm test"},
	} {
		for _, by := range []string{"host", "user"} {
			r := newRig(t, c.mode, c.rules, says(proto.Answer{Behavior: "allow", Input: c.to, By: by}), func(r *rig) {
				if c.setup != nil {
					c.setup(r)
				}
			})
			ran, v := r.try(command("npm test"))
			if ran != c.ran || len(r.asked) != c.asked || ran == "" && v.Message == "" {
				t.Errorf("%s by %s: ran %q, asked %d (%s); want %q, %d", c.name, by, ran, len(r.asked), v.Message, c.ran, c.asked)
			}
			if ran != "" && r.last().Summary != strings.TrimSuffix(ran, " read-only") {
				t.Errorf("%s by %s: recorded %q", c.name, by, r.last().Summary)
			}
		}
	}
}

// In a folder that a person declined to trust, a read that somebody turned into a change does not run.
func TestKF109_AReadTurnedIntoAChange(t *testing.T) {
	untrusted := func(r *rig) { r.given.ReadOnly = func() bool { return true } }
	r := newRig(t, permission.Default, []string{"?Bash(ls *)"}, untrusted, says(proto.Answer{Behavior: "allow", Input: command("make"), By: "host"}))
	if ran, v := r.try(command("ls x")); ran != "" || !strings.Contains(v.Message, "not trusted") {
		t.Errorf("by the host: ran %q (%s)", ran, v.Message)
	}
	r = newRig(t, permission.Bypass, nil, untrusted, on(hook.PreToolUse, hook.Outcome{Decision: "allow", Input: command("make")}))
	if ran, v := r.try(command("ls x")); ran != "" || !strings.Contains(v.Message, "not trusted") {
		t.Errorf("by a hook: ran %q (%s)", ran, v.Message)
	}
}

// What is remembered with an answer is what the option means for the input that runs.
func TestKF109_WhatIsRememberedBelongsToTheInputThatRuns(t *testing.T) {
	r := newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "allow", Option: permission.AnswerAlways, Input: command("go vet ./..."), By: "user"}))
	if ran, _ := r.try(command("npm test")); ran != "go vet ./..." || len(r.granted) != 1 || r.granted[0].Rules[0].RuleContent != "go vet *" {
		t.Errorf("ran %q, granted %+v", ran, r.granted)
	}
	r = newRig(t, permission.Default, []string{"-Bash(rm *)"}, says(proto.Answer{Behavior: "allow", Option: permission.AnswerAlways, Input: command("rm x"), By: "user"}))
	if ran, _ := r.try(command("npm test")); ran != "" || len(r.granted) != 0 {
		t.Errorf("refused: ran %q, granted %+v", ran, r.granted)
	}
}

// deny and ask rules hold for the call as the model made it and as the hook made it.
func TestKF110_AWrappingHookLiftsNoRule(t *testing.T) {
	wrap := func(decision string) func(*rig) {
		return on(hook.PreToolUse, hook.Outcome{Decision: decision, Input: command("mytool rm x")})
	}
	for _, c := range []struct {
		mode  permission.Mode
		rules []string
		asked int
		ran   string
	}{
		{permission.Default, []string{"-Bash(rm *)", "+Bash(mytool *)"}, 0, ""},
		{permission.Bypass, []string{"-Bash(rm *)"}, 0, ""},
		{permission.Default, []string{"-Bash(mytool *)"}, 0, ""},
		{permission.Default, []string{"?Bash(rm *)", "+Bash(mytool *)"}, 1, "mytool rm x"},
		{permission.Bypass, []string{"?Bash(rm *)"}, 1, "mytool rm x"},
		{permission.DontAsk, []string{"?Bash(rm *)", "+Bash(mytool *)"}, 0, ""},
		{permission.Default, []string{"+Bash(mytool *)"}, 0, "mytool rm x"},
	} {
		for _, decision := range []string{"allow", ""} {
			r := newRig(t, c.mode, c.rules, wrap(decision), says(yes))
			ran, v := r.try(command("rm x"))
			if ran != c.ran || len(r.asked) != c.asked {
				t.Errorf("%s %v, the hook says %q: ran %q, asked %d (%s); want %q, %d", c.mode, c.rules, decision, ran, len(r.asked), v.Message, c.ran, c.asked)
			}
		}
	}
	// The rule that holds for the model's call comes while the question is open.
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, permission.Default, nil, wrap(""), answers(never))
		go func() {
			time.Sleep(time.Minute) // of the bubble's own clock
			r.state.Set(func(s *permission.State) *permission.State {
				return s.WithRules(permission.FromUser, lists("-Bash(rm *)"))
			})
		}()
		if ran, v := r.try(command("rm x")); ran != "" || !strings.Contains(v.Message, "Bash(rm *)") {
			t.Errorf("ran %q: %s", ran, v.Message)
		}
	})
	// A parameter rule compares what the model wrote.
	r := newRig(t, permission.Default, []string{"-Bash(" + leave + ":true)"}, sandboxed, on(hook.PreToolUse, hook.Outcome{Decision: "allow", Input: command("npm test")}))
	if ran, _ := r.try(command("npm test", leave)); ran != "" {
		t.Errorf("a parameter rule was lifted: %q", ran)
	}
}

// A question of a hook is a floor that no allow of another hook, no mode and no classifier lifts.
func TestAHooksAskStands(t *testing.T) {
	for _, mode := range []permission.Mode{permission.Default, permission.Bypass, permission.Auto, permission.AcceptEdits, permission.DontAsk} {
		for _, o := range []hook.Outcome{{Decision: "ask", Reason: "look first"}, {Decision: "ask", Guard: true, Reason: "the guard crashed"}} {
			r := newRig(t, mode, []string{"+Bash"}, on(hook.PreToolUse, o), on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "allow"})),
				func(r *rig) {
					r.given.Classify = func(context.Context, permission.Request) permission.Verdict {
						return permission.Verdict{Kind: permission.VerdictAllow, Sure: true}
					}
				})
			if ran, v := r.try(command("npm test")); ran != "" {
				t.Errorf("%s, %+v: ran %q by %s", mode, o, ran, v.Run.By())
			}
		}
	}
	r := newRig(t, permission.Bypass, nil, on(hook.PreToolUse, hook.Outcome{Decision: "ask", Reason: "look first"}), says(yes))
	if ran, _ := r.try(command("npm test")); ran == "" || len(r.asked) != 1 || !strings.Contains(r.asked[0].Reason, "look first") {
		t.Errorf("a person: ran %q, asked %+v", ran, r.asked)
	}
	r = newRig(t, permission.Default, []string{"?Bash(npm *)"}, on(hook.PreToolUse, hook.Outcome{Decision: "allow"}))
	if ran, _ := r.try(command("npm test")); ran != "" {
		t.Errorf("a hook's allow beat an ask rule: %q", ran)
	}
	// What a hook allowed was its own input; it says nothing about what others make of the call.
	r = newRig(t, permission.Default, []string{"?Bash(npm *)"}, on(hook.PreToolUse, hook.Outcome{Decision: "allow"}),
		answers(func(_ context.Context, a proto.Ask) (proto.Answer, error) {
			return proto.Answer{Behavior: "allow", Input: command("rm -rf /"), By: "host"}, nil
		}))
	if ran, _ := r.try(command("npm test")); ran != "rm -rf /" || len(r.asked) != 2 {
		t.Errorf("ran %q, asked %d times", ran, len(r.asked))
	}
}

// A call that asks to leave the sandbox is never let out by what it seems to do.
func TestKF144_LeavingTheSandboxUnasked(t *testing.T) {
	lets := func(r *rig) {
		r.given.Classify = func(context.Context, permission.Request) permission.Verdict {
			return permission.Verdict{Kind: permission.VerdictAllow, Sure: true}
		}
	}
	for _, c := range []struct {
		name  string
		mode  permission.Mode
		rules []string
		text  string
		setup func(*rig)
		ran   string // where nobody can be asked
	}{
		{"a read", permission.Default, nil, "cat README.md", sandboxed, ""},
		{"a read where nothing is asked", permission.DontAsk, nil, "cat README.md", sandboxed, ""},
		{"a read in bypass", permission.Bypass, nil, "cat README.md", sandboxed, ""},
		{"an edit that the mode covers", permission.AcceptEdits, nil, "touch x", sandboxed, ""},
		{"a wildcard", permission.Default, []string{"+Bash(npm *)"}, "npm test", sandboxed, ""},
		{"the classifier", permission.Auto, nil, "npm test", sandboxed, ""},
		{"a hook before the call", permission.Default, nil, "npm test", func(r *rig) {
			sandboxed(r)
			on(hook.PreToolUse, hook.Outcome{Decision: "allow"})(r)
		}, ""},
		{"part of it by an exact rule", permission.Default, []string{"+Bash(npm test)"}, "npm test && ls", sandboxed, ""},
		{"an exact rule", permission.Default, []string{"+Bash(npm test)"}, "npm test", sandboxed, "npm test"},
		{"an exact rule for a read", permission.Default, []string{"+Bash(cat README.md)"}, "cat README.md", sandboxed, "cat README.md"},
		{"bare Bash for a read", permission.Default, []string{"+Bash"}, "LANG=C cat README.md >/dev/null", sandboxed, "LANG=C cat README.md >/dev/null"},
		{"bare Bash", permission.Default, []string{"+Bash"}, "npm test", sandboxed, "npm test"},
		{"an exact rule in bypass", permission.Bypass, []string{"+Bash(npm test)"}, "npm test", sandboxed, "npm test"},
		{"plan mode keeps it inside", permission.Plan, nil, "cat README.md", sandboxed, "cat README.md read-only"},
		{"leaving is off", permission.Default, nil, "npm test", func(r *rig) { r.sandbox = permission.Sandbox{Enabled: true, NoEscape: true} }, "npm test sandboxed"},
		{"there is no sandbox", permission.Default, nil, "cat README.md", func(*rig) {}, "cat README.md"},
	} {
		r := newRig(t, c.mode, c.rules, c.setup, lets)
		if ran, v := r.try(command(c.text, leave)); ran != c.ran {
			t.Errorf("%s: ran %q (by %s, %s), want %q", c.name, ran, v.Run.By(), v.Message, c.ran)
		}
	}
	r := newRig(t, permission.Default, nil, sandboxed, says(yes))
	if ran, _ := r.try(command("npm test", leave)); ran != "npm test" || !strings.Contains(r.asked[0].Reason, "outside of the sandbox") {
		t.Errorf("a person: ran %q, asked %+v", ran, r.asked)
	}
}

// judge is a classifier that notes what it is asked and answers from a list.
type judge struct {
	asked   []string
	answers []permission.Verdict
}

func (j *judge) handed(r *rig) {
	r.given.Classify = func(_ context.Context, req permission.Request) permission.Verdict {
		j.asked = append(j.asked, req.Traits.Command+" in "+req.Cwd)
		return j.answers[min(len(j.asked), len(j.answers))-1]
	}
}

var (
	lets   = permission.Verdict{Kind: permission.VerdictAllow, Sure: true}
	blocks = permission.Verdict{Kind: permission.VerdictBlock, Reason: "it publishes"}
	unsure = permission.Verdict{Kind: permission.VerdictUnsure}
)

func TestTheClassifierSpeaksFirst(t *testing.T) {
	for _, c := range []struct {
		v   permission.Verdict
		ask bool
		ran string
		by  string
	}{
		{lets, true, "npm test", "classifier"},
		{blocks, true, "", "classifier"},
		{permission.Verdict{Kind: permission.VerdictUnreadable}, true, "", "classifier"},
		{permission.Verdict{Kind: permission.VerdictRefused}, true, "", "classifier"},
		{unsure, true, "npm test", "user"},
		{unsure, false, "", "classifier"},
		{permission.Verdict{Kind: permission.VerdictUnavailable}, false, "", "classifier"},
		{permission.Verdict{}, false, "", "classifier"},
	} {
		j := judge{answers: []permission.Verdict{c.v}}
		r := newRig(t, permission.Auto, nil, j.handed, func(r *rig) {
			if c.ask {
				says(yes)(r)
			}
		})
		if ran, _ := r.try(command("npm test")); ran != c.ran || r.last().By != c.by {
			t.Errorf("%+v: ran %q, by %s", c, ran, r.last().By)
		}
	}
	j := judge{answers: []permission.Verdict{lets}}
	r := newRig(t, permission.Auto, []string{"?Bash(git push *)"}, j.handed)
	if ran, _ := r.try(command("git push")); ran != "" || len(j.asked) != 0 {
		t.Errorf("an ask rule went to the classifier: ran %q, judged %v", ran, j.asked)
	}
	j = judge{answers: []permission.Verdict{blocks}}
	r = newRig(t, permission.Auto, nil, j.handed, says(yes))
	for i := range 3 {
		if ran, _ := r.try(command(fmt.Sprint("make ", i))); (ran != "") != (i == 2) {
			t.Errorf("block %d in a row: ran %q", i+1, ran)
		}
	}
}

// A verdict counts for its input in its directory, under the mode, the rules and the user's words it was
// asked under.
func TestVerdictsAreRemembered(t *testing.T) {
	j := judge{answers: []permission.Verdict{lets}}
	r := newRig(t, permission.Auto, nil, j.handed)
	for range 3 {
		r.try(command("npm test"))
	}
	if len(j.asked) != 1 {
		t.Errorf("the same call was judged %d times", len(j.asked))
	}
	for _, k := range r.state.Get().Verdicts {
		if k.Tool != "Bash" || k.Summary != "npm test" || k.Behavior != permission.Allow {
			t.Errorf("%+v", k)
		}
	}
	steps := []struct {
		name string
		do   func()
	}{
		{"another input", func() { r.try(command("npm run x")) }},
		{"another directory", func() { r.scope.SetCwd(project + "/sub"); r.try(command("npm test")) }},
		{"a user message", func() { r.prompts++; r.try(command("npm test")) }},
		{"a compaction", func() {
			r.state.Set(func(s *permission.State) *permission.State { return s.NewContent(true) })
			r.try(command("npm test"))
		}},
		{"other rules", func() {
			r.state.Set(func(s *permission.State) *permission.State {
				return s.WithRules(permission.FromUser, lists("+Bash(go *)"))
			})
			r.try(command("npm test"))
		}},
		{"another mode and back", func() {
			for _, m := range []permission.Mode{permission.Default, permission.Auto} {
				r.state.Set(func(s *permission.State) *permission.State {
					next, err := s.WithMode(m)
					if err != nil {
						t.Error(err)
					}
					return next
				})
			}
			r.try(command("npm test"))
		}},
	}
	for i, s := range steps {
		if s.do(); len(j.asked) != i+2 {
			t.Errorf("%s: judged %d times, want %d", s.name, len(j.asked), i+2)
		}
	}
	// A kept block counts again, and what is no verdict is not kept.
	j = judge{answers: []permission.Verdict{blocks}}
	r = newRig(t, permission.Auto, nil, j.handed)
	r.try(command("npm publish"))
	r.try(command("npm publish"))
	if d := r.state.Get().Denials; len(j.asked) != 1 || d.Consecutive != 2 {
		t.Errorf("judged %d times, counted %d", len(j.asked), d.Consecutive)
	}
	j = judge{answers: []permission.Verdict{unsure}}
	r = newRig(t, permission.Auto, nil, j.handed)
	r.try(command("npm publish"))
	r.try(command("npm publish"))
	if len(j.asked) != 2 || len(r.state.Get().Verdicts) != 0 {
		t.Errorf("judged %d times, kept %v", len(j.asked), r.state.Get().Verdicts)
	}
}

// A verdict that comes after rules or mode changed counts for nothing and is not kept, also when its
// model knows nothing of the change.
func TestAWithdrawnVerdictNeverCounts(t *testing.T) {
	for name, change := range map[string]func(*permission.State) (*permission.State, error){
		"a deny rule": func(s *permission.State) (*permission.State, error) {
			return s.WithRules(permission.FromUser, lists("-Bash(npm *)")), nil
		},
		"the mode": func(s *permission.State) (*permission.State, error) { return s.WithMode(permission.Default) },
	} {
		r := newRig(t, permission.Auto, nil)
		judged := 0
		r.given.Classify = func(context.Context, permission.Request) permission.Verdict {
			judged++
			r.state.Set(func(s *permission.State) *permission.State {
				next, err := change(s)
				if err != nil {
					t.Error(err)
				}
				return next
			})
			return lets
		}
		// A gate that hears of changes late: nothing but the state itself tells of them.
		late := newRig(t, permission.Auto, nil, func(l *rig) { l.given = r.given })
		if ran, _ := late.try(command("npm test")); ran != "" || judged != 1 {
			t.Errorf("%s: ran %q, judged %d times", name, ran, judged)
		}
		if kept := r.state.Get().Verdicts; len(kept) != 0 {
			t.Errorf("%s: kept %v", name, kept)
		}
	}
}

// A block that comes too late is not counted, and what is cut short is not remembered.
func TestALateVerdictIsNotCounted(t *testing.T) {
	r := newRig(t, permission.Auto, nil)
	r.given.Classify = func(context.Context, permission.Request) permission.Verdict {
		r.state.Set(func(s *permission.State) *permission.State {
			return s.WithRules(permission.FromUser, lists("+Bash(npm test)"))
		})
		return blocks
	}
	late := newRig(t, permission.Auto, nil, func(l *rig) { l.given = r.given })
	if ran, _ := late.try(command("npm test")); ran != "npm test" || r.state.Get().Denials.Total != 0 {
		t.Errorf("ran %q, counted %d", ran, r.state.Get().Denials.Total)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	r = newRig(t, permission.Auto, nil, func(r *rig) {
		r.given.Classify = func(context.Context, permission.Request) permission.Verdict {
			interrupt()
			return blocks
		}
	})
	call, traits, err := tool.Prepare(shell(), tool.Call{ID: "c", Name: "Bash", Literal: command("npm test"), Scope: r.scope})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := r.gate.Authorize(ctx, &r.turn, call, traits); err == nil || v.Run.Valid() || len(r.state.Get().Verdicts) != 0 || r.state.Get().Denials.Total != 0 {
		t.Errorf("cut short: %v, kept %v, counted %d", err, r.state.Get().Verdicts, r.state.Get().Denials.Total)
	}
}

// What only a person can answer no hook answers.
func TestAHookAnswersNoForm(t *testing.T) {
	r := newRig(t, permission.Default, nil, on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "allow", Input: json.RawMessage(`{"answers":{}}`)})),
		on(hook.PreToolUse, hook.Outcome{Decision: "allow"}))
	if ran, _ := r.call("AskUserQuestion", json.RawMessage(`{"questions":[]}`)); ran != "" {
		t.Errorf("ran %q", ran)
	}
}

// What a hook before the call allowed is its own input. One that another hook brings goes to the classifier, as the
// model's would.
func TestKF109_AHooksInputIsClassified(t *testing.T) {
	for _, c := range []struct {
		rules   []string
		before  hook.Outcome
		answers []permission.Verdict
	}{
		{[]string{"?Bash(npm *)"}, hook.Outcome{Decision: "allow"}, []permission.Verdict{blocks}},
		{nil, hook.Outcome{}, []permission.Verdict{unsure, blocks}},
	} {
		j := judge{answers: c.answers}
		r := newRig(t, permission.Auto, c.rules, j.handed, answers(never), on(hook.PreToolUse, c.before),
			on(hook.PermissionRequest, requested(hook.PermissionAnswer{Behavior: "allow", Input: command("make")})))
		if ran, v := r.try(command("npm test")); ran != "" || r.last().By != "classifier" || j.asked[len(j.asked)-1] != "make in "+project {
			t.Errorf("%v: ran %q by %s, judged %q", c.rules, ran, v.Run.By(), j.asked)
		}
	}
}

// An answer was given in a directory: where the agent was moved meanwhile, its input is asked about there.
func TestKF109_AnAnswerIsForItsDirectory(t *testing.T) {
	r := newRig(t, permission.Default, nil)
	var in []string
	moved := newRig(t, permission.Default, nil, answers(func(context.Context, proto.Ask) (proto.Answer, error) {
		in = append(in, r.scope.Cwd())
		r.scope.SetCwd(project + "/sub")
		return proto.Answer{Behavior: "allow", Input: command("make"), By: "host"}, nil
	}), func(m *rig) { m.scope = r.scope })
	if ran, v := moved.try(command("npm test")); ran != "make" || !slices.Equal(in, []string{project, project + "/sub"}) || v.Run.Call().Cwd != project+"/sub" {
		t.Errorf("ran %q in %s, asked in %q", ran, v.Run.Call().Cwd, in)
	}
}

// Hooks before a call speak once, also when the call is authorised again because it may no longer run beside
// others; what they wanted is not put in place of what was made of it since.
func TestHooksBeforeACallSpeakOnce(t *testing.T) {
	r := newRig(t, permission.Default, nil, on(hook.PreToolUse, hook.Outcome{Input: command("npm run x")}),
		says(proto.Answer{Behavior: "allow", Input: command("make"), By: "user"}))
	call, traits, err := tool.Prepare(shell(), tool.Call{ID: "c", Name: "Bash", Literal: command("npm test"), Scope: r.scope})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		v, err := r.gate.Authorize(t.Context(), &r.turn, call, traits)
		if err != nil || v.Run.Traits().Command != "make" {
			t.Fatalf("%d: %q, %v", i, v.Run.Traits().Command, err)
		}
		call, traits = v.Run.Call(), v.Run.Traits()
	}
	if !slices.Equal(r.fired, []string{"PreToolUse npm test"}) || len(r.asked) != 1 {
		t.Errorf("fired %q, asked %d times", r.fired, len(r.asked))
	}
}

// What was classified while the call waited counts for the announced input in the directory of then.
func TestKF109_AnEarlyVerdictIsOfItsInputAlone(t *testing.T) {
	announced := func(r *rig) tool.Call {
		return tool.Call{ID: "c", Name: "Bash", Literal: command("npm test"), Scope: r.scope}
	}
	for _, c := range []struct {
		name  string
		setup func(*rig)
		after func(*rig)
		asked []string
	}{
		{"as announced", func(*rig) {}, func(*rig) {}, []string{"npm test in " + project}},
		{
			"rewritten by a hook", on(hook.PreToolUse, hook.Outcome{Input: command("npm publish")}), func(*rig) {},
			[]string{"npm test in " + project, "npm publish in " + project},
		},
		{
			"another directory", func(*rig) {}, func(r *rig) { r.scope.SetCwd(project + "/sub") },
			[]string{"npm test in " + project, "npm test in " + project + "/sub"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := judge{answers: []permission.Verdict{lets, blocks}}
			r := newRig(t, permission.Auto, nil, j.handed, c.setup)
			r.gate.Speculate(t.Context(), announced(r))
			synctest.Wait()
			c.after(r)
			if ran, _ := r.try(command("npm test")); (ran != "") != (len(c.asked) == 1) || !slices.Equal(j.asked, c.asked) {
				t.Errorf("%s: ran %q, judged %q", c.name, ran, j.asked)
			}
		})
	}
}

// A question offers no mode that may not be entered, and approving a plan neither.
func TestKF113_AQuestionOffersNoForbiddenMode(t *testing.T) {
	r := newRig(t, permission.Plan, nil, says(yes), func(r *rig) {
		r.given.Tool = func(name string) tool.Tool {
			return tool.New(tool.Spec{Name: name, Asks: tool.AsksPlan, Schema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, map[string]any, tool.Call) (tool.Result, error) { return tool.Text("left"), nil },
				tool.Always[map[string]any](tool.Traits{NeedsPerson: true, NoEffect: true}))
		}
		r.state.Set(func(s *permission.State) *permission.State {
			next, _ := s.WithAvailable(true, false, map[permission.Mode]string{permission.AcceptEdits: "the organisation forbids it", permission.Bypass: "so too"})
			return next
		})
	})
	r.call("ExitPlanMode", json.RawMessage(`{}`))
	var offered []string
	for _, o := range r.asked[0].Options {
		offered = append(offered, o.ID)
	}
	for forbidden, want := range map[bool]bool{false: true, true: false} {
		r := newRig(t, permission.Default, nil, says(proto.Answer{Behavior: "deny", By: "user"}), func(r *rig) {
			r.given.Tool = func(name string) tool.Tool {
				return tool.New(tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)},
					func(context.Context, map[string]any, tool.Call) (tool.Result, error) {
						return tool.Text("written"), nil
					},
					tool.Always[map[string]any](tool.Traits{Paths: []tool.PathUse{{Path: project + "/f", Intent: tool.Write}}}))
			}
			if forbidden {
				r.state.Set(func(s *permission.State) *permission.State {
					next, _ := s.WithAvailable(false, false, map[permission.Mode]string{permission.AcceptEdits: "the organisation forbids it"})
					return next
				})
			}
		})
		r.call("Write", json.RawMessage(`{}`))
		got := slices.ContainsFunc(r.asked[0].Options, func(o proto.Option) bool {
			return slices.ContainsFunc(o.Updates, func(u proto.PermissionUpdate) bool { return u.Type == "setMode" })
		})
		if got != want {
			t.Errorf("forbidden %v: offers to allow edits this session: %v", forbidden, got)
		}
	}
	if r.asked[0].Kind != proto.AskPlan || !slices.Equal(offered, []string{"manual", "no"}) {
		t.Errorf("offered %q", offered)
	}
}
