package plain

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Printer turns the events of a session into lines that are final. It keeps only what it needs to
// pair beginnings with ends. Not for concurrent use.
type Printer struct {
	style screen.Style
	cells func() int      // width of the window
	cwd   string          // paths below it are shown relative to it
	facts func() []string // what the line after a turn adds; nil: nothing

	answer    screen.MarkdownStream // the open text of the main conversation
	streamed  map[string]bool       // answers whose text came as deltas, by response id
	response  string                // the answer that comes now
	block     string                // kind of the open block
	blockAt   time.Time             // when it was opened
	calls     map[string]*callState
	tasks     map[string]proto.Task
	todos     []proto.Todo
	tools     int    // calls of this turn
	notice    string // the last notice, so that one said again and again is said once
	noticeAt  time.Time
	spoke     bool              // something of the model was printed in this turn
	said      bool              // the last that was printed is what the model said
	apart     bool              // what it says next stands apart from what was printed last
	activity  string            // what goes on, in a few words; empty: nothing
	lastEvent time.Time         // when something came last
	asked     map[string]asking // questions about calls that are open, by id
	typed     map[string]bool   // ids of prompts that were printed when they were typed
}

// callState is what is known of a call that is not printed yet.
type callState struct {
	tool   string
	title  string
	input  json.RawMessage
	waited float64 // seconds that a person thought about it
	ended  *proto.CallEnded
	result *msg.Message
}

// asking is an open question about a call.
type asking struct {
	call  string
	since time.Time
}

// NewPrinter makes a printer for windows of the given width, asked at each line.
func NewPrinter(style screen.Style, cells func() int) *Printer {
	return &Printer{
		style:    style,
		cells:    cells,
		answer:   screen.MarkdownStream{Style: style},
		streamed: map[string]bool{},
		calls:    map[string]*callState{},
		tasks:    map[string]proto.Task{},
		typed:    map[string]bool{},
		asked:    map[string]asking{},
	}
}

// Event returns the lines an event adds for ever; often none.
func (p *Printer) Event(e proto.Event) []string {
	if !e.Time.IsZero() {
		p.lastEvent = e.Time
	}
	if e.Agent != "" {
		return p.agentEvent(e)
	}
	switch b := e.Body.(type) {
	case proto.Ask:
		p.asked[b.ID] = asking{b.Call, e.Time}
	case proto.AskClosed:
		if a, c := p.asked[b.ID], p.calls[p.asked[b.ID].call]; c != nil && !a.since.IsZero() {
			c.waited += e.Time.Sub(a.since).Seconds()
		}
		delete(p.asked, b.ID)
		return p.system(e)
	case proto.TurnStarted:
		p.cwd, p.tools, p.spoke, p.activity = b.Cwd, 0, false, "waiting for the model"
	case proto.Message:
		return p.message(e, b.Message)
	case proto.RequestStarted:
		p.activity = "waiting for the model"
		return p.act(p.flush())
	case proto.AnswerStarted:
		p.response = b.Response
	case proto.BlockStarted:
		return p.blockStarted(e, b)
	case proto.Delta:
		return p.delta(b)
	case proto.BlockEnded:
		return p.blockEnded(e)
	case proto.AnswerEnded:
		return p.answerEnded(b)
	case proto.CallAnnounced:
		return p.callAnnounced(b)
	case proto.CallProgress:
		p.callProgress(b)
	case proto.CallEnded:
		return p.act(p.callEnded(b))
	case proto.LocalOutput:
		return p.localOutput(b)
	case proto.Result:
		return p.result(b)
	case proto.Todos:
		return p.todosChanged(b.Items)
	case proto.TaskStarted, proto.TaskUpdated, proto.TaskEnded, proto.TasksChanged:
		return p.task(e)
	default:
		return p.system(e)
	}
	return nil
}

// Activity says in a few words what goes on, empty when nothing does.
func (p *Printer) Activity() string { return p.activity }

// Tail is the end of what the model says right now and that is not final yet.
func (p *Printer) Tail() string {
	if p.block != "text" {
		return ""
	}
	return visible.Text(p.answer.Tail(400))
}

// Typed tells that a prompt was printed when it was typed, so that its message is not printed
// again.
func (p *Printer) Typed(id string) { p.typed[id] = true }

// agentEvent shows of subagents only what they do now; their beginning and end are tasks.
func (p *Printer) agentEvent(e proto.Event) []string {
	switch b := e.Body.(type) {
	case proto.CallAnnounced:
		p.activity = "agent: " + callTitle(b.Tool, b.Input, p.cwd)
	case proto.Denied:
		return p.denied("agent: ", b)
	case proto.Notice:
		return p.notify(b)
	}
	return nil
}

func (p *Printer) blockStarted(e proto.Event, b proto.BlockStarted) []string {
	p.block, p.blockAt = b.Kind, e.Time
	switch b.Kind {
	case "text":
		p.activity, p.apart = "answering", true
	case "thinking", "redacted_thinking":
		p.activity = "thinking"
	case "tool_use":
		p.activity = "preparing " + visible.Line(b.Tool)
	}
	return nil
}

func (p *Printer) delta(b proto.Delta) []string {
	if b.Kind != "text" {
		return nil
	}
	p.streamed[p.response] = true
	return p.speak(p.answer.Add(b.Text, p.cells()))
}

// speak sets what the model says apart from what stands before, and marks where it begins to
// speak where signs do not.
func (p *Printer) speak(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	first := !p.spoke
	p.spoke = true
	if p.apart = p.apart || first; !p.apart {
		return lines
	}
	p.apart, p.said = false, true
	if first && p.style.Words() {
		return append([]string{"", "myelin:"}, lines...)
	}
	return append([]string{""}, lines...)
}

