package plain

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// face is what both ways of typing share: what is known of the session, what is asked, what is
// printed.
type face struct {
	ctx     context.Context
	session Session
	opt     Options
	style   screen.Style
	printer *Printer

	running   bool // a turn runs
	stopping  bool // and was asked to stop
	queued    []proto.QueuedPrompt
	questions []*screen.Question // open, oldest first; the first is the one asked now
	recall    recall
	turns     int
	sent      int // prompts that no event has answered yet
	local     int // commands of the session that no event has answered yet
	leaving   bool
	rows      func() int // of the window; nil: nothing has to stay in sight
}

func newFace(ctx context.Context, s Session, o Options, style screen.Style, cells func() int) *face {
	f := &face{ctx: ctx, session: s, opt: o, style: style, printer: NewPrinter(style, cells), recall: recall{source: o.History}}
	f.printer.facts = f.facts
	return f
}

// do carries out an operation and returns the line that says why it could not.
func (f *face) do(body proto.OpBody) []string {
	op := proto.O(body)
	op.From = surfaceID
	if err := f.session.Do(op); err != nil {
		return []string{f.style.Red("error: " + visible.Line(err.Error()))}
	}
	return nil
}

// banner are the first lines.
func (f *face) banner() []string {
	if f.opt.Quiet {
		return nil
	}
	v := f.session.View()
	line := "myelin"
	if f.opt.Version != "" {
		line += " " + f.opt.Version
	}
	head := f.style.Bold(line)
	for _, part := range []string{v.Model, v.Mode} {
		if part != "" {
			head += f.style.Dim(" · " + visible.Line(part))
		}
	}
	out := []string{head}
	if v.Cwd != "" {
		out = append(out, f.style.Dim(visible.Line(v.Cwd)))
	}
	return out
}

// facts are what the line after a turn says of the session.
func (f *face) facts() []string {
	v := f.session.View()
	var out []string
	if v.CostUSD > 0 || v.BudgetUSD > 0 {
		cost := money(v.CostUSD)
		if v.BudgetUSD > 0 {
			cost += "/" + strings.TrimPrefix(money(v.BudgetUSD), "$")
		}
		out = append(out, cost)
	}
	for _, part := range []string{v.Model, v.Mode} {
		if part != "" {
			out = append(out, visible.Line(part))
		}
	}
	if v.ContextWindow > 0 {
		out = append(out, fmt.Sprintf("ctx %d %%", v.ContextUsed*100/v.ContextWindow))
	}
	if v.Running > 0 {
		out = append(out, fmt.Sprintf("%d in the background", v.Running))
	}
	return out
}

