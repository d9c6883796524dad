package permission

import (
	"strings"
	"testing"
)

func TestKF122_OptionsHoldInEverySpelling(t *testing.T) {
	tests := []struct {
		rule, command string
		want          Behavior // with Bash allowed
	}{
		{"git commit --no-verify *", "git commit --no-verify", Deny},
		{"git commit --no-verify *", "git commit -m x -n", Deny},
		{"git commit --no-verify *", "git commit -m x --no-verify", Deny},
		{"git commit --no-verify *", "git commit --no-veri -m x", Deny},
		{"git commit --no-verify *", "git commit -nm x", Deny},
		{"git commit --no-verify *", "git commit -amn x", Allow}, // the text is "n"
		{"git commit --no-verify *", "git commit -m '-n'", Allow},
		{"git commit --no-verify *", "git commit -m x -- -n", Allow},
		{"git commit --no-verify *", "git --no-pager commit -m x -n", Deny},
		{"git commit --no-verify *", "timeout 5 git commit -m x -n", Deny},
		{"git commit --no-verify *", "sudo git commit -m x -n", Deny},
		{"git commit --no-verify *", "/usr/bin/git commit -m x -n", Deny},
		{"git commit --no-verify *", "git commit -m x $FLAGS", Ask},
		{"git commit --no-verify *", "git commit -m x", Allow},
		{"git commit -n *", "git commit --no-verify -m x", Deny},
		{"git push --force *", "git push origin main -f", Deny},
		{"git push --force *", "git push -uf origin main", Deny},
		{"git push --force *", "git push origin main", Allow},
		{"git push * --force", "git push --force origin main", Allow}, // exactly at its end: there are two operands
		{"git push * --force *", "git push --force origin main", Deny},
		{"git * --force *", "git push -f", Deny},
		{"git -c *", "git --no-pager -c a=b log", Deny},
		{"rm -rf *", "rm -r -f x", Deny},
		{"rm -rf *", "rm --recursive --force x", Deny},
		{"rm -rf *", "rm x -fR", Deny},
		{"rm -rf *", "rm -r x", Allow},
		{"rm -rf *", "find . -name x -exec rm -fr {} ;", Deny},
		{"curl -X POST *", "curl -sXPOST https://e.test", Deny},
		{"curl -X POST *", "curl --request=POST https://e.test", Deny},
		{"curl -X POST *", "curl -X GET https://e.test", Allow},
		{"curl --insecure *", "curl https://e.test -sk", Deny},
		{"tool --bad *", "tool x --bad", Deny},
		{"tool --bad *", "tool x --ba", Deny},
		{"tool --bad *", "tool x -b", Ask},
		{"tool --bad *", "tool x --good", Allow},
		{"tool -b *", "tool x -ab", Deny},
		{"tool -b *", "tool x --bad", Ask},
		{"go build -toolexec *", "go build -v -toolexec x ./a", Deny},
		{"go build -toolexec *", "go build --toolexec=x ./a", Deny},
		{"docker run --privileged *", "docker run -it --privileged img", Deny},
		{"docker run -v *", "docker run --rm --volume a:/b img", Deny},
		{"npm install --global *", "npm install x -g", Deny},
		{"kubectl delete --all *", "kubectl delete pods --all", Deny},
	}
	for _, tt := range tests {
		pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(" + tt.rule + ")"})
		if got := decideShell(tt.command, pol); got.Behavior != tt.want {
			t.Errorf("deny %s: %s: %s (%s), want %s", tt.rule, tt.command, got.Behavior, got.Reason.Text, tt.want)
		}
	}
}

