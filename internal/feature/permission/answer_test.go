package permission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// shellQuestion is a question about a command, decided under mode and rules.
func shellQuestion(t *testing.T, mode Mode, rules []string, command string, change ...func(*Request, *Policy)) Question {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	req := Request{Tool: "Bash", Literal: input, Input: input, Traits: tool.Traits{Command: command}}
	return Question{ID: "q", CallID: "c", Request: req, Decision: decideLine(t, mode, rules, command, change...)}
}

func TestAnswered(t *testing.T) {
	q := shellQuestion(t, Default, nil, "npm test")
	out := Answered(q, proto.Answer{Behavior: "allow", Option: AnswerAlways, Message: "mind the time"}, nil)
	if out.Behavior != Allow || len(out.Updates) != 1 || out.Updates[0].Destination != "localSettings" || out.Comment != "mind the time" || out.By != "user" {
		t.Errorf("always: %+v", out)
	}
	if out = Answered(q, proto.Answer{Behavior: "deny"}, nil); out.Behavior != Deny || out.End == "" {
		t.Errorf("a bare no ends the turn: %+v", out)
	}
	if out = Answered(q, proto.Answer{Behavior: "deny", Message: "use make"}, nil); out.Message != "use make" || out.End != "" {
		t.Errorf("a no with a comment goes on: %+v", out)
	}
	if out = Answered(q, proto.Answer{Behavior: "maybe"}, nil); out.Behavior != Deny || !strings.HasPrefix(out.Message, "Tool permission request failed") {
		t.Errorf("a malformed answer: %+v", out)
	}
	var refusals Refusals
	for i := range 3 {
		if out := Answered(q, proto.Answer{Behavior: "deny", Message: "no"}, &refusals); (out.End != "") != (i == 2) {
			t.Errorf("refusal %d: end %q", i+1, out.End)
		}
	}
}

// What was granted with an answer belongs to the input that runs.
func TestKF109_AnOptionMeansTheInputThatRuns(t *testing.T) {
	out := Answered(shellQuestion(t, Default, nil, "npm test"), proto.Answer{Option: AnswerAlways}, nil)
	other := shellQuestion(t, Default, nil, "go vet ./...").Decision
	got := out.For(other)
	if len(got.Updates) != 1 || got.Updates[0].Rules[0].RuleContent != "go vet *" {
		t.Errorf("remembered for the new input: %+v", got.Updates)
	}
	free := shellQuestion(t, Default, nil, "ls").Decision
	if got = out.For(free); len(got.Updates) != 0 {
		t.Errorf("remembered although nothing was asked: %+v", got.Updates)
	}
}

func TestKF044_PlanModeConfinesWhatItAsksFor(t *testing.T) {
	for _, command := range []string{"touch f", "git commit --amend", "python3 -c 'open(\"f\",\"w\")'", "cat > f <<E\nE", "npm test"} {
		if d := decideLine(t, Plan, []string{"+Bash", "+Edit"}, command); d.Behavior != Ask || d.Confine.Level != tool.ReadOnly {
			t.Errorf("%q: %s, confined %q", command, d.Behavior, d.Confine.Level)
		}
	}
}

func TestKF045_PlanModeReads(t *testing.T) {
	for _, command := range []string{"ls -la", "git log -5 --stat", "wc -l f", "rg x | head"} {
		if d := decideLine(t, Plan, nil, command); d.Behavior != Allow {
			t.Errorf("%q: %s (%s)", command, d.Behavior, d.Reason.Text)
		}
	}
}

func TestKF110_DenyAndAskRulesHoldForBoth(t *testing.T) {
	free := decideLine(t, Default, []string{"+Bash(mytool *)"}, "mytool rm x")
	for _, c := range []struct {
		mode  Mode
		rules []string
		want  Behavior
	}{
		{Default, []string{"-Bash(rm *)"}, Deny},
		{Bypass, []string{"-Bash(rm *)"}, Deny},
		{Default, []string{"?Bash(rm *)"}, Ask},
		{Default, nil, Allow},
		{DontAsk, nil, Allow}, // the mode asked, no rule did
		{DontAsk, []string{"?Bash(rm *)"}, Deny},
	} {
		d := Stricter(free, Held(decideLine(t, c.mode, c.rules, "rm x")))
		if d.Behavior != c.want || d.Behavior == Ask && (!d.Firm || d.Classify || len(d.Suggestions) > 0) {
			t.Errorf("%s %v: %s firm %v (%s), want %s", c.mode, c.rules, d.Behavior, d.Firm, d.Reason.Text, c.want)
		}
	}
	denied := decideLine(t, Default, []string{"-Bash(mytool *)"}, "mytool rm x")
	if d := Stricter(denied, Held(decideLine(t, Default, []string{"?Bash(rm *)"}, "rm x"))); d.Behavior != Deny {
		t.Errorf("the stricter one is the new input's: %s", d.Behavior)
	}
}

// The text of one command is read once, whoever asks about it, and again for another text or directory.
func TestOneAccountACommand(t *testing.T) {
	read := 0
	accounts := &Accounts{Analyse: func(command string, o shellsyntax.Options) *shellsyntax.Account {
		read++
		return shellsyntax.Analyse(command, o)
	}}
	pol := Policy{Dirs: Dirs{Cwd: "/p", Home: "/h"}, Accounts: accounts}
	req := Request{Tool: "Bash", Traits: tool.Traits{Command: "cat f | wc -l"}, Cwd: "/p"}
	if e := EffectsOf("cat f | wc -l", "/p", pol); !e.ReadOnly || e.Quiet {
		t.Errorf("%+v", e)
	}
	m, err := NewMatcher("Bash(cat *)", Env{Dirs: pol.Dirs, Accounts: accounts})
	if err != nil {
		t.Fatal(err)
	}
	if d := Decide(req, pol); d.Behavior != Allow || !m.Match(req) || read != 1 {
		t.Errorf("%s, read %d times", d.Behavior, read)
	}
	req.Cwd = "/p/sub"
	Decide(req, pol)
	req.Traits.Command = "cat g"
	Decide(req, pol)
	Decide(req, pol)
	if read != 3 {
		t.Errorf("read %d times, want 3", read)
	}
}

func TestEffectsOf(t *testing.T) {
	for command, want := range map[string]Effects{
		"ls -la":           {ReadOnly: true},
		"sleep 1":          {Quiet: true},
		"true && sleep 3":  {Quiet: true},
		"git reset --hard": {Discards: true},
		"make":             {},
		"ls; make":         {},
		"echo 'x":          {},
		"":                 {},
	} {
		got := EffectsOf(command, "/p", Policy{Dirs: Dirs{Cwd: "/p", Home: "/h"}, Rules: Compile([]Rule{{List: DenyList, Text: "Bash"}}, Env{}), Mode: Bypass})
		got.ReadOnly = got.ReadOnly && !want.Quiet // what is quiet may be on the set of what only reads, too
		if got != want {
			t.Errorf("%q: %+v, want %+v", command, got, want)
		}
	}
}
