package msg

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds limit what one request may hold. Zero fields mean the defaults named beside them.
type Bounds struct {
	ImageBytes  int // most bytes of an encoded picture (3.75 MB, which is 5 MB as base64)
	ImagePixels int // longest side of a picture (8,000)
	ResultBytes int // most bytes of text in one tool result (1 MB)
}

func (b Bounds) withDefaults() Bounds {
	if b.ImageBytes == 0 {
		b.ImageBytes = 3_750_000
	}
	if b.ImagePixels == 0 {
		b.ImagePixels = 8000
	}
	if b.ResultBytes == 0 {
		b.ResultBytes = 1 << 20
	}
	return b
}

// Texts the normaliser puts where something is missing. They are written for the model.
const (
	lostResult   = "The call was interrupted; its outcome is unknown. Check the state before doing it again."
	goOn         = "Continue."
	cutBeginning = "(The beginning of this conversation is not shown.)"
)

// Sendable turns any history into one every provider accepts: roles alternate and a user speaks
// first and last; each call has exactly one result, right after it and in call order; call ids are
// unique; no block is empty; text is valid UTF-8; pictures and results keep within the bounds. What
// cannot stay in its place becomes a text note, so nothing disappears silently. The input is not
// changed. Sendable of a sendable history returns an equal one. Origin and Response are not kept.
//
// Who makes a conversation sendable again and again while it grows uses a [Normaliser].
func Sendable(history []Message, bounds Bounds) []Message {
	out := ended(begun(newPairing(nil).normalise(clean(history, bounds.withDefaults()))))
	if len(out) == 0 {
		return nil
	}
	return out
}

// clean repairs the blocks of all messages, and leaves out what says nothing.
func clean(history []Message, b Bounds) []Message {
	msgs := make([]Message, 0, len(history)+1) // pair may add one
	for _, m := range history {
		if m.Content = cleanBlocks(m.Role, m.Content, b); len(m.Content) > 0 {
			msgs = append(msgs, m)
		}
	}
	return msgs
}

// begun lets a user speak first.
func begun(msgs []Message) []Message {
	if len(msgs) > 0 && msgs[0].Role != User {
		return append([]Message{{Role: User, Content: []Block{Text{cutBeginning}}}}, msgs...)
	}
	return msgs
}

// ended lets a user speak last.
func ended(msgs []Message) []Message {
	if n := len(msgs); n > 0 && msgs[n-1].Role != User {
		return append(msgs, Message{Role: User, Content: []Block{Text{goOn}}})
	}
	return msgs
}

// normalise orders messages that were cleaned.
func (p *pairing) normalise(msgs []Message) []Message {
	msgs = join(p.pair(join(dropBareThinking(gather(msgs)))))
	for i := range msgs { // messages of several origins were joined
		msgs[i].Origin, msgs[i].Response = FromHuman, ""
	}
	return msgs
}

// The passes below take a list of their own and write it anew from its front; none of them writes
// further than it has read, but for one message that pair may add at the end.

// gather puts the blocks of one answer together and its results behind them: while an answer
// streams, the results of its first calls are recorded before its last blocks.
func gather(msgs []Message) []Message {
	out := msgs[:0]
	var results []Message // of the open answer
	response := ""        // of the open answer; empty: none is open
	for _, m := range msgs {
		switch {
		case m.Role == Assistant && m.Response != "" && m.Response == response:
			out = append(out, m)
		case m.Role == User && m.Origin == FromTool && response != "":
			results = append(results, m)
		default:
			out = append(append(out, results...), m)
			results, response = nil, ""
			if m.Role == Assistant {
				response = m.Response
			}
		}
	}
	return append(out, results...)
}

// join merges neighbours of one role into one message.
func join(msgs []Message) []Message {
	out := msgs[:0]
	own := false // the last content was copied, and may grow
	for _, m := range msgs {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			last := &out[n-1]
			if !own {
				last.Content, own = slices.Clip(last.Content), true
			}
			last.Content = append(last.Content, m.Content...)
			last.Stop, last.Usage = m.Stop, m.Usage
			continue
		}
		out, own = append(out, m), false
	}
	return out
}

// pairing puts calls and results together, and tells what of it later parts must know where a
// conversation is normalised part by part.
type pairing struct {
	before *settled        // what stands before; nil: nothing
	given  map[string]int  // how often an id was asked for, by calls of this part
	called map[string]bool // ids of the calls of this part, as they came
	lost   []string        // ids of calls of this part that have none
}