func money(usd float64) string {
	if usd < 0.01 && usd > 0 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// event takes one event in and returns the lines it adds.
func (f *face) event(e proto.Event) []string {
	lines := f.printer.Event(e)
	if e.Agent == "" && answersCommand(e.Body) {
		f.local = 0
	}
	switch b := e.Body.(type) {
	case proto.TurnStarted:
		if e.Agent == "" {
			f.running, f.stopping, f.sent = true, false, 0
		}
	case proto.Result:
		if e.Agent == "" {
			f.running, f.stopping, f.sent = false, false, 0
			f.turns++
		}
	case proto.Activity:
		if b.State == "idle" {
			f.running, f.stopping, f.sent = false, false, 0
		}
	case proto.Queued:
		f.queued = slices.Clone(b.Prompts)
	case proto.Message: // a prompt the model has got waits no longer
		f.queued = slices.DeleteFunc(f.queued, func(q proto.QueuedPrompt) bool { return q.ID == b.Message.ID })
	case proto.Ask:
		lines = append(lines, f.ask(screen.NewQuestion(b, surfaceID))...)
	case proto.AskClosed:
		lines = append(lines, f.closed(b.ID)...)
	}
	return lines
}

// answersCommand reports whether an event may be all that a slash command leads to.
func answersCommand(b proto.EventBody) bool {
	switch b.(type) {
	case proto.LocalOutput, proto.Result, proto.TurnStarted, proto.SessionReset, proto.ModeChanged, proto.ModelChanged, proto.Compacted:
		return true
	}
	return false
}

// busy reports whether a turn runs or is about to.
func (f *face) busy() bool { return f.running || f.sent > 0 }

// ask puts a question behind those already open. It is shown when its turn comes.
func (f *face) ask(q *screen.Question) []string {
	f.questions = append(f.questions, q)
	if len(f.questions) > 1 {
		return nil
	}
	return q.Lines(f.style, f.window())
}

// window is what a question is laid out for.
func (f *face) window() screen.Window {
	w := screen.Window{Cells: f.printer.cells(), Cwd: f.printer.cwd}
	if f.rows != nil {
		w.Rows = f.rows()
	}
	return w
}

// closed takes a question away, and shows the next where it was the one asked now.
func (f *face) closed(id string) []string {
	i := slices.IndexFunc(f.questions, func(q *screen.Question) bool { return q.Ask.ID == id })
	if i < 0 {
		return nil
	}
	f.questions = slices.Delete(f.questions, i, i+1)
	if i > 0 || len(f.questions) == 0 {
		return nil
	}
	return f.questions[0].Lines(f.style, f.window())
}

// asked is the question asked now, nil when there is none.
func (f *face) asked() *screen.Question {
	if len(f.questions) == 0 {
		return nil
	}
	return f.questions[0]
}

// settle does what an answer to the present question came to.
func (f *face) settle(v screen.Verdict) []string {
	q := f.asked()
	var out []string
	if v.Said != "" {
		out = append(out, f.style.Dim("  "+f.style.Sign("→ ", "-> ")+visible.Line(v.Said)))
	}
	switch {
	case v.Again != "":
		return append(out, f.style.Yellow("  "+visible.Line(v.Again)))
	case (v.Answer == nil || v.Back) && len(q.Parts) > 0:
		return append(out, q.PartLines(f.style, f.printer.cells())...)
	case v.Answer == nil:
		return out
	}
	id := q.Ask.ID
	if q.Local != nil {
		out = append(out, q.Local(v.Answer.Option)...)
	} else {
		out = append(out, f.do(*v.Answer)...)
	}
	return append(out, f.closed(id)...)
}

// submit takes a typed line: a command of this face, or a prompt for the session.
func (f *face) submit(text string) []string {
	text = strings.TrimRight(text, " \n\t")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	f.recall.add(text)
	switch name, arg, _ := strings.Cut(strings.TrimSpace(text), " "); name {
	case "/exit", "/quit", "exit", "quit":
		if arg == "" {
			f.leaving = true
			return nil
		}
	case "?":
		if arg == "" {
			return append(f.prompt("/help"), keyHelp(f.style)...)
		}
	case "/resume", "/continue":
		if arg == "" && f.opt.Sessions != nil {
			return append(f.printer.Prompt(text), f.pick()...)
		}
	case "/help":
		if arg == "" {
			return append(f.prompt(text), keyHelp(f.style)...)
		}
	}
	if slip := f.slip(text); slip != "" {
		return append(f.printer.Prompt(text), f.style.Yellow(slip))
	}
	return f.prompt(text)
}

// slip says that a line looks like a slash command and is none; sent as a prompt it would cost money and puzzle
// the model. Paths, and lines that begin with a blank, are prompts.
func (f *face) slip(text string) string {
	word, _, _ := strings.Cut(text, " ")
	name, ok := strings.CutPrefix(word, "/")
	if !ok || name == "" || f.opt.Commands == nil || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && r != ':' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return ""
	}
	names := append(f.opt.Commands(), "exit", "quit", "resume", "continue", "help")
	if slices.Contains(names, name) {
		return ""
	}
	said := "there is no command /" + name
	if near := nearest.Name(name, names, len(name)/3+1); near != "" {
		said += " (did you mean /" + near + "?)"
	}
	return said + "; with a blank before it the line is a prompt"
}

