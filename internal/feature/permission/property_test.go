package permission

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decided(t fataler, v Vector, d VectorDefaults, mode Mode) Decision {
	v.Mode = string(mode)
	req, pol, err := v.Case(d)
	if err != nil {
		t.Fatal(err)
	}
	return Decide(req, pol)
}

// With equal rules, what runs without a question grows from plan to bypass, and what is denied grows
// the other way.
func TestModesNest(t *testing.T) {
	file := loadVectors(t)
	for _, v := range file.Vectors {
		in := map[Mode]Behavior{}
		for _, m := range []Mode{Plan, Default, DontAsk, AcceptEdits, Bypass} {
			in[m] = decided(t, v, file.Defaults, m).Behavior
		}
		if in[Plan] == Allow && in[Default] != Allow {
			t.Errorf("%s: %q is allowed in plan and not in default", v.ID, v.Command)
		}
		if (in[Default] == Allow) != (in[DontAsk] == Allow) {
			t.Errorf("%s: %q is %s in default and %s in dontAsk", v.ID, v.Command, in[Default], in[DontAsk])
		}
		if in[Default] == Allow && in[AcceptEdits] != Allow {
			t.Errorf("%s: %q is allowed in default and not in acceptEdits", v.ID, v.Command)
		}
		if in[AcceptEdits] == Allow && in[Bypass] != Allow {
			t.Errorf("%s: %q is allowed in acceptEdits and not in bypassPermissions", v.ID, v.Command)
		}
		for _, pair := range [][2]Mode{{Bypass, AcceptEdits}, {AcceptEdits, Default}, {Default, DontAsk}, {Default, Plan}} {
			if in[pair[0]] == Deny && in[pair[1]] != Deny {
				t.Errorf("%s: %q is denied in %s and not in %s", v.ID, v.Command, pair[0], pair[1])
			}
		}
	}
}

// pieces of commands and rules that meet each other often.
var (
	someCommands = []string{
		"ls", "cat a.txt", "rm x", "rm -rf build", "git status", "git push origin", "git -C . push", "npm test", "echo hi > out.txt", "touch a", "cat .env", "cp a b",
		"find . -name x", "find . -exec rm {} +", "echo \"$(date)\"", "echo $(rm x)", "cd src && ls", "FOO=1 npm test", "timeout 5 npm test", "sudo rm x", "bash -c 'rm x'", "sed -i s/a/b/ f",
		"xargs rm", "curl -o x https://h", "python3 x.py", "cat *.txt", "cat \"$F\"", "rm -rf /", "$X y", "ls \"", "ls &", "f() { rm x; }; f", "export A=1", "git log | head", "cat <<E\nx\nE", "make > /tmp/x",
	}
	someRules = []string{
		"Bash", "Bash(rm *)", "Bash(git *)", "Bash(git push *)", "Bash(npm test *)", "Bash(npm test)", "Bash(* x)", "Bash(cat *)", "Bash(echo *)", "Bash(ls *)", "Bash(timeout *)", "Bash(sudo *)",
		"Bash(bash *)", "Bash(find *)", "Bash(sed *)", "Bash(touch *)", "Bash(cd *)", "Bash(date *)", "Bash(make *)", "Bash(curl *)", "Bash(python3 *)", "Read(.env)", "Read(./a.txt)", "Edit(/out.txt)", "Edit", "Read(//tmp/**)",
		"Edit(//tmp/**)", "Bash(xargs *)", "Bash(cp *)", "Bash(f *)", "Bash(export *)",
	}
)

type policyCase struct {
	mode    Mode
	rules   []string
	command string
}

