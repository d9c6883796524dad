package permission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// call describes one call of a tool that is not a shell.
type call struct {
	tool  string
	input string
	uses  []tool.PathUse
	more  tool.Traits
}

func read(paths ...string) []tool.PathUse { return pathUses(tool.Read, paths) }
func edit(paths ...string) []tool.PathUse { return pathUses(tool.Write, paths) }
func pathUses(i tool.Intent, paths []string) []tool.PathUse {
	var out []tool.PathUse
	for _, p := range paths {
		out = append(out, tool.PathUse{Path: p, Intent: i})
	}
	return out
}

func decideCall(t *testing.T, mode Mode, rules []string, c call, change ...func(*Request, *Policy)) Decision {
	t.Helper()
	return decideLine(t, mode, rules, "", append([]func(*Request, *Policy){func(r *Request, p *Policy) {
		tr := c.more
		tr.Paths = c.uses
		tr.ReadOnly = tr.ReadOnly || len(c.uses) > 0 && c.uses[0].Intent == tool.Read
		if c.input == "" {
			c.input = "{}"
		}
		*r = Request{Tool: c.tool, Literal: json.RawMessage(c.input), Traits: tr}
	}}, change...)...)
}

func TestToolCalls(t *testing.T) {
	in, out := "/home/dev/app/a.go", "/etc/passwd"
	fetch := func(u string) call {
		return call{tool: "WebFetch", input: `{"url":"` + u + `"}`, more: tool.Traits{ReadOnly: true, Hosts: []string{"x"}}}
	}
	mcp := call{tool: "mcp__gh__get_issue", more: tool.Traits{ReadOnly: true}}
	agent := call{tool: "Agent", input: `{"subagent_type":"Explore","model":"opus"}`}
	skill := call{tool: "Skill", input: `{"skill":"pdf","args":"a b"}`}
	ask := call{tool: "AskUserQuestion", more: tool.Traits{NeedsPerson: true}}
	for _, c := range []struct {
		name  string
		mode  Mode
		rules []string
		call  call
		want  Behavior
	}{
		{"read inside", Default, nil, call{tool: "Read", uses: read(in)}, Allow},
		{"read outside", Default, nil, call{tool: "Read", uses: read(out)}, Ask},
		{"read outside, rule", Default, []string{"+Read(//etc/**)"}, call{tool: "Read", uses: read(out)}, Allow},
		{"read outside, dontAsk", DontAsk, nil, call{tool: "Read", uses: read(out)}, Deny},
		{"read outside, bypass", Bypass, nil, call{tool: "Read", uses: read(out)}, Allow},
		{"read denied, bypass", Bypass, []string{"-Read(//etc/**)"}, call{tool: "Read", uses: read(out)}, Deny},
		{"grep of a denied file", Default, []string{"-Read(.env)"}, call{tool: "Grep", uses: read("/home/dev/app/x/.env")}, Deny},
		{"read asked", Bypass, []string{"?Read(a.go)"}, call{tool: "Read", uses: read(in)}, Ask},
		{"edit", Default, nil, call{tool: "Edit", uses: edit(in)}, Ask},
		{"edit, acceptEdits", AcceptEdits, nil, call{tool: "Write", uses: edit(in)}, Allow},
		{"edit outside, acceptEdits", AcceptEdits, nil, call{tool: "Write", uses: edit("/tmp/x")}, Ask},
		{"edit, auto", Auto, nil, call{tool: "Edit", uses: edit(in)}, Allow},
		{"edit, plan", Plan, []string{"+Edit"}, call{tool: "Edit", uses: edit(in)}, Deny},
		{"edit, rule", Default, []string{"+Edit(/a.go)"}, call{tool: "Write", uses: edit(in)}, Allow},
		{"edit, rule elsewhere", Default, []string{"+Edit(/b.go)"}, call{tool: "Write", uses: edit(in)}, Ask},
		{"edit of a file that may not be read", AcceptEdits, []string{"-Read(.env)"}, call{tool: "Write", uses: edit("/home/dev/app/.env")}, Deny},
		{"edit denied", Bypass, []string{"-Edit(/src/**)"}, call{tool: "NotebookEdit", uses: edit("/home/dev/app/src/x")}, Deny},
		{"protected, acceptEdits", AcceptEdits, []string{"+Edit", "+Edit(.git/**)"}, call{tool: "Edit", uses: edit("/home/dev/app/.git/config")}, Ask},
		{"protected, bypass", Bypass, nil, call{tool: "Edit", uses: edit("/home/dev/app/.git/config")}, Allow},
		{"protected, dontAsk", DontAsk, []string{"+Edit"}, call{tool: "Edit", uses: edit("/home/dev/app/.git/config")}, Deny},
		{"protected, auto", Auto, nil, call{tool: "Edit", uses: edit("/home/dev/app/.vscode/x")}, Ask},
		{"ssh keys", AcceptEdits, []string{"+Edit(~/**)"}, call{tool: "Write", uses: edit("/home/dev/.ssh/authorized_keys")}, Ask},
		{"workflows are not protected", AcceptEdits, nil, call{tool: "Write", uses: edit("/home/dev/app/.github/workflows/x.yml")}, Allow},
		{"worktrees are not protected", AcceptEdits, nil, call{tool: "Write", uses: edit("/home/dev/app/.claude/worktrees/a/x")}, Allow},
		{"control character", Bypass, nil, call{tool: "Write", uses: edit("/home/dev/app/a\x00b")}, Deny},
		{"bare Write deny", Bypass, []string{"-Write"}, call{tool: "Write", uses: edit(in)}, Deny},
		{"write rules with paths do nothing", Default, []string{"+Write(/a.go)"}, call{tool: "Write", uses: edit(in)}, Ask},
		{"fetch", Default, nil, fetch("https://x.test/a"), Ask},
		{"fetch docs", Default, nil, fetch("https://pkg.go.dev/fmt"), Allow},
		{"fetch docs, denied", Default, []string{"-WebFetch(domain:pkg.go.dev)"}, fetch("https://pkg.go.dev/fmt"), Deny},
		{"fetch rule", Default, []string{"+WebFetch(domain:x.test)"}, fetch("https://X.test./a"), Allow},
		{"fetch rule, subdomain", Default, []string{"+WebFetch(domain:x.test)"}, fetch("https://a.x.test/"), Ask},
		{"fetch wildcard, apex", Default, []string{"+WebFetch(domain:*.x.test)"}, fetch("https://x.test/"), Ask},
		{"fetch wildcard, deep", Default, []string{"+WebFetch(domain:*.x.test)"}, fetch("https://a.b.x.test/"), Allow},
		{"fetch star in a label", Default, []string{"+WebFetch(domain:example.*)"}, fetch("https://example.evil.com/"), Ask},
		{"fetch any", Default, []string{"+WebFetch(domain:*)"}, fetch("https://x.test/"), Allow},
		{"fetch denied address in another spelling", Bypass, []string{"-WebFetch(domain:127.0.0.1)"}, fetch("http://0x7f000001/"), Deny},
		{"fetch without a host", Default, []string{"+WebFetch"}, fetch("file:///etc/passwd"), Ask},
		{"mcp", Default, nil, mcp, Ask},
		{"mcp rule", Default, []string{"+mcp__gh__get_*"}, mcp, Allow},
		{"mcp server", Default, []string{"+mcp__gh"}, mcp, Allow},
		{"mcp other server", Default, []string{"+mcp__ghx"}, mcp, Ask},
		{"mcp all denied", Bypass, []string{"-mcp__*"}, mcp, Deny},
		{"mcp, plan", Plan, []string{"+mcp__gh"}, mcp, Ask},
		{"agent", Default, nil, agent, Allow},
		{"agent type denied", Default, []string{"-Agent(Explore)"}, agent, Deny},
		{"agent by its old name", Default, []string{"-Task(Explore)"}, agent, Deny},
		{"agent model denied", Default, []string{"-Agent(model:opus)"}, agent, Deny},
		{"agent model, other", Default, []string{"-Agent(model:sonnet)"}, agent, Allow},
		{"agent model, wildcard", Default, []string{"?Agent( model : op* )"}, agent, Ask},
		{"agent absent field", Default, []string{"-Agent(isolation:*)"}, agent, Allow},
		{"skill", Default, nil, skill, Ask},
		{"skill rule", Default, []string{"+Skill(pdf)"}, skill, Allow},
		{"skill prefix", Default, []string{"+Skill(pdf *)"}, skill, Allow},
		{"skill prefix, other", Default, []string{"+Skill(pdf b *)"}, skill, Ask},
		{"person", Bypass, []string{"+AskUserQuestion"}, ask, Ask},
		{"person, dontAsk", DontAsk, []string{"+AskUserQuestion"}, ask, Deny},
		{"no effect", DontAsk, nil, call{tool: "TodoWrite", more: tool.Traits{NoEffect: true}}, Allow},
		{"web search", Default, nil, call{tool: "WebSearch", more: tool.Traits{ReadOnly: true}}, Ask},
		{"unknown tool", Default, nil, call{tool: "Made"}, Ask},
		{"everything denied", Bypass, []string{"-*"}, call{tool: "Read", uses: read(in)}, Deny},
		{"cd", Default, nil, call{tool: "Cd", input: `{"path":"/tmp"}`}, Allow},
		{"cd allowlist", Default, []string{"+Cd(//home/dev/**)"}, call{tool: "Cd", input: `{"path":"/tmp"}`}, Deny},
		{"cd allowlist, root", Default, []string{"+Cd(//home/dev/**)"}, call{tool: "Cd", input: `{"path":"/home/dev"}`}, Allow},
		{"cd denied", Default, []string{"-Cd(//tmp)"}, call{tool: "Cd", input: `{"path":"/tmp/../tmp"}`}, Deny},
	} {
		if d := decideCall(t, c.mode, c.rules, c.call); d.Behavior != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, d.Behavior, d.Reason.Text, c.want)
		}
	}
}

