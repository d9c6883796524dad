package cli

import (
	"slices"
	"strings"
	"unicode"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// splitList takes a list of names or rules apart at commas and blanks. Those inside parentheses
// belong to the rule: "Bash(git log:*),Read" is two entries. Parentheses that never close take
// the rest with them.
func splitList(s string) []string {
	out := []string{}
	depth, start := 0, 0
	take := func(end int) {
		if part := strings.TrimSpace(s[start:end]); part != "" {
			out = append(out, part)
		}
		start = end + 1
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\n'):
			take(i)
		}
	}
	take(len(s))
	return out
}

func splitLists(lists []string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, splitList(l)...)
	}
	return out
}

// kebab is the spelling of a flag with hyphens: allowedTools is allowed-tools.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// joinOptional rewrites the flags whose value may be missing, which a flag parser takes only
// behind "=": "--resume ID" becomes "--resume=ID". A configuration list goes on while its words
// look like files or JSON, a list of rules while they look like rules. Nothing behind "--" is touched.
func joinOptional(args []string) []string {
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		a := args[i]
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		switch {
		case a == "--":
			return append(out, args[i:]...)
		case (a == "--resume" || a == "-r") && next != "" && !strings.HasPrefix(next, "-"):
			out = append(out, "--resume="+next)
			i++
		case a == "--mcp-config" || a == "--mcpConfig":
			if i+1 < len(args) {
				out = append(out, a+"="+next)
				i++
			} else {
				out = append(out, a)
			}
			for i+1 < len(args) && looksLikeConfig(args[i+1]) {
				i++
				out = append(out, a+"="+args[i])
			}
		case listsRules(a):
			out = append(out, a)
			name, _, given := strings.Cut(a, "=")
			if !given && i+1 < len(args) {
				i++
				out = append(out, args[i])
			}
			for i+1 < len(args) && looksLikeRule(args[i+1]) {
				i++
				out = append(out, name+"="+args[i])
			}
		default:
			out = append(out, a)
		}
	}
	return out
}

// listsRules reports whether an argument is a flag whose values are rules or names of tools.
func listsRules(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	switch rest, ok := strings.CutPrefix(name, "--"); kebab(rest) {
	case "allowed-tools", "disallowed-tools", "tools":
		return ok
	}
	return false
}

// looksLikeRule reports whether a word is the name of a tool or has the form Name(…); anything else is a prompt.
func looksLikeRule(word string) bool {
	if slices.Contains(tool.Names(), word) || strings.HasPrefix(word, "mcp__") && !strings.ContainsAny(word, " \t\n") {
		return true
	}
	name, _, ok := strings.Cut(word, "(")
	return ok && name != "" && strings.HasSuffix(word, ")") && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

func looksLikeConfig(s string) bool {
	return strings.HasPrefix(strings.TrimSpace(s), "{") || strings.HasSuffix(s, ".json")
}
