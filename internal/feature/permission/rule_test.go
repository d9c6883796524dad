package permission

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]Parsed{
		"Bash":                      {Tool: "Bash"},
		"Bash()":                    {Tool: "Bash"},
		"Bash(*)":                   {Tool: "Bash"},
		" Bash( * ) ":               {Tool: "Bash"},
		"Bash(npm run test)":        {Tool: "Bash", Specifier: "npm run test"},
		"Bash(echo (a) b)":          {Tool: "Bash", Specifier: "echo (a) b"},
		`Bash(echo \(a\))`:          {Tool: "Bash", Specifier: "echo (a)"},
		"Read(~/x/**)":              {Tool: "Read", Specifier: "~/x/**"},
		"mcp__s__t":                 {Tool: "mcp__s__t"},
		"toString":                  {Tool: "toString"},
		"constructor(x)":            {Tool: "constructor", Specifier: "x"},
		"Bash(python -c 'f(1) )')":  {Tool: "Bash", Specifier: "python -c 'f(1) )'"},
		"WebFetch(domain:a.test)":   {Tool: "WebFetch", Specifier: "domain:a.test"},
		"Bash(git commit -m \"a\")": {Tool: "Bash", Specifier: `git commit -m "a"`},
	} {
		got, err := ParseRule(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for text, want := range map[string]error{
		"": ErrNoTool, "  ": ErrNoTool, "(x)": ErrNoTool, "Bash(rm": ErrNotClosed, "Bash(rm -rf *)*": ErrNotClosed, "Bash rm": ErrBlankName, "Bash)": ErrStrayClose,
	} {
		if _, err := ParseRule(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func TestKF039_DenyRulesThatNeverMatch(t *testing.T) {
	texts := []string{"Bash(rm -rf *)*", "Bsh(rm *)", "Read(/abs wrong)", "", "Write(/x)", "Bash(command:rm *)", "Read([a)", "WebFetch(https://x)", "Bash(rm *)", "mcp__*", "Read(/etc/passwd)"}
	var rules []Rule
	for i, text := range texts {
		rules = append(rules, Rule{List: DenyList, Text: text, Source: FromProject, File: ".myelin/settings.json", Line: i + 1, Base: "/p"})
	}
	set := Compile(rules, Env{Dirs: Dirs{Cwd: "/p", Home: "/h"}, Known: []string{"Bash", "Read", "Edit"}})
	got := map[string]string{}
	for _, p := range set.Problems() {
		kind := "warning"
		switch {
		case p.Malformed:
			kind = "malformed"
		case p.Inert:
			kind = "inert"
		}
		got[p.Rule.Text] = kind
		if !strings.HasPrefix(p.String(), ".myelin/settings.json:") {
			t.Errorf("%q does not name file and line", p.String())
		}
	}
	want := map[string]string{
		"Bash(rm -rf *)*": "malformed", "Bsh(rm *)": "inert", "": "malformed", "Write(/x)": "inert", "Bash(command:rm *)": "inert",
		"Read([a)": "malformed", "WebFetch(https://x)": "malformed", "Read(/etc/passwd)": "warning",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAllowGlobs(t *testing.T) {
	for text, ok := range map[string]bool{"*": false, "B*": false, "mcp__*": false, "mcp__s*__x": false, "mcp__s__*": true, "mcp__s__get_*": true, "mcp__s": true} {
		set := Compile([]Rule{{List: AllowList, Text: text}}, Env{})
		if got := len(set.Problems()) == 0; got != ok {
			t.Errorf("%q: accepted %v, want %v (%v)", text, got, ok, set.Problems())
		}
	}
}

func TestShadowed(t *testing.T) {
	rules := []Rule{
		{List: DenyList, Text: "Bash(aws *)"},
		{List: AllowList, Text: "Bash(aws s3 ls)"},
		{List: AllowList, Text: "Bash(aws-vault *)"},
		{List: AskList, Text: "Bash(git push *)"},
		{List: AllowList, Text: "Bash(git push origin *)"},
		{List: AllowList, Text: "Bash(git *)"},
		{List: DenyList, Text: "Read(/secrets/**)"},
		{List: AllowList, Text: "Read(/secrets/a)"},
		{List: AllowList, Text: "Read(/other)"},
		{List: DenyList, Text: "mcp__s__*"},
		{List: AllowList, Text: "mcp__s__t"},
		{List: DenyList, Text: "WebFetch(domain:*.x.test)"},
		{List: AllowList, Text: "WebFetch(domain:a.x.test)"},
		{List: AllowList, Text: "WebFetch(domain:x.test)"},
		{List: DenyList, Text: "Bash(aws s3 *)"},
		{List: AskList, Text: "Bash(aws s3 cp *)"},
	}
	got := map[string]string{}
	for _, s := range Shadowed(rules, Env{Dirs: Dirs{Cwd: "/p", Home: "/h"}}) {
		got[s.Rule.Text] = s.By.Text
	}
	want := map[string]string{
		"Bash(aws s3 ls)": "Bash(aws *)", "Bash(git push origin *)": "Bash(git push *)", "Read(/secrets/a)": "Read(/secrets/**)",
		"mcp__s__t": "mcp__s__*", "WebFetch(domain:a.x.test)": "WebFetch(domain:*.x.test)", "Bash(aws s3 cp *)": "Bash(aws *)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"Bash(rm *)", "Read(~/x/**)", `Bash(echo "a b" 'c*' \* $X)`, "mcp__a__*", "Bash(a | b)", "WebFetch(domain:*.x)", "Agent(model:opus)", "Edit([a-z]/**)"} {
		f.Add(s, "rm -rf x")
	}
	f.Fuzz(func(t *testing.T, text, command string) {
		if p, err := ParseRule(text); err == nil {
			again, err := ParseRule(p.String())
			if err != nil || again.Tool != p.Tool {
				t.Fatalf("%q is %q, which is read as %+v, %v", text, p.String(), again, err)
			}
		}
		// A rule that is denied is never allowed by also standing in the allow list.
		d := decideLine(t, Default, []string{"-" + text, "+" + text}, command)
		only := decideLine(t, Default, []string{"-" + text}, command)
		if only.Behavior == Deny && d.Behavior != Deny {
			t.Fatalf("deny and allow of %q for %q: %s", text, command, d.Behavior)
		}
	})
}

func FuzzDecide(f *testing.F) {
	for _, s := range someCommands {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if d := decideLine(t, Bypass, []string{"-Bash"}, command); d.Behavior != Deny {
			t.Fatalf("a bare deny rule does not deny %q", command)
		}
		plan := decideLine(t, Plan, nil, command)
		def := decideLine(t, Default, nil, command)
		edits := decideLine(t, AcceptEdits, nil, command)
		bypass := decideLine(t, Bypass, nil, command)
		if plan.Behavior == Allow && def.Behavior != Allow || def.Behavior == Allow && edits.Behavior != Allow || edits.Behavior == Allow && bypass.Behavior != Allow {
			t.Fatalf("the modes do not nest for %q: %s %s %s %s", command, plan.Behavior, def.Behavior, edits.Behavior, bypass.Behavior)
		}
		if strings.ContainsAny(command, "\x1b\r\x00\u202e") && bypass.Behavior == Allow {
			t.Fatalf("hidden characters pass: %q", command)
		}
	})
}
