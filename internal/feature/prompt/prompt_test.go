package prompt

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

func environment() Environment {
	return Environment{
		Cwd: "/home/x/project", Dirs: []string{"/srv/a", "/srv/b"}, Git: "Branch: main\nStatus:\n M a.go\n", Platform: "linux",
		System: "Debian GNU/Linux 12", Shell: "bash", Started: time.Date(2026, 3, 4, 23, 0, 0, 0, time.UTC),
	}
}

func allTools() []string {
	return []string{"Bash", "Read", "Edit", "Write", "Grep", "Glob", "TaskCreate", "Agent", "ToolSearch", "AskUserQuestion"}
}

func system(t *testing.T, p *Prompt) []string {
	t.Helper()
	blocks, err := p.System(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range blocks {
		out = append(out, b.(msg.Text).Text)
	}
	return out
}

var update = flag.Bool("update", false, "write the golden files anew")

func TestSystemPromptCurrent(t *testing.T) {
	p := New(Config{Tools: allTools(), Append: "Say hello.", Environment: environment(), Model: func() string { return "anthropic/x" }})
	got := strings.Join(system(t, p), "\n\n---\n\n") + "\n"
	if *update {
		if err := os.WriteFile("testdata/system.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/system.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("testdata/system.md (-want +got):\n%s", diff)
	}
}

func TestTheRulesStaySmall(t *testing.T) {
	if n := len(Rules(allTools(), true)); n > 6500 {
		t.Errorf("the rules have %d bytes; every one of them is sent with every request", n)
	}
}

func TestGuidanceIsGivenForToolsThatAreThere(t *testing.T) {
	few := Rules([]string{"Bash", "Read", "Edit"}, true)
	for _, absent := range []string{"Grep", "Glob", "Agent", "ToolSearch", "AskUserQuestion", "todo"} {
		if strings.Contains(few, absent) {
			t.Errorf("the rules for Bash, Read and Edit speak of %s", absent)
		}
	}
	if none := Rules(nil, true); strings.Contains(none, "# Tools") || strings.Contains(none, "\n\n\n") {
		t.Error("without tools there is guidance for them")
	}
	reversed := allTools()
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	if Rules(allTools(), true) != Rules(reversed, true) {
		t.Error("the rules depend on the order of tools")
	}
}

func TestTheOrderIsRulesStyleAppendedEnvironment(t *testing.T) {
	p := New(Config{Style: Style{Name: "x", Text: "STYLE", Coding: true}, Append: "APPENDED", Environment: environment()})
	got := system(t, p)
	if len(got) != 4 || !strings.HasPrefix(got[0], "You are myelin") || got[1] != "STYLE" || got[2] != "APPENDED" || !strings.HasPrefix(got[3], "# Environment") {
		t.Errorf("%q", got)
	}
}

func TestAGivenPromptReplacesTheRules(t *testing.T) {
	own, empty := "You are a pirate.", ""
	got := system(t, New(Config{Replace: &own, Append: "more", Environment: environment()}))
	if got[0] != own || got[1] != "more" || strings.Contains(strings.Join(got, "\n"), "M a.go") {
		t.Errorf("%q", got)
	}
	got = system(t, New(Config{Replace: &empty, Environment: Environment{Cwd: "/w"}}))
	if diff := cmp.Diff([]string{"# Environment\nWorking directory: /w"}, got); diff != "" {
		t.Error(diff)
	}
	if got := system(t, New(Config{Replace: &empty})); got != nil {
		t.Errorf("%q", got)
	}
}

func TestTheSystemPromptIsStableButForTheModel(t *testing.T) {
	model := "a/1"
	p := New(Config{Environment: environment(), Model: func() string { return model }})
	first := system(t, p)
	if diff := cmp.Diff(first, system(t, p)); diff != "" {
		t.Error(diff)
	}
	model = "b/2"
	second := system(t, p)
	if first[0] != second[0] || strings.Contains(second[1], "a/1") || !strings.Contains(second[1], "Model: b/2") {
		t.Errorf("%q", second[1])
	}
	env := environment()
	env.Cwd = "/elsewhere"
	p.Reload(env, Notes{}, Style{})
	if third := system(t, p); !strings.Contains(third[1], "Working directory: /elsewhere\n") {
		t.Errorf("%q", third[1])
	}
}

func TestALargeRepositoryIsCutAtALine(t *testing.T) {
	env := environment()
	env.Git = strings.Repeat(" M some/long/päth.go\n", 1000)
	text := env.text("", true)
	if len(text) > maxGit+600 || !strings.Contains(text, "päth.go\n… ") || !strings.Contains(text, "more lines") {
		t.Errorf("%d bytes, ends %q", len(text), text[len(text)-60:])
	}
}

func TestBackgroundIsLoadedOnceAndSourcesMayFail(t *testing.T) {
	loads := 0
	var reported []error
	p := New(Config{
		Sources: []Source{
			{"instructions", func(context.Context) ([]Background, error) {
				loads++
				return []Background{{Label: "project instructions", Path: "/w/CLAUDE.md", Text: "Use tabs.\n"}, {Path: "/w/empty.md"}}, nil
			}},
			{"broken", func(context.Context) ([]Background, error) { return nil, errors.New("no disk") }},
			{"memory", func(context.Context) ([]Background, error) {
				return []Background{{Label: "Memory", Text: "likes tea"}}, nil
			}},
		},
		Report: func(err error) { reported = append(reported, err) },
	})
	want := []msg.Block{msg.Text{Text: "<system-reminder>\nBackground for this conversation:\n\nContents of /w/CLAUDE.md (project instructions):\n\nUse tabs.\n\nMemory:\n\nlikes tea\n\nThis is background, to be used where it applies; it need not concern the request that follows.\n</system-reminder>"}}
	for range 2 {
		got, err := p.Background(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if loads != 1 || len(reported) != 1 || !strings.Contains(reported[0].Error(), "load broken: no disk") {
		t.Errorf("%d loads, reported %v", loads, reported)
	}
	p.Reload(Environment{}, Notes{}, Style{})
	if _, err := p.Background(t.Context()); err != nil || loads != 2 {
		t.Errorf("%d loads, %v", loads, err)
	}
	if got, err := New(Config{}).Background(t.Context()); got != nil || err != nil {
		t.Errorf("without sources: %v, %v", got, err)
	}
}

func TestSizesAreMeasured(t *testing.T) {
	slice := stateSlice(State{})
	p := New(Config{
		State: slice, Environment: Environment{Cwd: "/w"},
		Sources: []Source{{"instructions", func(context.Context) ([]Background, error) { return []Background{{Path: "/w/A.md", Text: "x"}}, nil }}},
	})
	system(t, p)
	if _, err := p.Background(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools := []tool.Tool{tool.New(tool.Spec{Name: "T", Description: "does", Schema: json.RawMessage(`{}`)}, func(context.Context, struct{}, tool.Call) (tool.Result, error) { return tool.Result{}, nil })}
	history := []msg.Message{
		{Role: msg.User, Content: []msg.Block{msg.Text{Text: "12345678"}, msg.Image{}}},
		{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "a", Name: "T", Input: json.RawMessage(`{}`)}}},
		{Role: msg.User, Origin: msg.FromTool, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "123"}}}}},
		{Role: msg.User, Origin: msg.FromSummary, Content: []msg.Block{msg.Text{Text: "sum"}}},
	}
	p.Measure(tools, history)
	got := *slice.Get()
	var sources []string
	for _, item := range got.Items {
		sources = append(sources, item.Source)
	}
	if diff := cmp.Diff([]string{"system", "environment", "instructions", "tools", "messages", "results", "summary"}, sources); diff != "" {
		t.Error(diff)
	}
	want := Item{Source: "messages", Label: "conversation", Bytes: 8 + msg.MediaSize + 4, Tokens: (8 + msg.MediaSize + 4 + 3) / 4}
	if diff := cmp.Diff(want, got.Items[4]); diff != "" {
		t.Error(diff)
	}
	before := slice.Get()
	p.Measure(tools, history)
	if slice.Get() != before {
		t.Error("the same sizes were a change")
	}
	hash := got.PrefixHash
	p.Measure(nil, history)
	if slice.Get().PrefixHash == hash {
		t.Error("other tools have the same prefix")
	}
}

