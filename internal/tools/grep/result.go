package grep

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/search"
)

// output is the structured output.
type output struct {
	Mode          string   `json:"mode"`
	NumFiles      int      `json:"numFiles"`
	Filenames     []string `json:"filenames"`
	Content       string   `json:"content,omitempty"`
	NumLines      int      `json:"numLines,omitempty"`
	NumMatches    int      `json:"numMatches,omitempty"`
	AppliedLimit  int      `json:"appliedLimit,omitempty"`
	AppliedOffset int      `json:"appliedOffset,omitempty"`
	TimedOut      bool     `json:"timedOut,omitempty"`
}

// answer is the text for the model while it is made.
type answer struct {
	out   output
	text  string
	empty string   // what to say when there is nothing, before the notes
	notes []string // on what is not shown
}

func (g *grepper) result(in Input, found search.Found, cwd string, single bool) (tool.Result, error) {
	a := answer{out: output{Mode: in.Mode, Filenames: []string{}, TimedOut: found.Missed.Stopped}}
	switch in.Mode {
	case "content":
		a.content(in, found, cwd, single)
	case "count":
		a.counts(in, found, cwd)
	default:
		a.files(in, found, cwd)
	}
	if in.Offset > 0 {
		a.out.AppliedOffset = in.Offset
	}
	if a.empty != "" {
		a.text = a.empty
	}
	a.notes = append(a.notes, g.missed(found)...)
	text := strings.TrimSuffix(a.text, "\n")
	for _, n := range a.notes {
		text += "\n[" + n + "]"
	}
	raw, err := json.Marshal(a.out)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of Grep: %w", err)
	}
	return tool.Result{Content: []msg.Block{msg.Text{Text: text}}, Structured: raw}, nil
}

// page cuts n results to those wanted.
func (a *answer) page(in Input, n int, what string) (from, to int) {
	from, to = min(in.Offset, n), n
	if limit := in.limit(); limit > 0 && to > from+limit {
		to = from + limit
		a.out.AppliedLimit = limit
		a.notes = append(a.notes, fmt.Sprintf("only %s %d to %d; continue with offset %d, or narrow the search", what, from+1, to, to))
	}
	switch {
	case n > 0 && from == to:
		a.empty = "No entries at this offset"
	case n == 0:
		a.empty = "No matches found"
	}
	return from, to
}

func (a *answer) files(in Input, found search.Found, cwd string) {
	from, to := a.page(in, len(found.Files), "files")
	if len(found.Files) == 0 {
		a.empty = "No files found"
	}
	for _, f := range found.Files[from:to] {
		a.out.Filenames = append(a.out.Filenames, relative(f.Path, cwd))
	}
	a.out.NumFiles = to - from
	noun := "files"
	if found.Total == 1 {
		noun = "file"
	}
	a.text = fmt.Sprintf("Found %d %s\n%s", found.Total, noun, strings.Join(a.out.Filenames, "\n"))
}

func (a *answer) counts(in Input, found search.Found, cwd string) {
	from, to := a.page(in, len(found.Files), "files")
	var b strings.Builder
	for i, f := range found.Files {
		a.out.NumMatches += f.Count
		if i >= from && i < to {
			fmt.Fprintf(&b, "%s:%d\n", relative(f.Path, cwd), f.Count)
		}
	}
	a.out.NumFiles = len(found.Files)
	a.out.Content = strings.TrimSuffix(b.String(), "\n")
	a.text = fmt.Sprintf("%s\nTotal: %d matches in %d files", a.out.Content, a.out.NumMatches, found.Total)
}

func (a *answer) content(in Input, found search.Found, cwd string, single bool) {
	n := 0
	for _, f := range found.Files {
		n += len(f.Lines)
	}
	from, to := a.page(in, n, "lines")
	numbers := in.Numbers == nil || *in.Numbers
	var b strings.Builder
	at := 0
	for _, f := range found.Files {
		name := ""
		if !single {
			name = relative(f.Path, cwd)
		}
		if at+len(f.Lines) > from && at < to {
			a.out.NumFiles++
			a.out.Filenames = append(a.out.Filenames, relative(f.Path, cwd))
		}
		for i, l := range f.Lines {
			if at >= from && at < to {
				if at > from && (l.Gap || (i == 0 && grouped(in))) {
					b.WriteString("--\n")
				}
				writeLine(&b, name, l, numbers)
				a.out.NumLines++
				if l.Match {
					a.out.NumMatches++
				}
			}
			at++
		}
	}
	a.out.Content = strings.TrimSuffix(b.String(), "\n")
	a.text = a.out.Content
}

// grouped tells whether matches with their context stand in groups.
func grouped(in Input) bool {
	return !in.Only && in.Before+in.After+in.Around+in.Context > 0
}

func writeLine(b *strings.Builder, name string, l search.Line, numbers bool) {
	mark := byte('-')
	if l.Match {
		mark = ':'
	}
	if name != "" {
		b.WriteString(name)
		b.WriteByte(mark)
	}
	if numbers {
		b.WriteString(strconv.Itoa(l.Number))
		b.WriteByte(mark)
	}
	b.WriteString(l.Text)
	b.WriteByte('\n')
}

// missed says what was not searched. What is left out as a matter of course is only told when
// nothing was found, since it may be there.
func (g *grepper) missed(found search.Found) []string {
	var out []string
	m, nothing := found.Missed, found.Total == 0
	if m.Stopped {
		out = append(out, fmt.Sprintf("stopped after %v before everything was searched; narrow the search with path, glob or type", g.w.Limit))
	}
	if found.Cut {
		out = append(out, "more was found than can be kept; narrow the search")
	}
	if m.Unreadable > 0 {
		out = append(out, fmt.Sprintf("%d could not be read: %s", m.Unreadable, strings.Join(m.Names, "; ")))
	}
	var left []string
	add := func(n int64, always bool, what string) {
		if n > 0 && (always || nothing) {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(m.TooLarge, true, "too large")
	add(m.Skipped, true, "covered by Read deny rules")
	add(m.Binary, false, "binary")
	add(m.Ignored, false, "ignored files or folders (name one as path to search it)")
	add(m.Special, false, "devices, pipes or sockets")
	if len(left) > 0 {
		out = append(out, "not searched: "+strings.Join(left, ", "))
	}
	if nothing && found.Searched == 0 && !m.Stopped {
		out = append(out, "no file was searched; check path, glob and type")
	}
	return out
}
