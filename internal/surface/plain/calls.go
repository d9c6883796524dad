package plain

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// How much of a result is shown; everything is in the transcript.
const (
	resultRows  = 3
	failureRows = 10
	diffRows    = 40
	newFileRows = 10
)

func (p *Printer) callAnnounced(b proto.CallAnnounced) []string {
	p.tools++
	title := callTitle(b.Tool, b.Input, p.cwd)
	p.calls[b.Call] = &callState{tool: b.Tool, title: title, input: b.Input}
	p.activity = "running " + title
	return nil
}

func (p *Printer) callProgress(b proto.CallProgress) {
	title := visible.Line(b.Tool)
	if c := p.calls[b.Call]; c != nil {
		title = c.title
	}
	p.activity = "running " + title + " · " + seconds(b.Seconds)
	if lines := screen.OutputLines(b.Text); len(lines) > 0 {
		p.activity += " · " + strings.TrimSpace(lines[len(lines)-1])
	}
}

func (p *Printer) callEnded(b proto.CallEnded) []string {
	c := p.calls[b.Call]
	if c == nil {
		c = &callState{tool: b.Tool, title: visible.Line(b.Tool)}
		p.calls[b.Call] = c
	}
	c.ended = &b
	if c.result == nil {
		return nil
	}
	return p.call(b.Call, c)
}

func (p *Printer) toolResult(m msg.Message) []string {
	var out []string
	for _, b := range m.Content {
		r, ok := b.(msg.ToolResult)
		if !ok {
			continue
		}
		c := p.calls[r.CallID]
		if c == nil {
			continue // a call from before this surface came
		}
		c.result = &m
		if c.ended != nil {
			out = append(out, p.call(r.CallID, c)...)
		}
	}
	return out
}

// call prints one call with what came of it.
func (p *Printer) call(id string, c *callState) []string {
	delete(p.calls, id)
	how, took, text := "ok", 0.0, ""
	if c.result != nil {
		for _, b := range c.result.Content {
			if r, ok := b.(msg.ToolResult); ok && r.CallID == id {
				text = msg.TextOf(r.Content)
				if r.IsError {
					how = "error"
				}
			}
		}
	}
	if c.ended != nil {
		how, took = c.ended.Outcome, max(0, c.ended.Seconds-c.waited)
		if c.ended.Display != "" {
			text = c.ended.Display
		}
	}
	text = forPeople(how, text)
	title := p.headline(how, c.title, took)
	if patch, ok := patchOf(c.result); ok && how == "ok" {
		return append([]string{title + patch.counts(p.style)}, patch.lines(p.style)...)
	}
	return append([]string{title}, p.outcomeLines(c.tool, how, text)...)
}

// forPeople is a result without what is there for the model alone: the marks around its own mistakes, and behind a
// refusal the advice on what to do instead. Both stay in the conversation.
func forPeople(how, text string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "<tool_use_error>"); ok {
		text = strings.TrimPrefix(strings.TrimSuffix(inner, "</tool_use_error>"), "Error: ")
	}
	if how != "refused" {
		return text
	}
	text, _, _ = strings.Cut(text, "\n")
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// headline names a call and how it ended: by a sign and, where that is not success, a word.
func (p *Printer) headline(how, title string, took float64) string {
	word := visible.Line(strings.ReplaceAll(how, "_", " "))
	if how == "error" {
		word = "failed"
	}
	if p.style.Words() {
		line := "tool " + title + ": " + word
		if took >= 1 {
			line += ", " + seconds(took)
		}
		return line
	}
	line := p.style.Outcome(how) + " " + p.style.Bold(title)
	if p.style.Signs && how != "ok" && how != "error" {
		line += " " + word
	}
	if took >= 1 {
		line += p.style.Dim(p.style.Sign(" · ", ", ") + seconds(took))
	}
	return line
}

// outcomeLines are the first lines of what came out, or the last of what went wrong.
func (p *Printer) outcomeLines(tool, how, text string) []string {
	lines := screen.OutputLines(text)
	if how == "ok" && quiet(tool) {
		return nil
	}
	most, head := resultRows, true
	if how != "ok" {
		most, head = failureRows, false
	}
	var left string
	if n := len(lines) - most; n > 0 {
		left = fmt.Sprintf("%s %d more lines", p.style.Sign("…", "..."), n)
		if head {
			lines = lines[:most]
		} else {
			lines = lines[n:]
		}
	}
	out := make([]string, 0, len(lines)+1)
	if left != "" && !head {
		out = append(out, "  "+p.style.Dim(left))
	}
	for _, l := range lines {
		out = append(out, "  "+l)
	}
	if left != "" && head {
		out = append(out, "  "+p.style.Dim(left))
	}
	return out
}

