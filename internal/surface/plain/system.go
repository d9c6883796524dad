package plain

import (
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// system prints what the program itself has to say.
func (p *Printer) system(e proto.Event) []string {
	switch b := e.Body.(type) {
	case proto.Denied:
		return p.denied("", b)
	case proto.Notice:
		return p.notify(b)
	case proto.Missed:
		return p.notify(proto.Notice{Level: "warning", Text: fmt.Sprintf("%d events are not shown here; the transcript has the messages.", b.To-b.From+1)})
	case proto.Retry:
		p.activity = fmt.Sprintf("%s, trying again in %s (%d of %d)", retryReason(b), seconds(float64(b.DelayMS)/1000), b.Attempt, b.Max)
	case proto.Fallback:
		return []string{p.style.Yellow(visible.Line(fmt.Sprintf("model: %s takes over from %s: %s", b.To, b.From, b.Reason)))}
	case proto.ModeChanged:
		return []string{p.style.Dim("mode: " + visible.Line(b.Mode))}
	case proto.ModelChanged:
		return []string{p.style.Dim("model: " + visible.Line(b.Model))}
	case proto.Compacting:
		return p.compacting(b)
	case proto.Compacted:
		p.activity = ""
		text := "compacted " + thousands(b.PreTokens)
		if b.PostTokens > 0 {
			text += p.style.Sign(" → ", " -> ") + thousands(b.PostTokens)
		}
		return []string{p.style.Dim(p.style.Sign("── ", "-- ") + text + p.style.Sign(" ──", " --"))}
	case proto.HookEnded:
		return p.hook(b)
	case proto.SessionReset:
		out := []string{p.style.Dim(fmt.Sprintf("session %s (%s)", visible.Line(b.New), visible.Line(b.Trigger)))}
		if b.Old != "" && b.Old != b.New {
			out = append(out, p.style.Dim("back to the one before: /resume "+visible.Line(b.Old)))
		}
		return out
	case proto.Ended:
		if b.Reason == proto.EndHook && b.Detail != "" {
			return []string{p.style.Yellow("stopped by a hook: " + visible.Line(b.Detail))}
		}
	case proto.AskClosed:
		return p.askClosed(b)
	case proto.Activity, proto.Queued, proto.Shaped, proto.HookStarted, proto.Terminal, proto.Ask:
		// shown elsewhere: in the draft's surroundings, or as a question
	case proto.Other:
		return []string{p.style.Dim("(" + visible.Line(b.Kind) + ")")}
	}
	return nil
}

func retryReason(b proto.Retry) string {
	reason := strings.ReplaceAll(b.Kind, "_", " ")
	if b.Status != 0 {
		reason += fmt.Sprintf(" (%d)", b.Status)
	}
	return visible.Line(reason)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%dk", (n+500)/1000)
}

func (p *Printer) denied(who string, b proto.Denied) []string {
	text := fmt.Sprintf("%s %s%s refused: %s", p.style.Sign("⊘", "!"), who, visible.Line(b.Tool), visible.Line(b.Message))
	if b.Rule != "" {
		text += "; it would need the rule " + visible.Line(b.Rule)
	}
	return screen.Wrap(p.style.Yellow(text), p.cells())
}

// notify prints a notice; the same one within a minute is not said again.
func (p *Printer) notify(b proto.Notice) []string {
	key := b.Level + b.Text
	if key == p.notice && p.lastEvent.Sub(p.noticeAt) < time.Minute {
		return nil
	}
	p.notice, p.noticeAt = key, p.lastEvent
	text := visible.Line(b.Text)
	switch b.Level {
	case "error":
		text = p.style.Red("error: " + text)
	case "warning":
		text = p.style.Yellow("warning: " + text)
	default:
		text = p.style.Dim(text)
	}
	return screen.Wrap(text, p.cells())
}

func (p *Printer) compacting(b proto.Compacting) []string {
	if b.Active {
		p.activity = "compacting the conversation"
		return nil
	}
	p.activity = ""
	if b.Error == "" {
		return nil
	}
	return screen.Wrap(p.style.Red("error: compaction: "+visible.Line(b.Error)), p.cells())
}

func (p *Printer) hook(b proto.HookEnded) []string {
	if b.Outcome != "error" {
		return nil
	}
	text := "hook " + b.Name + " failed"
	if b.ExitCode != nil {
		text += fmt.Sprintf(" (exit code %d)", *b.ExitCode)
	}
	if out := visible.Line(b.Stderr); out != "" {
		text += ": " + out
	}
	return screen.Wrap(p.style.Yellow(visible.Line(text)), p.cells())
}

// askClosed says who decided, where it was not the person at this surface.
func (p *Printer) askClosed(b proto.AskClosed) []string {
	switch {
	case b.By == surfaceID:
		return nil
	case b.By != "":
		return []string{p.style.Dim(visible.Line("decided by " + b.By + ": " + b.Behavior))}
	case b.Why != "":
		return []string{p.style.Dim("question withdrawn: " + visible.Line(b.Why))}
	}
	return nil
}

// task prints when running work begins in the background and when it ends.
func (p *Printer) task(e proto.Event) []string {
	switch b := e.Body.(type) {
	case proto.TaskStarted:
		return p.taskBegan(b.Task)
	case proto.TaskUpdated:
		if b.Task.Backgrounded && !p.tasks[b.Task.ID].Backgrounded {
			return p.taskBegan(b.Task)
		}
	case proto.TaskEnded:
		began := p.tasks[b.Task.ID]
		delete(p.tasks, b.Task.ID)
		if !b.Task.Backgrounded && !began.Backgrounded && b.Task.Kind != "agent" {
			return nil // its call tells
		}
		return p.taskEnded(b)
	}
	return nil
}

func (p *Printer) taskBegan(t proto.Task) []string {
	p.tasks[t.ID] = t
	if !t.Backgrounded && t.Kind != "agent" {
		return nil
	}
	where := ""
	if t.Backgrounded {
		where = " in the background"
	}
	return []string{p.style.Dim(fmt.Sprintf("%s %s%s: %s", p.style.Sign("▸", ">"), visible.Line(t.Kind), where, visible.Line(t.Description)))}
}

func (p *Printer) taskEnded(b proto.TaskEnded) []string {
	t := b.Task
	text := fmt.Sprintf("%s %s: %s", visible.Line(t.Kind), visible.Line(t.Status), visible.Line(t.Description))
	if p.style.Signs {
		text = p.style.Outcome(t.Status) + " " + text
	}
	if t.ExitCode != nil && *t.ExitCode != 0 {
		text += fmt.Sprintf(" (exit code %d)", *t.ExitCode)
	}
	if t.StartMS > 0 && t.EndMS > t.StartMS {
		text += p.style.Dim(p.style.Sign(" · ", ", ") + seconds(float64(t.EndMS-t.StartMS)/1000))
	}
	if t.Error != "" {
		text += ": " + visible.Line(t.Error)
	}
	return []string{text}
}

// todosChanged prints the model's list when it is made, and later what changed in it.
func (p *Printer) todosChanged(items []proto.Todo) []string {
	old := map[string]proto.Todo{}
	for _, t := range p.todos {
		old[t.ID] = t
	}
	p.todos = append([]proto.Todo(nil), items...)
	var out []string
	for _, t := range items {
		if was, ok := old[t.ID]; !ok || was.Status != t.Status || was.Subject != t.Subject {
			out = append(out, p.todoLine(t))
		}
	}
	return out
}

func (p *Printer) todoLine(t proto.Todo) string {
	switch t.Status {
	case "completed":
		return p.style.Green(p.style.Sign("  ☒ ", "  [x] ")) + p.style.Dim(visible.Line(t.Subject))
	case "in_progress":
		return p.style.Sign("  ▸ ", "  [>] ") + p.style.Bold(visible.Line(t.Subject))
	}
	return p.style.Sign("  ☐ ", "  [ ] ") + visible.Line(t.Subject)
}

// TodoList is the model's whole list.
func (p *Printer) TodoList() []string {
	if len(p.todos) == 0 {
		return []string{p.style.Dim("no todos")}
	}
	var out []string
	for _, t := range p.todos {
		out = append(out, p.todoLine(t))
	}
	return out
}
