// Package options is what is known of the command lines of programs: which options they have, which of these take
// a value and what becomes of it, what their operands are, and which sub-commands they know. It is data: one
// table in one format, read once.
//
// It knows no shell and no words: [shellsyntax] takes command lines apart by it and says what a command does. Nothing
// here decides whether a command may run.
//
// Begin with [Find]; the format of the table is told at [parseSpec] and [parseOption].
package options

import (
	"maps"
	"strings"
	"sync"
)

// Spec is what the table knows of one program, or of one sub-command of it. It is never changed.
type Spec struct {
	ReadOnly bool // in the set of commands that only read, with the options listed
	Any      bool // options the table does not list are harmless
	Glob     bool // an unquoted pattern is harmless: no option could write or run anything
	FileTool bool // its very purpose is to change the files it names
	Single   bool // long options with a single dash
	NoDash   bool // the first word is a cluster of options even without a dash (tar)
	Digits   bool // -NUM is an option
	Joined   bool // with Single: the value may follow the name without a blank (-lm)
	Tail     bool // what follows the first operand belongs to another program
	// Runs: it has an option, operand or sub-command that runs programs, loads code or writes where it likes. What
	// is not listed is not vouched for by a pattern.
	Runs     bool
	Operands string
	short    map[byte]Option
	long     map[string]Option
	subs     map[string]*entry
}

// Option is one option of a program.
type Option struct {
	Arg  ArgKind
	Role Role
}

// ArgKind says whether an option takes a value.
type ArgKind uint8

// The kinds of values.
const (
	NoArg       ArgKind = iota
	NeedsArg            // attached or the next word
	OptionalArg         // attached only
	TwoArgs             // the next two words
)

// Role is what becomes of an option or its value.
type Role uint8

// The roles.
const (
	Harmless   Role = iota
	Text            // its value is text for people or a pattern, never a place
	ReadsPath       // its value is a file that is read
	WritesPath      // its value is a file that is written
	Product         // the same, and a permission for the program covers it inside the project
	TargetDir       // its value is the directory that the operands are put in
	Runs            // runs a program, or loads something that may
	Command         // its value is a command line
	Program         // its value is a program, which a permission for the program covers
	Changes         // makes the command more than a reader
	Recurses        // reads below its operands
	Follows         // the same, through symbolic links
	Pattern         // its value is what the first operand would be
	PatternFile
	Script      // its value is a script of the program's own language
	ScriptFile  // its value is a file with such a script
	ProgramFile // its value is a file that says what is to be done, which the project may hold (make -f)
	NamesFile   // its value is a file that holds names of files
	DataArg     // "@file" in the value is a file that is read
	FormArg     // "name=@file" in the value is a file that is read
	ConfigFile  // its value is a file of options, which may name programs
	MovesDir    // its value is a directory to change into first
	Mount       // its value is "place:place in a container"
	InPlace     // changes the operands themselves
	WritesHere  // writes a file in the working directory whose name comes from elsewhere
)

// marks are the suffixes of options in the table, with what they mean.
//
//	-n       harmless flag            -n:     harmless with a value      -n?   with an optional value
//	-m"      value is text            -n::    takes two values
//	-f<      value is read            -o>     value is written           -o>:  the same, as the program's own product
//	-T<<     value is a file of names -t/     target directory           -v|   value is mounted
//	-f<!     value says what is done
//	-x!      runs something           -x!:    the same with a value      -x!?
//	-c$      value is a command line
//	-s#      value is a program
//	-i~      changes something        -i~:    the same with a value      -i~?
//	-r@      recurses                 -R@@    the same through links
//	-e^      value is the pattern     -f^<    value is a file of patterns
//	-e{      value is a script        -f{<    value is a script file
//	-d&      "@file" in the value     -F&=    "=@file" in the value      -K%   value is a file of options
//	-C+      value is a directory     -i=     changes operands (-i=?)    -O*   writes here
var marks = map[string]Option{
	"": {}, ":": {NeedsArg, Harmless}, "?": {OptionalArg, Harmless}, "::": {TwoArgs, Harmless}, `"`: {NeedsArg, Text},
	"<": {NeedsArg, ReadsPath}, "<<": {NeedsArg, NamesFile}, "<!": {NeedsArg, ProgramFile}, ">": {NeedsArg, WritesPath}, ">?": {OptionalArg, WritesPath},
	">:": {NeedsArg, Product}, "/": {NeedsArg, TargetDir}, "|": {NeedsArg, Mount},
	"#": {NeedsArg, Program}, "!": {NoArg, Runs}, "!:": {NeedsArg, Runs}, "!?": {OptionalArg, Runs}, "$": {NeedsArg, Command},
	"~": {NoArg, Changes}, "~:": {NeedsArg, Changes}, "~?": {OptionalArg, Changes},
	"@": {NoArg, Recurses}, "@@": {NoArg, Follows}, "^": {NeedsArg, Pattern}, "^<": {NeedsArg, PatternFile},
	"{": {NeedsArg, Script}, "{<": {NeedsArg, ScriptFile}, "&": {NeedsArg, DataArg}, "&=": {NeedsArg, FormArg},
	"%": {NeedsArg, ConfigFile}, "+": {NeedsArg, MovesDir}, "=": {NoArg, InPlace}, "=?": {OptionalArg, InPlace},
	"*": {NoArg, WritesHere},
}

