package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// echo is a tool whose traits tell its command, and whose result is what it ran with.
func echo() tool.Tool {
	type input struct {
		Command string `json:"command"`
	}
	schema := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)
	return tool.New(tool.Spec{Name: "Echo", Schema: schema},
		func(_ context.Context, in input, c tool.Call) (tool.Result, error) {
			return tool.Text(in.Command + " in " + c.Dir() + " " + string(c.Confine.Level)), nil
		},
		tool.Traiter(func(in input, _ tool.Call) tool.Traits { return tool.Traits{Command: in.Command} }))
}

func prepared(t *testing.T, command string) (tool.Call, tool.Traits) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	c, traits, err := tool.Prepare(echo(), tool.Call{ID: "1", Literal: input, Scope: tool.NewScope("", "/p")})
	if err != nil {
		t.Fatal(err)
	}
	return c, traits
}

func TestKF109_TheZeroDecidedRunsNothing(t *testing.T) {
	var d tool.Decided
	if _, err := d.Run(t.Context()); err == nil || d.Valid() {
		t.Errorf("valid %v, err %v", d.Valid(), err)
	}
	c, traits := prepared(t, "ls")
	d, err := tool.Decide(echo(), c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) { return tool.Ruling{}, nil })
	if err != nil || d.Valid() {
		t.Errorf("refused: valid %v, err %v", d.Valid(), err)
	}
	fault := errors.New("cannot decide")
	if d, err = tool.Decide(echo(), c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) {
		return tool.Ruling{Allow: true}, fault
	}); !errors.Is(err, fault) || d.Valid() {
		t.Errorf("failed: valid %v, err %v", d.Valid(), err)
	}
}

// A changed input begins anew: rule sees it with its own traits, in the directory of that moment, and
// nothing of what was ruled before is left.
func TestKF109_AChangedInputBeginsAnew(t *testing.T) {
	c, traits := prepared(t, "first")
	var seen []string
	d, err := tool.Decide(echo(), c, traits, func(c tool.Call, traits tool.Traits) (tool.Ruling, error) {
		seen = append(seen, traits.Command+" in "+c.Cwd)
		if traits.Command == "first" {
			c.Scope.SetCwd("/q")
			return tool.Ruling{Allow: true, Input: json.RawMessage(`{"command":"second"}`), Confine: tool.Confinement{Level: tool.Sandboxed}, By: "hook"}, nil
		}
		return tool.Ruling{Allow: true, By: "rule", Reason: "it is allowed"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"first in /p", "second in /q"}; !slices.Equal(seen, want) {
		t.Errorf("ruled on %q, want %q", seen, want)
	}
	r, err := d.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := msg.TextOf(r.Content); got != "second in /q " || d.By() != "rule" || d.Traits().Command != "second" {
		t.Errorf("ran %q, decided by %s, traits %+v", got, d.By(), d.Traits())
	}
}

// Whoever answers gives back what was shown, which is the normalised input: that is no change.
func TestTheSameInputIsNoChange(t *testing.T) {
	c, traits := prepared(t, "ls")
	c.Input = json.RawMessage(`{"timeout": 5, "command": "ls"}`)
	for _, input := range []string{`{"command":"ls"}`, `{ "command" : "ls" }`, `{"command":"ls","timeout":5}`} {
		times := 0
		if _, err := tool.Decide(echo(), c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) {
			times++
			return tool.Ruling{Allow: true, Input: json.RawMessage(input)}, nil
		}); err != nil || times != 1 {
			t.Errorf("%s: ruled %d times, err %v", input, times, err)
		}
	}
}

func TestAnInputThatDoesNotFitOrNeverSettlesRunsNothing(t *testing.T) {
	c, traits := prepared(t, "ls")
	d, err := tool.Decide(echo(), c, traits, func(tool.Call, tool.Traits) (tool.Ruling, error) {
		return tool.Ruling{Allow: true, Input: json.RawMessage(`{"command":[1]}`)}, nil
	})
	var wrong *tool.InputError
	if !errors.As(err, &wrong) || d.Valid() || !strings.Contains(err.Error(), "command") {
		t.Errorf("valid %v, err %v", d.Valid(), err)
	}
	d, err = tool.Decide(echo(), c, traits, func(c tool.Call, traits tool.Traits) (tool.Ruling, error) {
		return tool.Ruling{Allow: true, Input: json.RawMessage(`{"command":"` + traits.Command + `x"}`)}, nil
	})
	if !errors.Is(err, tool.ErrChanges) || d.Valid() {
		t.Errorf("valid %v, err %v", d.Valid(), err)
	}
}
