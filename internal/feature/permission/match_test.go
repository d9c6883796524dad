package permission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

func TestMatcher(t *testing.T) {
	env := Env{Dirs: Dirs{Cwd: "/p", Home: "/h"}}
	bash := func(c string) Request { return Request{Tool: "Bash", Traits: tool.Traits{Command: c}} }
	file := func(name, p string) Request {
		return Request{Tool: name, Literal: json.RawMessage(`{"file_path":"` + p + `"}`), Traits: tool.Traits{Paths: []tool.PathUse{{Path: p, Intent: tool.Write}}}}
	}
	for _, c := range []struct {
		rule string
		req  Request
		want bool
	}{
		{"Bash(git push *)", bash("git push"), true},
		{"Bash(git push:*)", bash("git push origin"), true},
		{"Bash(git push *)", bash("ls && A=1 git push"), true},
		{"Bash(git push *)", bash("echo \"$(git push)\""), true},
		{"Bash(git push *)", bash("git pull"), false},
		{"Bash(git push *)", bash("echo $(date)"), true},
		{"Bash(git push *)", bash("echo $X"), true},
		{"Bash(git push *)", bash("echo `date`"), true},
		{"Bash(git *)", bash("echo $X"), false},
		{"Bash(git)", bash("echo $X"), false},
		{"Bash(git *)", bash("ls \""), true},
		{"Bash", bash("ls"), true},
		{"Bash", file("Edit", "/p/a"), false},
		{"Edit", file("Edit", "/p/a"), true},
		{"Edit(*.ts)", file("Edit", "/p/a/b.ts"), true},
		{"Edit(*.ts)", file("Edit", "/p/a/b.go"), false},
		{"Edit(src/**)", file("Edit", "/p/src/a"), true},
		{"Edit(src/**)", file("Edit", "/p/x/src/a"), false},
		{"Edit(**/src/**)", file("Edit", "/p/x/src/a"), true},
		{"Write(*.md)", file("Write", "/p/a.md"), true},
		{"Edit(*.ts)", file("Write", "/p/a.ts"), false},
		{"mcp__s__*", Request{Tool: "mcp__s__t"}, true},
		{"mcp__s", Request{Tool: "mcp__s__t"}, true},
		{"*", Request{Tool: "Made"}, true},
		{"Agent(Explore)", Request{Tool: "Agent", Literal: json.RawMessage(`{"subagent_type":"Explore"}`)}, true},
		{"Bash(run_in_background:true)", Request{Tool: "Bash", Literal: json.RawMessage(`{"run_in_background":true}`), Traits: tool.Traits{Command: "ls"}}, true},
	} {
		m, err := NewMatcher(c.rule, env)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		if got := m.Match(c.req); got != c.want {
			t.Errorf("%s and %s %q: %v, want %v", c.rule, c.req.Tool, c.req.Traits.Command, got, c.want)
		}
	}
	if _, err := NewMatcher("Bash(x", env); err == nil {
		t.Error("a malformed rule compiles")
	}
}

func TestExplain(t *testing.T) {
	dirs := Dirs{Cwd: "/home/dev/app", Home: "/home/dev"}
	req := Request{Tool: "Bash", Literal: json.RawMessage(`{"command":"git push && npm test"}`), Traits: tool.Traits{Command: "git push && npm test"}}
	pol := Policy{Dirs: dirs, Rules: Compile([]Rule{{List: DenyList, Text: "Bash(git push *)", Source: FromUser, File: "/home/dev/.myelin/settings.json", Line: 7}}, Env{Dirs: dirs})}
	text := Explain(req, pol, Decide(req, pol))
	for _, want := range []string{"decision     deny", "deny Bash(git push *), /home/dev/.myelin/settings.json:7, matched git push", "understood   git push"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	pol.Rules = nil
	text = Explain(req, pol, Decide(req, pol))
	for _, want := range []string{"missing      Bash(git push *), Bash(npm test *)", "answer       Yes, once", "don't ask again"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
}

func TestSandboxConfinement(t *testing.T) {
	box := func(change func(*Sandbox)) func(*Request, *Policy) {
		return func(r *Request, p *Policy) {
			p.Sandbox.Enabled = true
			if change != nil {
				change(&p.Sandbox)
			}
		}
	}
	escape := func(r *Request, p *Policy) {
		p.Sandbox.Enabled = true
		r.Literal = json.RawMessage(`{"command":"npm test","dangerouslyDisableSandbox":true}`)
	}
	for _, c := range []struct {
		name    string
		mode    Mode
		rules   []string
		command string
		change  func(*Request, *Policy)
		want    Behavior
		level   tool.ConfineLevel
	}{
		{"inside", Default, nil, "npm test", box(nil), Allow, tool.Sandboxed},
		{"inside, bypass", Bypass, nil, "npm test", box(nil), Allow, tool.Sandboxed},
		{"escape", Default, nil, "npm test", escape, Ask, tool.Unconfined},
		{"escape, bypass", Bypass, nil, "npm test", escape, Ask, tool.Unconfined},
		{"escape, bypass, by an exact rule", Bypass, []string{"+Bash(npm test)"}, "npm test", escape, Allow, tool.Unconfined},
		{"excluded", Default, []string{"+Bash(docker *)"}, "A=1 timeout 5 docker ps -a", box(func(s *Sandbox) { s.Excluded = []string{"docker *"} }), Ask, tool.Unconfined},
		{"excluded by prefix form", Bypass, nil, "docker ps", box(func(s *Sandbox) { s.Excluded = []string{"docker:*"} }), Allow, tool.Unconfined},
		{"protected write", Default, nil, "echo x > .git/config", box(nil), Ask, tool.Sandboxed},
		{"unknown program", Default, nil, "$X y", box(nil), Ask, tool.Sandboxed},
		{"unparseable", Default, nil, "ls \"", box(nil), Ask, tool.Sandboxed},
		{"writes outside: the sandbox refuses it", Default, nil, "touch /tmp/x", box(nil), Allow, tool.Sandboxed},
		{"background", Default, nil, "npm start &", box(nil), Allow, tool.Sandboxed},
		{"plan, read-only", Plan, nil, "ls", box(nil), Allow, tool.ReadOnly},
		{"plan", Plan, nil, "npm test", box(nil), Ask, tool.ReadOnly},
		{"bare ask, plan", Plan, []string{"?Bash"}, "ls", box(nil), Ask, tool.ReadOnly},
		{"bare ask, bypass", Bypass, []string{"?Bash"}, "npm test", box(nil), Allow, tool.Sandboxed},
		{"off", Default, nil, "ls", nil, Allow, tool.Unconfined},
	} {
		var change []func(*Request, *Policy)
		if c.change != nil {
			change = append(change, c.change)
		}
		d := decideLine(t, c.mode, c.rules, c.command, change...)
		if d.Behavior != c.want || d.Confine.Level != c.level {
			t.Errorf("%s: %s %q (%s), want %s %q", c.name, d.Behavior, d.Confine.Level, d.Reason.Text, c.want, c.level)
		}
	}
}

func TestManagedRulesOnly(t *testing.T) {
	d := decideLine(t, Default, nil, "npm test", func(_ *Request, p *Policy) { p.ManagedOnly = true })
	if d.Behavior != Ask || !d.Once || len(Options(d)) != 2 {
		t.Errorf("%+v", d)
	}
}