// quiet are the tools whose result is for the model: that it was read is all there is to say.
func quiet(tool string) bool {
	switch tool {
	case "Read", "Grep", "Glob", "ToolSearch", "Skill", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TodoWrite":
		return true
	}
	return false
}

// callTitle names a call by its tool and decisive argument, on one line.
func callTitle(tool string, input json.RawMessage, cwd string) string {
	arg := screen.Decisive(input)
	if filepath.IsAbs(arg) && cwd != "" {
		if rel, err := filepath.Rel(cwd, arg); err == nil && !strings.HasPrefix(rel, "..") {
			arg = rel
		}
	}
	first, more, _ := strings.Cut(strings.TrimSpace(arg), "\n")
	if more = strings.TrimSpace(more); more != "" {
		first += fmt.Sprintf(" (+%d lines)", strings.Count(more, "\n")+1)
	}
	title := screen.Clip(visible.Line(first), 100)
	if title == "" {
		return visible.Line(tool)
	}
	return visible.Line(tool) + "(" + title + ")"
}

// filePatch is the change a tool made to a file, in the published shape of its structured result.
type filePatch struct {
	Kind     string `json:"type"` // create, update
	FilePath string `json:"filePath"`
	Content  string `json:"content"`
	Hunks    []struct {
		OldStart int      `json:"oldStart"`
		NewStart int      `json:"newStart"`
		Lines    []string `json:"lines"`
	} `json:"structuredPatch"`
	Rest struct {
		Added   int `json:"added"`
		Removed int `json:"removed"`
		LeftOut int `json:"leftOut"`
	} `json:"patchCut"` // of the whole change, where not all of it is in Hunks
}

func patchOf(m *msg.Message) (filePatch, bool) {
	var patch filePatch
	if m == nil || len(m.Structured) == 0 || m.Structured[0] != '{' {
		return patch, false
	}
	if json.Unmarshal(m.Structured, &patch) != nil || patch.FilePath == "" {
		return patch, false
	}
	return patch, len(patch.Hunks) > 0 || patch.Rest.LeftOut > 0 || patch.Kind == "create"
}

func (f filePatch) counts(s screen.Style) string {
	added, removed := 0, 0
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			switch {
			case strings.HasPrefix(l, "+"):
				added++
			case strings.HasPrefix(l, "-"):
				removed++
			}
		}
	}
	if f.Kind == "create" && len(f.Hunks) == 0 {
		added = len(screen.OutputLines(f.Content))
	}
	if f.Rest.LeftOut > 0 {
		added, removed = f.Rest.Added, f.Rest.Removed
	}
	return " " + s.Green(fmt.Sprintf("+%d", added)) + " " + s.Red(fmt.Sprintf("%s%d", s.Sign("−", "-"), removed))
}

// lines shows the change with its sign in the first column, so that it can be copied as a diff.
func (f filePatch) lines(s screen.Style) []string {
	var all []string
	most := diffRows
	if f.Kind == "create" {
		most = newFileRows
	}
	if f.Kind == "create" && len(f.Hunks) == 0 {
		for _, l := range screen.OutputLines(f.Content) {
			all = append(all, s.Green("+"+l))
		}
	}
	for _, h := range f.Hunks {
		if f.Kind != "create" {
			all = append(all, s.Dim(fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.OldStart, countLines(h.Lines, "-"), h.NewStart, countLines(h.Lines, "+"))))
		}
		for _, l := range h.Lines {
			all = append(all, diffLine(s, strings.ReplaceAll(visible.Text(l), "\n", `\n`)))
		}
	}
	if n := len(all) - most; n > 0 || f.Rest.LeftOut > 0 {
		n = max(n, 0) + f.Rest.LeftOut
		all = append(all[:min(most, len(all))], s.Dim(fmt.Sprintf("%s %d more lines", s.Sign("…", "..."), n)))
	}
	return all
}

// countLines are the lines of a hunk on one side: unchanged ones and those with the sign.
func countLines(lines []string, sign string) int {
	n := 0
	for _, l := range lines {
		if l == "" || l[0] == ' ' || strings.HasPrefix(l, sign) {
			n++
		}
	}
	return n
}

func diffLine(s screen.Style, l string) string {
	switch {
	case strings.HasPrefix(l, "+"):
		return s.Green(l)
	case strings.HasPrefix(l, "-"):
		return s.Red(l)
	}
	return l
}
