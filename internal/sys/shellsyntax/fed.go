package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// replaced makes the words unknown in which xargs or parallel put what they read: those that hold the text they
// replace. The words of the part are copied when that happens.
func replaced(p *Part, from int, got cmdline.Peeled) {
	marks := []string{"{"} // parallel: {}, {.}, {/}, {1} and more
	if got.Name != "parallel" {
		if !strings.HasSuffix(got.Name, "xargs") {
			return
		}
		marks = cmdline.ReplaceMarks(p.Words[from:got.At])
	}
	if len(marks) == 0 {
		return
	}
	words := p.Words
	for k := got.At; k < len(words); k++ {
		v := words[k].Value
		if got.Name == "parallel" && strings.HasPrefix(v, ":::") {
			break
		}
		at := -1
		for _, m := range marks {
			if i := strings.Index(v, m); i >= 0 && (at < 0 || i < at) {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		if &words[0] == &p.Words[0] {
			words = slices.Clone(words)
		}
		words[k].Value, words[k].Prefix = v[:at], at
		words[k].Flags = words[k].Flags&^expand.Static | expand.Unknown
	}
	p.Words = words
}

// runsItsWords tells whether words added to a program may name another program that it runs.
func runsItsWords(name string) bool {
	_, wraps := options.FindWrapper(name)
	return wraps || options.IsShell(name) || startsShell(name) || name == "find"
}

// input of a whole: shells that read what a command around them, or exec before them, put on their standard input.
type laterInput struct {
	shells []int    // parts
	files  []string // what redirections have something read from
	docs   []laterText
}

// settleInput searches every here-document and here-string of the account for programs when a shell in it reads an
// input that is not its own.
func (w *walker) settleInput() {
	in := &w.late.input
	if len(in.shells) == 0 {
		return
	}
	for _, file := range in.files {
		w.late.runsOutside("a shell may run what is in " + file)
	}
	for _, doc := range in.docs {
		w.innerText(doc.text, doc.st, held{parent: in.shells[0], context: Inner}, true)
	}
}

// texts notes every word from the one at index from on, and every value joined to an option, as the text of a command.
func (w *walker) texts(p *Part, from int) {
	for i := from; i < len(p.Words); i++ {
		word := &p.Words[i]
		text := word.Value
		if strings.HasPrefix(text, "-") {
			if _, value, joined := strings.Cut(text, "="); joined {
				text = value
			} else if word.Static() {
				continue
			}
		}
		if word.Static() && (text == "" || expand.IsNumber(text)) {
			continue
		}
		w.pending = append(w.pending, pendingInner{text: text, isText: true, static: word.Static(), context: Inner})
	}
}

// joinedText handles wrappers that join their words for a shell; it reports whether a text was
// noted because a word holds more than a word.
func (w *walker) joinedText(p *Part, got cmdline.Peeled) bool {
	if strings.HasPrefix(p.Words[got.At].Value, ":::") && (got.Name == "parallel" || got.Name == "sem") { // no command: its arguments are commands
		if strings.HasPrefix(p.Words[got.At].Value, "::::") {
			w.late.runsOutside("parallel runs what is in a file")
		}
		w.texts(p, got.At+1)
		return true
	}
	texts := make([]string, 0, len(p.Words)-got.At)
	static, plain := true, true
	for i := got.At; i < len(p.Words); i++ {
		word := &p.Words[i]
		if got.Name == "parallel" && strings.HasPrefix(word.Value, ":::") {
			break
		}
		static = static && word.Static()
		plain = plain && expand.IsPlain(word.Value)
		texts = append(texts, word.Value)
	}
	if plain {
		return false
	}
	w.pending = append(w.pending, pendingInner{text: strings.Join(texts, " "), isText: true, static: static, context: Inner})
	return true
}
