package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// peeled is what one look behind a wrapper found.
type peeled struct {
	at       int  // index of the inner command's first word; 0: none
	alt      int  // another index it may start at, when an option is not known; 0: none
	stripped bool // by options that are well understood
	text     int  // index of a word that is, or ends in, the text of a command; 0: none
	textFrom int  // where in the word's value the text begins
	joined   bool // the words from at on are joined and read by a shell
	moved    bool // in another directory
	unknown  bool // where the command begins is only known at run time
	runner   bool
	name     string
}

// findWrapper returns the wrapper that the word at from names, and the index after its name.
func findWrapper(words []Word, from int) (*options.Wrapper, string, int) {
	if !words[from].Static() {
		return nil, "", 0
	}
	name := baseName(words[from].Text)
	if name == "runuser" && !slices.ContainsFunc(words[from:], func(w Word) bool {
		return strings.HasPrefix(w.Value, "-u") || strings.HasPrefix(w.Value, "--u")
	}) {
		name = "su" // without -u its command line is that of su
	}
	w, known := options.FindWrapper(name)
	if w != nil || !known {
		return w, name, from + 1
	}
	for i := from + 1; i < len(words) && words[i].Static(); i++ {
		if strings.HasPrefix(words[i].Text, "-") {
			continue
		}
		inner, _ := options.FindWrapper(name + "/" + words[i].Text)
		return inner, name + " " + words[i].Text, i + 1
	}
	return nil, "", 0
}

// peel looks behind the wrapper at words[from]; ok is false when the word is no wrapper or the
// wrapper runs nothing.
func peel(words []Word, from int) (p peeled, ok bool) {
	w, name, i := findWrapper(words, from)
	if w == nil || i > len(words) {
		return p, false
	}
	p = peeled{name: name, stripped: w.Strip, runner: w.Runner, joined: w.Joined}
	if len(w.ChdirLong) > 0 && w.ChdirLong[0] == "/" {
		p.moved = true
	}
	if name == "gdb" {
		return peelGDB(words, i, p)
	}
	if name == "xargs" && i < len(words) && words[i].Static() && strings.HasPrefix(words[i].Text, "-") {
		p.stripped = false
	}
	return findInner(w, p, words, i)
}

// find goes through the words after a wrapper's name until the inner command begins.
func findInner(w *options.Wrapper, p peeled, words []Word, i int) (peeled, bool) {
	operands, dashed, unknownOption := w.Operands, false, false
	for ; i < len(words); i++ {
		text := words[i].Text
		if !words[i].Static() {
			if w.Anywhere {
				continue
			}
			if operands > 0 && !words[i].Splits() {
				operands--
				p.stripped = false
				continue
			}
			p.unknown, p.at = true, i
			return p, true
		}
		switch {
		case text == "--" && !dashed:
			dashed = true
			if w.Dashes {
				operands = 0
			}
		case text == "-" && (p.name == "env" || p.name == "su"):
			p.stripped = false
		case slices.Contains(w.After, text) && i+1 < len(words):
			p.at = i + 1
			return p, true
		case (!dashed || w.Anywhere && w.Text != "") && len(text) > 1 && (text[0] == '-' || (p.name == "time" && text[0] == '+')):
			if p.name == "command" && strings.ContainsAny(text, "vV") {
				return p, false // asks what a name means, runs nothing
			}
			var value int
			if value, unknownOption = wrapperOption(w, &p, words, i); p.text > 0 {
				return p, true
			}
			i += value
		case w.Assigns && (isAssignment(text) || p.name == "env" && strings.Contains(text, "=")):
			unknownOption = false
		case w.Anywhere, w.Dashes && !dashed:
		case operands > 0:
			operands--
			unknownOption = false
		default:
			p.at = i
			if (unknownOption || w.Maybe) && i+1 < len(words) {
				p.alt = i + 1
			}
			return p, true
		}
	}
	return p, false
}

// option reads the option at words[i]. It returns how many further words its value takes, and
// whether the option is not known, so that the next word may be its value.
func wrapperOption(w *options.Wrapper, p *peeled, words []Word, i int) (int, bool) {
	text := words[i].Text
	if strings.HasPrefix(text, "--") {
		return wrapperLong(w, p, words, i)
	}
	for j := 1; j < len(text); j++ {
		c := text[j]
		if c >= '0' && c <= '9' {
			if !strings.Contains(w.Plain, "#") {
				p.stripped = false
			}
			continue
		}
		if strings.IndexByte(w.Plain, c) < 0 {
			p.stripped = false
		}
		if strings.IndexByte(w.Chdir, c) >= 0 {
			p.moved = true
		}
		if w.Text != "" && strings.IndexByte(w.Text, c) >= 0 {
			if j+1 < len(text) {
				p.text, p.textFrom = i, j+1
			} else if i+1 < len(words) {
				p.text, p.textFrom = i+1, 0
			}
			return 0, false
		}
		if strings.IndexByte(w.Short, c) >= 0 {
			if j+1 < len(text) {
				return 0, false
			}
			return 1, false
		}
	}
	return 0, true
}

func wrapperLong(w *options.Wrapper, p *peeled, words []Word, i int) (int, bool) {
	name, _, hasValue := strings.Cut(words[i].Text[2:], "=")
	if !options.Abbreviates(w.PlainLong, name) {
		p.stripped = false
	}
	if options.Abbreviates(w.ChdirLong, name) {
		p.moved = true
	}
	if options.Abbreviates(w.TextLong, name) {
		if hasValue {
			p.text, p.textFrom = i, len(name)+3
		} else if i+1 < len(words) {
			p.text, p.textFrom = i+1, 0
		}
		return 0, false
	}
	if hasValue {
		return 0, false
	}
	if options.Abbreviates(w.Long2, name) {
		return 2, false
	}
	if options.Abbreviates(w.Long, name) {
		return 1, false
	}
	return 0, true
}

func peelGDB(words []Word, i int, p peeled) (peeled, bool) {
	for ; i < len(words); i++ {
		if words[i].Static() && (words[i].Text == "--args" || words[i].Text == "-args") && i+1 < len(words) {
			p.at = i + 1
			return p, true
		}
	}
	return p, false
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && isName(strings.TrimSuffix(name, "+"))
}

func isName(s string) bool {
	if s == "" || (s[0] >= '0' && s[0] <= '9') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