func drawCase(t *rapid.T) policyCase {
	c := policyCase{mode: rapid.SampledFrom([]Mode{Default, AcceptEdits, Plan, DontAsk, Bypass, Auto}).Draw(t, "mode")}
	for range rapid.IntRange(0, 4).Draw(t, "n") {
		c.rules = append(c.rules, rapid.SampledFrom([]string{"+", "-", "?"}).Draw(t, "list")+rapid.SampledFrom(someRules).Draw(t, "rule"))
	}
	c.command = strings.Join(rapid.SliceOfN(rapid.SampledFrom(someCommands), 1, 3).Draw(t, "commands"), rapid.SampledFrom([]string{"; ", " && ", " | ", " || ", "\n"}).Draw(t, "join"))
	return c
}

func strictness(b Behavior) int { return map[Behavior]int{Allow: 0, Ask: 1, Deny: 2}[b] }

func TestMoreDenyNeverAllowsMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		more := rapid.SampledFrom([]string{"-", "?"}).Draw(t, "kind") + rapid.SampledFrom(someRules).Draw(t, "more")
		before := decideIn(t, c, c.command).Behavior
		after := decideIn(t, policyCase{c.mode, append(c.rules[:len(c.rules):len(c.rules)], more), c.command}, c.command).Behavior
		if strictness(after) < strictness(before) {
			t.Fatalf("%q in %s with %q: %s; with %s as well: %s", c.command, c.mode, c.rules, before, more, after)
		}
	})
}

func TestMoreAllowNeverDeniesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		more := "+" + rapid.SampledFrom(someRules).Draw(t, "more")
		before := decideIn(t, c, c.command).Behavior
		after := decideIn(t, policyCase{c.mode, append(c.rules[:len(c.rules):len(c.rules)], more), c.command}, c.command).Behavior
		if strictness(after) > strictness(before) {
			t.Fatalf("%q in %s with %q: %s; with %s as well: %s", c.command, c.mode, c.rules, before, more, after)
		}
		if before == Deny && after != Deny && c.mode != DontAsk {
			t.Fatalf("%q in %s with %q: an allow rule %s lifted a denial", c.command, c.mode, c.rules, more)
		}
	})
}

func decideIn(t *rapid.T, c policyCase, command string) Decision {
	return decideLine(t, c.mode, c.rules, command)
}

// What is denied stays denied, and what asks is not allowed, when the command is dressed up.
func TestDressingUpLiftsNothing(t *testing.T) {
	dress := map[string]func(string) string{
		"; true":       func(s string) string { return s + "\ntrue" },
		"true &&":      func(s string) string { return "true && " + s },
		"subshell":     func(s string) string { return "(" + s + "\n)" },
		"group":        func(s string) string { return "{ " + s + "\n}" },
		"if":           func(s string) string { return "if true; then " + s + "\nfi" },
		"negation":     func(s string) string { return "! { " + s + "\n}" },
		"newline":      func(s string) string { return "\n" + s },
		"substitution": func(s string) string { return "echo \"$(" + s + "\n)\"" },
		"comment":      func(s string) string { return s + " # fine" },
		"pipe":         func(s string) string { return "{ " + s + "\n} | cat" },
		"null":         func(s string) string { return "{ " + s + "\n} 2>/dev/null" },
		"while":        func(s string) string { return "while true; do " + s + "\ndone" },
	}
	rapid.Check(t, func(t *rapid.T) {
		c := drawCase(t)
		if strings.Contains(c.command, "\"") && strings.Count(c.command, "\"")%2 == 1 {
			return // an open quote takes the dress in
		}
		before := decideIn(t, c, c.command).Behavior
		for name, f := range dress {
			if name == "comment" && strings.Contains(c.command, "<<") {
				continue // the last line is the delimiter
			}
			after := decideIn(t, c, f(c.command)).Behavior
			if before == Deny && after != Deny {
				t.Fatalf("%q in %s with %q is denied; as %s (%q) it is %s", c.command, c.mode, c.rules, name, f(c.command), after)
			}
			if before == Ask && after == Allow {
				t.Fatalf("%q in %s with %q asks; as %s (%q) it is allowed", c.command, c.mode, c.rules, name, f(c.command))
			}
		}
	})
}