func stateSlice(initial State) store.Slice[State] {
	type root struct{ prompt *State }
	s := store.New(root{&initial}, nil, nil)
	return store.Focus(s, func(r *root) *State { return r.prompt }, func(_ *root, p *State) *root { return &root{p} })
}

func BenchmarkSystem(b *testing.B) {
	p := New(Config{Tools: allTools(), Environment: environment()})
	for b.Loop() {
		if _, err := p.System(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestABackgroundIsLeftOutOnRequest: one file, for the rest of the session, and back again.
func TestABackgroundIsLeftOutOnRequest(t *testing.T) {
	p := New(Config{Sources: []Source{{Name: "i", Load: func(context.Context) ([]Background, error) {
		return []Background{{Path: "/a", Text: "text A"}, {Path: "/b", Text: "text B"}}, nil
	}}}})
	shown := func() string {
		b, err := p.Background(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return msg.TextOf(b)
	}
	if got := shown(); !strings.Contains(got, "text A") || !strings.Contains(got, "text B") {
		t.Fatal(got)
	}
	if p.Show("/c", false) || p.Show("/a", true) || !p.Show("/a", false) || p.Show("/a", false) {
		t.Error("what changed something was told wrongly")
	}
	p.Reload(environment(), Notes{}, Style{})
	if got := shown(); strings.Contains(got, "text A") || !strings.Contains(got, "text B") || len(p.Evicted()) != 1 {
		t.Error(got)
	}
	if !p.Show("/a", true) || !strings.Contains(shown(), "text A") || len(p.Evicted()) != 0 {
		t.Error("it did not come back")
	}
}

func TestStylesOfAnyShape(t *testing.T) {
	near, far := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		near + "/one.md": "---\nname: Mine\nkeep-coding-instructions: true\n---\nnear", far + "/one.md": "---\nname: mine\n---\nfar",
		near + "/plain.md": "no header", near + "/concise.md": "my own", near + "/bad.md": "---\nkeep-coding-instructions: perhaps\n---\nx",
		near + "/empty.md": "", near + "/x.txt": "no style", near + "/binary.md": "\x00\x01\x02\x03",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var problems []string
	find := func(name string) Style {
		problems = nil
		return FindStyle(name, []string{near, far, far + "/missing"}, func(p string) { problems = append(problems, p) })
	}
	for name, want := range map[string]string{"Mine": "near", "plain": "no header", "CONCISE": "my own", "": "", "default": ""} {
		if s := find(name); s.Text != want {
			t.Errorf("%q: %+v", name, s)
		}
	}
	if s := find("mine"); !s.Coding || len(problems) != 3 {
		t.Errorf("%+v, problems %q", s, problems)
	}
	if s := find("nothing"); s.Name != "Default" || !strings.Contains(problems[len(problems)-1], "Explanatory") {
		t.Errorf("%+v, %q", s, problems)
	}
}
