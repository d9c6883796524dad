package permission

import (
	"strings"
	"testing"
)

func TestKF122_ProgramsNamedForOthersAsk(t *testing.T) {
	for file, program := range map[string]string{"told-rm.txt": "rm", "told-curl.txt": "curl"} {
		rule := "Bash(" + program + " *)"
		denied, asked := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: rule}), plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: AskList, Text: rule})
		list := commandList(t, file)
		if len(list) < 150 {
			t.Fatalf("%s: only %d commands", file, len(list))
		}
		for _, c := range list {
			c = strings.ReplaceAll(c, "⏎", "\n")
			if d := decideShell(c, denied); d.Behavior == Allow {
				t.Errorf("%s: allowed: %s", c, d.Reason.Text)
			}
			if d := decideShell(c, asked); d.Behavior == Allow {
				t.Errorf("with an ask rule: %s: allowed: %s", c, d.Reason.Text)
			}
		}
	}
}

func TestKF122_NamesThatNothingRunsPass(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(rm *)"})
	for _, c := range commandList(t, "told-nothing.txt") {
		c = strings.ReplaceAll(c, "⏎", "\n")
		if d := decideShell(c, pol); d.Behavior != Allow {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
}

func TestKF122_RulesAboutNamedPrograms(t *testing.T) {
	tests := []struct {
		rule, command string
		want          Behavior // with Bash allowed
	}{
		{"git push *", "docker run --entrypoint git img push", Ask},
		{"git push *", "docker run --entrypoint git img status", Allow},
		{"git push *", "mytool --run 'git push'", Ask},
		{"git push *", "mytool --run 'git status'", Allow},
		{"git push *", "mytool git $WHAT", Ask},
		{"git push *", `python3 -c 'import subprocess; subprocess.run(["git", "push"])'`, Ask},
		{"git push *", `python3 -c 'import subprocess; subprocess.run(["git", "status"])'`, Allow},
		{"git push --force *", "mytool 'git push -f'", Ask},
		{"rm*", "mytool --exec rmdir", Ask},
		{"rm*", "mytool --exec ls", Allow},
		{"python*", "mytool --exec=python3.12", Ask},
		{"curl * | sh", "mytool --exec curl", Allow}, // a rule about a whole line
		{"curl:*", "mytool --exec /usr/bin/curl", Ask},
		{"/opt/x/tool *", "mytool --exec /opt/x/tool", Ask},
		{"/opt/x/tool *", "mytool --exec tool", Allow},
		{"* --force", "mytool --exec x", Allow},
		{"docker run *", "make RUN='docker run x'", Ask},
		{"docker run *", "make RUN='docker ps'", Allow},
	}
	for _, tt := range tests {
		pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(" + tt.rule + ")"})
		got := decideShell(tt.command, pol)
		if got.Behavior != tt.want {
			t.Errorf("deny %s: %s: %s (%s), want %s", tt.rule, tt.command, got.Behavior, got.Reason.Text, tt.want)
		}
		if got.Behavior == Ask && (!strings.Contains(got.Reason.Text, tt.rule) || got.Reason.Part == "" || !got.Firm) {
			t.Errorf("deny %s: %s: the question does not say enough: %+v", tt.rule, tt.command, got)
		}
	}
}

// Everyday commands ask no more than before when some program is denied that they do not name.
func TestKF162_HarmlessCommandsDoNotAskBesideADenyRule(t *testing.T) {
	pol := plainPolicy(Rule{List: DenyList, Text: "Bash(shutdown *)"}, Rule{List: AskList, Text: "Bash(git push *)"})
	for _, c := range commandList(t, "harmless.txt") {
		if with, without := decideShell(c, pol), decideShell(c, plainPolicy()); with.Behavior != without.Behavior {
			t.Errorf("%s: %s: %s", c, with.Behavior, with.Reason.Text)
		}
	}
}

func TestRemoteCommandsNeedNoRuleOfTheirOwn(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash(ssh h *)"}, Rule{List: DenyList, Text: "Bash(rm *)"})
	checkDecided(t, pol, []outcome{
		{"ssh h ls /etc", Allow},
		{"ssh h 'cd x && make'", Allow},
		{"ssh h 'systemctl restart x; df -h'", Allow},
		{"ssh h 'sh -c \"a; b\"'", Allow},
		{"ssh h 'rm x'", Deny},
		{"ssh h 'sh -c \"a; rm b\"'", Deny},
		{"ssh h sudo rm x", Deny},
		{"ssh other make", Ask},
		{"ssh h \"ls $X\"", Ask},
		{"make", Ask},
	})
	pol = plainPolicy(Rule{List: AllowList, Text: "Bash"})
	checkDecided(t, pol, []outcome{
		{"ssh h 'rm -rf /'", Ask}, {"ssh h rm -rf /", Ask}, {"ssh h \"ls $X\"", Allow}, {"ssh h $X", Allow}, {"ssh h 'a' && rm -rf /", Ask},
	})
}