func TestNarrowedRulesAreNamed(t *testing.T) {
	rule := func(text string) Rule {
		return Rule{List: AllowList, Text: "Bash(" + text + ")", Source: FromProject, File: ".claude/settings.json", Line: 7}
	}
	for _, text := range []string{"xargs *", "tar *", "tar:*", "rsync -a *", "env *", "sudo apt *", "psql *", "vim *", "timeout *", "unzip *"} {
		got := Narrowed([]Rule{rule(text)})
		if len(got) != 1 || !strings.Contains(got[0].Rule.Where(), ".claude/settings.json:7") || !strings.Contains(got[0].Instead, "write ") {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, text := range []string{"git *", "npm run test *", "tar xf a.tar", "xargs wc -l", "tar czf *", "timeout 5 go test *", "ls *"} {
		if got := Narrowed([]Rule{rule(text)}); len(got) != 0 {
			t.Errorf("%s: %v", text, got)
		}
	}
	if got := Narrowed([]Rule{{List: DenyList, Text: "Bash(xargs *)"}}); len(got) != 0 {
		t.Errorf("a deny rule covers what it did: %v", got)
	}
}

// What is offered would allow the same command; a pattern is only offered where it would.
func TestSuggestionsKnowWhatPatternsCover(t *testing.T) {
	tests := []struct{ command, want string }{
		{"git push origin main", "Bash(git push *)"},
		{"git push ./vendor/x main", "Bash(git push ./vendor/x main)"},
		{"go test -run X ./...", "Bash(go test *)"},
		{"go test -exec ./x ./...", "Bash(go test -exec ./x ./...)"},
		{"npm run lint -- --fix", "Bash(npm run lint *)"},
		{"docker frobnicate x", "Bash(docker frobnicate x)"},
		{"tar xf a.tar", "Bash(tar xf a.tar)"},
		{"xargs wc", "Bash(xargs wc)"},
	}
	for _, tt := range tests {
		d := decideShell(tt.command, plainPolicy())
		if len(d.Suggestions) == 0 || len(d.Missing) != 1 || d.Missing[0] != tt.want {
			t.Errorf("%s: %v, %d suggestions, want %s", tt.command, d.Missing, len(d.Suggestions), tt.want)
			continue
		}
		if again := decideShell(tt.command, plainPolicy(Rule{List: AllowList, Text: tt.want})); again.Behavior != Allow {
			t.Errorf("%s: with %s: %s", tt.command, tt.want, again.Reason.Text)
		}
	}
}

// A rule for exactly a command does not name the same command with words added by xargs.
func TestKF149_ExactRuleIsNotExactWithAddedWords(t *testing.T) {
	for rule, command := range map[string]string{"rm": "ls | xargs rm", "cat": "ls | xargs cat", "git log": "ls | xargs git log", "rm -f": "ls | gxargs rm -f"} {
		if d := decideShell(command, plainPolicy(Rule{List: AllowList, Text: "Bash(" + rule + ")"})); d.Behavior != Ask {
			t.Errorf("allow %s: %s: %s", rule, command, d.Behavior)
		}
	}
	if d := decideShell("ls | xargs git log", plainPolicy(Rule{List: AllowList, Text: "Bash(xargs git log)"})); d.Behavior != Allow {
		t.Errorf("the rule for exactly this does not hold: %s", d.Reason.Text)
	}
}

// FuzzPatternRule looks for a command that a pattern allows although it plainly names a protected place or home.
func FuzzPatternRule(f *testing.F) {
	for _, s := range []string{"--out=%s", "-o%s", "a,%s", "x@%s", "'{%s}'", "\"$X\"/%s", "${X:-%s}", "-I %s", "--x=y:%s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, shape string) {
		if strings.Count(shape, "%s") != 1 || strings.ContainsAny(shape, "#\n\\'\"`$*?[") {
			return
		}
		for _, place := range []string{".git/hooks/x", "/etc/passwd", "~/.ssh/x"} {
			at := strings.Index(shape, "%s")
			if at > 0 && !strings.ContainsRune("=@:,;{} ", rune(shape[at-1])) || strings.Contains(shape, "://") || strings.Contains(shape, "grep") || strings.Contains(shape, "run") ||
				strings.Contains(shape, "testName") || strings.Contains(shape, "test-name") {
				return
			}
			command := "mytool " + strings.Replace(shape, "%s", place, 1)
			if d := decideShell(command, plainPolicy(Rule{List: AllowList, Text: "Bash(mytool *)"})); d.Behavior == Allow && strings.Contains(command, " ") && strings.HasPrefix(command, "mytool ") && !strings.ContainsAny(shape, "(){}<>|&;~/.-") {
				t.Errorf("%s is allowed", command)
			}
		}
	})
}
