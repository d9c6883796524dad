// Package source reads the text of a shell into a tree, within bounds, and finds the characters in it that hide what it says. What the
// tree does is told elsewhere.
//
// Begin with [Read] and [Invisible].
package source

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds that keep reading linear. What goes beyond is reported, never skipped.
const (
	maxText    = 1 << 20 // bytes of one command line
	maxNesting = 2000    // brackets within brackets
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

// Read parses text after looking whether that is safe to do. It returns the text that offsets
// in the tree refer to, and why there is no tree.
func Read(text string) (*syntax.File, string, string) {
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

// Document reads a text that the shell expands once more, like the inside of double quotes.
func Document(text string) (*syntax.Word, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Document(strings.NewReader(text))
}