// parseOption reads an option of the table: its name and a mark.
func parseOption(field string) (string, Option) {
	end := strings.IndexAny(field[2:], `:?<>/!~@^{&%+*="$|#`) + 2 // a letter may look like a mark
	if end < 2 {
		return field, Option{}
	}
	opt, ok := marks[field[end:]]
	if !ok {
		panic("options: unknown mark in the table: " + field)
	}
	return field[:end], opt
}

// parseSpec reads what follows the names in one line of the table: "names | attributes | options". Names that begin with "program:" (or
// "program sub:") are its sub-commands; they know the options of the program, too.
//
// Attributes: ro only reads · any other options are harmless · glob patterns are harmless · file its purpose is to
// change files · single long options with one dash · nodash the first word is options · digits -NUM is an option ·
// joined values follow the names of single options without a blank · tail what follows the first operand belongs to another
// program · runs what is not listed is not vouched for. op= says what operands are:
//
//	t    text                   r    files that are read         w    files that are written
//	p    pattern, then files    pR   the same, read below        d    files that are removed
//	1w   text, then written     rw   one read, one written       cp mv ln  sources and target
//	R    read below             dd   name=value                  url  hosts        remote  files or host:path
//	0    none                   1r   the first is read           -    anything: every word may be a file
func parseSpec(columns string, parent *Spec) *Spec {
	s := &Spec{short: map[byte]Option{}, long: map[string]Option{}}
	if parent != nil {
		s.inherit(parent)
	}
	attributes, opts, _ := strings.Cut(columns+" ", " | ")
	for a := range strings.FieldsSeq(strings.TrimSuffix(strings.TrimSpace(attributes), "|")) {
		s.attribute(a)
	}
	for f := range strings.FieldsSeq(strings.Replace(opts, "@log", gitLogOptions, 1)) {
		s.add(parseOption(f))
	}
	return s
}

func (s *Spec) attribute(a string) {
	switch a {
	case "ro":
		s.ReadOnly = true
	case "any":
		s.Any = true
	case "glob":
		s.Glob = true
	case "file":
		s.FileTool = true
	case "single":
		s.Single = true
	case "nodash":
		s.NoDash = true
	case "digits":
		s.Digits = true
	case "joined":
		s.Joined = true
	case "tail":
		s.Tail = true
	case "runs":
		s.Runs = true
	default:
		key, val, _ := strings.Cut(a, "=")
		if key != "op" {
			panic("options: unknown attribute in the table: " + a)
		}
		s.Operands = val
	}
}

func (s *Spec) add(name string, opt Option) {
	s.Runs = s.Runs || opt.Role == Runs || opt.Role == Command || opt.Role == ConfigFile
	if s.Single || strings.HasPrefix(name, "--") {
		s.long[strings.TrimLeft(name, "-")] = opt
		return
	}
	if len(name) != 2 {
		panic("options: not a short option: " + name)
	}
	s.short[name[1]] = opt
}

