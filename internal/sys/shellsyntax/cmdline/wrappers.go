package cmdline

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Peeled is what one look behind a wrapper found.
type Peeled struct {
	At       int  // index of the inner command's first word; 0: none
	Alt      int  // another index it may start at, when an option is not known; 0: none
	Stripped bool // by options that are well understood
	Text     int  // index of a word that is, or ends in, the text of a command; 0: none
	TextFrom int  // where in the word's value the text begins
	Joined   bool // the words from at on are joined and read by a shell
	Texts    bool // each word may be the text of a command
	Moved    bool // in another directory
	Unknown  bool // where the command begins is only known at run time
	Runner   bool
	Name     string
}

// findWrapper returns the wrapper that the word at from names, and the index after its name.
func findWrapper(words []expand.Word, from int) (*options.Wrapper, string, int) {
	if !words[from].Static() {
		return nil, "", 0
	}
	name := baseName(words[from].Text)
	if name == "runuser" && !slices.ContainsFunc(words[from:], func(w expand.Word) bool {
		return strings.HasPrefix(w.Value, "-u") || strings.HasPrefix(w.Value, "--u")
	}) {
		name = "su" // without -u its command line is that of su
	}
	w, known := options.FindWrapper(name)
	if w != nil || !known {
		return w, name, from + 1
	}
	return findSubWrapper(words, from, name)
}

// findSubWrapper goes through the sub-commands of a program of which some run others.
func findSubWrapper(words []expand.Word, from int, name string) (*options.Wrapper, string, int) {
	spec := options.Find(name)
	for i := from + 1; i < len(words) && words[i].Static(); i++ {
		text := words[i].Text
		if strings.HasPrefix(text, "-") {
			if takesNext(spec, text) {
				i++
			}
			continue
		}
		if spec != nil {
			spec = spec.Sub(text)
		}
		name += "/" + text
		w, known := options.FindWrapper(name)
		if w != nil || !known {
			return w, strings.Join(strings.Split(name, "/"), " "), i + 1
		}
	}
	return nil, "", 0
}

// takesNext tells whether an option takes the next word for its value.
func takesNext(spec *options.Spec, text string) bool {
	if spec == nil || len(text) < 2 {
		return false
	}
	var opt options.Option
	if name, long := strings.CutPrefix(text, "--"); long || spec.Single {
		opt, _ = spec.Long(strings.TrimLeft(name, "-"))
	} else {
		opt, _ = spec.Short(text[len(text)-1])
	}
	return opt.Arg == options.NeedsArg
}

// Peel looks behind the wrapper at words[from]; ok is false when the word is no wrapper or the
// wrapper runs nothing.
func Peel(words []expand.Word, from int) (p Peeled, ok bool) {
	w, name, i := findWrapper(words, from)
	if w == nil || i > len(words) {
		return p, false
	}
	p = Peeled{Name: name, Stripped: w.Strip, Runner: w.Runner, Joined: w.Joined, Texts: w.Texts}
	if len(w.ChdirLong) > 0 && w.ChdirLong[0] == "/" {
		p.Moved = true
	}
	if name == "gdb" {
		return peelGDB(words, i, p)
	}
	if name == "xargs" && i < len(words) && words[i].Static() && strings.HasPrefix(words[i].Text, "-") {
		p.Stripped = false
	}
	return findInner(w, p, words, i)
}

// find goes through the words after a wrapper's name until the inner command begins.
func findInner(w *options.Wrapper, p Peeled, words []expand.Word, i int) (Peeled, bool) {
	operands, dashed, unknownOption := w.Operands, false, false
	for ; i < len(words); i++ {
		text := words[i].Text
		if !words[i].Static() {
			if w.Anywhere {
				continue
			}
			if operands > 0 && !words[i].Splits() {
				operands--
				p.Stripped = false
				continue
			}
			p.Unknown, p.At = true, i
			return p, true
		}
		switch {
		case text == "--" && !dashed:
			dashed = true
			if w.Dashes {
				operands = 0
			}
		case text == "-" && (p.Name == "env" || p.Name == "su"):
			p.Stripped = false
		case slices.Contains(w.After, text) && i+1 < len(words):
			p.At = i + 1
			return p, true
		case (!dashed || w.Anywhere && w.Text != "") && len(text) > 1 && (text[0] == '-' || (p.Name == "time" && text[0] == '+')):
			if p.Name == "command" && strings.ContainsAny(text, "vV") {
				return p, false // asks what a name means, runs nothing
			}
			var value int
			if value, unknownOption = wrapperOption(w, &p, words, i); p.Text > 0 {
				return p, true
			}
			i += value
		case w.Assigns && (IsAssignment(text) || p.Name == "env" && strings.Contains(text, "=")):
			unknownOption = false
		case w.Anywhere, w.Dashes && !dashed:
		case operands > 0:
			operands--
			unknownOption = false
		default:
			p.At = i
			if (unknownOption || w.Maybe) && i+1 < len(words) {
				p.Alt = i + 1
			}
			return p, true
		}
	}
	return p, false
}

// option reads the option at words[i]. It returns how many further words its value takes, and
// whether the option is not known, so that the next word may be its value.
func wrapperOption(w *options.Wrapper, p *Peeled, words []expand.Word, i int) (int, bool) {
	text := words[i].Text
	if strings.HasPrefix(text, "--") {
		return wrapperLong(w, p, words, i)
	}
	for j := 1; j < len(text); j++ {
		c := text[j]
		if c >= '0' && c <= '9' {
			if !strings.Contains(w.Plain, "#") {
				p.Stripped = false
			}
			continue
		}
		if strings.IndexByte(w.Plain, c) < 0 {
			p.Stripped = false
		}
		if strings.IndexByte(w.Chdir, c) >= 0 {
			p.Moved = true
		}
		if w.Text != "" && strings.IndexByte(w.Text, c) >= 0 {
			if j+1 < len(text) {
				p.Text, p.TextFrom = i, j+1
			} else if i+1 < len(words) {
				p.Text, p.TextFrom = i+1, 0
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

func wrapperLong(w *options.Wrapper, p *Peeled, words []expand.Word, i int) (int, bool) {
	name, _, hasValue := strings.Cut(words[i].Text[2:], "=")
	if !options.Abbreviates(w.PlainLong, name) {
		p.Stripped = false
	}
	if options.Abbreviates(w.ChdirLong, name) {
		p.Moved = true
	}
	if options.Abbreviates(w.TextLong, name) {
		if hasValue {
			p.Text, p.TextFrom = i, len(name)+3
		} else if i+1 < len(words) {
			p.Text, p.TextFrom = i+1, 0
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

func peelGDB(words []expand.Word, i int, p Peeled) (Peeled, bool) {
	for ; i < len(words); i++ {
		if words[i].Static() && (words[i].Text == "--args" || words[i].Text == "-args") && i+1 < len(words) {
			p.At = i + 1
			return p, true
		}
	}
	return p, false
}

func IsAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && expand.IsName(strings.TrimSuffix(name, "+"))
}