func TestWrappersAndQuotesLiftNoDenial(t *testing.T) {
	programs := []func(string) string{
		func(s string) string { return "timeout 5 " + s }, func(s string) string { return "nohup " + s }, func(s string) string { return "env " + s },
		func(s string) string { return "sudo -u u " + s }, func(s string) string { return "nice -n 5 " + s }, func(s string) string { return "env A=1 " + s },
		func(s string) string { return "xargs " + s }, func(s string) string { return "find . -exec " + s + " {} +" }, func(s string) string { return "bash -c '" + s + "'" },
		func(s string) string { return "stdbuf -o0 " + s }, func(s string) string { return "npx " + s },
		func(s string) string { return "docker run --rm img " + s }, func(s string) string { return "busybox " + s },
	}
	// What only a shell understands comes outermost.
	shell := []func(string) string{
		func(s string) string { return s }, func(s string) string { return "A=1 " + s }, func(s string) string { return "sh <<<'" + s + "'" }, func(s string) string { return "time " + s },
		func(s string) string { return "\\" + s }, func(s string) string { return "'" + s[:2] + "'" + s[2:] }, func(s string) string { return s[:1] + "\"\"" + s[1:] },
		func(s string) string { return "/bin/" + s }, func(s string) string { return "eval '" + s + "'" }, func(s string) string { return "exec " + s },
		func(s string) string { return s[:1] + "\\\n" + s[1:] }, func(s string) string { return "command " + s }, func(s string) string { return "trap '" + s + "' EXIT" },
	}
	rapid.Check(t, func(t *rapid.T) {
		command := rapid.SampledFrom([]string{"rm x", "rm -rf build", "rm -f -- a b"}).Draw(t, "command")
		mode := rapid.SampledFrom([]Mode{Default, AcceptEdits, Plan, DontAsk, Bypass, Auto}).Draw(t, "mode")
		rules := []string{"-Bash(rm *)", "+Bash", "+Bash(timeout *)", "+Bash(npm *)"}
		text := command
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			if next := rapid.SampledFrom(programs).Draw(t, "wrap")(text); !quotesClash(text, next) {
				text = next
			}
		}
		if next := rapid.SampledFrom(shell).Draw(t, "outer")(text); !quotesClash(text, next) {
			text = next
		}
		d := decideIn(t, policyCase{mode: mode, rules: rules}, text)
		if d.Behavior != Deny {
			t.Fatalf("%q in %s is %s: %s", text, mode, d.Behavior, d.Reason.Text)
		}
	})
}

// quotesClash tells whether quotes put around a text that has some would end inside of it.
func quotesClash(text, next string) bool {
	return strings.Contains(text, "'") && strings.Count(next, "'") > strings.Count(text, "'")
}

// A suggested rule allows the very command it was suggested for.
func TestSuggestionsHold(t *testing.T) {
	file := loadVectors(t)
	offered := 0
	for _, v := range file.Vectors {
		req, pol, err := v.Case(file.Defaults)
		if err != nil {
			t.Fatal(err)
		}
		d := Decide(req, pol)
		if d.Behavior != Ask {
			continue
		}
		for _, u := range d.Suggestions {
			if u.Type != "addRules" {
				continue
			}
			offered++
			v2 := v
			v2.Rules.Allow = append([]string{}, v.Rules.Allow...)
			for _, r := range u.Rules {
				v2.Rules.Allow = append(v2.Rules.Allow, r.String())
			}
			if got := decided(t, v2, file.Defaults, pol.Mode); got.Behavior != Allow {
				t.Errorf("%s: %q with the suggested %v: %s (%s)", v.ID, v.Command, u.Rules, got.Behavior, got.Reason.Text)
			}
		}
	}
	if offered < 50 {
		t.Errorf("only %d suggestions were made", offered)
	}
}
