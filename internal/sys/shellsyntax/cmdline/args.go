// Package cmdline takes the words of a command apart: which are options with which values, which are operands and sub-commands,
// what stands behind a wrapper, and whether a command has the options that a rule names. What programs know comes from the table
// in options; what a command does with it all is told elsewhere.
//
// Begin with [Take] and [Peel].
package cmdline

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Arg is one thing an option says.
type Arg struct {
	Opt   options.Option
	Name  string // as written, for people
	Word  int    // index of the word that holds the value
	From  int    // where in the word's value it begins
	Value string
	Known bool
}

// Args is a command line taken apart by what is known of its program.
type Args struct {
	Spec     *options.Spec // of the innermost sub-command
	Sub      string        // the sub-commands, one blank between them
	Strange  string        // a sub-command that is not known
	Options  []Arg
	Operands []int // indexes of words, sub-commands left out
	Maybe    bool  // a word that is not static might be an option
	Dashes   int   // index of "--", 0: none
}

// Take reads the words after the name of a program. The words are those of the innermost form.
func Take(s *options.Spec, words []expand.Word, from int) Args {
	a := Args{Spec: s}
	i := from + 1
	if s.NoDash && i < len(words) && words[i].Static() && words[i].Text != "" && words[i].Text[0] != '-' {
		i = a.cluster(words, i, words[i].Text, true)
	}
	for ; i < len(words); i++ {
		w := &words[i]
		text := w.Value
		switch {
		case a.Dashes > 0:
			a.operand(words, i)
		case !w.Static():
			if w.MayBeOption() {
				a.Maybe = true
			}
			if (w.Prefix > 1 || w.Glob()) && strings.HasPrefix(text, "-") {
				i = a.option(words, i) - 1
				continue
			}
			a.operand(words, i)
		case text == "--":
			a.Dashes = i
		case len(text) > 1 && text[0] == '-':
			i = a.option(words, i) - 1
		default:
			a.operand(words, i)
		}
	}
	return a
}

// operand notes an operand, or goes on with the sub-command it names.
func (a *Args) operand(words []expand.Word, i int) {
	if a.Spec.Subs() && a.Strange == "" && len(a.Operands) == 0 {
		w := &words[i]
		if sub := a.Spec.Sub(w.Value); sub != nil && w.Static() {
			a.Spec, a.Sub = sub, strings.TrimSpace(a.Sub+" "+w.Value)
			return
		}
		a.Strange = w.Text
	}
	a.Operands = append(a.Operands, i)
	if a.Spec.Tail && a.Dashes == 0 {
		a.Dashes = i
	}
}

// option reads the option at words[i] and returns the index of the next word.
func (a *Args) option(words []expand.Word, i int) int {
	text := words[i].Value
	if strings.HasPrefix(text, "--") || a.Spec.Single {
		return a.longOption(words, i)
	}
	return a.cluster(words, i, text[1:], false)
}

func (a *Args) longOption(words []expand.Word, i int) int {
	text := words[i].Value
	body := strings.TrimLeft(text, "-")
	name, _, hasValue := strings.Cut(body, "=")
	opt, known := a.Spec.Long(name)
	if head, ok := a.Spec.JoinedName(body); ok && !known {
		opt, _ = a.Spec.Long(head)
		a.Options = append(a.Options, Arg{Opt: opt, Name: "-" + head, Known: true, Word: i, From: len(text) - len(body) + len(head), Value: body[len(head):]})
		return i + 1
	}
	if !known && a.Spec.Digits && expand.IsNumber(name) {
		known = true
	}
	one := Arg{Opt: opt, Name: "--" + name, Known: known, Word: i}
	if a.Spec.Single {
		one.Name = "-" + name
	}
	next := i + 1
	switch {
	case hasValue:
		one.From = len(text) - len(body) + len(name) + 1
		one.Value = text[one.From:]
	case opt.Arg == options.TwoArgs:
		next = min(i+3, len(words))
		one.Word = next - 1
	case opt.Arg == options.NeedsArg && next < len(words):
		one.Word, one.Value = next, words[next].Value
		next++
	}
	a.Options = append(a.Options, one)
	if a.Spec.Single && name == "args" {
		a.Dashes = i // all that follows belongs to the program under test
	}
	return next
}

// cluster reads short options in one word. In the old style the values of all of them follow as words of their own.
func (a *Args) cluster(words []expand.Word, i int, letters string, old bool) int {
	offset := len(words[i].Value) - len(letters)
	next := i + 1
	for j := 0; j < len(letters); j++ {
		c := letters[j]
		opt, known := a.Spec.Short(c)
		one := Arg{Opt: opt, Name: "-" + string(rune(c)), Known: known, Word: i}
		if opt.Arg != options.NoArg {
			switch {
			case j+1 < len(letters) && !old:
				one.From = offset + j + 1
				one.Value = letters[j+1:]
			case opt.Arg != options.OptionalArg && next < len(words):
				one.Word, one.Value = next, words[next].Value
				next++
			}
			a.Options = append(a.Options, one)
			if old {
				continue
			}
			break
		}
		a.Options = append(a.Options, one)
	}
	return next
}

// hasOption tells whether one of the options is there, long ones also by their beginning.
func (a *Args) HasOption(names ...string) bool {
	for _, o := range a.Options {
		for _, n := range names {
			if o.Name == n || (strings.HasPrefix(n, "--") && len(o.Name) > 3 && strings.HasPrefix(n, o.Name)) {
				return true
			}
		}
	}
	return false
}

func (a *Args) HasRole(r options.Role) (Arg, bool) {
	for _, o := range a.Options {
		if o.Known && o.Opt.Role == r {
			return o, true
		}
	}
	return Arg{}, false
}

// baseName is the last element of a program's name.
func baseName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
