package confine

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/tools/webfetch"
)

// hosts decides connections of commands. It is safe for concurrent use.
type hosts struct {
	*Scene
	*People
	asks sync.Map // host:port → *hostAsk: one question a host, others wait
}

// network is what commands may talk to.
func (h *hosts) network() sandbox.Network {
	return sandbox.Network{Decide: h.decideHost, Upstream: h.upstream(), Direct: h.direct, Inside: h.inside}
}

// decideHost decides a connection of a sandboxed command: lists and rules, then the classifier in auto
// mode, or whoever can answer. There is one question a host; others wait for its answer.
func (h *hosts) decideHost(ctx context.Context, to netname.Endpoint) sandbox.Decision {
	host, port := to.Name, strconv.Itoa(to.Port)
	d := permission.DecideHost(host, port, h.hostPolicy())
	switch {
	case d.Behavior == permission.Allow:
		return sandbox.Decision{Allow: true, Local: d.Named}
	case d.Behavior == permission.Deny:
		return sandbox.Decision{Why: cmp.Or(d.Reason, "the host is on no list")}
	}
	return h.once(ctx, d.Host, port, d.Classify)
}

// inside says whether an entry or a rule allows a private address by itself, so that an allowed name may lead
// to it.
func (h *hosts) inside(to netname.Endpoint) bool {
	d := permission.DecideHost(to.Name, strconv.Itoa(to.Port), h.hostPolicy())
	return d.Behavior == permission.Allow && d.Named
}

func (h *hosts) hostPolicy() permission.HostPolicy {
	state, policy := h.Config(), h.Policy()
	return permission.HostPolicy{
		Allowed: setting[[]string](state, "sandbox.network.allowedDomains", nil), Denied: setting[[]string](state, "sandbox.network.deniedDomains", nil),
		ManagedAllowed: managed(state, "sandbox.network.allowedDomains"), ManagedDenied: managed(state, "sandbox.network.deniedDomains"),
		ManagedOnly: setting(state, "sandbox.network.allowManagedDomainsOnly", false), Strict: setting(state, "sandbox.network.strictAllowlist", false),
		Rules: policy.Rules, Mode: policy.Mode, Granted: h.State.Get().GrantedHosts(),
	}
}

// hostAsk is one open question about a host.
type hostAsk struct {
	done   chan struct{}
	answer sandbox.Decision
}

// once settles what no list decides, or waits for the answer to the same question.
func (h *hosts) once(ctx context.Context, host, port string, classify bool) sandbox.Decision {
	mine := &hostAsk{done: make(chan struct{})}
	if other, waits := h.asks.LoadOrStore(net.JoinHostPort(host, port), mine); waits {
		select {
		case <-other.(*hostAsk).done:
			return other.(*hostAsk).answer
		case <-ctx.Done():
			return sandbox.Decision{Why: "nobody answered in time"}
		}
	}
	defer h.asks.Delete(host + ":" + port)
	defer close(mine.done)
	mine.answer = h.settle(ctx, host, port, classify)
	return mine.answer
}

func (h *hosts) settle(ctx context.Context, host, port string, classify bool) sandbox.Decision {
	if classify && h.Classify != nil {
		if d, ok := h.classified(ctx, host, port); ok {
			return d
		}
	}
	if !h.Answers {
		return sandbox.Decision{Why: "no entry allows the host, and nobody can be asked"}
	}
	return h.ask(ctx, host, port)
}

// classified asks the classifier. Its yes counts until new content arrives, its no for the turn; both
// end with a change of mode or rules. Without a verdict nothing is let out and nothing is kept. false: the
// conversation is too long for it, so that a person has to say.
func (h *hosts) classified(ctx context.Context, host, port string) (sandbox.Decision, bool) {
	before := h.State.Get()
	v := h.Classify(ctx, host, port)
	allowed := v.Kind == permission.VerdictAllow
	switch {
	case v.Kind == permission.VerdictTooLong:
		return sandbox.Decision{}, false
	case !allowed && v.Kind != permission.VerdictBlock:
		return sandbox.Decision{Why: "no entry allows the host, and the classifier gave no verdict: " + cmp.Or(v.Reason, string(v.Kind))}, true
	}
	withdrawn := false
	h.State.Set(func(p *permission.State) *permission.State {
		if withdrawn = p.Mode != before.Mode || p.Revision != before.Revision; withdrawn {
			return p
		}
		return p.WithHost(net.JoinHostPort(host, port), permission.HostFor{Allow: allowed, Until: map[bool]string{true: "content", false: "turn"}[allowed]})
	})
	switch {
	case withdrawn:
		return sandbox.Decision{Why: "the mode or the rules changed while the classifier looked at the host; try again"}, true
	case !allowed:
		return sandbox.Decision{Why: "the classifier blocked the host: " + v.Reason}, true
	}
	return sandbox.Decision{Allow: true}, true
}

// ask puts the question to whoever can answer.
func (h *hosts) ask(ctx context.Context, host, port string) sandbox.Decision {
	always := proto.PermissionUpdate{
		Type: "addRules", Behavior: "allow", Destination: "localSettings",
		Rules: []proto.RuleValue{{ToolName: webfetch.Name, RuleContent: "domain:" + host}},
	}
	answer, err := h.Ask(ctx, proto.Ask{
		ID: h.NewID(), Kind: proto.AskHost, Title: "A command wants to connect to " + net.JoinHostPort(host, port), Text: net.JoinHostPort(host, port),
		Reason: "the host is on no list", Rule: "WebFetch(domain:" + host + ")",
		Options: []proto.Option{
			{ID: permission.AnswerSession, Label: "Yes, for this session", Behavior: "allow"},
			{ID: permission.AnswerAlways, Label: "Yes, and don't ask again in this project", Behavior: "allow", Updates: []proto.PermissionUpdate{always}},
			{ID: permission.AnswerNo, Label: "No", Behavior: "deny"},
		},
	})
	allowed := err == nil && answer.Behavior == "allow"
	until := "turn"
	if allowed {
		until = "session"
	}
	h.State.Set(func(p *permission.State) *permission.State {
		return p.WithHost(net.JoinHostPort(host, port), permission.HostFor{Allow: allowed, Until: until})
	})
	if allowed && answer.Option == permission.AnswerAlways {
		h.Grant(always)
	}
	return sandbox.Decision{Allow: allowed, Why: "refused by the user"}
}
