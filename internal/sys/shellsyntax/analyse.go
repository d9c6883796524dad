package shellsyntax

import (
	"fmt"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/source"
)

// Bounds that keep reading linear. What goes beyond is reported as a problem, never skipped.
const (
	maxDepth = 24   // programs within programs (-c within -c)
	maxPath  = 1024 // bytes of a directory that is followed
	maxDirs  = 4    // directories the shell may stand in before it counts as unknown
)

// Analyse reads a command line. It never fails: what cannot be read is a problem of the account.
// It is safe for concurrent use.
func Analyse(text string, opt Options) (a *Account) {
	a = &Account{Text: text}
	for _, h := range source.Invisible(text) {
		a.Problems = append(a.Problems, Problem{Invisible, h.Text, h.At})
	}
	defer func() {
		if broken := recover(); broken != nil { // whatever went wrong here or in the parser must not pass for "nothing found"
			a.Parsed = false
			a.Problems = append(a.Problems, Problem{Kind: Internal, Text: fmt.Sprintf("the command could not be analysed: %v", broken)})
		}
	}()
	budget := 16*len(text) + 1<<16
	w := &walker{acc: a, opt: opt, budget: &budget, late: &later{}}
	w.start = &dirs{list: []string{opt.Cwd}, home: opt.Home}
	if opt.Cwd == "" {
		w.start = &dirs{list: []string{"/"}, unknown: true, home: opt.Home}
	}
	file, text, problem := source.Read(text)
	if problem != "" {
		a.Problems = append(a.Problems, Problem{Kind: ParseError, Text: problem})
		return a
	}
	a.Parsed = true
	a.Parts = make([]Part, 0, source.PartsIn(text))
	w.enter(text, file)
	w.stmts(file.Stmts, w.start, held{parent: -1})
	w.settleLater()
	return a
}
