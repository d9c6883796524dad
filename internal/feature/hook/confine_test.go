package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

func owner(t *testing.T) *proc.Owner {
	t.Helper()
	host := proc.NewHost(proc.Options{})
	t.Cleanup(func() { host.Close() })
	return host.Owner("test")
}

func TestKF145_WhatAFolderSuppliesIsConfined(t *testing.T) {
	for _, c := range []struct {
		folder bool
		field  string
		want   bool
		wrong  string
	}{
		{folder: true, want: true},
		{folder: true, field: `, "confine": false`, want: false},
		{folder: true, field: `, "confine": true`, want: true},
		{folder: true, field: `, "confine": null`, want: true},
		{folder: true, field: `, "confine": "no"`, want: true, wrong: "expected true or false"},
		{folder: true, field: `, "confine": 0`, want: true, wrong: "expected true or false"},
		{want: false},
		{field: `, "confine": true`, want: true},
		{field: `, "confine": "no"`, want: true, wrong: "expected true or false"},
	} {
		handlers, problems := Parse(Source{Confine: c.folder, JSON: json.RawMessage(
			`{"PreToolUse": [{"hooks": [{"type": "command", "command": "x"` + c.field + `}]}]}`)})
		if len(handlers) != 1 || handlers[0].Confine != c.want {
			t.Errorf("%+v: %+v", c, handlers)
		}
		if got := len(problems) > 0 && strings.Contains(problems[0].Text, c.wrong); got != (c.wrong != "") {
			t.Errorf("%+v: %v", c, problems)
		}
	}
}

// TestKF145_AHeldGuardIsLost keeps the program of a guard from running: nothing that the handler
// says of failures lets the call through.
func TestKF145_AHeldGuardIsLost(t *testing.T) {
	for field, want := range map[string]string{"": "ask", `, "onFailure": "continue"`: "ask", `, "onFailure": "block"`: "deny"} {
		h := New(Config{
			Owner: owner(t), Cwd: t.TempDir, Common: func() Common { return Common{} },
			Start: func(context.Context, *Handler, bool, proc.Spec) (Started, error) {
				return Started{}, &UnsafeError{Err: errors.New("check.sh was changed")}
			},
		})
		h.Load([]Source{{Label: "User", JSON: json.RawMessage(`{"PreToolUse": [{"hooks": [{"type": "command", "command": "check.sh"` + field + `}]}],
			"PostToolUse": [{"hooks": [{"type": "command", "command": "note.sh"}]}]}`)}}, Switches{})
		o := h.Fire(t.Context(), Event{Name: PreToolUse, Match: "Bash"})
		if o.Decision != want || o.Guard != (want == "ask") || !strings.Contains(strings.Join(o.Notices, ""), "check.sh was changed") {
			t.Errorf("%s: %+v", field, o)
		}
		o = h.Fire(t.Context(), Event{Name: PostToolUse, Match: "Bash"})
		if o.Decision != "" || o.Guard || !strings.Contains(strings.Join(o.Notices, ""), "note.sh") {
			t.Errorf("no guard: %+v", o)
		}
	}
}

// TestKF145_TheUsersOwnWordCounts has the same command in the user's and in the folder's settings.
func TestKF145_TheUsersOwnWordCounts(t *testing.T) {
	for _, first := range []bool{true, false} {
		var started []bool
		h := New(Config{
			Owner: owner(t), Cwd: t.TempDir, Common: func() Common { return Common{} },
			Confines: func(x *Handler) bool { return x.Confine },
			Start: func(_ context.Context, _ *Handler, confined bool, _ proc.Spec) (Started, error) {
				started = append(started, confined)
				return Started{}, errors.New("enough")
			},
		})
		text := json.RawMessage(`{"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}`)
		h.Load([]Source{{JSON: text, Confine: first}, {JSON: text, Confine: !first}}, Switches{})
		h.Fire(t.Context(), Event{Name: Stop})
		if len(started) != 1 || started[0] {
			t.Errorf("started confined: %v", started)
		}
	}
}

// TestKF145_EnvironmentOfConfinedHooks keeps what a confined hook leaves from commands outside.
func TestKF145_EnvironmentOfConfinedHooks(t *testing.T) {
	own := owner(t)
	h := New(Config{
		Owner: own, Cwd: t.TempDir, Common: func() Common { return Common{} }, Dir: sync.OnceValue(t.TempDir), Inside: sync.OnceValue(t.TempDir),
		Confines: func(x *Handler) bool { return x.Confine },
		Start: func(_ context.Context, _ *Handler, _ bool, spec proc.Spec) (Started, error) {
			p, err := own.Start(spec)
			return Started{Process: p}, err
		},
	})
	text := func(word string) json.RawMessage {
		return json.RawMessage(`{"SessionStart": [{"hooks": [{"type": "command", "command": "echo ` + word + `=1 >>\"$CLAUDE_ENV_FILE\""}]}]}`)
	}
	h.Load([]Source{{JSON: text("MINE")}, {JSON: text("THEIRS"), Confine: true}}, Switches{})
	if o := h.Fire(t.Context(), Event{Name: SessionStart}); len(o.Notices) > 0 {
		t.Fatal(o.Notices)
	}
	if outside, inside := h.EnvFiles(false), h.EnvFiles(true); len(outside) != 1 || len(inside) != 2 || outside[0] != inside[0] {
		t.Errorf("outside %q, inside %q", outside, inside)
	}
}

// TestKF145_WithoutASandboxNothingRunsInIt has a handler that must be confined and nobody who can.
func TestKF145_WithoutASandboxNothingRunsInIt(t *testing.T) {
	h := New(Config{
		Owner: owner(t), Cwd: t.TempDir, Common: func() Common { return Common{} },
		Confines: func(*Handler) bool { return true },
	})
	h.Load([]Source{{JSON: json.RawMessage(`{"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}`)}}, Switches{})
	if o := h.Fire(t.Context(), Event{Name: PreToolUse, Match: "Bash"}); !o.Guard || o.Decision != "ask" {
		t.Errorf("%+v", o)
	}
}