func newPairing(before *settled) *pairing {
	return &pairing{before: before, given: map[string]int{}, called: map[string]bool{}}
}

// pair puts behind each message with calls exactly one result a call, in call order. It expects
// alternating roles.
func (p *pairing) pair(msgs []Message) []Message {
	results := collectResults(msgs)
	out := msgs[:0]
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		if m.Role == User { // its results were taken by the calls they belong to
			if m.Content = p.without(m.Content); len(m.Content) > 0 {
				out = append(out, m)
			}
			continue
		}
		var answers []Block
		m.Content, answers = p.answer(results, i, m.Content)
		if len(answers) == 0 {
			out = append(out, m)
			continue
		}
		reply := Message{Role: User, Content: answers}
		if i+1 < len(msgs) { // the user message that follows carries them in front
			i++
			reply.ID, reply.Time = msgs[i].ID, msgs[i].Time
			reply.Content = append(reply.Content, p.without(msgs[i].Content)...)
		}
		out = append(out, m, reply)
	}
	return out
}

// pending holds the results of a history by call id, in order.
type pending map[string][]placedResult

type placedResult struct {
	at     int // index of the message it stands in
	result ToolResult
}

func collectResults(msgs []Message) pending {
	p := pending{}
	for i, m := range msgs {
		for _, b := range m.Content {
			if r, ok := b.(ToolResult); ok {
				p[r.CallID] = append(p[r.CallID], placedResult{i, r})
			}
		}
	}
	p.settle(msgs)
	return p
}

// settle drops the results no call claims: what stays is what answer hands out.
func (p pending) settle(msgs []Message) {
	claims := map[string][]int{}
	for i, m := range msgs {
		for _, c := range Calls(m) {
			claims[c.ID] = append(claims[c.ID], i)
		}
	}
	for id, placed := range p {
		var kept []placedResult
		calls := claims[id]
		for _, r := range placed {
			if len(kept) < len(calls) && r.at > calls[len(kept)] {
				kept = append(kept, r)
			}
		}
		if len(kept) == 0 {
			delete(p, id)
			continue
		}
		p[id] = kept
	}
}

// answer returns the content with unique call ids, and the results of its calls in order.
func (p *pairing) answer(results pending, at int, content []Block) (_, answers []Block) {
	content = append([]Block(nil), content...)
	for i, b := range content {
		c, ok := b.(ToolCall)
		if !ok {
			continue
		}
		p.called[c.ID] = true
		r, found := results.take(at, c.ID)
		if !found {
			p.lost = append(p.lost, c.ID)
			r = ToolResult{IsError: true, Content: []Block{Text{lostResult}}}
		}
		c.ID = p.unique(c.ID)
		r.CallID = c.ID
		content[i] = c
		answers = append(answers, r)
	}
	return content, answers
}

// take takes the first result of a call that stands behind it; those in front serve no later call.
func (p pending) take(at int, id string) (_ ToolResult, found bool) {
	for i, r := range p[id] {
		if r.at > at {
			p[id] = p[id][i+1:]
			return r.result, true
		}
	}
	return ToolResult{}, false
}

// without returns the content without results; one of a call that does not stand before becomes a note.
func (p *pairing) without(content []Block) []Block {
	var out []Block
	for _, b := range content {
		r, ok := b.(ToolResult)
		if !ok {
			out = append(out, b)
			continue
		}
		if p.called[r.CallID] || p.before.has(r.CallID) {
			continue
		}
		if text := TextOf(r.Content); text != "" {
			out = append(out, Text{"(Result of a call that is not shown:)\n" + text})
		}
	}
	return out
}

// unique returns an id that no call before was given.
func (p *pairing) unique(id string) string {
	if id == "" {
		id = "call"
	}
	out := id
	for p.asked(out) > 0 {
		n := p.asked(id) + 1
		p.given[id] = n
		out = fmt.Sprintf("%s_%d", id, n)
	}
	p.given[out] = 1
	return out
}

func (p *pairing) asked(id string) int {
	if n := p.given[id]; n > 0 || p.before == nil {
		return n
	}
	return p.before.given[id]
}

