package shellsyntax

import (
	"strings"
)

// spec is what the table knows of one program's command line.
type spec struct {
	name     string
	readOnly bool // in the set of commands that only read, with the options below
	any      bool // options the table does not list are harmless
	glob     bool // an unquoted pattern is harmless: no option could write or run anything
	fileTool bool // its very purpose is to change the files it names
	single   bool // long options with a single dash
	exec     bool // has options that run programs: a word that may be an option is not vouched for
	noDash   bool // the first word is a cluster of options even without a dash (tar)
	digits   bool // -NUM is an option
	operands string
	short    map[byte]option
	long     map[string]option
}

// option is one option of a program.
type option struct {
	arg  argKind
	role role
}

type argKind uint8

const (
	noArg       argKind = iota
	needsArg            // attached or the next word
	optionalArg         // attached only
)

type role uint8

const (
	harmless  role = iota
	readsPath      // its value is a file that is read
	writesPath
	targetDir // its value is the directory that the operands are put in
	runs      // runs a program, or loads something that may
	changes   // makes the command more than a reader
	recurses  // reads below its operands
	pattern   // its value is what the first operand would be
	patternFile
	script     // its value is a script of the program's own language
	scriptFile //
	dataArg    // "@file" in the value is a file that is read
	formArg    // "name=@file" in the value is a file that is read
	configFile // its value is a file of options, which may name programs
	movesDir   // its value is a directory to change into first
	urlArg     // its value names a host
	inPlace    // changes the operands themselves
	writesHere // writes a file in the working directory whose name comes from elsewhere
)

// parseOption reads an option of the table: its name and a suffix of argument and role.
//
//	-n       harmless flag            -n:     harmless with a value      -n?   with an optional value
//	-f<      value is read            -o>     value is written           -t/   target directory
//	-x!      runs something           -x!:    the same with a value      -x!?
//	-i~      changes something        -i~:    the same with a value      -i~?
//	-r@      recurses                 -e^     value is the pattern       -f^<  value is a file of patterns
//	-e{      value is a script        -f{<    value is a script file
//	-d&      "@file" in the value     -F&=    "=@file" in the value      -K%   value is a file of options
//	-C+      value is a directory     -i=     changes operands (-i=?)    -O*   writes here
func parseOption(field string) (string, option) {
	end := strings.IndexAny(field, ":?<>/!~@^{&%+*=")
	if end < 0 {
		return field, option{}
	}
	name := field[:end]
	switch field[end:] {
	case ":":
		return name, option{needsArg, harmless}
	case "?":
		return name, option{optionalArg, harmless}
	case "<":
		return name, option{needsArg, readsPath}
	case ">":
		return name, option{needsArg, writesPath}
	case ">?":
		return name, option{optionalArg, writesPath}
	case "/":
		return name, option{needsArg, targetDir}
	case "!":
		return name, option{noArg, runs}
	case "!:":
		return name, option{needsArg, runs}
	case "!?":
		return name, option{optionalArg, runs}
	case "~":
		return name, option{noArg, changes}
	case "~:":
		return name, option{needsArg, changes}
	case "~?":
		return name, option{optionalArg, changes}
	case "@":
		return name, option{noArg, recurses}
	case "^":
		return name, option{needsArg, pattern}
	case "^<":
		return name, option{needsArg, patternFile}
	case "{":
		return name, option{needsArg, script}
	case "{<":
		return name, option{needsArg, scriptFile}
	case "&":
		return name, option{needsArg, dataArg}
	case "&=":
		return name, option{needsArg, formArg}
	case "%":
		return name, option{needsArg, configFile}
	case "+":
		return name, option{needsArg, movesDir}
	case "=":
		return name, option{noArg, inPlace}
	case "=?":
		return name, option{optionalArg, inPlace}
	case "*":
		return name, option{noArg, writesHere}
	}
	panic("shellsyntax: unknown option mark in the table: " + field)
}

// parseSpec reads one line of the table: "names | attributes | options".
func parseSpec(line string) ([]string, *spec) {
	cols := strings.SplitN(line, "|", 3)
	s := &spec{short: map[byte]option{}, long: map[string]option{}}
	for _, a := range strings.Fields(cols[1]) {
		switch a {
		case "ro":
			s.readOnly = true
		case "any":
			s.any = true
		case "glob":
			s.glob = true
		case "file":
			s.fileTool = true
		case "single":
			s.single = true
		case "nodash":
			s.noDash = true
		case "digits":
			s.digits = true
		default:
			key, val, _ := strings.Cut(a, "=")
			if key != "op" {
				panic("shellsyntax: unknown attribute in the table: " + a)
			}
			s.operands = val
		}
	}
	if len(cols) > 2 {
		for _, f := range strings.Fields(cols[2]) {
			name, opt := parseOption(f)
			s.exec = s.exec || opt.role == runs || opt.role == configFile
			switch {
			case s.single, strings.HasPrefix(name, "--"):
				s.long[strings.TrimLeft(name, "-")] = opt
			default:
				s.short[name[1]] = opt
			}
		}
	}
	names := strings.Fields(cols[0])
	s.name = names[0]
	return names, s
}

