// Package shellsyntax turns the text of a shell command line into an account of what it does: which
// simple commands it holds, anywhere in it, with the words each would get; what they read, write and
// remove; which programs they hand over to; and what cannot be known before it runs.
//
// It decides nothing and knows no rules: callers judge the account. It runs nothing, expands nothing
// that depends on a running shell, and touches no file. The account is complete in one direction
// only: whatever the shell may start is a [Part] or is reported in [Account.Problems] or as an unknown
// of its part; a part may well never run. Cost is linear in the length of the text, and there is no cap on
// the number of parts.
//
// Begin with [Analyse].
package shellsyntax

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// Options is what the analysis needs to know of the shell that would run the text.
type Options struct {
	Cwd  string // where the shell stands, absolute and clean
	Home string // home directory, absolute and clean; empty: "~" and $HOME stay unknown
}

// Account is what a command line does. It is immutable after [Analyse] and safe for concurrent use.
type Account struct {
	Text     string
	Parts    []Part    // every simple command anywhere in the text, outer before inner
	Problems []Problem // why the text cannot be trusted as read; empty: it can
	Parsed   bool      // Parts is complete; false: the text is no valid shell text (or too large to read)
	// Commands counts the simple commands; redirections, assignments and inner programs that stand
	// alone count too.
	Commands int
	// Outside says why the line evaluates text that comes from elsewhere: a variable it does not set, an
	// argument, the output of a command. Such text may run any program.
	Outside []string
}

// Problem is something that makes the text itself suspect, whatever it runs.
type Problem struct {
	Kind ProblemKind
	Text string // a sentence for people
	At   int    // byte offset in the text; 0 when it is about the whole
}

// ProblemKind says what kind of problem it is.
type ProblemKind string

// The kinds of problems.
const (
	ParseError ProblemKind = "parse"     // not valid shell text, or nested beyond reason
	Invisible  ProblemKind = "invisible" // characters that hide or reorder what a person reads
	Internal   ProblemKind = "internal"  // a mistake of this package; never expected
	InnerParse ProblemKind = "inner"     // the literal program of an eval, -c or trap is not valid
)

// PartKind says what sort of simple command a part is.
type PartKind uint8

// The kinds of parts.
const (
	Command     PartKind = iota // a program, builtin or function with its words
	Redirection                 // redirections alone, or those of a compound command
	Assignment                  // assignments alone
	Declaration                 // export, declare, typeset, readonly, local
	Function                    // the definition of a function; its body are parts of their own
	Arithmetic                  // (( )) and let
)

// Context says how a part is held by the part it belongs to.
type Context uint8

// The contexts.
const (
	TopLevel    Context = iota // belongs to no other part
	Quoted                     // a substitution inside double quotes
	Bare                       // a substitution outside of quotes: its output becomes any number of words
	CommandWord                // a substitution that makes the name of the command
	Target                     // a substitution in a redirection target, here-document or here-string
	Value                      // a substitution in an assignment
	Piped                      // a substitution whose output is read through the name of a pipe: <(…)
	Inner                      // the program of a wrapper, of eval, -c, -exec, trap, a function or alias
)

// Word is one word a command gets, or would get.
type Word = expand.Word

// Canonical spells a value in the one standard way that rules and commands are compared in.
func Canonical(value string) string { return expand.Canonical(value) }

// Part is one simple command.
type Part struct {
	Kind    PartKind
	Source  string   // its words as written, without redirections
	Words   []Word   // the words it gets, wrappers included; empty for Redirection and Assignment
	Assigns []Assign // leading assignments, or those it consists of
	Redirs  []Redir
	Forms   []Form // the command and what its wrappers run, outermost first; at least one for a Command
	Alts    []Form // other words a wrapper might run, where an option of it is not known
	Parent  int    // index of the part it belongs to, -1 for none
	Context Context

	Uses    []PathUse // what it reads, writes and removes, redirections included
	Hosts   []string  // hosts it names, lower case, perhaps with a port
	Exec    []string  // why a pattern over its arguments cannot vouch for it: options and operands that run programs
	Strange string    // a sub-command, with its program, that is not on the list of harmless ones: only a rule that names it vouches for it
	Unknown []string  // what about it cannot be known before it runs and may be any program
	Loose   []string  // what about its arguments is only known at run time

	ReadOnly   bool   // only reads, by the table of commands and their options
	WhyNot     string // when not ReadOnly: why, for people
	Background bool   // goes on after the line has ended
	Moved      bool   // may run in another directory than the line started in
	FileTool   bool   // a program whose very purpose is to change the files it names
	Known      bool   // the table knows the program
	Tool       string // a tool that only reads in this form, if it is not one that a project supplies

	Elsewhere bool // a wrapper changes the directory first

	read reading
}

// reading is what the analysis keeps of a part beside what it tells.
type reading struct {
	dirs    *dirs
	lister  int     // index of the part that alone writes its standard input, plus one; 0: there is none
	canon   string  // canonical text of Words
	offs    []int32 // start of each word in canon
	told    []told
	feed    [2]int32 // the parts that write into its standard input, from the first to before the last
	defined bool     // the program is a function or alias of the line
}

