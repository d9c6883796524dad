package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// changeRules are the requests that change files.
func changeRules() []rule {
	const with = `(?:\s*(?:,|:)?\s*(?:with|containing|which\s+contains|that\s+(?:says|contains|reads)|saying|holding|and\s+(?:write|put))\s+)(?:(?:the|this|following|as|its?)\s+)*(?:(?:contents?|text|lines?|words?)\b\s*(?:of\b)?)?\s*:?\s*`
	return []rule{
		{`(?:create|make|add|touch|write|generate)\s+{the}(?:(?:new|empty)\s+)*(?:folder|directory)\s+(?:(?:named|called|at)\s+)?{path}`, makeMkdir},
		{`mkdir\s+(?:-p\s+)?{path}`, makeMkdir},
		{`(?:create|make|add|touch|write|generate|new)\s+{the}{file}{path}` + with + `(?P<text>` + "`[^`]+`|\"[^\"]+\"|'[^']+'|[^`\"'].*" + `)`, makeCreate},
		{`(?:create|make|add|touch|write|generate|new)\s+{the}(?P<isfile>{file}){path}(?:\s*(?:,|:)?\s*(?:with|containing)?(?:\s+(?:the|this|following|contents?|text))*)?`, makeCreate},
		{`(?:write|put|save|store)\s+(?:the\s+(?:text|line|words?)\s+)?{text}\s+(?:to|into|in)\s+{the}{file}{path}`, makeWrite},
		{`overwrite\s+{the}{file}{path}` + with + `(?P<text>` + "`[^`]+`|\"[^\"]+\"|'[^']+'|[^`\"'].*" + `)`, makeWrite},
		{`(?:append|add)\s+(?:the\s+(?:text|line|words?)\s+|a\s+line\s+(?:saying\s+|with\s+)?)?{text}\s+to\s+(?:the\s+end\s+of\s+)?{the}{file}{path}`, makeAppend},
		{`(?:replace|substitute|change|swap)\s+{the}(?:(?:occurrences?|instances?)\s+of\s+)?(?:(?:the\s+)?(?:word|text|string|name)\s+)?{old}\s+(?:with|by|to|into|for)\s+(?:(?:the\s+)?(?:word|text|string|name)\s+)?{new}(?:(?P<all>{all})|{in}{the}{file}{path})?`, makeReplace},
		{`in\s+{the}{file}{path},?\s+(?:replace|substitute|change|swap)\s+{the}(?:(?:occurrences?|instances?)\s+of\s+)?(?:(?:the\s+)?(?:word|text|string|name)\s+)?{old}\s+(?:with|by|to|into|for)\s+{new}`, makeReplace},
		{`(?:rename|move|mv)\s+{the}{file}{path}\s+(?:to|into|as|->)?\s*{to}`, makeRename},
		{`rename\s+{the}(?P<symbol>(?:function|func|variable|constant|type|class|method|symbol|field|identifier|struct|word)\s+)?{old}\s+to\s+{new}(?:(?P<all>{all})|{in}{the}{file}{path})?`, makeReplace},
		{`(?:delete|remove|rm|erase)\s+{the}{file}{path}`, makeDelete},
	}
}

func makeMkdir(g groups) task {
	p, _ := unquote(g["path"])
	if strings.ContainsAny(p, "*?\n") {
		return nil
	}
	return func(w *work) {
		if !w.need("Bash", "create the folder `"+p+"`") {
			return
		}
		got, ok := w.one(bash("mkdir -p -- "+shellQuote(p), "Create the folder "+p))
		if !ok {
			return
		}
		if got.failed {
			w.say(got.failure("create the folder `" + p + "`"))
			return
		}
		w.say("The folder `" + p + "` is there.")
	}
}