// TestOwnNotes: the agent's own notes are read and written in every mode, though they are protected and
// lie outside; deny and ask rules hold, nothing else of the call rides along, and none is deleted.
func TestOwnNotes(t *testing.T) {
	const note, other = "/home/dev/.myelin/plans/p.md", "/home/dev/.myelin/plans/q.md"
	own := func(_ *Request, p *Policy) {
		p.Dirs.Protected = []string{"/home/dev/.myelin"}
		p.Dirs.Notes = func(path, real string) bool { return path == note && real == note }
	}
	gone := []tool.PathUse{{Path: note, Intent: tool.Delete}}
	for _, c := range []struct {
		name  string
		mode  Mode
		rules []string
		call  call
		want  Behavior
	}{
		{"plan mode", Plan, nil, call{tool: "Write", uses: edit(note)}, Allow},
		{"default mode", Default, nil, call{tool: "Edit", uses: edit(note)}, Allow},
		{"dontAsk", DontAsk, nil, call{tool: "Edit", uses: edit(note)}, Allow},
		{"read", Default, nil, call{tool: "Read", uses: read(note)}, Allow},
		{"another file in plan mode", Plan, nil, call{tool: "Write", uses: edit(other)}, Deny},
		{"another file", Default, nil, call{tool: "Write", uses: edit(other)}, Ask},
		{"both", Default, nil, call{tool: "Write", uses: append(edit(note), edit(other)...)}, Ask},
		{"deny rule", Default, []string{"-Edit(//home/dev/.myelin/**)"}, call{tool: "Write", uses: edit(note)}, Deny},
		{"ask rule", Default, []string{"?Edit(//home/dev/.myelin/**)"}, call{tool: "Write", uses: edit(note)}, Ask},
		{"removed", Plan, nil, call{tool: "Remove", uses: gone}, Deny},
	} {
		if d := decideCall(t, c.mode, c.rules, c.call, own); d.Behavior != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, d.Behavior, d.Reason.Text, c.want)
		}
	}
}

