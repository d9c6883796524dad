package app

import (
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
		st.part.process.Set(func(p *Process) *Process {
			next := *p
			next.Policy = &policy.State{Limits: l}
			return &next
		})
	}
	serve(policy.Limits{Deny: []string{"Bash(rm *)"}, DisableModes: []string{"acceptEdits"}})
	if got := st.mode(); got != "default" {
		t.Errorf("mode %s", got)
	}
	rules := st.part.permission.Get().Rules[permission.FromManaged]
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
