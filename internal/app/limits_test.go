package app

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/policy"
)

// TestLimitsThatChangeHoldFromTheNextCallOn: a document that arrives while a session runs tightens
// rules, mode, model and budgets, and each is told once.
func TestLimitsThatChangeHoldFromTheNextCallOn(t *testing.T) {
	st := newStage(t, `turns: [{content: [{text: done}]}]`, func(o *Options) { o.Mode = "acceptEdits" })
	zero := 0.0
	serve := func(l policy.Limits) {
		l.Host = "limits.example"
		st.rooms.part.process.Set(func(p *Process) *Process {
			next := *p
			next.Policy = &policy.State{Limits: l}
			return &next
		})
	}
	serve(policy.Limits{Deny: []string{"Bash(rm *)"}, DisableModes: []string{"acceptEdits"}})
	if got := st.rooms.rights.mode(); got != "default" {
		t.Errorf("mode %s", got)
	}
	rules := st.rooms.part.permission.Get().Rules[permission.FromManaged]
	if !slices.ContainsFunc(rules.Deny, func(r permission.Rule) bool { return r.Text == "Bash(rm *)" }) {
		t.Errorf("the deny rule is not in force: %v", rules)
	}
	notices := st.until("the notice", func(b proto.EventBody) bool {
		n, ok := b.(proto.Notice)
		return ok && strings.Contains(n.Text, "acceptEdits is not allowed by the policy of limits.example")
	})
	if len(notices) == 0 {
		t.Error("nobody was told")
	}
	serve(policy.Limits{Models: &[]string{"other"}})
	st.say("go")
	if r, _ := st.result(); !r.IsError || !strings.Contains(r.Ended.Detail, "not allowed by the policy of limits.example") {
		t.Errorf("a model that is not allowed was asked: %+v", r)
	}
	serve(policy.Limits{Budget: policy.Budget{Session: &zero}})
	st.say("go on")
	if r, _ := st.result(); r.Ended.Reason != proto.EndBudget || !strings.Contains(r.Ended.Detail, "maxBudgetUsd in the policy of limits.example") {
		t.Errorf("a budget of nothing let a request pass: %+v", r)
	}
	serve(policy.Limits{})
	st.say("and now")
	if r, _ := st.result(); r.IsError || r.Text != "done" {
		t.Errorf("without limits: %+v", r)
	}
}

// Every way into a mode in a running session meets the same door, says why, and enters nothing.
func TestKF113_NoWayIntoAForbiddenMode(t *testing.T) {
	st := newStage(t, `turns: [{content: [{text: done}]}]`, func(o *Options) { o.AllowBypass, o.Mode = true, "plan" })
	forbid := func(modes ...string) {
		st.rooms.part.process.Set(func(p *Process) *Process {
			next := *p
			next.Policy = &policy.State{Limits: policy.Limits{DisableModes: modes, Host: "limits.example"}}
			return &next
		})
	}
	told := func(what, mode string) {
		t.Helper()
		st.until(what+" says why", func(b proto.EventBody) bool {
			n, ok := b.(proto.Notice)
			return ok && strings.Contains(n.Text, mode+" is not allowed by the policy of limits.example")
		})
	}
	forbid("acceptEdits", "bypassPermissions", "auto")
	for _, mode := range []string{"acceptEdits", "bypassPermissions", "auto"} {
		if err := st.Do(proto.O(proto.SetMode{Mode: mode})); err == nil || !strings.Contains(err.Error(), "not allowed by the policy of limits.example") || st.rooms.rights.mode() != "plan" {
			t.Errorf("the operation: %v, mode %s", err, st.rooms.rights.mode())
		}
		if slices.Contains(st.View().Modes, mode) {
			t.Errorf("the mode key goes to %s", mode)
		}
	}
	st.rooms.rights.grant(proto.PermissionUpdate{Type: "setMode", Mode: "acceptEdits", Destination: "session"}) // approves the plan
	told("approving a plan", "acceptEdits")
	if st.rooms.rights.mode() != "default" {
		t.Errorf("after approval: %s", st.rooms.rights.mode())
	}
	for _, to := range []string{"session", "userSettings"} {
		st.rooms.rights.grant(proto.PermissionUpdate{Type: "setMode", Mode: "bypassPermissions", Destination: to})
		told("an answer or a hook", "bypassPermissions")
	}
	st.rooms.rights.grant(proto.PermissionUpdate{Type: "setMode", Mode: "acceptEdits", Destination: "localSettings"})
	told("an answer that is kept", "acceptEdits")
	if _, err := os.Stat(filepath.Join(st.dir, ".myelin", "settings.local.json")); err == nil || st.rooms.rights.mode() != "default" {
		t.Errorf("kept: %v, mode %s", err, st.rooms.rights.mode())
	}
	// What was forbidden and is no more may be entered again, if it might when the session started.
	forbid()
	for _, mode := range []string{"bypassPermissions", "acceptEdits"} {
		if err := st.Do(proto.O(proto.SetMode{Mode: mode})); err != nil || st.rooms.rights.mode() != mode {
			t.Errorf("allowed again: %v, mode %s", err, st.rooms.rights.mode())
		}
	}
	// A mode that becomes forbidden while plan mode remembers it is not gone back to.
	st.do(proto.SetMode{Mode: "plan"})
	forbid("acceptEdits")
	st.rooms.rights.leavePlan("")
	if st.rooms.rights.mode() != "default" {
		t.Errorf("mode %s", st.rooms.rights.mode())
	}
}