func TestSessionGrantForProtectedFolder(t *testing.T) {
	target := call{tool: "Edit", uses: edit("/home/dev/app/.claude/agents/a.md")}
	d := decideCall(t, Default, nil, target)
	if d.Behavior != Ask || len(d.Suggestions) != 1 || d.Suggestions[0].Destination != string(FromSession) {
		t.Fatalf("%+v", d)
	}
	rule := d.Suggestions[0].Rules[0].String()
	grant := func(r *Request, p *Policy) {
		p.Rules = Compile([]Rule{{List: AllowList, Text: rule, Source: FromSession}}, Env{Dirs: p.Dirs})
	}
	if d := decideCall(t, Default, nil, call{tool: "Write", uses: edit("/home/dev/app/.claude/skills/x")}, grant); d.Behavior != Allow {
		t.Errorf("granted folder: %s (%s)", d.Behavior, d.Reason.Text)
	}
	if d := decideCall(t, Default, nil, call{tool: "Write", uses: edit("/home/dev/app/.git/x")}, grant); d.Behavior != Ask {
		t.Errorf("another protected folder: %s", d.Behavior)
	}
	saved := func(r *Request, p *Policy) {
		p.Rules = Compile([]Rule{{List: AllowList, Text: rule, Source: FromLocal}}, Env{Dirs: p.Dirs})
	}
	if d := decideCall(t, Default, nil, target, saved); d.Behavior != Ask {
		t.Errorf("a saved rule opens a protected folder: %s", d.Behavior)
	}
}

