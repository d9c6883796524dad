// Package named finds the words in a text that could name a program which somebody runs: in a command line that stands inside of another
// argument, in the value of an option or a variable, and in programs of other languages. It understands none of these languages. What it
// yields is a hint to ask, never a reason to allow or to deny.
//
// Begin with [Leading] and [All].
package named

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Leading yields the words of a text that stand where a command could begin: at its start, after an operator of a shell, after a quote,
// and after "=", ":", "," and "@" without a blank. Behind a program that runs others every word counts.
func Leading(text string, yield func(string) bool) { scan(text, false, yield) }

// All yields every word of a text that could name a program.
func All(text string, yield func(string) bool) { scan(text, true, yield) }

func scan(text string, all bool, yield func(string) bool) {
	lead, rest := true, all
	for i := 0; i < len(text); {
		c := text[i]
		if !inName(c) {
			switch {
			case c == '\\': // spells the next letter
			case c == '$':
				i += variable(text[i+1:])
				lead = false
			case c == ' ' || c == '\t':
				lead = lead && !joins(text, i)
			case strings.IndexByte(";|&(){}\n`", c) >= 0:
				lead, rest = true, all
			default:
				lead = true
			}
			i++
			continue
		}
		end := i
		for end < len(text) && inName(text[end]) {
			end++
		}
		word := text[i:end]
		i = end
		if word[0] == '-' || word[0] == '+' && len(word) > 1 {
			continue // an option: what it stands before is still to come
		}
		if (lead || rest) && plain(word, text[end:]) && !yield(word) {
			return
		}
		rest = rest || lead && runsOthers(word)
		lead = false
	}
}

// joins tells whether the blank at i follows a character that joins words without one, as in "fix: text" and "a, b".
func joins(text string, i int) bool {
	return i > 0 && strings.IndexByte(":,@", text[i-1]) >= 0
}

// plain tells whether a word can be the name of a program: no number, no key, no user or scheme of an address, no function that is called.
func plain(word, after string) bool {
	if strings.HasPrefix(word, "//") || strings.Trim(word, "0123456789.") == "" {
		return false
	}
	return after == "" || strings.IndexByte("=:@(", after[0]) < 0
}

func runsOthers(word string) bool {
	name := word[strings.LastIndexByte(word, '/')+1:]
	_, wraps := options.FindWrapper(name)
	return wraps || name == "eval" || name == "exec" || name == "run" || name == "spawn"
}

// variable is the length of the name of a variable at the beginning of a text, with the brace before it.
func variable(text string) int {
	n := 0
	if strings.HasPrefix(text, "{") {
		n = 1
	}
	for n < len(text) && (text[n] == '_' || text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z' || text[n] >= '0' && text[n] <= '9') {
		n++
	}
	return n
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '/' || c == '+' || c == '-' || c == '~' || c >= 0x80
}
