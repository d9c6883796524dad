// Package contract is the test suite that every implementation of provider.Model passes, the
// clients of real services as well as the models that need no network.
//
// It holds no model. [Check] judges one stream of events; [Any] is the part of the suite that any
// model passes, [Played] the part for models that can play a script.
package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Answer is what one stream of events amounts to.
type Answer struct {
	Start  provider.Start
	Blocks []msg.Block // complete ones
	Partly []msg.Block // those that were cut
	Deltas int
	Pings  int
	Done   *provider.Done
	Err    error
}

// Text is the text of the complete blocks.
func (a Answer) Text() string { return msg.TextOf(a.Blocks) }

// Calls returns the complete tool calls.
func (a Answer) Calls() []msg.ToolCall { return msg.Calls(msg.Message{Content: a.Blocks}) }

// reader follows a stream and knows what may come next.
type reader struct {
	Answer
	started  bool
	open     bool
	index    int
	start    msg.Block
	text     string
	sig      string
	finished bool
}

// Check reads a whole stream and returns what it amounts to; the error says which promise of
// provider.Model it broke. An error the stream ends with is in the answer.
func Check(stream func(yield func(provider.Event, error) bool)) (Answer, error) {
	r := reader{index: -1}
	var broken error
	stream(func(e provider.Event, err error) bool {
		if broken = r.take(e, err); broken != nil {
			return false
		}
		return true
	})
	switch {
	case broken != nil:
	case !r.finished:
		broken = errors.New("the stream ended with neither Done nor an error")
	case r.open:
		broken = fmt.Errorf("block %d was never closed", r.index)
	}
	return r.Answer, broken
}

func (r *reader) take(e provider.Event, err error) error {
	if r.finished {
		return fmt.Errorf("%T (error %v) after the end", e, err)
	}
	if err != nil {
		r.finished, r.Err = true, err
		if e != nil {
			return fmt.Errorf("the error does not come alone but with %T", e)
		}
		if r.open {
			return fmt.Errorf("the error comes while block %d is open", r.index)
		}
		return nil
	}
	if _, ok := e.(provider.Start); !ok && !r.started {
		return fmt.Errorf("%T before Start", e)
	}
	switch e := e.(type) {
	case provider.Start:
		if r.started {
			return errors.New("a second Start")
		}
		r.started, r.Start = true, e
		if e.ID == "" {
			return errors.New("the Start has no ID")
		}
	case provider.BlockStart:
		return r.begin(e)
	case provider.Delta:
		return r.delta(e)
	case provider.BlockDone:
		return r.done(e)
	case provider.Ping:
		r.Pings++
	case provider.Done:
		r.finished, r.Answer.Done = true, &e
		if r.open {
			return fmt.Errorf("a Done while block %d is open", r.index)
		}
		if e.Stop == "" {
			return errors.New("the Done has no stop reason")
		}
	default:
		return fmt.Errorf("unknown event %T", e)
	}
	return nil
}

func (r *reader) begin(e provider.BlockStart) error {
	if r.open {
		return fmt.Errorf("block %d begins while %d is open", e.Index, r.index)
	}
	if e.Index != r.index+1 {
		return fmt.Errorf("block %d follows %d", e.Index, r.index)
	}
	r.open, r.index, r.start, r.text, r.sig = true, e.Index, e.Block, "", ""
	switch b := e.Block.(type) {
	case msg.Text:
		if b.Text != "" {
			return errors.New("a text block does not begin empty")
		}
	case msg.ToolCall:
		if b.ID == "" || b.Name == "" {
			return fmt.Errorf("a call begins without id or name: %+v", b)
		}
	case nil:
		return errors.New("a block begins as nil")
	}
	return nil
}

func (r *reader) delta(e provider.Delta) error {
	if !r.open || e.Index != r.index {
		return fmt.Errorf("a delta for block %d, open is %d (%t)", e.Index, r.index, r.open)
	}
	if !utf8.ValidString(e.Text) {
		return fmt.Errorf("delta %q is not valid UTF-8", e.Text)
	}
	if e.Text == "" {
		return errors.New("an empty delta")
	}
	want := provider.TextDelta
	switch r.start.(type) {
	case msg.Thinking:
		want = provider.ThinkingDelta
	case msg.ToolCall, msg.Unknown:
		want = provider.InputDelta
	}
	if e.Kind == provider.SignatureDelta {
		r.sig += e.Text
		return nil
	}
	if e.Kind != want {
		return fmt.Errorf("a %s delta in a %s block", e.Kind, r.start.Type())
	}
	r.text += e.Text
	r.Deltas++
	return nil
}

func (r *reader) done(e provider.BlockDone) error {
	if !r.open || e.Index != r.index {
		return fmt.Errorf("block %d ends, open is %d (%t)", e.Index, r.index, r.open)
	}
	r.open = false
	if e.Block == nil || e.Block.Type() != r.start.Type() {
		return fmt.Errorf("block %d began as %T and ends as %T", e.Index, r.start, e.Block)
	}
	if e.Partial {
		r.Partly = append(r.Partly, e.Block)
	} else {
		r.Blocks = append(r.Blocks, e.Block)
	}
	return r.same(e)
}

// same compares a block with what its deltas told.
func (r *reader) same(e provider.BlockDone) error {
	switch b := e.Block.(type) {
	case msg.Text:
		if b.Text != r.text {
			return fmt.Errorf("deltas told %q, the text is %q", r.text, b.Text)
		}
		if b.Text == "" && !e.Partial {
			return errors.New("a text block is empty")
		}
	case msg.Thinking:
		if b.Thinking != r.text {
			return fmt.Errorf("deltas told %q, the thinking is %q", r.text, b.Thinking)
		}
	case msg.ToolCall:
		start := r.start.(msg.ToolCall)
		if b.ID != start.ID || b.Name != start.Name {
			return fmt.Errorf("call %s %s ends as %s %s", start.ID, start.Name, b.ID, b.Name)
		}
		if !json.Valid(b.Input) || len(b.Input) == 0 || b.Input[0] != '{' {
			return fmt.Errorf("the input of call %s is no object: %s", b.ID, b.Input)
		}
		if b.Malformed == "" && r.text != "" && !sameJSON(r.text, b.Input) {
			return fmt.Errorf("deltas told input %s, the call has %s", r.text, b.Input)
		}
	}
	return nil
}

func sameJSON(a string, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
