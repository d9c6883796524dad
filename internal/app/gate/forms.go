package gate

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// formed gives questions that are no permission in themselves their own kind, so that surfaces show a
// form or a plan, and takes out what an answer could not bring about.
func (g *Gate) formed(a *proto.Ask) proto.Ask {
	switch g.asks(a.Tool) {
	case tool.AsksForm:
		a.Kind = proto.AskQuestion
	case tool.AsksPlan:
		a.Kind = proto.AskPlan
		a.Options = g.planOptions()
	}
	st := g.given.State.Get()
	shut := func(u proto.PermissionUpdate) bool {
		return u.Type == "setMode" && st.MayEnter(permission.Mode(u.Mode)) != nil
	}
	a.Suggestions = slices.DeleteFunc(slices.Clone(a.Suggestions), shut)
	a.Options = slices.DeleteFunc(slices.Clone(a.Options), func(o proto.Option) bool { return slices.ContainsFunc(o.Updates, shut) })
	return *a
}

// asks is what the question of a call of that tool is.
func (g *Gate) asks(name string) tool.QuestionKind {
	if t := g.given.Tool(name); t != nil {
		return t.Spec().Asks
	}
	return ""
}

// filled completes an answer: a form's answers go into the input, and a way out of plan mode brings its mode.
func filled(a proto.Ask, answer *proto.Answer) {
	if a.Kind == proto.AskQuestion && len(answer.Values) > 0 && len(answer.Input) == 0 {
		answer.Input = withAnswers(a.Input, answer.Values)
	}
	for _, o := range a.Options {
		if o.ID == answer.Option && len(answer.Updates) == 0 && a.Kind == proto.AskPlan {
			answer.Behavior, answer.Updates = o.Behavior, o.Updates
		}
	}
}

// planOptions are the ways out of plan mode.
func (g *Gate) planOptions() []proto.Option {
	st := g.given.State.Get()
	to := func(id, label string, m permission.Mode) proto.Option {
		return proto.Option{ID: id, Label: label, Behavior: "allow", Updates: []proto.PermissionUpdate{{Type: "setMode", Mode: string(m), Destination: "session"}}}
	}
	var out []proto.Option
	if st.MayEnter(permission.Auto) == nil {
		out = append(out, to("auto", "Yes, and go on in auto mode", permission.Auto))
	} else {
		out = append(out, to("edits", "Yes, and accept edits", permission.AcceptEdits))
	}
	out = append(out, to("manual", "Yes, and ask before each edit", permission.Default), to("bypass", "Yes, and bypass permissions", permission.Bypass))
	return append(out, proto.Option{ID: "no", Label: "No, keep planning", Behavior: "deny"})
}

// withAnswers puts a person's answers into the input of the call that asked.
func withAnswers(input, values json.RawMessage) json.RawMessage {
	var in, given map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil || json.Unmarshal(values, &given) != nil {
		return input
	}
	if _, whole := given["answers"]; whole {
		maps.Copy(in, given)
	} else {
		in["answers"] = values
	}
	out, err := json.Marshal(in)
	if err != nil {
		return input
	}
	return out
}