// dropBareThinking removes thinking that ends an answer: it must stand before the text or call it
// belongs to, and alone it is refused. It is what remains of an answer that broke off.
func dropBareThinking(msgs []Message) []Message {
	out := msgs[:0]
	for i, m := range msgs {
		if m.Role == Assistant && endsAnswer(msgs, i) {
			for len(m.Content) > 0 && isThinking(m.Content[len(m.Content)-1]) {
				m.Content = m.Content[:len(m.Content)-1]
			}
			if len(m.Content) == 0 {
				out = trimAnswer(out, m.Response)
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// endsAnswer says whether message i is the last of its answer; it expects gathered messages.
func endsAnswer(msgs []Message, i int) bool {
	if i+1 == len(msgs) {
		return true
	}
	next := msgs[i+1]
	return next.Role != Assistant || next.Response != msgs[i].Response || next.Response == ""
}

// trimAnswer removes the thinking at the end of msgs that belongs to the same answer.
func trimAnswer(msgs []Message, response string) []Message {
	for n := len(msgs); n > 0; n = len(msgs) {
		last := msgs[n-1]
		if last.Role != Assistant || last.Response != response || response == "" || !isThinking(last.Content[len(last.Content)-1]) {
			return msgs
		}
		msgs = msgs[:n-1]
	}
	return msgs
}

func isThinking(b Block) bool {
	switch b.(type) {
	case Thinking, RedactedThinking:
		return true
	}
	return false
}

// cleanBlocks repairs the blocks of one message and drops those that say nothing.
func cleanBlocks(role Role, content []Block, b Bounds) []Block {
	out := make([]Block, 0, len(content))
	for _, block := range content {
		if c := cleanBlock(role, block, b); c != nil {
			out = append(out, c)
		}
	}
	return out
}

func cleanBlock(role Role, block Block, b Bounds) Block {
	switch v := block.(type) {
	case Text:
		if v.Text = CleanText(v.Text); strings.TrimSpace(v.Text) == "" {
			return nil
		}
		return v
	case Thinking:
		if v.Thinking = CleanText(v.Thinking); role == User || (v.Thinking == "" && v.Signature == "" && len(v.Data) == 0) {
			return nil
		}
		return v
	case RedactedThinking:
		if v.Data == "" || role == User {
			return nil
		}
		return v
	case ToolCall:
		if role == User {
			return Text{"(call of " + CleanText(v.Name) + ")"}
		}
		return cleanCall(v)
	case ToolResult:
		if role == Assistant {
			return cleanBlock(role, Text{TextOf(v.Content)}, b)
		}
		v.CallID = CleanText(v.CallID)
		v.Content = cleanResult(v.Content, b)
		return v
	case Image:
		return boundImage(v, b)
	case Document:
		if len(v.Data) == 0 && v.URL == "" {
			return nil
		}
		v.Title = CleanText(v.Title)
		return v
	case Unknown:
		v.Raw = cleanJSON(v.Raw)
		return v
	case nil:
		return nil
	}
	return block
}

func cleanCall(c ToolCall) ToolCall {
	c.ID, c.Name = CleanText(c.ID), cleanName(c.Name)
	c.Input = cleanJSON(c.Input)
	if !isObject(c.Input) {
		c.Input = []byte("{}")
	}
	if len(c.Extra) > 0 {
		if c.Extra = cleanJSON(c.Extra); !isObject(c.Extra) {
			c.Extra = nil
		}
	}
	return c
}

// cleanName makes a name every provider accepts of what a model may have made up.
func cleanName(name string) string {
	ok := func(r rune) bool {
		return r == '_' || r == '-' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z')
	}
	out := strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, name)
	if out == "" {
		return "unknown"
	}
	return out[:min(len(out), 64)]
}

// cleanResult repairs the content of a tool result and keeps its text within bounds.
func cleanResult(content []Block, b Bounds) []Block {
	left := b.ResultBytes
	var out []Block
	for _, block := range content {
		switch v := block.(type) {
		case ToolCall, ToolResult, Thinking, RedactedThinking: // cannot stand inside a result
			continue
		case Text:
			v.Text = CleanText(v.Text)
			if cut := Cut(v.Text, max(left, 0)); len(cut) < len(v.Text) {
				v.Text = cut + fmt.Sprintf("\n[%d bytes left out]", len(v.Text)-len(cut))
				left = 0
			}
			left -= len(v.Text)
			if strings.TrimSpace(v.Text) != "" {
				out = append(out, v)
			}
		default:
			if c := cleanBlock(User, block, b); c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}
