package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Yield is where events go; false: nobody wants more.
type Yield func(provider.Event, error) bool

// Answer turns what a service sends piece by piece into the events of provider.Model: text is
// collected without copying it anew for each delta, half characters wait for their other half,
// and blocks that a service fills side by side come out one after the other. All methods do
// nothing once the reader has gone ([Answer.Gone]). It is not safe for concurrent use.
type Answer struct {
	yield   Yield
	started bool
	gone    bool
	next    int // index of the next block
	blocks  []*Block
	calls   int
	opened  bool
	ids     map[string]bool // of calls
}

// Block is one block that grows.
type Block struct {
	a       *Answer
	block   msg.Block
	kind    provider.DeltaKind // what its text adds to
	text    []byte             // all that was told so far, mended
	rest    []byte             // half a character
	sig     []byte
	pending []provider.Delta // while another block is open
	live    bool
	told    bool // its start was told
	closed  bool
	final   msg.Block // set when closed
	index   int       // set when told
}

// NewAnswer returns an answer whose events go to yield.
func NewAnswer(yield Yield) *Answer { return &Answer{yield: yield} }

// Gone reports that the reader has stopped reading.
func (a *Answer) Gone() bool { return a.gone }

// Started reports that Start was called.
func (a *Answer) Started() bool { return a.started }

// Opened reports that a block was opened, whatever its kind.
func (a *Answer) Opened() bool { return a.opened }

// Calls is the number of tool calls opened so far.
func (a *Answer) Calls() int { return a.calls }

func (a *Answer) emit(e provider.Event) {
	if !a.gone && !a.yield(e, nil) {
		a.gone = true
	}
}

// Start opens the answer. Further calls do nothing: some services repeat the head in every piece.
func (a *Answer) Start(s provider.Start) {
	if !a.started {
		a.started = true
		a.emit(s)
	}
}

// Ping tells that the connection lives. Before the start there is nobody to tell.
func (a *Answer) Ping() {
	if a.started {
		a.emit(provider.Ping{})
	}
}

// Open opens a block; b holds what is known at once, without text. The start of a text block is
// told with its first text, so that one that stays empty is never seen by anybody.
func (a *Answer) Open(b msg.Block) *Block {
	n := &Block{a: a, block: b}
	a.opened = true
	switch b := b.(type) {
	case msg.Thinking:
		n.kind = provider.ThinkingDelta
	case msg.ToolCall:
		n.block = a.named(b)
		n.kind = provider.InputDelta
		a.calls++
	case msg.Unknown:
		b.Raw = CleanJSON(b.Raw)
		n.block, n.kind = b, provider.InputDelta
	default:
		n.kind = provider.TextDelta
	}
	a.blocks = append(a.blocks, n)
	if len(a.blocks) == 1 {
		n.begin()
	}
	return n
}

// named gives a call what it needs to be answered: a name, and an id that no other call of this
// answer has. Weak models and servers leave both out, or repeat an id.
func (a *Answer) named(c msg.ToolCall) msg.ToolCall {
	if c.Name == "" {
		c.Name = "unknown"
	}
	if c.ID == "" {
		c.ID = "call_" + uuid.NewString()
	}
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	id := c.ID
	for n := 2; a.ids[c.ID]; n++ {
		c.ID = fmt.Sprintf("%s_%d", id, n)
	}
	a.ids[c.ID] = true
	return c
}

func (b *Block) begin() {
	b.live = true
	if _, words := b.block.(msg.Text); !words || len(b.pending) > 0 {
		b.announce()
	}
	for _, d := range b.pending {
		d.Index = b.index
		b.a.emit(d)
	}
	b.pending = nil
}

func (b *Block) announce() {
	if !b.told {
		b.told, b.index = true, b.a.next
		b.a.next++
		b.a.emit(provider.BlockStart{Index: b.index, Block: b.block})
	}
}

func (b *Block) tell(kind provider.DeltaKind, text []byte) {
	if b.live {
		b.announce()
		b.a.emit(provider.Delta{Index: b.index, Kind: kind, Text: string(text)})
		return
	}
	// Deltas of one kind that wait are joined, but not without end: joining is copying.
	if n := len(b.pending); n > 0 && b.pending[n-1].Kind == kind && len(b.pending[n-1].Text) < 4096 {
		b.pending[n-1].Text += string(text)
		return
	}
	b.pending = append(b.pending, provider.Delta{Kind: kind, Text: string(text)})
}

