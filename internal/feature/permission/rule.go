package permission

import (
	"errors"
	"fmt"
	"strings"
)

// List is one of the three lists a rule may stand in.
type List string

// The lists.
const (
	AllowList List = "allow"
	AskList   List = "ask"
	DenyList  List = "deny"
)

// Source is where a rule comes from. It never changes the order of the lists.
type Source string

// The sources; those that are destinations of a permission update have its names.
const (
	FromManaged Source = "managed"
	FromFlag    Source = "cliArg"
	FromLocal   Source = "localSettings"
	FromProject Source = "projectSettings"
	FromUser    Source = "userSettings"
	FromSession Source = "session"
	FromSkill   Source = "skill"
	FromAgent   Source = "agent"
)

// Rule is one rule as it stands somewhere. It is data.
type Rule struct {
	List   List   `json:"list"`
	Text   string `json:"text"`
	Source Source `json:"source"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"` // from 1; 0: no file
	Base   string `json:"base,omitempty"` // what "/path" starts from; empty: the original working directory
}

func (r Rule) match(part string) Match {
	return Match{List: r.List, Rule: r.Text, Source: r.Source, File: r.File, Line: r.Line, Part: part}
}

// Where names the place of a rule for people.
func (r Rule) Where() string {
	switch {
	case r.File != "" && r.Line > 0:
		return fmt.Sprintf("%s:%d", r.File, r.Line)
	case r.File != "":
		return r.File
	}
	return string(r.Source)
}

// Parsed is a rule taken apart.
type Parsed struct {
	Tool      string
	Specifier string // empty: the rule is about the whole tool
}

// String is the rule in its normal form.
func (p Parsed) String() string {
	if p.Specifier == "" {
		return p.Tool
	}
	return p.Tool + "(" + p.Specifier + ")"
}

// The ways a rule can be malformed.
var (
	ErrNoTool     = errors.New("a rule needs a tool name before the parenthesis")
	ErrNotClosed  = errors.New(`the rule has "(" but does not end in ")"`)
	ErrStrayClose = errors.New(`the rule has ")" but no "("`)
	ErrBlankName  = errors.New("the tool name holds a blank")
)

// ParseRule takes a rule apart: "Tool" or "Tool(specifier)", cut at the first "(" and the last
// character. "Tool()" and "Tool(*)" are "Tool". Parentheses inside may be escaped with a backslash.
func ParseRule(text string) (Parsed, error) {
	text = strings.TrimSpace(text)
	open := strings.IndexByte(text, '(')
	if open < 0 {
		switch {
		case text == "":
			return Parsed{}, ErrNoTool
		case strings.Contains(text, ")"):
			return Parsed{}, ErrStrayClose
		case strings.ContainsAny(text, " \t\n"):
			return Parsed{}, ErrBlankName
		}
		return Parsed{Tool: text}, nil
	}
	name := strings.TrimSpace(text[:open])
	switch {
	case name == "":
		return Parsed{}, ErrNoTool
	case !strings.HasSuffix(text, ")"):
		return Parsed{}, ErrNotClosed
	case strings.ContainsAny(name, " \t\n)"):
		return Parsed{}, ErrBlankName
	}
	spec := text[open+1 : len(text)-1]
	if strings.TrimSpace(spec) == "" || strings.TrimSpace(spec) == "*" {
		spec = ""
	}
	return Parsed{Tool: name, Specifier: unescapeParens(spec)}, nil
}

func unescapeParens(s string) string {
	if !strings.Contains(s, `\(`) && !strings.Contains(s, `\)`) {
		return s
	}
	return strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(s)
}

// contentField names the input field that a tool's ordinary specifier is about; parameter rules must
// not name it.
func contentField(param string) bool {
	switch param {
	case "command", "file_path", "path", "notebook_path", "url":
		return true
	}
	return false
}

// parameterRule reads "param:value"; ok is false for a text that is none.
func parameterRule(spec string) (param, value string, ok bool) {
	param, value, ok = strings.Cut(spec, ":")
	param, value = strings.TrimSpace(param), strings.TrimSpace(value)
	if !ok || param == "" || value == "" || strings.HasPrefix(value, "//") {
		return "", "", false
	}
	for i := range len(param) {
		c := param[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return "", "", false
		}
	}
	return param, value, true
}
