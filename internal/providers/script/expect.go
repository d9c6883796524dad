package script

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// check returns what the request misses, a line each. A nil Expect demands nothing.
func (e *Expect) check(f Facts) (missed []string) {
	if e == nil {
		return nil
	}
	for _, want := range e.Contains {
		if !strings.Contains(f.System, want) && !strings.Contains(f.Messages, want) {
			missed = append(missed, fmt.Sprintf("expected to contain: %q", want))
		}
	}
	for _, unwanted := range e.Absent {
		for _, place := range []struct{ name, text string }{{"the system prompt", f.System}, {"the messages", f.Messages}} {
			if at := strings.Index(place.text, unwanted); at >= 0 {
				missed = append(missed, fmt.Sprintf("expected to be absent: %q, found in %s: …%s…", unwanted, place.name, around(place.text, at, len(unwanted))))
			}
		}
	}
	for _, tool := range e.Tools {
		if !slices.Contains(f.Tools, tool) {
			missed = append(missed, fmt.Sprintf("expected the tool %s, declared are: %s", tool, orNone(append([]string{}, f.Tools...))))
		}
	}
	return append(missed, e.LastResult.check(f)...)
}

func (l *LastResult) check(f Facts) []string {
	if l == nil {
		return nil
	}
	got, ok := f.lastResult(l.Tool)
	if !ok {
		ids := make([]string, 0, len(f.Results))
		for _, r := range f.Results {
			ids = append(ids, r.ID)
		}
		of := ""
		if l.Tool != "" {
			of = " of " + l.Tool
		}
		return []string{fmt.Sprintf("expected a result%s, found results of: %s", of, orNone(ids))}
	}
	var missed []string
	if l.Error != nil && *l.Error != got.Error {
		missed = append(missed, fmt.Sprintf("expected the result of %s to have error: %t, found: %t with %q", got.ID, *l.Error, got.Error, head(got.Text, 300)))
	}
	if !strings.Contains(got.Text, l.Contains) {
		missed = append(missed, fmt.Sprintf("expected the result of %s to contain: %q, found: %q", got.ID, l.Contains, head(got.Text, 300)))
	}
	return missed
}

// newest says what the request was about, for the reader of a miss.
func newest(f Facts) string {
	out := fmt.Sprintf("the last prompt was: %q", head(f.Prompt, 300))
	if last, ok := f.lastResult(""); ok {
		out += fmt.Sprintf("\nthe last result was (%s, error: %t): %q", last.ID, last.Error, head(last.Text, 300))
	}
	return out
}

// head is the beginning of s, cut at a character.
func head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return msg.Cut(s, most) + "…"
}

// around is the place in s with a little before and after it, on one line.
func around(s string, at, length int) string {
	from, to := max(at-30, 0), min(at+length+30, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return strings.Join(strings.Fields(s[from:to]), " ")
}