// end tells the end of a live block.
func (b *Block) end(content msg.Block, partial bool) {
	if t, words := content.(msg.Text); words && !b.told && t.Text == "" {
		return
	}
	b.announce()
	b.a.emit(provider.BlockDone{Index: b.index, Block: content, Partial: partial})
}

// Add appends text to the block. A half character at its end waits.
func (b *Block) Add(text Text) {
	if len(text) == 0 || b.closed || b.a.gone {
		return
	}
	if len(b.rest) > 0 {
		text = append(b.rest, text...)
		b.rest = nil
	}
	n := whole(text)
	if n < len(text) {
		b.rest = bytes.Clone(text[n:])
	}
	b.flush(text[:n])
}

func (b *Block) flush(text []byte) {
	if len(text) == 0 {
		return
	}
	from := len(b.text)
	b.text = mend(b.text, text)
	b.tell(b.kind, b.text[from:])
}

// Sign appends to the signature of a thinking block.
func (b *Block) Sign(text Text) {
	if len(text) == 0 || b.closed || b.a.gone {
		return
	}
	from := len(b.sig)
	b.sig = mend(b.sig, text)
	b.tell(provider.SignatureDelta, b.sig[from:])
}

// Len is the number of bytes of text so far.
func (b *Block) Len() int { return len(b.text) }

// Text is what the block holds so far; it is valid until the next call.
func (b *Block) Text() []byte { return b.text }

// Closed reports that the block was closed.
func (b *Block) Closed() bool { return b.closed }

// Block is what the block was opened with.
func (b *Block) Block() msg.Block { return b.block }

// Amend replaces what the block was opened with, for services that tell a name or id late.
func (b *Block) Amend(block msg.Block) { b.block = block }

// Close ends the block with what was collected.
func (b *Block) Close() {
	if !b.closed {
		b.CloseAs(b.Content())
	}
}

// CloseAs ends the block with another content than what was collected, for services that repeat
// the whole at its end.
func (b *Block) CloseAs(content msg.Block) {
	if b.closed {
		return
	}
	b.flush(b.rest)
	b.rest = nil
	b.closed = true
	b.final = content
	b.a.settle()
}

// settle tells the end of closed blocks in order, and lets the next one begin.
func (a *Answer) settle() {
	for len(a.blocks) > 0 && a.blocks[0].closed {
		first := a.blocks[0]
		first.end(first.final, false)
		a.blocks = a.blocks[1:]
		if len(a.blocks) > 0 {
			a.blocks[0].begin()
		}
	}
}

// Content is the block as it stands.
func (b *Block) Content() msg.Block {
	text := string(b.text)
	if len(b.rest) > 0 {
		text += string(mend(nil, b.rest))
	}
	switch block := b.block.(type) {
	case msg.Text:
		block.Text += text
		return block
	case msg.Thinking:
		block.Thinking += text
		block.Signature += string(b.sig)
		return block
	case msg.ToolCall:
		return WithInput(block, text)
	}
	return b.block
}

// WithInput gives a call the input a model wrote. What is no JSON object is kept as Malformed; no
// input at all is an empty object.
func WithInput(call msg.ToolCall, text string) msg.ToolCall {
	call.Input = json.RawMessage("{}")
	call.Malformed = ""
	trimmed := bytes.TrimSpace([]byte(text))
	if len(trimmed) == 0 {
		return call
	}
	if trimmed[0] == '{' && json.Valid(trimmed) {
		call.Input = trimmed
		return call
	}
	call.Malformed = text
	return call
}

// Done closes what is still open and the answer.
func (a *Answer) Done(stop msg.Stop, u msg.Usage) {
	for _, b := range append([]*Block(nil), a.blocks...) {
		b.Close()
	}
	a.emit(provider.Done{Stop: stop, Usage: u})
}

// Fail ends the answer with an error. Blocks that are complete come first, and what there is of
// open ones, marked Partial.
func (a *Answer) Fail(err error) {
	for len(a.blocks) > 0 {
		first := a.blocks[0]
		if first.closed {
			first.end(first.final, false)
		} else {
			first.flush(first.rest)
			first.rest = nil
			first.end(first.Content(), true)
		}
		a.blocks = a.blocks[1:]
		if len(a.blocks) > 0 {
			a.blocks[0].begin()
		}
	}
	if !a.gone {
		a.gone = true
		a.yield(nil, err)
	}
}
