package bash

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// sight is what this tool itself sees in a command line. It serves convenience (which exit code is
// harmless, what may go to the background), never safety: what may run is decided elsewhere.
type sight struct {
	parsed bool
	words  [][]string // the simple commands in order of appearance; a word that is no plain text is ""
	final  []string   // the command whose exit code is that of the line; nil: not known
	moves  bool       // changes the working directory
	only   []string   // the words of a line that needs no shell; nil: it may need one
}

// maxSight is the length of a command line up to which it is looked into.
const maxSight = 64 << 10

func look(command string) sight {
	if len(command) > maxSight {
		return sight{}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return sight{}
	}
	s := sight{parsed: true, only: onlyWords(file)}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			w := plain(c.Args)
			s.words = append(s.words, w)
			s.moves = s.moves || slices.Contains([]string{"cd", "pushd", "popd"}, w[0])
		}
		return true
	})
	if n := len(file.Stmts); n > 0 {
		s.final = finalCommand(file.Stmts[n-1])
	}
	return s
}

func finalCommand(st *syntax.Stmt) []string {
	if st == nil || st.Background || st.Negated {
		return nil
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			return plain(c.Args)
		}
	case *syntax.BinaryCmd:
		return finalCommand(c.Y)
	case *syntax.Subshell:
		return finalCommand(c.Stmts[len(c.Stmts)-1])
	case *syntax.Block:
		return finalCommand(c.Stmts[len(c.Stmts)-1])
	case *syntax.TestClause:
		return []string{"test"}
	}
	return nil
}

func plain(args []*syntax.Word) []string {
	out := make([]string, len(args))
	for i, w := range args {
		out[i] = plainWord(w)
	}
	return out
}

func plainWord(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					return ""
				}
				b.WriteString(lit.Value)
			}
		case *syntax.ParamExp:
			if p.Param != nil && p.Param.Value == "PPID" && len(w.Parts) == 1 {
				return "$PPID"
			}
			return ""
		default:
			return ""
		}
	}
	return b.String()
}

// mayGoOn reports whether a command whose time is over may go on in the background. One that sleeps
// would only be slept through there, git must not be left half done behind somebody's back, and
// what cannot be read is not let loose.
func (s sight) mayGoOn() bool {
	if !s.parsed || len(s.words) == 0 || path.Base(s.words[0][0]) == "sleep" {
		return false
	}
	for _, w := range s.words {
		for _, x := range w {
			if path.Base(x) == "git" {
				return false
			}
		}
	}
	return true
}

// harmlessOne says what exit code 1 of a command means when it is no failure; empty: it is one.
func (s sight) harmlessOne() string {
	if len(s.final) == 0 {
		return ""
	}
	switch path.Base(s.final[0]) {
	case "grep", "rg", "egrep", "fgrep":
		return "No matches found"
	case "find":
		return "Some directories were inaccessible"
	case "diff":
		return "Files differ"
	case "test", "[":
		return "Condition is false"
	case "git":
		return gitOne(s.final[1:])
	}
	return ""
}

func gitOne(args []string) string {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c" || a == "--git-dir" || a == "--work-tree":
			i++
		case strings.HasPrefix(a, "-"):
		case a == "diff":
			return "Files differ"
		case a == "grep":
			return "No matches found"
		default:
			return ""
		}
	}
	return ""
}

// silent reports that a success of the line normally prints nothing.
func (s sight) silent() bool {
	quiet := []string{"mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "chgrp", "touch", "ln", "cd", "export", "unset", "true", ":", "wait"}
	for _, w := range s.words {
		if !slices.Contains(quiet, path.Base(w[0])) {
			return false
		}
	}
	return s.parsed && len(s.words) > 0
}

// endsUs reports that the line would, as far as one can see, end this very program.
func (s sight) endsUs() bool {
	for _, w := range s.words {
		args := w[1:]
		switch path.Base(w[0]) {
		case "kill":
			if slices.Contains(args, strconv.Itoa(os.Getpid())) || slices.Contains(args, "$PPID") {
				return true
			}
		case "pkill":
			if pattern, whole := killPattern(args); pattern != "" && matchesUs(pattern, whole) {
				return true
			}
		case "killall":
			if pattern, _ := killPattern(args); pattern != "" && pattern == ownName() {
				return true
			}
		}
	}
	return false
}

// killPattern returns the pattern of a pkill or killall, and whether the whole command line counts.
func killPattern(args []string) (pattern string, whole bool) {
	for _, a := range args {
		switch {
		case strings.HasPrefix(a, "--"):
			whole = whole || a == "--full"
		case strings.HasPrefix(a, "-"):
			whole = whole || strings.Contains(a, "f") && strings.ToLower(a) == a
		case a != "":
			pattern = a
		}
	}
	return pattern, whole
}

func ownName() string { return filepath.Base(os.Args[0]) }

func matchesUs(pattern string, whole bool) bool {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	if whole {
		return re.MatchString(strings.Join(os.Args, " "))
	}
	name := ownName()
	return re.MatchString(name[:min(len(name), 15)]) // what the kernel keeps of a name
}
