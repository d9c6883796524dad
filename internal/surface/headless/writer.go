package headless

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// writer turns events into the asked form of output.
type writer struct {
	opt    Options
	mapper *mapper
	all    []json.RawMessage // JSON with Verbose: every message so far
	local  string            // text: what a local command printed in this turn
}

func newWriter(o Options) *writer {
	return &writer{opt: o, mapper: newMapper(mapOptions{
		Partial:      o.Partial && o.Format == StreamJSON,
		HookEvents:   o.HookEvents,
		Replay:       o.Replay,
		StateEvents:  o.StateEvents,
		SubagentText: o.SubagentText,
		Init:         o.Init,
		NewID:        o.NewID,
		Now:          o.Now,
	})}
}

// event writes what one event needs to be written at once. Its errors are those of the output.
func (w *writer) event(e proto.Event) error {
	w.tell(e)
	if w.opt.Format == Text {
		return w.text(e)
	}
	for _, o := range w.mapper.Map(e) {
		if w.opt.Format == JSON {
			w.gather(o)
			continue
		}
		if _, err := w.opt.Out.Write(line(o)); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) gather(o object) {
	kind, _ := o.kind()
	if kind != "result" && !w.opt.Verbose {
		return
	}
	raw := line(o)
	if !w.opt.Verbose {
		w.all = w.all[:0]
	}
	w.all = append(w.all, raw[:len(raw)-1])
}

// tell writes to people, on the error stream, what a run that is not clean needs to say. Hosts
// read the same on the wire and may take anything on the error stream for a failure.
func (w *writer) tell(e proto.Event) {
	if w.opt.SDK {
		return
	}
	switch b := e.Body.(type) {
	case proto.Denied:
		fmt.Fprintf(w.opt.Err, "myelin: %s\n", deniedLine(b))
	case proto.Notice:
		if b.Level == "warning" || b.Level == "error" {
			fmt.Fprintf(w.opt.Err, "myelin: %s: %s\n", b.Level, visible.Line(b.Text))
		}
	case proto.Retry:
		fmt.Fprintf(w.opt.Err, "myelin: %s\n", retryLine(b))
	case proto.Fallback:
		fmt.Fprintf(w.opt.Err, "myelin: %s takes over from %s: %s\n", visible.Line(b.To), visible.Line(b.From), visible.Line(b.Reason))
	}
}

// retryLine says that a request is made again, when, and why.
func retryLine(b proto.Retry) string {
	when := "at once"
	if wait := time.Duration(b.DelayMS) * time.Millisecond; wait > 0 {
		when = "in " + wait.String()
	}
	return fmt.Sprintf("trying again %s (%d of %d): %s", when, b.Attempt, b.Max, visible.Line(or(b.Message, b.Kind)))
}

// deniedLine says what was refused and which rule would let it pass.
func deniedLine(b proto.Denied) string {
	text := visible.Line(b.Tool) + " was refused: " + visible.Line(or(b.Message, b.Reason))
	if b.Rule != "" {
		text += fmt.Sprintf("; to allow it: --allowedTools %s", visible.ExactLine(shellQuote(b.Rule)))
	}
	return text
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (w *writer) text(e proto.Event) error {
	if e.Agent != "" {
		return nil
	}
	switch b := e.Body.(type) {
	case proto.TurnStarted:
		w.local = ""
	case proto.LocalOutput:
		w.local += b.Text
	case proto.CallAnnounced:
		if w.opt.Brief && b.Tool == "SendUserMessage" {
			return w.brief(b)
		}
	}
	return nil
}

// brief writes a message the model sent to the user while it goes on working.
func (w *writer) brief(b proto.CallAnnounced) error {
	var in struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(b.Input, &in); err != nil || in.Message == "" {
		return nil // the tool answers the model's mistake
	}
	return w.writeText(in.Message)
}

func (w *writer) writeText(text string) error {
	if text == "" {
		return nil
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := w.opt.Out.Write([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	return err
}

// close writes what the last result closes.
func (w *writer) close(r proto.Result) error {
	if r.IsError && !w.opt.SDK {
		fmt.Fprintf(w.opt.Err, "myelin: %s\n", failure(r))
	}
	switch w.opt.Format {
	case Text:
		return w.closeText(r)
	case JSON:
		return w.closeJSON()
	}
	return nil
}

func (w *writer) closeText(r proto.Result) error {
	if r.IsError {
		return nil // an error is no answer: nothing on the output
	}
	if r.Text == "" && w.local == "" && r.Ended.Detail != "" {
		fmt.Fprintf(w.opt.Err, "myelin: %s\n", visible.Line(r.Ended.Detail))
	}
	return w.writeText(or(r.Text, w.local))
}

func (w *writer) closeJSON() error {
	if !w.opt.Verbose {
		if len(w.all) == 0 {
			return nil
		}
		_, err := w.opt.Out.Write(append(w.all[len(w.all)-1], '\n'))
		return err
	}
	raw, err := encode(list(w.all))
	if err != nil {
		return err
	}
	_, err = w.opt.Out.Write(append(separators(raw), '\n'))
	return err
}

// failure is why a turn failed, in one line.
func failure(r proto.Result) string {
	switch {
	case r.Ended.API != nil:
		return visible.Line(apiErrorText(*r.Ended.API))
	case len(r.Errors) > 0:
		return visible.Line(strings.Join(r.Errors, "; "))
	case r.Ended.Detail != "":
		return visible.Line(r.Ended.Detail)
	case r.Text != "":
		return visible.Line(r.Text)
	case r.Ended.Reason != "":
		return "the turn ended: " + string(r.Ended.Reason)
	}
	return "the turn failed"
}

// PromptText is a prompt of one text.
func PromptText(text string) []msg.Block { return []msg.Block{msg.Text{Text: text}} }