// inherit makes a sub-command know what its program knows.
func (s *Spec) inherit(from *Spec) {
	s.Runs, s.Single, s.Joined, s.Any = from.Runs, from.Single, from.Joined, from.Any
	s.Operands = from.Operands
	maps.Copy(s.short, from.short)
	maps.Copy(s.long, from.long)
}

// Short returns the option of one letter.
func (s *Spec) Short(c byte) (Option, bool) {
	opt, ok := s.short[c]
	if !ok && (s.Digits || s.Any) && c >= '0' && c <= '9' {
		return opt, true
	}
	return opt, ok
}

// Long finds a long option, also by its beginning. Of several that begin alike the most dangerous counts: a program
// may accept the abbreviation where the table knows more than it does.
func (s *Spec) Long(name string) (Option, bool) {
	if opt, ok := s.long[name]; ok {
		return opt, true
	}
	if s.Single || name == "" {
		return Option{}, false
	}
	var best Option
	found := false
	for full, opt := range s.long {
		if !strings.HasPrefix(full, name) {
			continue
		}
		if !found || danger(opt.Role) > danger(best.Role) || (danger(opt.Role) == danger(best.Role) && opt.Arg > best.Arg) {
			best, found = opt, true
		}
	}
	return best, found
}

// JoinedName returns the longest option that a word of a program with [Spec.Joined] begins with and that may take a value.
func (s *Spec) JoinedName(word string) (string, bool) {
	for n := len(word) - 1; s.Joined && n > 0; n-- {
		if opt, ok := s.long[word[:n]]; ok && opt.Arg != NoArg {
			return word[:n], true
		}
	}
	return "", false
}

// Subs tells whether the program has sub-commands that are known.
func (s *Spec) Subs() bool { return len(s.subs) > 0 }

// Sub returns a sub-command; nil when it is not known.
func (s *Spec) Sub(name string) *Spec {
	if e := s.subs[name]; e != nil {
		return e.read()
	}
	return nil
}

func danger(r Role) int {
	switch r {
	case Runs, Command, ScriptFile:
		return 5
	case WritesPath, Product, TargetDir, InPlace, WritesHere:
		return 4
	case Changes, ConfigFile, NamesFile, ProgramFile:
		return 3
	case ReadsPath, PatternFile, DataArg, FormArg, Script, MovesDir, Mount, Follows:
		return 2
	case Recurses:
		return 1
	}
	return 0
}

// entry is one line of the table, read when it is first asked for.
type entry struct {
	columns string // attributes and options
	parent  *entry
	subs    map[string]*entry
	once    sync.Once
	spec    *Spec
}

func (e *entry) read() *Spec {
	e.once.Do(func() {
		var parent *Spec
		if e.parent != nil {
			parent = e.parent.read()
		}
		s := parseSpec(e.columns, parent)
		s.subs = e.subs
		e.spec = s
	})
	return e.spec
}

// table is every program by its name. Only the first column of its lines is read.
var table = sync.OnceValue(readTable)

func readTable() map[string]*entry {
	out := make(map[string]*entry, 400)
	for _, text := range []string{readerLines, fileLines, netLines, toolLines, gitLines} {
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" {
				enter(out, line)
			}
		}
	}
	return out
}

// enter adds one line.
func enter(programs map[string]*entry, line string) {
	head, columns, _ := strings.Cut(line, " | ")
	i := strings.Index(head, ": ")
	if i <= 0 || head[i-1] == ' ' {
		e := &entry{columns: columns}
		for n := range strings.FieldsSeq(head) {
			programs[n] = e
		}
		return
	}
	up := find(programs, head[:i])
	if up.subs == nil {
		up.subs = map[string]*entry{}
	}
	for n := range strings.FieldsSeq(head[i+2:]) {
		up.subs[n] = &entry{columns: columns, parent: up} // each may have sub-commands of its own
	}
}

// find returns the entry of "program" or "program sub".
func find(programs map[string]*entry, name string) *entry {
	program, sub, nested := strings.Cut(name, " ")
	e := programs[program]
	if nested && e != nil {
		e = e.subs[sub]
	}
	if e == nil {
		panic("options: the table has sub-commands of " + name + " before the program itself")
	}
	return e
}

// Find returns what is known of a program; nil when nothing is.
func Find(program string) *Spec {
	if e := table()[program]; e != nil {
		return e.read()
	}
	return nil
}