// Form is a way to look at a part: the command itself, or what a wrapper in front of it runs.
type Form struct {
	At       int    // index in Words of its first word
	Name     string // value of that word; empty when it is not static
	Stripped bool   // reached through wrappers that add nothing (timeout, nice, …) with options that are well understood
	Wrapper  string // the wrapper that led here, empty for the first
	Runner   bool   // that wrapper is a runner (npx, docker run, …): the program may be another machine's
}

// Assign is one assignment.
type Assign struct {
	Name   string
	Value  string // when Static
	Static bool
	Naked  bool // declared without a value
	Odd    bool // an array, an element, or appended to
	evals  bool
	held   string // what is known of the value or the array, as text
}

// Redir is one redirection.
type Redir struct {
	Op     string
	Target Word
	Inert  bool // a descriptor copy, /dev/null and the like: touches no file
	Odd    string
}

// Intent is what is done to a path.
type Intent uint8

// The intents.
const (
	Read   Intent = iota
	Enter         // becomes the working directory
	Write         // created, changed or replaced
	Delete        // removed with rm or rmdir
)

// Lister is what lists the names that are read below a path.
type Lister uint8

// The listers.
const (
	Nobody Lister = iota
	FindLists
	GitLists // nothing of .git
)

// PathUse is one path a part touches.
type PathUse struct {
	Text      string // as it reads, for people
	Path      string // absolute and clean, read as text; a pattern when Glob; a guess when Unknown or Unbased
	Intent    Intent
	Glob      bool   // Path is a pattern of the shell; what is literal in it is escaped
	Unknown   bool   // part of it is only known at run time
	Unbased   bool   // relative to a directory that is not known
	Tilde     bool   // written with "~"
	Expands   bool   // written with "~", $HOME or $PWD
	Below     bool   // everything below it, too
	Redirect  bool   // the target of a redirection
	Slash     bool   // written with a trailing slash
	Empty     string // when Unknown: the path if all that is unknown were empty
	Guess     bool   // the program is not known to touch it; it is only named
	Rooted    bool   // when Unknown: the beginning of the path is known
	Selected  bool   // when Unknown: it is what find selects
	Product   bool   // made by the program itself: a permission for the program covers it inside the project
	Input     bool   // named by the standard input of xargs and its like
	Tree      bool   // all that a repository tracks
	Copied    bool   // a tree that is copied: its own names appear at the target
	Only      bool   // when Guess: the program is known to read it at most
	Network   bool   // /dev/tcp or /dev/udp
	Walk      string // the way there as the kernel goes it, with ".." not taken away; empty: as Path says
	Unsettled bool   // a name before a ".." in Walk may become a link before the path is used
	Follows   bool   // what is read below it goes through links
	Listed    Lister // lists names below it that are read, links among them too
}

// Canonical is the canonical text of the words from the given one on: static words in one
// standard spelling, all others as written, one blank between them.
func (p *Part) Canonical(from int) string {
	switch {
	case from == 0:
		return p.read.canon
	case from >= len(p.read.offs):
		return ""
	}
	return p.read.canon[p.read.offs[from]:]
}

// Name is the name of the innermost program of the part, without a directory; empty when it is
// not known.
func (p *Part) Name() string {
	if len(p.Forms) == 0 {
		return ""
	}
	return baseName(p.Forms[len(p.Forms)-1].Name)
}

// baseName is the last element of a program's name, without a copy in the common case.
func baseName(name string) string {
	if !strings.Contains(name, "/") {
		return name
	}
	return path.Base(name)
}

// Allow is the form a permission for the part has to name: wrappers that add nothing are stripped.
func (p *Part) Allow() Form {
	f := p.Forms[0]
	for _, g := range p.Forms[1:] {
		if !g.Stripped {
			break
		}
		f = g
	}
	return f
}

// Wrapped tells whether the part runs its program through something that adds to what the program
// could do: env, sudo, xargs with options, and their like.
func (p *Part) Wrapped() (string, bool) {
	a := p.Allow()
	for _, f := range p.Forms {
		if f.At > a.At && !f.Runner {
			return f.Wrapper, true
		}
	}
	return "", false
}

func (p *Part) setCanon() {
	if len(p.Words) == 0 {
		return
	}
	if len(p.Words) == 1 {
		p.read.canon = p.Words[0].Canon
		return
	}
	p.read.offs = make([]int32, len(p.Words))
	n := len(p.Words) - 1
	for i := range p.Words {
		n += len(p.Words[i].Canon)
	}
	buf := make([]byte, 0, n)
	for i := range p.Words {
		if i > 0 {
			buf = append(buf, ' ')
		}
		p.read.offs[i] = int32(len(buf))
		buf = append(buf, p.Words[i].Canon...)
	}
	p.read.canon = string(buf)
}