// TestKF041_SymlinkOutOfTheProject uses real links.
func TestKF041_SymlinkOutOfTheProject(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project, outside := filepath.Join(root, "p"), filepath.Join(root, "outside")
	for _, d := range []string{project, outside, filepath.Join(project, "real")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"p/out": outside, "p/in": filepath.Join(project, "real"), "p/link.txt": filepath.Join(outside, "f"), "alias": project, "p/loop": filepath.Join(project, "loop")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(cwd string) func(*Request, *Policy) {
		return func(r *Request, p *Policy) {
			p.Dirs = Dirs{Cwd: cwd, Project: cwd, Home: "/nowhere"}
			p.Resolve = ResolveLinks
			p.Rules = Compile([]Rule{{List: DenyList, Text: "Read(/real/secret)", Source: FromProject, Base: cwd}}, Env{Dirs: p.Dirs, Resolve: ResolveLinks})
		}
	}
	alias := filepath.Join(root, "alias")
	for _, c := range []struct {
		cwd  string
		call call
		want Behavior
	}{
		{project, call{tool: "Write", uses: edit(project + "/out/new.txt")}, Ask},
		{project, call{tool: "Edit", uses: edit(project + "/out/old.txt")}, Ask},
		{project, call{tool: "Read", uses: read(project + "/out/secret")}, Ask},
		{project, call{tool: "Write", uses: edit(project + "/link.txt")}, Ask},
		{project, call{tool: "Write", uses: edit(project + "/in/x")}, Allow},
		{project, call{tool: "Write", uses: edit(project + "/loop/x")}, Ask},
		{project, call{tool: "Read", uses: read(project + "/in/secret")}, Deny},
		{alias, call{tool: "Write", uses: edit(alias + "/x")}, Allow},
		{alias, call{tool: "Read", uses: read(alias + "/real/secret")}, Deny},
		{alias, call{tool: "Read", uses: read(project + "/real/secret")}, Deny},
		{alias, call{tool: "Read", uses: read(project + "/real/x")}, Allow},
	} {
		if d := decideCall(t, AcceptEdits, nil, c.call, at(c.cwd)); d.Behavior != c.want {
			t.Errorf("%s in %s: %s (%s), want %s", c.call.uses[0].Path, c.cwd, d.Behavior, d.Reason.Text, c.want)
		}
	}
}

func TestResolveLinksNamesHops(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"a": "b", "b": "c"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ResolveLinks(filepath.Join(dir, "a", "new"))
	if err != nil || got.Path != filepath.Join(dir, "c", "new") || len(got.Hops) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// The folders /home/dev/app/blind and /mnt/blind ignore case, and so does what lies in them.
func blind(dir string) bool {
	for _, d := range []string{"/home/dev/app/blind", "/home/dev/Blind", "/mnt/blind"} {
		if _, ok := pathpattern.Rel(d, dir); ok {
			return true
		}
	}
	return false
}

func TestKF128_RulesFoldWhereTheFolderDoes(t *testing.T) {
	with := func(lines ...string) func(*Request, *Policy) {
		return func(_ *Request, p *Policy) {
			p.Folds = blind
			var rules []Rule
			for _, l := range lines {
				rules = append(rules, Rule{List: map[byte]List{'-': DenyList, '+': AllowList, '?': AskList}[l[0]], Text: l[1:]})
			}
			p.Rules = Compile(rules, Env{Dirs: p.Dirs, Folds: blind})
		}
	}
	deny := with("-Read(.env)", "-Read(~/Blind/Vault/**)", "-Read(//mnt/blind/caf\u00e9)", "-Edit(/blind/[A-C]*.txt)")
	for path, want := range map[string]Behavior{
		"/home/dev/app/blind/.env": Deny, "/home/dev/app/blind/.ENV": Deny, "/home/dev/app/blind/x/.eNv": Deny, "/home/dev/app/blind/.en\u200dv": Deny,
		"/home/dev/app/.env": Deny, "/home/dev/app/.ENV": Allow, // this folder keeps them apart
		"/home/dev/Blind/VAULT/a": Deny, "/home/dev/Blind/vault/a": Deny, "/home/dev/Blind/other": Ask,
		"/mnt/blind/CAFE\u0301": Deny, "/mnt/blind/caf\u00c9/x": Deny, "/mnt/blind/cafe": Ask,
	} {
		if d := decideCall(t, Default, nil, call{tool: "Read", uses: read(path)}, deny); d.Behavior != want {
			t.Errorf("Read %q: %s, want %s", path, d.Behavior, want)
		}
	}
	for command, want := range map[string]Behavior{
		"cat blind/.ENV": Deny, "cat blind/.[E]nv": Ask, "cat .ENV": Allow, "cat < blind/.Env": Deny, "cd blind && cat .ENV": Deny,
	} {
		if d := decideLine(t, Default, nil, command, deny); d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason.Text, want)
		}
	}
	for path, want := range map[string]Behavior{"/home/dev/app/blind/a1.TXT": Deny, "/home/dev/app/blind/B.txt": Deny, "/home/dev/app/blind/d.txt": Allow} {
		if d := decideCall(t, AcceptEdits, nil, call{tool: "Write", uses: edit(path)}, deny); d.Behavior != want {
			t.Errorf("Write %s: %s, want %s", path, d.Behavior, want)
		}
	}
	if d := decideCall(t, Default, nil, call{tool: "Write", uses: edit("/home/dev/app/blind/docs/a")}, with("+Edit(/blind/Docs/**)")); d.Behavior != Ask {
		t.Errorf("an allow rule ignores case: %s", d.Behavior)
	}
	for path, want := range map[string]Behavior{
		"/home/dev/app/blind/.GIT/config": Ask, "/home/dev/app/blind/.G\u0131t/config": Ask, "/home/dev/app/blind/.Bashrc": Ask, "/home/dev/app/.GIT/config": Allow,
	} {
		if d := decideCall(t, AcceptEdits, nil, call{tool: "Write", uses: edit(path)}, with()); d.Behavior != want {
			t.Errorf("protected, Write %q: %s, want %s", path, d.Behavior, want)
		}
	}
	all := func(r *Request, p *Policy) { with("+Bash")(r, p); p.Folds = func(string) bool { return true } }
	for command, want := range map[string]Behavior{"rm -rf /HOME/Dev": Ask, "rm -rf /HOME/DEV/*": Ask, "rm -rf build": Allow} {
		if d := decideLine(t, Bypass, nil, command, all); d.Behavior != want {
			t.Errorf("%s: %s, want %s", command, d.Behavior, want)
		}
	}
}

