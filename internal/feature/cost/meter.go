package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Meter follows the requests of one conversation: it says what the next one will probably use, and
// why a service's prompt cache was not read. It keeps the last request, whose text the conversation
// shares, and compares only when something was lost. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex // guards all below
	sent  sending    // the request that runs, or ran last
	last  sending    // the one before it, and what the service counted for it
	used  msg.Usage  // of the last request that was answered
	rate  float64    // tokens a byte of request, as the service counts; 0: not known yet
	sizes msg.Sizes  // of the conversation
}

type sending struct {
	model    provider.Info
	request  provider.Request
	bytes    int
	at       time.Time
	answered bool
}

// cacheLifetime is how long services keep a prompt that nobody asks with.
const cacheLifetime = 5 * time.Minute

// Miss is a request that did not read from the service's prompt cache what the one before it had
// put there.
type Miss struct {
	At    time.Time `json:"at"`
	Model string    `json:"model"`
	Lost  int       `json:"lost"`            // tokens that were read anew
	Cost  Money     `json:"cost"`            // what that cost more than reading the cache
	Why   string    `json:"why"`             // in a sentence
	Place string    `json:"place,omitempty"` // what of the request changed first
	From  int       `json:"from,omitempty"`  // the bytes of it that are new: the first, and the one behind the last
	To    int       `json:"to,omitempty"`
}

// maxMisses bounds how many of them are kept.
const maxMisses = 20

// Sending notes a request of the conversation that is about to be made.
func (m *Meter) Sending(model provider.Info, r provider.Request, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent.answered {
		m.last = m.sent
	}
	m.sent = sending{model: model, request: r, bytes: m.sizeOf(r), at: now}
}

// Answered notes what the service counted for the request that was sent last. It returns the miss
// of its cache, nil when there was none.
func (m *Meter) Answered(u msg.Usage) *Miss {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent.request.Messages == nil || m.sent.answered {
		return nil
	}
	miss := m.miss(u)
	m.sent.answered = true
	if read := u.Context() - u.Output; read > 0 && m.sent.bytes > 0 {
		m.rate = float64(read) / float64(m.sent.bytes)
	}
	m.used = u
	return miss
}

// miss compares what was read with what was there to read.
func (m *Meter) miss(u msg.Usage) *Miss {
	there := m.used.CacheRead + m.used.CacheWrite
	lost := there - u.CacheRead
	if !m.last.answered || lost <= max(there/20, 1023) {
		return nil
	}
	out := &Miss{At: m.sent.at, Model: m.sent.model.Ref(), Lost: lost}
	p := m.sent.model.Price
	again := p.Input
	if u.CacheWrite > 0 && p.CacheWrite > 0 {
		again = p.CacheWrite
	}
	out.Cost = max(tokens(lost, again)-tokens(lost, p.CacheRead), 0)
	idle := m.sent.at.Sub(m.last.at)
	switch {
	case m.last.model.Ref() != m.sent.model.Ref():
		out.Why = "the model was changed from " + m.last.model.Ref()
	case m.changed(out):
		out.Why = fmt.Sprintf("%s changed, from byte %d to %d", out.Place, out.From, out.To)
	case idle > cacheLifetime:
		out.Why = fmt.Sprintf("no request was made for %s, and the service had dropped it", idle.Round(time.Second))
	default:
		out.Why = "nothing changed; the service did not keep it"
	}
	return out
}

// changed finds the first part of the request that differs from the one before, in the order in
// which services read: tools, system prompt, messages. What was added at the end is no change.
func (m *Meter) changed(out *Miss) bool {
	old, now := parts(m.last.request), parts(m.sent.request)
	for i, was := range old {
		is := part{}
		if i < len(now) {
			is = now[i]
		}
		if was.name == is.name && bytes.Equal(was.text(), is.text()) {
			continue
		}
		a, b := was.text(), []byte(nil)
		if is.text != nil {
			b = is.text()
		}
		from, to := differ(a, b)
		out.Place, out.From, out.To = was.name, from, to
		return true
	}
	return false
}

// differ is the range of b that is not as it is in a.
func differ(a, b []byte) (from, to int) {
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	same := 0
	for same < min(len(a), len(b))-from && a[len(a)-1-same] == b[len(b)-1-same] {
		same++
	}
	return from, max(len(b)-same, from)
}

// part is one part of a request whose text is made when it is compared.
type part struct {
	name string
	text func() []byte
}

func parts(r provider.Request) []part {
	var out []part
	for _, t := range r.Tools {
		out = append(out, part{"the tool " + t.Name, func() []byte { return append([]byte(t.Name+"\n"+t.Description+"\n"), t.Schema...) }})
	}
	for i, b := range r.System {
		out = append(out, part{fmt.Sprintf("part %d of the system prompt", i+1), func() []byte { return encoded(b) }})
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			out = append(out, part{fmt.Sprintf("part %d of message %d (%s)", j+1, i+1, m.Role), func() []byte { return encoded(b) }})
		}
	}
	return out
}

// encoded is a block as bytes: its text, or its JSON where it is no text.
func encoded(b msg.Block) []byte {
	if t, ok := b.(msg.Text); ok {
		return []byte(t.Text)
	}
	raw, err := json.Marshal(b)
	if err != nil { // it compares as what it cannot be
		return []byte(err.Error())
	}
	return raw
}

// sizeOf counts the conversation where it goes on from the one before.
func (m *Meter) sizeOf(r provider.Request) int {
	n := msg.Size(r.System)
	for _, t := range r.Tools {
		if t.Deferred {
			continue
		}
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	if r.Lane != "" && r.Lane != provider.LaneMain { // it must not displace the conversation's
		return n + new(msg.Sizes).Of(r.Messages, len(r.Messages))
	}
	return n + m.sizes.Of(r.Messages, len(r.Messages))
}

// Expect is what a request will probably use: its length as the service counts, what of it the
// service's cache holds at the cache's price, and an answer of the usual length. Before the first
// answer nothing is known, and the zero Usage is returned.
func (m *Meter) Expect(s *State, agent string, model provider.Info, r provider.Request, now time.Time) Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rate == 0 {
		return Usage{}
	}
	return m.expect(s, agent, model, int(m.rate*float64(m.sizeOf(r))), r.Lane == "" || r.Lane == provider.LaneMain || r.Lane == provider.LaneCompact, now)
}

// ExpectNext is [Meter.Expect] for a request that goes on with the last answer.
func (m *Meter) ExpectNext(s *State, agent string, model provider.Info, now time.Time) Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rate == 0 {
		return Usage{}
	}
	return m.expect(s, agent, model, m.used.Context(), true, now)
}

func (m *Meter) expect(s *State, agent string, model provider.Info, read int, shared bool, now time.Time) Usage {
	u := msg.Usage{Input: read}
	cached := m.used.CacheRead + m.used.CacheWrite
	if shared && cached > 0 && model.Price.CacheRead > 0 && model.Ref() == m.sent.model.Ref() && now.Sub(m.sent.at) < cacheLifetime {
		u.CacheRead = min(read, m.used.Context())
		u.Input -= u.CacheRead
	}
	if usual, _ := s.ByAgent.Get(agent); usual.Requests > 0 {
		u.Output = usual.Output / usual.Requests
	}
	return UsageOf(model.Price, u)
}

// BookMiss keeps a miss of the prompt cache.
func BookMiss(s Slice, m Miss) {
	s.Set(func(prev *State) *State {
		next := *prev
		kept := prev.Misses[max(len(prev.Misses)-maxMisses+1, 0):]
		next.Misses = append(append(make([]Miss, 0, len(kept)+1), kept...), m)
		return &next
	})
}
