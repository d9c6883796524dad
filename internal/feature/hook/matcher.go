package hook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// matchLimit bounds one match of a pattern.
const matchLimit = 100 * time.Millisecond

// matcher says whether a group concerns a match value. The zero matcher matches everything.
type matcher struct {
	exact   []string // nil: not a list
	pattern *regexp2.Regexp
}

var (
	exactList   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_\- ,|]*$`) })
	exactNarrow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_|]*$`) })
)

// compile reads a matcher: nothing or * matches all, plain names separated by | or , are exact,
// anything else is an unanchored regular expression in JavaScript's dialect.
func compile(text string, spec Spec) (matcher, error) {
	if text == "" || text == "*" && spec.Name != FileChanged || !spec.Matched {
		return matcher{}, nil
	}
	list, separators := exactList(), "|,"
	if spec.Narrow {
		list, separators = exactNarrow(), "|"
	}
	if list.MatchString(text) || (spec.Name == FileChanged && !strings.ContainsAny(text, `\^$[](){}+?*`)) {
		m := matcher{exact: []string{}}
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
			if name = strings.TrimSpace(name); name != "" {
				m.exact = append(m.exact, today(name, spec))
			}
		}
		return m, nil
	}
	re, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return matcher{}, err
	}
	re.MatchTimeout = matchLimit
	return matcher{pattern: re}, nil
}

// matches reports whether the group concerns the value. An error is a pattern that ran into its
// limit.
func (m matcher) matches(value string, spec Spec) (bool, error) {
	switch {
	case m.exact != nil:
		return slices.Contains(m.exact, value), nil
	case m.pattern == nil:
		return true, nil
	}
	for _, name := range append([]string{value}, olderNames(value, spec)...) {
		ok, err := m.pattern.MatchString(name)
		if err != nil {
			return false, fmt.Errorf("matching %q: %w", name, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

// namesNoTool says why a matcher of an event about tools may never match; empty: it names a tool, one of a server, or what only a host
// knows.
func namesNoTool(text string, m matcher, spec Spec) string {
	if !spec.Tool || strings.Contains(text, "mcp") {
		return ""
	}
	if m.exact != nil {
		return unknownNames(text, m.exact)
	}
	if m.pattern == nil || slices.ContainsFunc(tool.Names(), func(name string) bool { ok, err := m.matches(name, spec); return ok || err != nil }) {
		return ""
	}
	if any, err := m.matches("mcp__server__tool", spec); any || err != nil {
		return ""
	}
	blind, err := regexp2.Compile(text, regexp2.ECMAScript|regexp2.IgnoreCase)
	if err != nil {
		return ""
	}
	blind.MatchTimeout = matchLimit
	for _, name := range tool.Names() {
		if ok, err := blind.MatchString(name); ok && err == nil {
			return fmt.Sprintf("%q matches no tool; the case of letters counts, and the tool is %s", text, name)
		}
	}
	return fmt.Sprintf("%q matches no tool", text)
}

// unknownNames looks for names in a list that no tool has. Beside names of tools one counts only when it is nearly the name of one: it may
// be of a tool that a host brings.
func unknownNames(text string, list []string) string {
	known := tool.Names()
	unknown := slices.DeleteFunc(slices.Clone(list), func(name string) bool { return slices.Contains(known, name) })
	if len(unknown) == 0 {
		return ""
	}
	for _, name := range unknown {
		if near := nearest.Name(name, known, 2); near != "" {
			return fmt.Sprintf("%q: there is no tool %s; did you mean %s?", text, name, near)
		}
	}
	if len(unknown) < len(list) {
		return ""
	}
	return fmt.Sprintf("%q: there is no tool %s", text, strings.Join(unknown, " or "))
}

// today is the name a tool has now.
func today(name string, spec Spec) string {
	if spec.Tool {
		return tool.Current(name)
	}
	return name
}

// olderNames are the names a tool had before, so that patterns written for them go on working.
func olderNames(name string, spec Spec) []string {
	if !spec.Tool {
		return nil
	}
	return tool.Older(name)
}

// WatchNames are the file names the matchers of FileChanged ask to watch, in the working directory.
func WatchNames(handlers []*Handler) []string {
	var out []string
	for _, h := range handlers {
		if h.Event != FileChanged {
			continue
		}
		for name := range strings.SplitSeq(h.Matcher, "|") {
			if name != "" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