// act sets what is done apart from what was said.
func (p *Printer) act(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	said := p.said
	p.said, p.apart = false, true
	if said {
		return append([]string{""}, lines...)
	}
	return lines
}

func (p *Printer) blockEnded(e proto.Event) []string {
	kind := p.block
	p.block = ""
	switch kind {
	case "text":
		return p.speak(p.answer.End(p.cells()))
	case "thinking":
		if took := e.Time.Sub(p.blockAt); took >= time.Second && !p.blockAt.IsZero() {
			return []string{p.style.Dim(p.style.Sign("∴ ", "") + "thought for " + seconds(took.Seconds()))}
		}
	}
	return nil
}

func (p *Printer) answerEnded(b proto.AnswerEnded) []string {
	out := p.speak(p.answer.End(p.cells()))
	if b.Cut != "" {
		out = append(out, p.style.Dim(p.style.Sign("— ", "-- ")+visible.Line(b.Cut)+p.style.Sign(" —", " --")))
	}
	return out
}

// message prints a message of the conversation that did not come piece by piece.
func (p *Printer) message(e proto.Event, m msg.Message) []string {
	if m.Role == msg.Assistant {
		return p.assistant(m)
	}
	switch m.Origin {
	case msg.FromTool:
		return p.act(p.toolResult(m))
	case msg.FromInterrupt:
		return []string{p.style.Yellow(visible.Line(msg.TextOf(m.Content)))}
	case msg.FromSummary, msg.FromHarness, msg.FromTask:
		return nil // the program's own words to the model; what people need of them has events
	}
	if p.typed[m.ID] {
		delete(p.typed, m.ID)
		return nil
	}
	return p.Prompt(promptText(m.Content))
}

func (p *Printer) assistant(m msg.Message) []string {
	text := msg.TextOf(m.Content)
	if text == "" || p.streamed[m.Response] {
		return nil
	}
	s := screen.MarkdownStream{Style: p.style}
	p.apart = true
	return p.speak(append(s.Add(text, p.cells()), s.End(p.cells())...))
}

// promptText is what a person said, with a word for what is not text.
func promptText(content []msg.Block) string {
	var parts []string
	for _, b := range content {
		switch b := b.(type) {
		case msg.Text:
			parts = append(parts, b.Text)
		case msg.Image:
			parts = append(parts, fmt.Sprintf("[image, %d kB]", len(b.Data)/1024))
		case msg.Document:
			parts = append(parts, "[document "+b.Title+"]")
		}
	}
	return strings.Join(parts, "\n")
}

// Prompt returns the lines that show what a person typed.
func (p *Printer) Prompt(text string) []string {
	mark := p.style.Bold(p.style.Sign("› ", "> "))
	if p.style.Words() {
		mark = "you: "
	}
	pad := strings.Repeat(" ", screen.Width(mark))
	out := []string{""}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	cut := 0
	if len(lines) > 24 { // the whole text is in the conversation
		cut = len(lines) - 20
		lines = lines[:20]
	}
	for i, l := range lines {
		if i > 0 {
			mark = pad
		}
		out = append(out, mark+visible.Text(l))
	}
	if cut > 0 {
		out = append(out, p.style.Dim(fmt.Sprintf("%s%s %d more lines", pad, p.style.Sign("…", "..."), cut)))
	}
	return out
}

func (p *Printer) localOutput(b proto.LocalOutput) []string {
	text := strings.TrimRight(b.Text, "\n")
	if text == "" {
		return nil
	}
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		l = visible.Text(l)
		if b.Error {
			l = p.style.Red(l)
		}
		out = append(out, l)
	}
	return out
}

func (p *Printer) result(r proto.Result) []string {
	out := p.flush()
	p.activity = ""
	if r.IsError || r.Ended.API != nil {
		out = append(out, p.failure(r)...)
	}
	if r.Turns == 0 && r.Ended.Reason == "" {
		return out // a local command
	}
	facts := []string{seconds(float64(r.DurationMS) / 1000)}
	if p.tools == 1 {
		facts = append(facts, "1 tool")
	} else if p.tools > 1 {
		facts = append(facts, fmt.Sprintf("%d tools", p.tools))
	}
	if p.facts != nil {
		facts = append(facts, p.facts()...)
	}
	return append(out, p.style.Dim(p.style.Sign("— ", "-- ")+strings.Join(facts, p.style.Sign(" · ", ", "))))
}

func (p *Printer) failure(r proto.Result) []string {
	var text string
	switch {
	case r.Ended.Reason == proto.EndStreaming || r.Ended.Reason == proto.EndTools:
		return nil // the interrupt was shown where it happened
	case r.Ended.API != nil:
		text = "API error"
		if r.Ended.API.Status != 0 {
			text += fmt.Sprintf(" %d", r.Ended.API.Status)
		}
		text += ": " + r.Ended.API.Message
	case len(r.Errors) > 0:
		text = strings.Join(r.Errors, "; ")
	case r.Ended.Detail != "":
		text = r.Ended.Detail
	default:
		text = "the turn ended: " + string(r.Ended.Reason)
	}
	return screen.Wrap(p.style.Outcome("error")+" "+visible.Line(text), p.cells())
}

// flush prints calls of which only one half came.
func (p *Printer) flush() []string {
	var out []string
	for id, c := range p.calls {
		if c.ended != nil || c.result != nil {
			out = append(out, p.call(id, c)...)
		}
	}
	return out
}

// seconds is a span of time for people.
func seconds(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", int(s)/60, int(s)%60)
	}
	return fmt.Sprintf("%d h %d min", int(s)/3600, int(s)/60%60)
}
