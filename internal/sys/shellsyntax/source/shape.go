package source

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ReadsList returns the command behind a pipe when its standard input is what one other command prints, perhaps sorted, and nothing
// else: all stand in the pipe themselves, and none redirects more than its error messages to nowhere.
func ReadsList(c *syntax.BinaryCmd) *syntax.CallExpr {
	lister, redirs := c.X, slices.Concat(c.X.Redirs, c.Y.Redirs)
	if b, ok := c.X.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && sortsAtZero(b.Y) {
		lister, redirs = b.X, slices.Concat(redirs, b.X.Redirs, b.Y.Redirs)
	}
	_, direct := lister.Cmd.(*syntax.CallExpr)
	call, ok := c.Y.Cmd.(*syntax.CallExpr)
	if c.Op != syntax.Pipe || !direct || !ok {
		return nil
	}
	for _, r := range redirs {
		if r.N == nil || r.N.Value != "2" || r.Op != syntax.RdrOut || r.Word.Lit() != "/dev/null" {
			return nil
		}
	}
	return call
}

// sortsAtZero tells a sort that puts names which end in a zero byte in order, and does nothing else with them.
func sortsAtZero(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(call.Assigns) > 0 || call.Args[0].Lit() != "sort" {
		return false
	}
	zero := false
	for _, a := range call.Args[1:] {
		option := a.Lit()
		switch {
		case option == "--zero-terminated":
			zero = true
		case len(option) < 2 || option[0] != '-' || strings.Trim(option[1:], "zurnfV") != "":
			return false
		default:
			zero = zero || strings.Contains(option, "z")
		}
	}
	return zero
}

// PartsIn guesses how many parts a text has, so that they are stored without copying.
func PartsIn(text string) int {
	n := 1
	for i := range len(text) {
		switch text[i] {
		case ';', '|', '\n', '(', '`':
			n++
		case '&':
			if i == 0 || text[i-1] != '&' {
				n++
			}
		}
	}
	return min(n, 1<<14)
}

// HomeChanges tells whether HOME may mean something else by the time it is used.
func HomeChanges(text string) bool {
	for i := 0; ; {
		j := strings.Index(text[i:], "HOME")
		if j < 0 {
			return false
		}
		i += j
		if i == 0 || (text[i-1] != '$' && text[i-1] != '{') {
			return true
		}
		i += len("HOME")
		if strings.HasPrefix(text[i:], "=") || strings.HasPrefix(text[i:], ":=") {
			return true
		}
	}
}

// AfterDashes drops the "--" that the keyword time takes before a command, or before the first of a pipeline.
func AfterDashes(s *syntax.Stmt) *syntax.Stmt {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok {
		stmt, rest := *s, *b
		rest.X = AfterDashes(b.X)
		stmt.Cmd = &rest
		return &stmt
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(call.Assigns) > 0 || call.Args[0].Lit() != "--" {
		return s
	}
	stmt, rest := *s, *call
	rest.Args = call.Args[1:]
	stmt.Cmd = &rest
	return &stmt
}

// QuotedTexts is what stands quoted below a node, where nothing expands it yet.
func QuotedTexts(n syntax.Node) string {
	var b strings.Builder
	syntax.Walk(n, func(n syntax.Node) bool {
		if q, ok := n.(*syntax.SglQuoted); ok {
			b.WriteString(q.Value)
			b.WriteByte(' ')
		}
		return true
	})
	return b.String()
}