// prompt sends a text to the session. It is shown here and now unless it waits behind a running
// turn; then it is shown where the model gets it.
func (f *face) prompt(text string) []string {
	id := uuid.NewString()
	var out []string
	count := &f.sent
	if strings.HasPrefix(text, "/") {
		count = &f.local
	}
	if !f.busy() || count == &f.local {
		f.printer.Typed(id)
		out = f.printer.Prompt(text)
	}
	*count++
	bad := f.do(proto.Prompt{ID: id, Content: []msg.Block{msg.Text{Text: text}}})
	if bad != nil {
		*count--
	}
	return append(out, bad...)
}

// interrupt asks the running turn to stop.
func (f *face) interrupt() []string {
	f.stopping = true
	return f.do(proto.Interrupt{})
}

// pick lists earlier sessions to go on with.
func (f *face) pick() []string {
	choices, err := f.opt.Sessions(f.ctx)
	if err != nil {
		return []string{f.style.Red("error: " + visible.Line(err.Error()))}
	}
	if len(choices) == 0 {
		return []string{f.style.Dim("no earlier session in this folder")}
	}
	if len(choices) > 50 {
		choices = choices[:50]
	}
	a := proto.Ask{ID: uuid.NewString(), Kind: proto.AskDialog, Title: "Which session?"}
	for _, c := range choices {
		a.Options = append(a.Options, proto.Option{ID: c.ID, Label: c.Text})
	}
	return f.ask(screen.NewList(a, func(id string) []string {
		if id == "" {
			return nil
		}
		return f.do(proto.Prompt{Content: []msg.Block{msg.Text{Text: "/resume " + id}}})
	}))
}

// nextMode is the permission mode after the present one.
func (f *face) nextMode() []string {
	v := f.session.View()
	modes := v.Modes
	if len(modes) == 0 {
		modes = []string{"default", "acceptEdits", "plan"}
	}
	next := modes[0]
	if i := slices.Index(modes, v.Mode); i >= 0 && v.Mode != "auto" {
		next = modes[(i+1)%len(modes)]
	}
	return f.do(proto.SetMode{Mode: next})
}

// goodbye is the last line.
func (f *face) goodbye() []string {
	v := f.session.View()
	if f.turns == 0 || v.Session == "" {
		return nil
	}
	return []string{f.style.Dim("resume with: myelin --resume " + filepath.Base(v.Session))}
}

func keyHelp(s screen.Style) []string {
	rows := [][2]string{
		{"Enter", "send; while a turn runs: queue"},
		{"Alt-Enter, Ctrl-J, \\ Enter", "new line"},
		{"Esc", "stop the turn; close a list"},
		{"Ctrl-C", "no, clear the draft, stop the turn; twice: leave"},
		{"Ctrl-D", "leave (empty draft)"},
		{"Up, Down", "earlier prompts that begin like the draft; take back a queued one"},
		{"Ctrl-R", "search earlier prompts"},
		{"Tab", "complete; answer a question that came while you typed"},
		{"1, 2, 3", "in a question: yes, once, for the session, for good"},
		{"n, N", "in a question: no; no, and say why"},
		{"v, e", "in a question: view all of it; edit the plan"},
		{"Shift-Tab", "next permission mode"},
		{"Ctrl-B", "move the running call to the background"},
		{"Ctrl-T", "todo list"},
		{"Ctrl-G", "edit the draft in $VISUAL or $EDITOR"},
		{"Ctrl-A/E, Alt-B/F", "start and end of the line, word left and right"},
		{"Ctrl-K/U/W, Ctrl-Y", "cut to the end, to the start, the word; put back"},
		{"Ctrl-_", "undo"},
		{"Ctrl-Z", "suspend"},
	}
	out := []string{"", s.Bold("keys")}
	for _, r := range rows {
		out = append(out, fmt.Sprintf("  %-28s %s", r[0], r[1]))
	}
	return out
}
