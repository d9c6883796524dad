package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

func TestKF134_AWaitPastTheBoundEndsTheTurn(t *testing.T) {
	for _, c := range []struct {
		kind  provider.Kind
		wait  time.Duration
		bound time.Duration
		ends  bool
	}{
		{provider.KindRateLimit, 16 * time.Hour, time.Minute, true},
		{provider.KindOverloaded, 61 * time.Second, time.Minute, true},
		{provider.KindServer, time.Hour, time.Minute, true},
		{provider.KindRateLimit, time.Minute, time.Minute, false},
		{provider.KindRateLimit, 16 * time.Hour, 0, false}, // a person sees it, or it was asked for
	} {
		r := newRig(nil, failing(provider.Error{Kind: c.kind, RetryAfter: c.wait, Message: "later"}), answer(msg.StopEndTurn, say("ok")))
		r.cfg.Limits.Wait = c.bound
		r.run(t.Context(), nil)
		if !c.ends {
			equal(t, r.ended.Reason, proto.EndCompleted)
			continue
		}
		equal(t, r.ended.Reason, proto.EndAPI)
		equal(t, r.ended.API.Kind, string(c.kind))
		if !strings.Contains(r.ended.API.Message, "it may work again at ") || !strings.Contains(r.ended.API.Message, c.wait.String()) {
			t.Errorf("the end does not tell when it may work again: %s", r.ended.API.Message)
		}
	}
}

func TestKF134_WhatCannotPassIsNotTriedAgain(t *testing.T) {
	r := newRig(nil, failing(provider.Error{Kind: provider.KindUnreachable, Message: "no such host"}), answer(msg.StopEndTurn, say("not asked for")))
	r.run(t.Context(), nil)
	equal(t, r.ended.Reason, proto.EndAPI)
	equal(t, r.ended.API.Kind, string(provider.KindUnreachable))
}
