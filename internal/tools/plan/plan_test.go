package plan

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// session is a plan mode with a file.
type session struct {
	planning bool
	file     string
	enter    tool.Tool
	exit     tool.Tool
	scope    *tool.Scope
	fail     error
}

func newSession(t *testing.T) *session {
	s := &session{file: filepath.Join(t.TempDir(), "plans", "p.md"), scope: tool.NewScope("", t.TempDir())}
	tools := Tools(World{
		Planning: func(*tool.Scope) bool { return s.planning },
		Enter:    func(*tool.Scope) error { s.planning = s.fail == nil; return s.fail },
		Leave:    func(*tool.Scope) (string, error) { s.planning = s.fail != nil; return "acceptEdits", s.fail },
		File:     func(*tool.Scope) string { return s.file },
	})
	s.enter, s.exit = tools[0], tools[1]
	return s
}

func (s *session) write(t *testing.T, text string) {
	t.Helper()
	if err := writePlan(s.file, text); err != nil {
		t.Fatal(err)
	}
}

func (s *session) leave(t *testing.T, input string) (tool.Call, tool.Result, error) {
	t.Helper()
	call, err := s.exit.Normalise(tool.Call{ID: "c", Literal: json.RawMessage(input), Scope: s.scope})
	if err != nil {
		return call, tool.Result{}, err
	}
	r, err := s.exit.Run(t.Context(), call)
	return call, r, err
}

func TestPlanModeIsEnteredAndTold(t *testing.T) {
	s := newSession(t)
	for range 2 { // a second time is no mistake
		call, err := s.enter.Normalise(tool.Call{Literal: json.RawMessage(`{}`), Scope: s.scope})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.enter.Run(t.Context(), call)
		if err != nil || r.IsError || !strings.Contains(msg.TextOf(r.Content), s.file) || !s.planning {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	s.planning, s.fail = false, errors.New("forbidden")
	if _, err := s.enter.Run(t.Context(), tool.Call{Input: json.RawMessage(`{}`), Scope: s.scope}); !errors.Is(err, s.fail) {
		t.Errorf("%v", err)
	}
}

func TestAnApprovedPlanEndsPlanMode(t *testing.T) {
	s := newSession(t)
	s.planning = true
	s.write(t, "1. do it\n")
	call, r, err := s.leave(t, `{"allowedPrompts":[{"tool":"Bash","prompt":"run tests"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var seen exitInput
	if err := json.Unmarshal(call.Input, &seen); err != nil || seen != (exitInput{"1. do it\n", s.file}) {
		t.Errorf("hooks see %s", call.Input)
	}
	if s.planning || !strings.Contains(msg.TextOf(r.Content), `"acceptEdits"`) || strings.Contains(msg.TextOf(r.Content), "do it") {
		t.Errorf("%s", msg.TextOf(r.Content))
	}
	var out exitOutput
	if err := json.Unmarshal(r.Structured, &out); err != nil || out != (exitOutput{Plan: "1. do it\n", File: s.file}) {
		t.Errorf("%s", r.Structured)
	}
}

func TestAnEditedPlanIsKeptAndTold(t *testing.T) {
	s := newSession(t)
	s.planning = true
	s.write(t, "1. do it\n")
	_, r, err := s.leave(t, `{"plan":"1. do it well\n"}`)
	if err != nil || !strings.HasSuffix(msg.TextOf(r.Content), "what counts:\n\n1. do it well\n") || !strings.Contains(string(r.Structured), `"planWasEdited":true`) {
		t.Errorf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(s.file); err != nil || string(data) != "1. do it well\n" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

func TestAPlanInTheInputAloneIsWritten(t *testing.T) {
	s := newSession(t)
	s.planning = true
	_, r, err := s.leave(t, `{"plan":"older form"}`)
	if err != nil || strings.Contains(string(r.Structured), "planWasEdited") {
		t.Errorf("%+v, %v", r, err)
	}
	if data, err := os.ReadFile(s.file); err != nil || string(data) != "older form" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

func TestWhatCannotBeApproved(t *testing.T) {
	s := newSession(t)
	if _, _, err := s.leave(t, `{}`); err == nil || !strings.Contains(err.Error(), "plan mode is not on") {
		t.Errorf("without plan mode: %v", err)
	}
	s.planning = true
	for _, text := range []string{"", " \n"} {
		if text != "" {
			s.write(t, text)
		}
		if _, _, err := s.leave(t, `{}`); err == nil || !strings.Contains(err.Error(), "write it into "+s.file) {
			t.Errorf("an empty plan: %v", err)
		}
	}
	s.write(t, strings.Repeat("x", maxPlan+1))
	if _, _, err := s.leave(t, `{}`); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a huge plan: %v", err)
	}
	s.write(t, "ok")
	s.fail = errors.New("no such mode")
	if _, _, err := s.leave(t, `{}`); !errors.Is(err, s.fail) || !s.planning {
		t.Errorf("%v", err)
	}
}

func TestThePlanIsAlwaysPutBeforeAPerson(t *testing.T) {
	s := newSession(t)
	if !s.exit.Traits(tool.Call{Input: json.RawMessage(`{}`)}).NeedsPerson || !s.exit.Spec().NeedsPerson || !s.enter.Spec().NeedsPerson {
		t.Error("a rule can approve a plan")
	}
	if s.enter.Traits(tool.Call{Input: json.RawMessage(`{}`)}).NeedsPerson {
		t.Error("entering asks")
	}
}
