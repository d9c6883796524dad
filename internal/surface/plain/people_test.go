package plain

import (
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

func TestKF170_PeopleReadTheirOwnSentence(t *testing.T) {
	for name, tc := range map[string]struct{ how, text, want string }{
		"unknown tool":      {"error", "<tool_use_error>Error: No such tool available: Nope</tool_use_error>", "No such tool available: Nope"},
		"wrong input":       {"error", "<tool_use_error>old_string is not in the file.\nRead it again.</tool_use_error>", "old_string is not in the file.\nRead it again."},
		"refused":           {"refused", "The user said no. Do not work around the refusal by other means. Choose a safer way.", "The user said no"},
		"refused, lines":    {"refused", "A rule denies rm.\nDo something else", "A rule denies rm"},
		"a file's name":     {"refused", "a.go may not be changed. Ask.", "a.go may not be changed"},
		"output of its own": {"ok", "1. first. Second", "1. first. Second"},
		"nothing":           {"refused", "", ""},
	} {
		if got := forPeople(tc.how, tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestKF166_ASlashThatIsNoCommandIsNoPrompt(t *testing.T) {
	r := start(t, 80, 24, func(o *Options) {
		o.Quiet, o.Commands = true, func() []string { return []string{"compact", "clear"} }
	})
	r.term.Type("/comapct", "\r")
	r.term.AwaitText(t, "there is no command /comapct (did you mean /compact?)")
	r.term.Type("/zzzzzzzz", "\r")
	r.term.AwaitText(t, "there is no command /zzzzzzzz; with a blank")
	for _, prompt := range []string{"/compact", "/etc/hosts is what?", " /init", "/tmp/x"} {
		r.term.Type(prompt, "\r")
		if got := r.prompt(); got != prompt {
			t.Errorf("sent %q, want %q", got, prompt)
		}
	}
}

// What a person thought about a question is no time of the call.
func TestTheTimeOfACallIsItsOwn(t *testing.T) {
	p := NewPrinter(screen.Style{}, func() int { return 80 })
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var out []string
	for i, b := range []proto.EventBody{
		proto.TurnStarted{},
		proto.CallAnnounced{Call: "c", Tool: "Bash"},
		proto.Ask{ID: "q", Call: "c"},
		proto.AskClosed{ID: "q", By: surfaceID},
		proto.CallEnded{Call: "c", Tool: "Bash", Outcome: "ok", Seconds: 63},
		proto.Result{Turns: 1},
	} {
		e := proto.E(b)
		e.Time = at.Add(time.Duration(i) * time.Minute)
		out = append(out, p.Event(e)...)
	}
	if got := strings.Join(out, "\n"); !strings.Contains(got, "tool Bash: ok, 3.0 s") {
		t.Errorf("%s", got)
	}
}