// contentOf is the text a file shall hold: the fenced block, else the words, as a line of its own.
// ok is false when a quoted text begins and more follows it: that is another request.
func contentOf(g groups) (content string, ok bool) {
	if g["block"] != "" {
		return g["block"], true
	}
	text, quoted := unquote(g["text"])
	if begin := fillers().ReplaceAllString(text, ""); !quoted && begin != "" && strings.ContainsRune("`\"'", rune(begin[0])) {
		return "", false
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, true
}

var fillers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:the|this|following|as|its?|contents?|text|lines?|words?|of|:)\s*)+`)
})

func makeCreate(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok && !strings.Contains(g["isfile"], "file") {
		return nil
	}
	content, fits := contentOf(g)
	if !fits {
		return nil
	}
	return func(w *work) {
		if !w.need("Write", "create `"+p+"`") {
			return
		}
		if w.has("Glob") { // an existing file must not be lost by a request to create one
			got, ok := w.one(call{"Glob", exactly(p)})
			if !ok {
				return
			}
			if !got.failed && len(resultLines(got)) > 0 {
				w.say("`" + p + "` exists already; I left it as it is. To replace it, say: overwrite " + p + " with …")
				return
			}
		}
		w.write(p, content, "created")
	}
}

// exactly looks for the one file at path.
func exactly(p string) globInput {
	in := globInput{Pattern: escapeGlob(path.Base(p))}
	if dir := path.Dir(p); dir != "." {
		in.Path = dir
	}
	return in
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(s)
}

func (w *work) write(p, content, verb string) {
	got, ok := w.one(call{"Write", writeInput{Path: p, Content: content}})
	if !ok {
		return
	}
	if got.failed {
		w.say(got.failure("write `" + p + "`"))
		return
	}
	w.say(fmt.Sprintf("I %s `%s` (%s).", verb, p, plural(strings.Count(content, "\n"), "line", "lines")))
}

func makeWrite(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok {
		return nil
	}
	if _, quoted := unquote(g["text"]); !quoted && g["block"] == "" && len(strings.Fields(g["text"])) > 12 {
		return nil // a description of a text, not the text
	}
	content, fits := contentOf(g)
	if !fits {
		return nil
	}
	return func(w *work) {
		if !w.need("Write", "write `"+p+"`") || !w.need("Glob", "see whether `"+p+"` exists") {
			return
		}
		there, ok := w.one(call{"Glob", exactly(p)})
		if !ok {
			return
		}
		verb := "created"
		if !there.failed && len(resultLines(there)) > 0 {
			verb = "overwrote"
			if got, ok := w.lookAt(readInput{Path: p}); !ok {
				return
			} else if got.failed {
				w.say(got.failure("read `" + p + "` before overwriting it"))
				return
			}
		}
		w.write(p, content, verb)
	}
}

func makeAppend(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok {
		return nil
	}
	content, fits := contentOf(g)
	if !fits {
		return nil
	}
	return func(w *work) {
		if !w.need("Edit", "append to `"+p+"`") {
			return
		}
		got, ok := w.lookAt(readInput{Path: p})
		if !ok {
			return
		}
		n := readLines(got)
		switch {
		case got.failed:
			w.say(got.failure("read `" + p + "`"))
			return
		case len(n.lines) == 0:
			w.write(p, content, "filled")
			return
		case !n.whole:
			w.say("`" + p + "` is too large for me to append to.")
			return
		}
		// The text from some line to the end stands in the file once when enough lines are taken.
		old := ""
		for i := len(n.lines) - 1; i >= 0; i-- {
			old = strings.Join(n.lines[i:], "\n")
			if strings.TrimSpace(old) != "" && strings.Count(strings.Join(n.lines, "\n"), old) == 1 {
				break
			}
		}
		w.edit(editInput{Path: p, Old: old, New: old + "\n" + strings.TrimSuffix(content, "\n")}, "I appended "+plural(strings.Count(content, "\n"), "line", "lines")+" to `"+p+"`.")
	}
}

func (w *work) edit(in editInput, success string) {
	got, ok := w.one(call{"Edit", in})
	if !ok {
		return
	}
	if got.failed {
		w.say(got.failure("change `" + in.Path + "`"))
		return
	}
	w.say(success)
}

func makeReplace(g groups) task {
	old, quotedOld := unquote(g["old"])
	text, quotedNew := unquote(g["new"])
	if old == "" || old == text || !plausible(old, quotedOld) || !plausible(text, quotedNew) {
		return nil
	}
	whole := g["symbol"] != ""
	if g["path"] != "" {
		if p, ok := pathOf(g["path"]); ok && !strings.HasSuffix(p, "/") {
			return func(w *work) { w.replaceIn([]string{p}, old, text, whole) }
		}
	}
	in := grepInput{Pattern: regexp.QuoteMeta(old), Mode: "files_with_matches"}
	where := scope(&in, g["path"])
	if g["all"] == "" && g["path"] == "" && !whole && !quotedOld {
		return nil // "change this to that" without a place or marks may mean anything
	}
	return func(w *work) {
		if !w.need("Grep", "look for \""+old+"\"") {
			return
		}
		got, ok := w.one(call{"Grep", in})
		if !ok {
			return
		}
		files := resultLines(got)
		switch {
		case got.failed:
			w.say(got.failure("look for \"" + old + "\""))
		case len(files) == 0:
			w.say("\"" + old + "\" does not occur" + where + "; I changed nothing.")
		case len(files) > maxReplaced:
			w.say(fmt.Sprintf("\"%s\" occurs in %d files; I change at most %d at once. Name a folder.", old, len(files), maxReplaced))
		default:
			w.replaceIn(files, old, text, whole)
		}
	}
}

// maxReplaced bounds how many files one request changes.
const maxReplaced = 50

// plausible tells a text that can stand in a file from half a sentence.
func plausible(s string, quoted bool) bool {
	return quoted || len(strings.Fields(s)) <= 4
}

// replaceIn replaces in each of the files and tells of each what came of it. With whole only files
// are changed in which old stands as a word of its own everywhere.
func (w *work) replaceIn(files []string, old, text string, whole bool) {
	if !w.need("Read", "read the files first") || !w.need("Edit", "change files") {
		return
	}
	reads := make([]readInput, len(files))
	for i, f := range files {
		reads[i].Path = f
	}
	contents, ok := w.look(reads...)
	if !ok {
		return
	}
	var edits []call
	var paths []string
	var notes []string
	counts := map[string]int{}
	for i, c := range contents {
		f := files[i]
		body := strings.Join(readLines(c).lines, "\n")
		n := strings.Count(body, old)
		switch {
		case c.failed:
			notes = append(notes, "`"+f+"`: "+firstLine(c.failure("read it")))
			continue
		case n == 0:
			notes = append(notes, "`"+f+"`: \""+old+"\" does not occur")
			continue
		case whole && n != countWords(body, old):
			notes = append(notes, "`"+f+"`: left alone, \""+old+"\" also stands inside longer words there")
			continue
		}
		counts[f] = n
		paths = append(paths, f)
		edits = append(edits, call{"Edit", editInput{Path: f, Old: old, New: text, All: true}})
	}
	if len(edits) == 0 {
		w.say("I changed nothing:\n\n" + bullets(notes, maxReplaced))
		return
	}
	results, ok := w.do(edits...)
	if !ok {
		return
	}
	w.replaced(paths, results, counts, notes, fmt.Sprintf("\"%s\" with \"%s\"", old, text))
}

func (w *work) replaced(paths []string, results []outcome, counts map[string]int, notes []string, what string) {
	var changed []string
	total := 0
	for i, r := range results {
		if r.failed {
			if r.refused() {
				w.say(r.refusal("change `" + paths[i] + "`"))
				continue
			}
			notes = append(notes, "`"+paths[i]+"`: not changed, "+firstLine(unwrapped(r.text)))
			continue
		}
		total += counts[paths[i]]
		changed = append(changed, fmt.Sprintf("`%s`: %s", paths[i], plural(counts[paths[i]], "place", "places")))
	}
	if len(changed) > 0 {
		w.say(fmt.Sprintf("I replaced %s in %s of %s:\n\n%s", what, plural(total, "place", "places"), plural(len(changed), "file", "files"), bullets(changed, maxReplaced)))
	}
	if len(notes) > 0 {
		w.say("Not changed:\n\n" + bullets(notes, maxReplaced))
	}
}

func countWords(text, word string) int {
	return len(regexp.MustCompile(`(?:^|[^\w])(`+regexp.QuoteMeta(word)+`)(?:$|[^\w])`).FindAllString(strings.NewReplacer(" ", "  ", "\n", "\n\n").Replace(text), -1))
}

func makeRename(g groups) task {
	from, fromPath := pathOf(g["path"])
	to, toPath := pathOf(g["to"])
	if !fromPath || !toPath && !strings.Contains(from, "/") && !strings.Contains(from, ".") {
		return nil
	}
	return func(w *work) { w.move(from, to) }
}

// move renames a file and never overwrites another.
func (w *work) move(from, to string) {
	what := "rename `" + from + "` to `" + to + "`"
	if !w.need("Bash", what) {
		return
	}
	if w.has("Glob") {
		there, ok := w.one(call{"Glob", exactly(to)})
		if !ok {
			return
		}
		if !there.failed && len(resultLines(there)) > 0 {
			w.say("I did not " + what + ": `" + to + "` exists already.")
			return
		}
	}
	got, ok := w.one(moveCall(from, to))
	if !ok {
		return
	}
	if got.failed {
		w.say(got.failure(what))
		return
	}
	w.say("I renamed `" + from + "` to `" + to + "`.")
}

// moveCall keeps an existing target, also one that appeared a moment ago.
func moveCall(from, to string) call {
	return bash("mv -n -- "+shellQuote(from)+" "+shellQuote(to), "Rename "+from+" to "+to)
}

func makeDelete(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok || strings.HasSuffix(p, "/") || strings.ContainsAny(p, "*?") {
		return nil
	}
	return func(w *work) {
		if !w.need("Bash", "delete `"+p+"`") {
			return
		}
		got, ok := w.one(bash("rm -- "+shellQuote(p), "Delete "+p))
		if !ok {
			return
		}
		if got.failed {
			w.say(got.failure("delete `" + p + "`"))
			return
		}
		w.say("I deleted `" + p + "`.")
	}
}
