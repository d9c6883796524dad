package memory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/store"
)

// tree is a home, a project in it, and a place outside.
type tree struct {
	t        *testing.T
	root     string
	problems []string
}

func newTree(t *testing.T, files map[string]string) *tree {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{t: t, root: root}
	for name, text := range files {
		tr.write(name, text)
	}
	return tr
}

func (tr *tree) at(name string) string { return filepath.Join(tr.root, name) }

func (tr *tree) write(name, text string) {
	tr.t.Helper()
	if err := os.MkdirAll(filepath.Dir(tr.at(name)), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.WriteFile(tr.at(name), []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) link(target, name string) {
	tr.t.Helper()
	if err := os.MkdirAll(filepath.Dir(tr.at(name)), 0o755); err != nil {
		tr.t.Fatal(err)
	}
	if err := os.Symlink(target, tr.at(name)); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *tree) options() Options {
	return Options{
		Managed: []string{tr.at("etc")}, Homes: []string{tr.at("home/.claude"), tr.at("home/.myelin")}, UserHome: tr.at("home"),
		Start: tr.at("home/p"), Folders: []string{".claude", ".myelin"},
		Report: func(problem string) { tr.problems = append(tr.problems, problem) },
	}
}

// names lists files as "level path" below the root.
func (tr *tree) names(files []File) []string {
	var out []string
	for _, f := range files {
		rel, err := filepath.Rel(tr.root, f.Path)
		if err != nil {
			rel = f.Path
		}
		out = append(out, string(f.Level)+" "+rel)
	}
	return out
}

func (tr *tree) load(o Options) []File {
	tr.t.Helper()
	files, err := New(o).Load(tr.t.Context(), SessionStart)
	if err != nil {
		tr.t.Fatal(err)
	}
	return files
}

func (tr *tree) expect(got []File, want ...string) {
	tr.t.Helper()
	if diff := cmp.Diff(want, tr.names(got)); diff != "" {
		tr.t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFourLevelsInOrder(t *testing.T) {
	tr := newTree(t, map[string]string{
		"etc/CLAUDE.md": "m", "home/.claude/CLAUDE.md": "guest", "home/.myelin/CLAUDE.md": "own", "home/.claude/rules/b/two.md": "r2", "home/.claude/rules/a.md": "r1",
		"home/CLAUDE.md": "above", "home/p/CLAUDE.md": "p", "home/p/.claude/CLAUDE.md": "p2", "home/p/.myelin/CLAUDE.md": "p3",
		"home/p/.claude/rules/x.md": "rule", "home/p/CLAUDE.local.md": "mine", "home/p/sub/CLAUDE.md": "later",
	})
	o := tr.options()
	o.ManagedText = "everybody"
	files := tr.load(o)
	tr.expect(files, "managed etc/CLAUDE.md", "managed the managed setting claudeMd",
		"user home/.claude/CLAUDE.md", "user home/.claude/rules/a.md", "user home/.claude/rules/b/two.md", "user home/.myelin/CLAUDE.md",
		"project home/CLAUDE.md", "project home/p/CLAUDE.md", "project home/p/.claude/CLAUDE.md", "project home/p/.myelin/CLAUDE.md",
		"project home/p/.claude/rules/x.md", "local home/p/CLAUDE.local.md")
	o.Levels = func(l Level) bool { return l == Local }
	tr.expect(tr.load(o), "managed etc/CLAUDE.md", "managed the managed setting claudeMd", "local home/p/CLAUDE.local.md")
	o.Levels, o.Excludes = nil, []string{filepath.Join(tr.root, "home/.*/**"), "**/*.local.md", filepath.Join(tr.root, "etc/*")}
	tr.expect(tr.load(o), "managed etc/CLAUDE.md", "managed the managed setting claudeMd",
		"project home/CLAUDE.md", "project home/p/CLAUDE.md", "project home/p/.claude/CLAUDE.md", "project home/p/.myelin/CLAUDE.md", "project home/p/.claude/rules/x.md")
}

func TestAgentsMD(t *testing.T) {
	for _, tc := range []struct {
		mode  string
		files map[string]string
		want  []string
	}{
		{"auto", map[string]string{"home/p/AGENTS.md": "a"}, []string{"project home/p/AGENTS.md"}},
		{"", map[string]string{"home/AGENTS.md": "a", "home/p/CLAUDE.md": "c"}, []string{"project home/AGENTS.md", "project home/p/CLAUDE.md"}},
		{"auto", map[string]string{"home/p/AGENTS.md": "a", "home/p/.claude/CLAUDE.md": "c"}, []string{"project home/p/.claude/CLAUDE.md"}},
		{"auto", map[string]string{"home/p/AGENTS.md": "a", "home/p/CLAUDE.md": "@AGENTS.md"}, []string{"project home/p/CLAUDE.md", "project home/p/AGENTS.md"}},
		{"always", map[string]string{"home/p/AGENTS.md": "a", "home/p/CLAUDE.md": "@AGENTS.md"}, []string{"project home/p/CLAUDE.md", "project home/p/AGENTS.md"}},
		{"always", map[string]string{"home/p/AGENTS.md": "a", "home/p/CLAUDE.md": "c"}, []string{"project home/p/CLAUDE.md", "project home/p/AGENTS.md"}},
		{"never", map[string]string{"home/p/AGENTS.md": "a"}, nil},
	} {
		tr := newTree(t, tc.files)
		tr.write("home/p/x", "")
		o := tr.options()
		o.AgentsMD = tc.mode
		tr.expect(tr.load(o), tc.want...)
	}
}

func TestALinkToAnotherInstructionFileIsLoadedOnce(t *testing.T) {
	tr := newTree(t, map[string]string{"home/p/AGENTS.md": "a"})
	tr.link("AGENTS.md", "home/p/CLAUDE.md")
	tr.expect(tr.load(tr.options()), "project home/p/CLAUDE.md")
}

func TestImportsFollowTheirFile(t *testing.T) {
	tr := newTree(t, map[string]string{
		"home/p/CLAUDE.md": "see @docs/a.md, and @./b.md.\n`@code.md` and me@example.com\n```\n@fenced.md\n```\n@my\\ notes.md @gone.md @alice @docs @@x.md\n(@paren.md)",
		"home/p/docs/a.md": "@../c.md", "home/p/b.md": "b", "home/p/c.md": "@docs/a.md @CLAUDE.md c", "home/p/my notes.md": "n", "home/p/paren.md": "in brackets",
		"home/p/code.md": "no", "home/p/fenced.md": "no", "home/p/x.md": "no",
	})
	state := slice()
	o := tr.options()
	o.State = state
	files := tr.load(o)
	tr.expect(files, "project home/p/CLAUDE.md", "project home/p/docs/a.md", "project home/p/c.md", "project home/p/b.md", "project home/p/my notes.md", "project home/p/paren.md")
	if files[1].Reason != Imported || files[1].Parent != files[0].Path {
		t.Errorf("%+v", files[1])
	}
	problems := strings.Join(state.Get().Problems, "\n")
	if !strings.Contains(problems, "imports gone.md, which cannot be read") || !strings.Contains(problems, "imports docs, which is no file") || strings.Contains(problems, "alice") || len(tr.problems) > 0 {
		t.Errorf("problems:\n%s\ntold: %v", problems, tr.problems)
	}
}

func TestImportsAreFollowedFourDeep(t *testing.T) {
	files := map[string]string{"home/p/CLAUDE.md": "@1.md"}
	for n := 1; n < 8; n++ {
		files[fmt.Sprintf("home/p/%d.md", n)] = fmt.Sprintf("level @%d.md", n+1)
	}
	tr := newTree(t, files)
	tr.expect(tr.load(tr.options()), "project home/p/CLAUDE.md", "project home/p/1.md", "project home/p/2.md", "project home/p/3.md", "project home/p/4.md")
}

func TestImportsFromOutsideNeedConsentOnce(t *testing.T) {
	tr := newTree(t, map[string]string{
		"home/p/CLAUDE.md": "@~/secret.md @../other.md @in.md", "home/secret.md": "key", "home/other.md": "o", "home/p/in.md": "i",
		"home/.claude/CLAUDE.md": "@~/mine.md", "home/mine.md": "m", "out/x.md": "linked",
	})
	tr.link(tr.at("out/x.md"), "home/p/CLAUDE.local.md")
	base := []string{"user home/.claude/CLAUDE.md", "user home/mine.md", "project home/p/CLAUDE.md"}
	tr.expect(tr.load(tr.options()), append(slices.Clone(base), "project home/p/in.md")...)
	if len(tr.problems) != 3 {
		t.Errorf("told: %q", tr.problems)
	}
	for _, yes := range []bool{true, false} {
		var asked [][]string
		o := tr.options()
		o.Approve = func(_ context.Context, files []string) bool { asked = append(asked, files); return yes }
		i := New(o)
		var files []File
		for range 3 {
			var err error
			if files, err = i.Load(t.Context(), SessionStart); err != nil {
				t.Fatal(err)
			}
		}
		want := append(slices.Clone(base), "project home/p/in.md")
		if yes {
			want = append(slices.Clone(base), "project home/secret.md", "project home/other.md", "project home/p/in.md", "local home/p/CLAUDE.local.md")
		}
		tr.expect(files, want...)
		if diff := cmp.Diff([][]string{{tr.at("home/secret.md"), tr.at("home/other.md"), tr.at("out/x.md")}}, asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	}
}

func TestAReadDenyRuleWins(t *testing.T) {
	tr := newTree(t, map[string]string{"home/p/CLAUDE.md": "@key.md", "home/p/key.md": "k"})
	o := tr.options()
	o.MayRead = func(path string) bool { return !strings.HasSuffix(path, "key.md") }
	tr.expect(tr.load(o), "project home/p/CLAUDE.md")
	if len(tr.problems) != 1 || !strings.Contains(tr.problems[0], "Read deny rule") {
		t.Errorf("told: %q", tr.problems)
	}
}

func TestRulesComeWithMatchingFiles(t *testing.T) {
	tr := newTree(t, map[string]string{
		"home/p/.claude/rules/always.md": "a",
		"home/p/.claude/rules/api.md":    "---\npaths: [\"src/api/**/*.ts\", \"lib/**/*.{ts,tsx}\"]\n---\napi",
		"home/p/.claude/rules/top.md":    "---\npaths: \"*.md, docs/{a,b}.txt\"\n---\ntop",
		"home/p/.claude/rules/bad.md":    "---\npaths: [\"x\n---\nbroken header",
		"home/p/.claude/rules/odd.md":    "---\npaths: [\"[\", \"odd/*\"]\n---\nodd",
		"home/.claude/rules/mine.md":     "---\npaths: \"**/*.py\"\n---\n@more.md mine",
		"home/.claude/rules/more.md":     "---\npaths: never\n---\nmore",
		"home/p/src/api/v1/x.ts":         "", "home/p/real/y.tsx": "",
	})
	tr.link("../real", "home/p/lib/linked")
	i := New(tr.options())
	files, err := i.Load(t.Context(), SessionStart)
	if err != nil {
		t.Fatal(err)
	}
	tr.expect(files, "project home/p/.claude/rules/always.md", "project home/p/.claude/rules/bad.md")
	if len(tr.problems) == 0 || !strings.Contains(tr.problems[0], "bad.md:") {
		t.Errorf("told: %q", tr.problems)
	}
	for _, step := range []struct {
		path string
		want []string
	}{
		{"home/p/src/api/v1/x.ts", []string{"project home/p/.claude/rules/api.md"}},
		{"home/p/src/api/v1/x.ts", nil},
		{"home/p/deep/x.md", nil},
		{"home/p/docs/b.txt", []string{"project home/p/.claude/rules/top.md"}},
		{"home/p/odd/1", []string{"project home/p/.claude/rules/odd.md"}},
		{"home/p/a/b.py", []string{"user home/.claude/rules/mine.md", "user home/.claude/rules/more.md"}},
		{"home/elsewhere/c.py", nil},
	} {
		tr.expect(i.Touched(tr.at(step.path)), step.want...)
	}
	if _, err := i.Load(t.Context(), Compacted); err != nil {
		t.Fatal(err)
	}
	got := i.Touched(tr.at("home/p/lib/linked/y.tsx"))
	tr.expect(got, "project home/p/.claude/rules/api.md")
	if len(got) == 1 && (got[0].Reason != RuleMatch || got[0].Trigger == "" || len(got[0].Globs) != 2) {
		t.Errorf("%+v", got[0])
	}
}

func TestFoldersBelowBringTheirFilesOnce(t *testing.T) {
	tr := newTree(t, map[string]string{
		"home/p/CLAUDE.md": "top", "home/p/a/AGENTS.md": "a", "home/p/a/b/CLAUDE.md": "b", "home/p/a/b/CLAUDE.local.md": "bl", "home/p/a/b/.claude/rules/r.md": "r", "home/p/a/b/x.go": "",
	})
	i := New(tr.options())
	if _, err := i.Load(t.Context(), SessionStart); err != nil {
		t.Fatal(err)
	}
	got := i.Touched(tr.at("home/p/a/b/x.go"))
	tr.expect(got, "project home/p/a/AGENTS.md", "project home/p/a/b/CLAUDE.md", "project home/p/a/b/.claude/rules/r.md", "local home/p/a/b/CLAUDE.local.md")
	if got[0].Reason != Nested {
		t.Errorf("reason %s", got[0].Reason)
	}
	tr.expect(i.Touched(tr.at("home/p/a/b/y.go")))
	tr.expect(i.Touched(tr.at("other/z.go")))
}

func TestANestedWorktreeDoesNotLoadItsMainCheckout(t *testing.T) {
	tr := newTree(t, map[string]string{
		"home/CLAUDE.md": "h", "home/p/CLAUDE.md": "main", "home/p/.claude/CLAUDE.md": "main", "home/p/.claude/worktrees/w/CLAUDE.md": "own", "home/p/.claude/worktrees/w/s/x": "",
	})
	o := tr.options()
	o.Start, o.Main, o.Worktree = tr.at("home/p/.claude/worktrees/w/s"), tr.at("home/p"), tr.at("home/p/.claude/worktrees/w")
	tr.expect(tr.load(o), "project home/CLAUDE.md", "project home/p/.claude/worktrees/w/CLAUDE.md")
}

func TestTextIsTreated(t *testing.T) {
	for _, tc := range []struct{ in, want, problem string }{
		{"\ufeffa\r\nb\rc", "a\nb\nc", ""},
		{"a\n<!-- hidden\nmore -->\nb <!-- inline -->\n<!-- x --> tail\n```\n<!-- code -->\n```\n", "a\nb <!-- inline -->\n tail\n```\n<!-- code -->\n```", ""},
		{"do\u202e this\U000E0041\u200b", "do this", "3 invisible characters"},
		{"👩\u200d💻 می\u200cخواهم", "👩\u200d💻 می\u200cخواهم", ""},
		{strings.Repeat("x", 41_000), strings.Repeat("x", 41_000), "it is long"},
		{strings.Repeat("x", maxFile+1), "", "not loaded"},
		{"\x00\x01\x02", "", "not loaded"},
		{string(utf16Text("ä b")), "ä b", ""},
		{"", "", ""},
	} {
		tr := newTree(t, map[string]string{"home/p/CLAUDE.md": tc.in})
		files := tr.load(tr.options())
		got := ""
		if len(files) > 0 {
			got = files[0].Text
		}
		if got != tc.want || (tc.problem == "") != (len(tr.problems) == 0) || !strings.Contains(strings.Join(tr.problems, " "), tc.problem) {
			t.Errorf("%.40q is %.60q, told %q; want %.60q, %q", tc.in, got, tr.problems, tc.want, tc.problem)
		}
	}
}

func utf16Text(s string) []byte {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	tr := newTree(t, map[string]string{"home/p/.claude/rules/a.md": "a"})
	if err := mkfifo(tr.at("home/p/CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	tr.link("/dev/zero", "home/p/CLAUDE.local.md")
	tr.link("..", "home/p/.claude/rules/loop")
	o := tr.options()
	o.Approve = func(context.Context, []string) bool { return true }
	tr.expect(tr.load(o), "project home/p/.claude/rules/a.md")
	if len(tr.problems) != 2 {
		t.Errorf("told: %q", tr.problems)
	}
}

func TestChangesAreToldOnce(t *testing.T) {
	tr := newTree(t, map[string]string{"home/p/CLAUDE.md": "one\ntwo\n", "home/p/CLAUDE.local.md": "l"})
	state := slice()
	o := tr.options()
	o.State = state
	i := New(o)
	if _, err := i.Load(t.Context(), SessionStart); err != nil {
		t.Fatal(err)
	}
	if got := i.Changes(); got != nil {
		t.Errorf("unchanged: %+v", got)
	}
	tr.write("home/p/CLAUDE.md", "one\nthree, longer\n")
	if err := os.Remove(tr.at("home/p/CLAUDE.local.md")); err != nil {
		t.Fatal(err)
	}
	got := i.Changes()
	if len(got) != 2 || !got[0].Removed || !strings.Contains(got[1].Diff, "three, longer") {
		t.Errorf("%+v", got)
	}
	if again := i.Changes(); again != nil {
		t.Errorf("told twice: %+v", again)
	}
	if files := state.Get().Files; len(files) != 1 {
		t.Errorf("state: %+v", files)
	}
}

func TestPatternsShareABudget(t *testing.T) {
	e := &expansion{patterns: 10, bytes: 1000}
	if got := e.expand("{a,b}/{c,d}"); !slices.Equal(got, []string{"a/c", "a/d", "b/c", "b/d"}) {
		t.Errorf("%q", got)
	}
	if got := e.expand("{1,2,3,4}{1,2,3,4}"); !slices.Equal(got, []string{`\{1,2,3,4}\{1,2,3,4}`}) {
		t.Errorf("%q", got)
	}
	if got := (&expansion{patterns: maxPatterns, bytes: maxExpanded}).expand(strings.Repeat("{a,b}", 40)); len(got) != 1 {
		t.Errorf("%d patterns", len(got))
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"@a.md", "`@x`", "```\n@y\n```", "<!-- @z -->", "@a\\ b.md.", "---\npaths: x\n---\n", "\u202e@\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cleaned := clean(text)
		if clean(cleaned) != cleaned && !strings.Contains(cleaned, "<!--") {
			t.Fatalf("cleaning twice differs: %q", text)
		}
		for _, target := range imports(cleaned) {
			if strings.TrimSpace(target) == "" || strings.ContainsAny(target, "\n") {
				t.Fatalf("%q imports %q", text, target)
			}
		}
		if visible, _ := withoutInvisible(text); strings.ContainsFunc(visible, invisible) {
			t.Fatalf("invisible characters stay in %q", text)
		}
	})
}

func slice() store.Slice[State] {
	s := store.New(State{}, nil, nil)
	return store.Focus(s, func(s *State) *State { return s }, func(_ *State, next *State) *State { return next })
}
