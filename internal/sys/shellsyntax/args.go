package shellsyntax

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// arg is one thing an option says.
type arg struct {
	opt   options.Option
	name  string // as written, for people
	word  int    // index of the word that holds the value
	from  int    // where in the word's value it begins
	value string
	known bool
}

// args is a command line taken apart by what is known of its program.
type args struct {
	spec     *options.Spec // of the innermost sub-command
	sub      string        // the sub-commands, one blank between them
	strange  string        // a sub-command that is not known
	options  []arg
	operands []int // indexes of words, sub-commands left out
	maybe    bool  // a word that is not static might be an option
	dashes   int   // index of "--", 0: none
}

// takeArgs reads the words after the name of a program. The words are those of the innermost form.
func takeArgs(s *options.Spec, words []Word, from int) args {
	a := args{spec: s}
	i := from + 1
	if s.NoDash && i < len(words) && words[i].Static() && words[i].Text != "" && words[i].Text[0] != '-' {
		i = a.cluster(words, i, words[i].Text, true)
	}
	for ; i < len(words); i++ {
		w := &words[i]
		text := w.Value
		switch {
		case a.dashes > 0:
			a.operand(words, i)
		case !w.Static():
			if w.MayBeOption() {
				a.maybe = true
			}
			if (w.Prefix > 1 || w.Glob()) && strings.HasPrefix(text, "-") {
				i = a.option(words, i) - 1
				continue
			}
			a.operand(words, i)
		case text == "--":
			a.dashes = i
		case len(text) > 1 && text[0] == '-':
			i = a.option(words, i) - 1
		default:
			a.operand(words, i)
		}
	}
	return a
}

// operand notes an operand, or goes on with the sub-command it names.
func (a *args) operand(words []Word, i int) {
	if a.spec.Subs() && a.strange == "" && len(a.operands) == 0 {
		w := &words[i]
		if sub := a.spec.Sub(w.Value); sub != nil && w.Static() {
			a.spec, a.sub = sub, strings.TrimSpace(a.sub+" "+w.Value)
			return
		}
		a.strange = w.Text
	}
	a.operands = append(a.operands, i)
	if a.spec.Tail && a.dashes == 0 {
		a.dashes = i
	}
}

// option reads the option at words[i] and returns the index of the next word.
func (a *args) option(words []Word, i int) int {
	text := words[i].Value
	if strings.HasPrefix(text, "--") || a.spec.Single {
		return a.longOption(words, i)
	}
	return a.cluster(words, i, text[1:], false)
}

func (a *args) longOption(words []Word, i int) int {
	text := words[i].Value
	body := strings.TrimLeft(text, "-")
	name, _, hasValue := strings.Cut(body, "=")
	opt, known := a.spec.Long(name)
	if head, ok := a.spec.JoinedName(body); ok && !known {
		opt, known = a.spec.Long(head)
		a.options = append(a.options, arg{opt: opt, name: "-" + head, known: true, word: i, from: len(text) - len(body) + len(head), value: body[len(head):]})
		return i + 1
	}
	if !known && a.spec.Digits && isNumber(name) {
		known = true
	}
	one := arg{opt: opt, name: "--" + name, known: known, word: i}
	if a.spec.Single {
		one.name = "-" + name
	}
	next := i + 1
	switch {
	case hasValue:
		one.from = len(text) - len(body) + len(name) + 1
		one.value = text[one.from:]
	case opt.Arg == options.TwoArgs:
		next = min(i+3, len(words))
		one.word = next - 1
	case opt.Arg == options.NeedsArg && next < len(words):
		one.word, one.value = next, words[next].Value
		next++
	}
	a.options = append(a.options, one)
	if a.spec.Single && name == "args" {
		a.dashes = i // all that follows belongs to the program under test
	}
	return next
}

// cluster reads short options in one word. In the old style the values of all of them follow as words of their own.
func (a *args) cluster(words []Word, i int, letters string, old bool) int {
	offset := len(words[i].Value) - len(letters)
	next := i + 1
	for j := 0; j < len(letters); j++ {
		c := letters[j]
		opt, known := a.spec.Short(c)
		one := arg{opt: opt, name: "-" + string(rune(c)), known: known, word: i}
		if opt.Arg != options.NoArg {
			switch {
			case j+1 < len(letters) && !old:
				one.from = offset + j + 1
				one.value = letters[j+1:]
			case opt.Arg != options.OptionalArg && next < len(words):
				one.word, one.value = next, words[next].Value
				next++
			}
			a.options = append(a.options, one)
			if old {
				continue
			}
			break
		}
		a.options = append(a.options, one)
	}
	return next
}

// hasOption tells whether one of the options is there, long ones also by their beginning.
func (a *args) hasOption(names ...string) bool {
	for _, o := range a.options {
		for _, n := range names {
			if o.name == n || (strings.HasPrefix(n, "--") && len(o.name) > 3 && strings.HasPrefix(n, o.name)) {
				return true
			}
		}
	}
	return false
}

func (a *args) hasRole(r options.Role) (arg, bool) {
	for _, o := range a.options {
		if o.known && o.opt.Role == r {
			return o, true
		}
	}
	return arg{}, false
}