// arg is one thing an option or operand says.
type arg struct {
	opt   option
	name  string // as written, for people
	word  int    // index of the word that holds the value
	from  int    // where in the word's value it begins
	value string
	known bool
}

// args is a command line taken apart by its spec.
type args struct {
	options  []arg
	operands []int // indexes of words
	maybe    bool  // a word that is not static might be an option
	dashes   int   // index of "--", 0: none
}

// take reads the words after the name by the spec. The words are those of the innermost form.
func (s *spec) take(words []Word, from int) args {
	var a args
	i := from + 1
	if s.noDash && i < len(words) && words[i].Static() && words[i].Text != "" && words[i].Text[0] != '-' {
		i = s.cluster(&a, words, i, words[i].Text)
	}
	for ; i < len(words); i++ {
		w := &words[i]
		text := w.Value
		switch {
		case a.dashes > 0:
			a.operands = append(a.operands, i)
		case !w.Static():
			if w.MayBeOption() {
				a.maybe = true
			}
			if (w.Prefix > 1 || w.Glob()) && strings.HasPrefix(text, "-") {
				i = s.option(&a, words, i) - 1
				continue
			}
			a.operands = append(a.operands, i)
		case text == "--":
			a.dashes = i
		case len(text) > 1 && text[0] == '-':
			i = s.option(&a, words, i) - 1
		default:
			a.operands = append(a.operands, i)
		}
	}
	return a
}

// option reads the option at words[i] and returns the index of the next word.
func (s *spec) option(a *args, words []Word, i int) int {
	text := words[i].Value
	if strings.HasPrefix(text, "--") || s.single {
		return s.longOption(a, words, i)
	}
	return s.cluster(a, words, i, text[1:])
}

func (s *spec) longOption(a *args, words []Word, i int) int {
	text := words[i].Value
	body := strings.TrimLeft(text, "-")
	name, _, hasValue := strings.Cut(body, "=")
	opt, known := s.lookup(name)
	if !known && s.digits && isNumber(name) {
		known = true
	}
	one := arg{opt: opt, name: "--" + name, known: known, word: i}
	if s.single {
		one.name = "-" + name
	}
	next := i + 1
	switch {
	case hasValue:
		one.from = len(text) - len(body) + len(name) + 1
		one.value = text[one.from:]
	case opt.arg == needsArg && next < len(words):
		one.word, one.value = next, words[next].Value
		next++
	}
	a.options = append(a.options, one)
	return next
}

// lookup finds a long option, also by its beginning. Of several that begin alike the most
// dangerous counts: a program may accept the abbreviation where our table knows more than it does.
func (s *spec) lookup(name string) (option, bool) {
	if opt, ok := s.long[name]; ok {
		return opt, true
	}
	if s.single || name == "" {
		return option{}, false
	}
	var best option
	found := false
	for full, opt := range s.long {
		if !strings.HasPrefix(full, name) {
			continue
		}
		if !found || danger(opt.role) > danger(best.role) || (danger(opt.role) == danger(best.role) && opt.arg > best.arg) {
			best, found = opt, true
		}
	}
	return best, found
}

func danger(r role) int {
	switch r {
	case runs, scriptFile:
		return 5
	case writesPath, targetDir, inPlace, writesHere:
		return 4
	case changes, configFile:
		return 3
	case readsPath, patternFile, dataArg, formArg, script, movesDir:
		return 2
	case recurses:
		return 1
	}
	return 0
}

// cluster reads short options in one word.
func (s *spec) cluster(a *args, words []Word, i int, letters string) int {
	offset := len(words[i].Value) - len(letters)
	next := i + 1
	for j := 0; j < len(letters); j++ {
		c := letters[j]
		opt, known := s.short[c]
		if !known && (s.digits || s.any) && c >= '0' && c <= '9' {
			known = true
		}
		one := arg{opt: opt, name: "-" + string(rune(c)), known: known, word: i}
		if opt.arg != noArg {
			switch {
			case j+1 < len(letters):
				one.from = offset + j + 1
				one.value = letters[j+1:]
			case opt.arg == needsArg && next < len(words):
				one.word, one.value = next, words[next].Value
				next++
			}
			a.options = append(a.options, one)
			break
		}
		a.options = append(a.options, one)
	}
	return next
}
