package shellsyntax

import (
	"fmt"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds that keep reading linear. What goes beyond is reported as a problem, never skipped.
const (
	maxText    = 1 << 20 // bytes of one command line
	maxNesting = 2000    // brackets within brackets
	maxDepth   = 24      // programs within programs (-c within -c)
	maxPath    = 1024    // bytes of a directory that is followed
	maxDirs    = 4       // directories the shell may stand in before it counts as unknown
)

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse reads shell text. The parser is not safe for concurrent use, hence the pool.
func parse(text string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(text), "")
}

// endComments gives comments the end they have in bash. The parser lets a backslash at the end of
// a comment join the next line to it, and so would hide a command. Every such backslash becomes a
// blank, which keeps all offsets. Each round can uncover another comment, so the rounds are bounded.
func endComments(text string) (string, bool) {
	if !strings.Contains(text, "\\\n") || !strings.Contains(text, "#") {
		return text, true
	}
	p := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	const rounds = 20
	for range rounds {
		file, err := p.Parse(strings.NewReader(text), "")
		if err != nil {
			return text, true // the caller meets the same error
		}
		at := -1
		syntax.Walk(file, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.Comment); ok && at < 0 {
				from := int(c.Hash.Offset())
				line := strings.IndexByte(text[from:], '\n')
				if line > 0 && text[from+line-1] == '\\' {
					at = from + line - 1
				}
			}
			return at < 0
		})
		if at < 0 {
			return text, true
		}
		text = text[:at] + " " + text[at+1:]
	}
	return text, false
}

// Analyse reads a command line. It never fails: what cannot be read is a problem of the account.
// It is safe for concurrent use.
func Analyse(text string, opt Options) (a *Account) {
	a = &Account{Text: text, Problems: checkRaw(text)}
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
	file, text, problem := readText(text)
	if problem != "" {
		a.Problems = append(a.Problems, Problem{Kind: ParseError, Text: problem})
		return a
	}
	a.Parsed = true
	a.Parts = make([]Part, 0, partsIn(text))
	w.enter(text, file)
	w.stmts(file.Stmts, w.start, held{parent: -1})
	w.settleLater()
	return a
}

// partsIn guesses how many parts a text has, so that they are stored without copying.
func partsIn(text string) int {
	n := 1
	for i := range len(text) {
		switch text[i] {
		case ';', '|', '\n', '(', '`':
			n++
		case '&':
			if i == 0 || text[i-1] != '&' {
				n++
			}
		}
	}
	return min(n, 1<<14)
}

// readText parses text after looking whether that is safe to do. It returns the text that offsets
// in the tree refer to, and why there is no tree.
func readText(text string) (*syntax.File, string, string) {
	if len(text) > maxText {
		return nil, text, "the command is longer than a megabyte"
	}
	if nesting(text) > maxNesting {
		return nil, text, "the command is nested too deeply to be read"
	}
	text, ok := endComments(text)
	if !ok {
		return nil, text, "the command has too many comments that end in a backslash"
	}
	file, err := parse(text)
	if err != nil {
		return nil, text, "the command is no valid shell text: " + err.Error()
	}
	return file, text, ""
}

// nesting is an upper bound for how deep brackets and compound commands are nested.
func nesting(text string) int {
	if len(text) < maxNesting {
		return 0
	}
	depth, most := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{':
			depth++
			most = max(most, depth)
		case ')', '}':
			depth = max(depth-1, 0)
		}
	}
	for _, word := range []string{"if", "while", "until", "case", "for", "`"} {
		most = max(most, strings.Count(text, word)-strings.Count(text, ";")-strings.Count(text, "\n"))
	}
	return most
}
