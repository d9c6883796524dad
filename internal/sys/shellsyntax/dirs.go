package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// dirs is where the shell may stand. It is immutable.
type dirs struct {
	list    []string // at least one; ".." is kept in them, since the kernel and the shell may disagree where it leads
	unknown bool     // or anywhere else
	home    string   // what "~" means; empty: not known
}

// union is every directory of both.
func (w *walker) union(a, b *dirs) *dirs {
	if a == b {
		return a
	}
	out := &dirs{list: slices.Clone(a.list), unknown: a.unknown || b.unknown, home: a.home}
	for _, d := range b.list {
		if !slices.Contains(out.list, d) {
			out.list = append(out.list, d)
		}
	}
	if len(out.list) > maxDirs {
		out.list, out.unknown = out.list[:maxDirs], true
	}
	return out
}

func (w *walker) anywhere(st *dirs) *dirs {
	if st.unknown {
		return st
	}
	return &dirs{list: st.list, unknown: true, home: st.home}
}

// mayMove tells whether the text changes the directory anywhere. Only loops and functions ask, so it
// is worked out when the first does.
func (w *walker) mayMove() bool {
	if !w.looked {
		w.looked = true
		w.moves = mentionsMoves(w.r.Text) && w.movesIn(w.file)
	}
	return w.moves
}

// mentionsMoves is a cheap first look whether a text could change the directory: the names, or
// anything that could hide them.
func mentionsMoves(text string) bool {
	return strings.ContainsAny(text, "\\'\"$`{.*?[") || strings.Contains(text, "cd") || strings.Contains(text, "pushd") ||
		strings.Contains(text, "popd") || strings.Contains(text, "source") || strings.Contains(text, "eval")
}

// movesIn tells whether a command below the node may change the directory of the shell: cd and its like,
// what runs text in this shell, a function defined here, and names that are only known at run time.
func (w *walker) movesIn(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return !found
		}
		for _, arg := range call.Args {
			word := w.r.Read(arg, nil)
			if !word.Static() {
				found = true
				break
			}
			switch word.Text {
			case "cd", "chdir", "pushd", "popd", "eval", "source", ".", "trap":
				found = true
			case "command", "builtin", "noglob", "time", "-p", "--":
				continue
			default:
				found = w.functions[word.Text].moves
			}
			break
		}
		return !found
	})
	return found
}

// maxLoopScan is how deep loops are looked into one by one; deeper ones count as changing the
// directory when the text does, so that the cost stays linear.
const maxLoopScan = 8

// loopState is where a loop's body may stand: when it changes the directory, each round may begin
// elsewhere.
func (w *walker) loopState(st *dirs, parts ...[]*syntax.Stmt) *dirs {
	if !w.mayMove() {
		return st
	}
	for _, list := range parts {
		for _, s := range list {
			if w.loops >= maxLoopScan || w.movesIn(s) {
				return w.anywhere(st)
			}
		}
	}
	return st
}