func TestKF121_OlderNamesWithSpecifiers(t *testing.T) {
	for rule, c := range map[string]call{
		"-SlashCommand(/deploy:*)": {tool: "Skill", input: `{"skill":"deploy","args":"now"}`},
		"-SlashCommand(/deploy)":   {tool: "Skill", input: `{"skill":"deploy"}`},
		"-Task(Explore)":           {tool: "Agent", input: `{"subagent_type":"Explore"}`},
		"-NotebookRead(a.ipynb)":   {tool: "Read", uses: read("/home/dev/app/a.ipynb")},
		"-MultiEdit(src/**)":       {tool: "Write", uses: edit("/home/dev/app/src/a.go")},
		"-Kill*":                   {tool: "TaskStop", input: `{"task_id":"1"}`},
		"-BashOutput":              {tool: "TaskOutput", input: `{"task_id":"1"}`},
	} {
		if d := decideCall(t, Bypass, []string{rule}, c); d.Behavior != Deny {
			t.Errorf("%s: %s is decided %s", rule, c.tool, d.Behavior)
		}
	}
	if d := decideCall(t, Default, []string{"-NotebookRead"}, call{tool: "Edit", uses: edit("/home/dev/app/a.go")}); d.Behavior == Deny {
		t.Error("a rule about a tool that reads denies one that writes")
	}
}

