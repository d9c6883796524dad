package conversation

import (
	"context"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

// display lets the MessageDisplay hooks rewrite what is shown of the model's texts. What the model
// and the transcript have stays as it is. A person sees batches of complete lines, each when its
// hooks have answered; where nobody sits, a text goes through the hooks once, whole.
type display struct {
	rewrite func(context.Context, Batch) *string
	lines   bool // batches of lines, not whole texts

	response string        // the model speaks in
	index    int           // of the next batch
	held     string        // of the text, not shown yet
	shown    string        // of the text
	texts    []shownText   // of the turn, in order
	block    proto.Delta   // the delta that is held, without its text
	pending  []proto.Event // reused
}

// shownText is a text of the model and what was shown for it.
type shownText struct{ said, shown string }

// Batch is a piece of what is about to be shown.
type Batch struct {
	Message string // id of the answer
	Index   int    // of the batch in its text
	Final   bool   // the text ends with it
	Text    string
}

// newDisplay returns nil when nobody wants to see what is displayed.
func newDisplay(given Given, turn string) *display {
	if given.Turns.Display == nil {
		return nil
	}
	rewrite := given.Turns.Display(turn)
	if rewrite == nil {
		return nil
	}
	return &display{rewrite: rewrite, lines: given.Session.Get().Interactive}
}

// pass returns what surfaces get for an event of the main conversation. The slice is valid until
// the next call.
func (d *display) pass(ctx context.Context, e proto.Event) []proto.Event {
	if e.Agent != "" {
		return []proto.Event{e}
	}
	d.pending = d.pending[:0]
	switch b := e.Body.(type) {
	case proto.AnswerStarted:
		d.response = b.Response
	case proto.Delta:
		if b.Kind == "text" {
			d.delta(ctx, b)
			return d.pending
		}
	case proto.Message:
		if text := msg.TextOf(b.Message.Content); b.Message.Role == msg.Assistant && text != "" {
			e.Body = d.message(ctx, b, text)
		}
	case proto.BlockEnded, proto.AnswerEnded:
		d.flush(ctx)
	}
	return append(d.pending, e)
}

// delta holds a piece of a text until its line, or the text, is complete.
func (d *display) delta(ctx context.Context, b proto.Delta) {
	d.held += b.Text
	d.block = b
	if end := strings.LastIndexByte(d.held, '\n') + 1; d.lines && end > 0 {
		batch := d.held[:end]
		d.held = d.held[end:]
		d.show(ctx, batch, false)
	}
}

// message shows the rest of a text, and the message with the text as it was shown.
func (d *display) message(ctx context.Context, b proto.Message, text string) proto.Message {
	streamed := d.held != "" || d.index > 0
	if !streamed {
		d.held = text
	}
	d.show(ctx, d.held, true)
	if !streamed {
		d.pending = d.pending[:0] // the message alone tells it
	}
	d.texts = append(d.texts, shownText{text, d.shown})
	if d.shown != text {
		b.Message.Content = []msg.Block{msg.Text{Text: d.shown}}
	}
	d.held, d.shown, d.index = "", "", 0
	return b
}

// flush shows what is left of a text that became no message.
func (d *display) flush(ctx context.Context) {
	if d.held != "" || d.index > 0 {
		d.show(ctx, d.held, true)
	}
	d.held, d.shown, d.index = "", "", 0
}

// show asks the hooks about a batch and leaves what is shown for it.
func (d *display) show(ctx context.Context, batch string, final bool) {
	rewritten := d.rewrite(ctx, Batch{Message: d.response, Index: d.index, Final: final, Text: batch})
	d.index++
	if rewritten != nil {
		batch = *rewritten
	}
	d.shown += batch
	if batch == "" {
		return
	}
	b := d.block
	b.Kind, b.Text = "text", batch
	d.pending = append(d.pending, proto.E(b))
}

// result is the text of the turn's end as it was shown: the text is the last of those that were
// said, put together.
func (d *display) result(text string) string {
	if d == nil {
		return text
	}
	shown := ""
	for i := len(d.texts) - 1; i >= 0; i-- {
		t := d.texts[i]
		rest, ok := strings.CutSuffix(text, t.said)
		if !ok {
			break
		}
		text, shown = rest, t.shown+shown
	}
	return text + shown
}