func TestAfterHook(t *testing.T) {
	for _, c := range []struct {
		rules   []string
		mode    Mode
		command string
		hook    Behavior
		want    Behavior
	}{
		{nil, Default, "npm test", Allow, Allow},
		{[]string{"-Bash(npm *)"}, Default, "npm test", Allow, Deny},
		{[]string{"?Bash(npm *)"}, Default, "npm test", Allow, Ask},
		{nil, Default, "rm -rf /", Allow, Ask},
		{nil, Default, "ls \"", Allow, Ask},
		{nil, Default, "echo x > .git/config", Allow, Allow},
		{nil, DontAsk, "echo x > .git/config", Allow, Deny},
		{nil, Bypass, "npm test", Deny, Deny},
		{nil, Bypass, "npm test", Ask, Ask},
		{[]string{"+Bash"}, Default, "npm test", Ask, Ask},
	} {
		if got := AfterHook(decideLine(t, c.mode, c.rules, c.command), c.hook, "because"); got.Behavior != c.want {
			t.Errorf("%q in %s with %q, hook %s: %s, want %s", c.command, c.mode, c.rules, c.hook, got.Behavior, c.want)
		}
	}
}

func TestKF050_QuestionShowsEverything(t *testing.T) {
	command := "echo hi" + strings.Repeat("\t", 300) + "; rm -rf x \u202e\u200b"
	q := Question{ID: "1", Request: Request{Tool: "Bash", Traits: tool.Traits{Command: command}}, Decision: decideLine(t, Default, []string{"+Bash"}, command)}
	a := q.Ask()
	for _, want := range []string{"⟨300 tabs⟩", "rm -rf x", `\u202E`, `\u200B`} {
		if !strings.Contains(a.Text, want) {
			t.Errorf("%q lacks %q", a.Text, want)
		}
	}
	if q.Decision.Behavior != Ask {
		t.Error(q.Decision.Behavior)
	}
	for _, o := range a.Options {
		if o.ID == AnswerAlways {
			t.Error("a suspicious command offers to be remembered")
		}
	}
}

func TestThreeWidths(t *testing.T) {
	d := decideLine(t, Default, nil, "git commit -m x && npm run build")
	opts := Options(d)
	if len(opts) != 4 || opts[0].ID != AnswerOnce || opts[1].ID != AnswerSession || opts[2].ID != AnswerAlways || opts[3].ID != AnswerNo {
		t.Fatalf("%+v", opts)
	}
	if !strings.Contains(opts[2].Detail, "“git commit” with any arguments") || !strings.Contains(opts[2].Detail, "“npm run build” with any arguments") {
		t.Errorf("what else it allows is not told: %q", opts[2].Detail)
	}
	if opts[1].Updates[0].Destination != "session" || opts[2].Updates[0].Destination != "localSettings" {
		t.Errorf("%+v", opts)
	}
	if got := Options(decideLine(t, Default, nil, "rm -rf /")); len(got) != 2 {
		t.Errorf("a critical removal offers %d answers", len(got))
	}
	if got := Options(decideLine(t, Plan, nil, "npm test")); len(got) != 2 {
		t.Errorf("plan mode offers %d answers", len(got))
	}
	for command, want := range map[string]string{
		"make test":                    "Bash(make test)",
		"python3 x.py":                 "Bash(python3 x.py)",
		"python3":                      "",
		"rm -rf build":                 "Bash(rm -rf build)",
		"go run ./cmd/x":               "Bash(go run ./cmd/x)",
		"docker run x":                 "Bash(docker run x)",
		"find . -name '*.tmp' -delete": "Bash(find . -name '*.tmp' -delete)",
		"cd /opt/x":                    "Read(//opt/x/**)",
		"cat /etc/hosts":               "Read(//etc/hosts)",
		"echo hi > a.txt":              "Edit(//home/dev/app/a.txt)",
		"FOO=1 npm test":               "",
		"npm test | tee x":             "Bash(npm test *), Bash(tee x)",
	} {
		d := decideLine(t, Default, nil, command)
		if got := strings.Join(d.Missing, ", "); got != want {
			t.Errorf("%q: missing %q, want %q", command, got, want)
		}
	}
}
