package offline

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// lookRules are the requests that change nothing.
func lookRules() []rule {
	const show = `(?:show|read|open|cat|print|display|view|see|output|type|give|look at)(?:\s+(?:me|us))?\s+`
	return []rule{
		{`(?:help|\?|hi|hello|hey|what can you do|who are you|what are you|how does this work|how do i connect (?:a|another) (?:real )?model)`, func(groups) task {
			return func(w *work) { w.say(helpText()) }
		}},
		{`(?:thanks|thank you|thx|bye|good|great|ok|okay|cool)(?:\s+\w+)?`, func(groups) task {
			return func(w *work) { w.say("You are welcome.") }
		}},
		{show + `{the}lines?\s+(?P<from>\d+)(?:\s*(?:-|–|to|through|until)\s*(?P<last>\d+))?\s+(?:of|in|from)\s+{the}{file}{path}`, makeShow},
		{show + `{the}(?P<end>first|last|top)\s+(?P<n>\d+)\s+lines\s+(?:of|in|from)\s+{the}{file}{path}`, makeShow},
		{show + `{the}(?:(?:whole|entire|full)\s+)*(?:(?:contents?|text|source|code)\s+(?:of|in|from)\s+)?{the}{file}{path}(?:,?\s+lines?\s+(?P<from>\d+)(?:\s*(?:-|–|to)\s*(?P<last>\d+))?)?`, makeShow},
		{`what(?:'s|\s+is|\s+does|\s+stands?)\s+(?:(?:in|inside)\s+)?{the}{file}{path}(?:\s+(?:contain|say|look like|have in it))?`, makeShow},
		{`(?:explain|describe|outline|summari[sz]e|analy[sz]e|(?:show|list|give)(?:\s+me)?\s+{the}(?:shape|structure|outline|overview|functions|methods|types|classes|symbols|headings|sections|declarations|definitions)(?:\s+and\s+\w+)?)(?:\s+{the}(?:shape|structure|outline|contents?))?(?:\s+(?:of|in))?\s+{the}{file}{path}(?:\s+(?:to\s+me|file))?`, makeOutline},
		{`(?:what\s+(?:does|is|functions are in|is defined in))\s+{the}{file}{path}(?:\s+(?:do|for|about|file))?`, makeOutline},
		{`how\s+is\s+{the}{file}{path}\s+(?:structured|organi[sz]ed|built|laid out)`, makeOutline},
		{`(?:explain|describe|summari[sz]e|outline|what(?:'s|\s+is)|what\s+does|look\s+at|give\s+me\s+an\s+overview\s+of|show\s+me)\s+(?:the\s+|this\s+|my\s+|our\s+)(?:whole\s+|entire\s+|current\s+)?(?:structure\s+of\s+(?:the\s+|this\s+))?(?:project|repo|repository|code ?base)(?:\s+(?:about|do|for|structure|structured))?`, func(groups) task { return overview }},
		{`(?:how\s+many|count)\s+{the}(?:number\s+of\s+)?lines?\s+(?:(?:are|is)\s+(?:there\s+)?)?(?:in|of|does|do|has|have)\s+{the}{file}{path}(?:\s+(?:have|has|contain))?`, makeCountLines},
		{`(?:how\s+(?:long|big|large)\s+is)\s+{the}{file}{path}`, makeCountLines},
		{`(?:how\s+many\s+times|how\s+often)\s+(?:does|do|is)\s+(?:the\s+(?:word|text|string)\s+)?{text}\s+(?:occur|occurs|appear|appears|used|mentioned|show up|come up)(?:{in}(?:the\s+)?{dir})?`, makeCountText},
		{`(?:how\s+many|count)\s+{the}(?:number\s+of\s+)?(?:occurrences|matches|uses|usages|mentions|instances|appearances)\s+(?:of\s+|for\s+)?(?:the\s+(?:word|text|string)\s+)?{text}(?:\s+(?:are|is)\s+there)?(?:\s+(?:in|inside|within|under|across)\s+(?:the\s+)?{dir})?`, makeCountText},
		{`(?:how\s+many|count)\s+{the}(?:number\s+of\s+)?(?P<text>TODOs?|FIXMEs?)(?:\s+(?:comments|are there|there are))*(?:\s+(?:in|under)\s+(?:the\s+)?{dir})?`, makeCountText},
		{`(?:how\s+many|count)\s+{the}(?:number\s+of\s+)?(?:{kind}\s+)?files(?:\s+(?:are|is)\s+there|\s+there\s+are)?(?:\s+(?:are\s+)?(?:in|inside|under|of)\s+(?:the\s+)?{dir})?`, makeCountFiles},
		{`(?:search|grep|look|scan)(?:\s+(?:the\s+)?(?:code|project|files|repo|repository|code ?base|everywhere))?\s+(?:for\s+)?(?:{the}(?:word|text|string|occurrences of|uses of|usages of|lines? with)\s+)?{text}(?:{in}(?:the\s+)?{dir})?`, makeSearch},
		{`(?:find|show|list|get)(?:\s+me)?\s+{the}(?:occurrences?|uses?|usages?|references?|mentions?|calls?|callers?|places|lines?|files)\s+(?:of\s+|to\s+|that\s+(?:contain|mention|use|reference|import|call|say)s?\s+|where\s+|containing\s+|with\s+|using\s+|mentioning\s+)(?:the\s+(?:word|text|string)\s+)?{text}(?:\s+is\s+(?:used|called|mentioned|defined))?(?:\s+(?:in|inside|within|under|across)\s+(?:the\s+)?{dir})?`, makeSearch},
		{`where(?:'s|\s+is|\s+are|\s+do\s+we|\s+does)\s+{the}(?:(?:word|text|string|function|variable|constant|type|class|method|symbol)\s+)?{text}\s+(?:used|called|defined|declared|mentioned|referenced|set|implemented|use|imported)(?:{in}(?:the\s+)?{dir})?`, makeSearch},
		{`(?:which|what)\s+files?\s+(?:contains?|mentions?|uses?|imports?|have|has|references?)\s+(?:the\s+(?:word|text|string)\s+)?{text}(?:\s+(?:in|inside|within|under)\s+(?:the\s+)?{dir})?`, makeSearch},
		{`(?:find|show|list)(?:\s+me)?\s+{the}(?P<text>TODOs?|FIXMEs?)(?:\s+comments?)?(?:{in}(?:the\s+)?{dir})?`, makeSearch},
		{`(?:find|locate|list|show|which|what|get)(?:\s+me)?\s+{the}(?:{kind}\s+)?files?(?:\s+(?:are\s+)?(?P<isfile>named|called|matching|like|ending\s+(?:in|with)|with\s+(?:the\s+)?(?:name|extension)|whose\s+names?\s+(?:contains?|is|ends?\s+(?:in|with)))\s+{path})(?:{in}(?:the\s+)?{dir})?`, makeFind},
		{`(?:find|locate|look\s+for)(?:\s+me)?\s+{the}{kind}\s+files?(?:{in}(?:the\s+)?{dir})?`, makeFind},
		{`(?:find|locate|look\s+for)(?:\s+me)?\s+{the}(?P<isfile>file\s+|files\s+)?(?:named\s+|called\s+)?{path}(?:{in}(?:the\s+)?{dir})?`, makeFind},
		{`(?:where(?:'s|\s+is|\s+are)|is\s+there|do\s+we\s+have)\s+{the}(?P<isfile>file\s+|files\s+)?(?:named\s+|called\s+)?{path}`, makeFind},
		{`(?:list|ls|show|display|print|see|which|what|give)(?:\s+(?:me|us))?\s+{the}(?:{kind}\s+)?(?:files|folders|directories|files\s+and\s+(?:folders|directories)|contents?|directory|folder)(?:\s+(?:are|is|do\s+we\s+have)(?:\s+there)?|\s+there\s+are)?(?:(?:{in}|\s+)(?:the\s+)?(?:folder\s+|directory\s+)?{dir})?`, makeList},
		{`what(?:'s|\s+is|\s+are)?(?:\s+there)?\s+(?:in|inside)\s+(?:the\s+)?(?P<dir>here|this\s+(?:folder|directory)|(?:current|working)\s+directory|\S+/)`, makeList},
		{`ls(?:\s+{dir})?`, makeList},
		{`(?:find|locate|look\s+for)\s+(?P<text>` + "`[^`]+`|\"[^\"]+\"|'[^']+'|\\S+" + `)(?:{in}(?:the\s+)?{dir})?`, makeSearch},
	}
}

func makeShow(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok {
		return nil
	}
	if strings.HasSuffix(p, "/") {
		return makeList(groups{"dir": p})
	}
	from, last := number(g["from"]), number(g["last"])
	if g["end"] != "" && strings.ToLower(g["end"]) != "last" {
		from, last = 1, number(g["n"])
	}
	return func(w *work) {
		if !w.need("Read", "show "+p) {
			return
		}
		in := readInput{Path: p}
		if from > 0 {
			in.Offset, in.Limit = from, max(last-from+1, 1)
		}
		got, p, ok := w.readFile(in)
		if !ok {
			return
		}
		n := readLines(got)
		switch {
		case len(n.lines) == 0: // a picture, a notebook, an empty file
			w.say("`" + p + "`:\n\n" + quoteBlock(cut(got.text, 20_000)))
			return
		case strings.EqualFold(g["end"], "last"):
			n.lines = n.lines[max(len(n.lines)-number(g["n"]), 0):]
		}
		what := "`" + p + "`"
		if !n.whole && from == 0 {
			what += fmt.Sprintf(" (%s from line %d; the file is longer)", plural(len(n.lines), "line", "lines"), n.first)
		}
		w.say(what + ":\n\n" + fence(strings.Join(n.lines, "\n"), languageOf(p).fence))
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// readFile reads a file; when there is none of that name it looks for one elsewhere and reads the
// only hit. ok is false when the work must wait or is over; then everything is said.
func (w *work) readFile(in readInput) (got outcome, where string, ok bool) {
	got, ok = w.lookAt(in)
	if !ok || !got.failed {
		return got, in.Path, ok
	}
	if got.refused() || !w.has("Glob") || !missing().MatchString(got.text) {
		w.say(got.failure("read `" + in.Path + "`"))
		return got, in.Path, false
	}
	found, ok := w.one(call{"Glob", globInput{Pattern: "**/" + path.Base(in.Path)}})
	if !ok {
		return got, in.Path, false
	}
	hits := resultLines(found)
	switch {
	case found.failed || len(hits) == 0:
		w.say("There is no file `" + in.Path + "`, and none of that name below the working directory.")
		return got, in.Path, false
	case len(hits) > 1:
		w.say("There is no file `" + in.Path + "`. These have its name:\n\n" + bullets(hits, 20))
		return got, in.Path, false
	}
	in.Path = hits[0]
	if got, ok = w.lookAt(in); ok && got.failed {
		w.say(got.failure("read `" + in.Path + "`"))
		ok = false
	}
	return got, in.Path, ok
}

func bullets(items []string, most int) string {
	var b strings.Builder
	for i, item := range items {
		if i == most {
			fmt.Fprintf(&b, "- … and %d more\n", len(items)-most)
			break
		}
		fmt.Fprintf(&b, "- %s\n", item)
	}
	return b.String()
}

func makeList(g groups) task {
	dir := dirOf(g["dir"])
	if kind := strings.ToLower(g["kind"]); kind != "" && kind != "hidden" {
		return makeFind(groups{"kind": g["kind"], "dir": g["dir"]})
	}
	return func(w *work) {
		if !w.has("Bash") {
			w.find("*", dir, "files in `"+dir+"`")
			return
		}
		got, ok := w.one(bash("ls -Ap -- "+shellQuote(dir), "List "+dir))
		if !ok {
			return
		}
		if got.failed {
			w.say(got.failure("list `" + dir + "`"))
			return
		}
		text := strings.TrimSpace(got.text)
		if text == "" || text == "(no output)" {
			w.say("`" + dir + "` is empty.")
			return
		}
		w.say(plural(len(strings.Split(text, "\n")), "entry", "entries") + " in `" + dir + "`:\n\n" + quoteBlock(text))
	}
}

func makeFind(g groups) task {
	dir := dirOf(g["dir"])
	pattern, what := "", ""
	switch name, _ := unquote(g["path"]); {
	case g["path"] != "":
		if g["isfile"] == "" && !looksLikePath(name) && !strings.ContainsAny(name, "*?{[") {
			return nil // a word, not a name of a file
		}
		pattern, what = namePattern(name), "files like `"+name+"`"
	case g["kind"] != "":
		var ok bool
		if pattern, ok = kindPattern(g["kind"]); !ok {
			return nil
		}
		what = g["kind"] + " files"
	default:
		return nil
	}
	if dir != "." {
		what += " in `" + dir + "`"
	}
	return func(w *work) { w.find(pattern, dir, what) }
}

// namePattern makes a pattern of what a person says of a file's name.
func namePattern(name string) string {
	switch {
	case strings.ContainsAny(name, "*?{["):
		if strings.Contains(name, "/") {
			return name
		}
		return "**/" + name
	case strings.HasPrefix(name, "."):
		return "**/*" + name
	case strings.Contains(name, "/"):
		return "**/" + strings.TrimPrefix(name, "./")
	default:
		return "**/*" + name + "*"
	}
}

// kindPattern makes a pattern of "Go", "test", ".md", "*.txt".
func kindPattern(kind string) (string, bool) {
	k := strings.ToLower(strings.TrimPrefix(kind, "."))
	for _, l := range languages() {
		for _, name := range l.names {
			if k == name {
				return "**/*." + l.extensions(), true
			}
		}
	}
	switch {
	case k == "test" || k == "tests":
		return "**/*{_test,.test,_spec,.spec,test_}*", true
	case strings.ContainsAny(k, "*?"):
		return "**/" + kind, true
	case strings.HasPrefix(kind, ".") || len(k) <= 4 && regexp.MustCompile(`^[a-z0-9]+$`).MatchString(k) && !plainWord(k):
		return "**/*." + k, true
	default:
		return "", false
	}
}

// plainWord tells short words that are no extensions.
func plainWord(s string) bool {
	switch s {
	case "the", "all", "any", "new", "old", "big", "open", "main", "some", "more", "what", "my", "our", "two", "last", "bad", "few", "log4":
		return true
	}
	return false
}

func (w *work) find(pattern, dir, what string) {
	if !w.need("Glob", "find "+what) {
		return
	}
	in := globInput{Pattern: pattern}
	if dir != "." {
		in.Path = dir
	}
	got, ok := w.one(call{"Glob", in})
	if !ok {
		return
	}
	if got.failed {
		w.say(got.failure("find " + what))
		return
	}
	hits := resultLines(got)
	if len(hits) == 0 {
		w.say("I found no " + what + ".")
		return
	}
	more := ""
	if truncated().MatchString(got.text) {
		more = " (the list was cut; there are more)"
	}
	w.say(fmt.Sprintf("I found %s%s (%s):\n\n%s", plural(len(hits), "file", "files"), more, what, bullets(hits, 100)))
}

func makeSearch(g groups) task {
	text, pattern, ok := searchText(g["text"])
	if !ok {
		return nil
	}
	in := grepInput{Pattern: pattern, Mode: "content"}
	where := scope(&in, g["dir"])
	return func(w *work) {
		if !w.need("Grep", "search for \""+text+"\"") {
			return
		}
		got, ok := w.one(call{"Grep", in})
		if !ok {
			return
		}
		hits := resultLines(got)
		switch {
		case got.failed:
			w.say(got.failure("search for \"" + text + "\""))
		case len(hits) == 0:
			w.say("\"" + text + "\" does not occur" + where + ".")
		default:
			w.say(fmt.Sprintf("\"%s\" occurs%s in %s:\n\n%s", text, where, plural(len(hits), "line", "lines"), quoteBlock(cut(strings.Join(hits, "\n"), 20_000))))
		}
	}
}

// searchText returns what is sought, for people and as a pattern. /…/ is a pattern already.
func searchText(s string) (text, pattern string, ok bool) {
	text, quoted := unquote(s)
	if inner, found := strings.CutPrefix(text, "/"); found && strings.HasSuffix(inner, "/") && len(inner) > 2 {
		return text, strings.TrimSuffix(inner, "/"), true
	}
	if !quoted && (len(strings.Fields(text)) > 4 || strings.HasPrefix(strings.ToLower(text), "the ")) {
		return "", "", false // a sentence, not a text that stands in files
	}
	if m := todoWord().FindStringSubmatch(text); m != nil && !quoted {
		text = strings.ToUpper(m[1])
	}
	return text, regexp.QuoteMeta(text), text != ""
}

// scope narrows a search and says in words to what.
func scope(in *grepInput, dir string) string {
	d := dirOf(dir)
	if d == "." {
		return ""
	}
	if strings.ContainsAny(d, "*?{") {
		in.Glob = d
	} else if pattern, ok := kindPattern(strings.TrimSuffix(d, " files")); ok && strings.HasSuffix(d, " files") {
		in.Glob = pattern
	} else {
		in.Path = d
	}
	return " in `" + d + "`"
}

func makeCountLines(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok {
		return nil
	}
	return func(w *work) {
		if w.has("Bash") {
			got, ok := w.one(bash("wc -l -- "+shellQuote(p), "Count the lines of "+p))
			if !ok {
				return
			}
			fields := strings.Fields(got.text)
			if !got.failed && len(fields) > 0 && number(fields[0]) >= 0 && isNumber(fields[0]) {
				w.say("`" + p + "` has " + plural(number(fields[0]), "line", "lines") + ".")
				return
			}
			w.say(got.failure("count the lines of `" + p + "`"))
			return
		}
		got, p, ok := w.readFile(readInput{Path: p})
		if !ok {
			return
		}
		n := readLines(got)
		if !n.whole {
			w.say("`" + p + "` is too large for me to count its lines without a shell.")
			return
		}
		w.say("`" + p + "` has " + plural(len(n.lines), "line", "lines") + ".")
	}
}

func isNumber(s string) bool { _, err := strconv.Atoi(s); return err == nil }

func makeCountFiles(g groups) task {
	pattern, what := "**/*", "files"
	if g["kind"] != "" {
		var ok bool
		if pattern, ok = kindPattern(g["kind"]); !ok {
			return nil
		}
		what = g["kind"] + " files"
	}
	in := globInput{Pattern: pattern}
	where := ""
	if d := dirOf(g["dir"]); d != "." {
		in.Path, where = d, " in `"+d+"`"
	}
	return func(w *work) {
		if !w.need("Glob", "count "+what) {
			return
		}
		got, ok := w.one(call{"Glob", in})
		if !ok {
			return
		}
		switch {
		case got.failed:
			w.say(got.failure("count " + what))
		case truncated().MatchString(got.text):
			if m := totalFiles().FindStringSubmatch(got.text); m != nil {
				w.say(fmt.Sprintf("There are %s %s%s.", m[1], what, where))
				return
			}
			w.say(fmt.Sprintf("There are more than %d %s%s; the list was cut there.", len(resultLines(got)), what, where))
		default:
			w.say(fmt.Sprintf("There are %d %s%s.", len(resultLines(got)), what, where))
		}
	}
}

func makeCountText(g groups) task {
	text, pattern, ok := searchText(g["text"])
	if !ok {
		return nil
	}
	in := grepInput{Pattern: pattern, Mode: "count"}
	where := scope(&in, g["dir"])
	return func(w *work) {
		if !w.need("Grep", "count \""+text+"\"") {
			return
		}
		got, ok := w.one(call{"Grep", in})
		if !ok {
			return
		}
		if got.failed {
			w.say(got.failure("count \"" + text + "\""))
			return
		}
		total, files := 0, 0
		for _, line := range resultLines(got) {
			at := strings.LastIndexByte(line, ':')
			if n := number(strings.TrimSpace(line[at+1:])); n > 0 {
				total += n
				files++
			}
		}
		if files <= 1 {
			w.say(fmt.Sprintf("\"%s\" occurs%s in %s.", text, where, plural(total, "line", "lines")))
			return
		}
		w.say(fmt.Sprintf("\"%s\" occurs%s in %s of %s:\n\n%s", text, where, plural(total, "line", "lines"), plural(files, "file", "files"), bullets(resultLines(got), 20)))
	}
}

func overview(w *work) {
	if !w.need("Glob", "look around") || !w.need("Read", "look around") {
		return
	}
	got, ok := w.do(
		call{"Glob", globInput{Pattern: "*"}},
		call{"Glob", globInput{Pattern: "{README,README.md,README.rst,README.txt,readme.md}"}},
	)
	if !ok {
		return
	}
	names := resultLines(got[0])
	if len(names) == 0 {
		w.say("There are no files at the top of this project.")
		return
	}
	var about []string
	for _, name := range names {
		if what, ok := manifests()[path.Base(name)]; ok {
			about = append(about, "`"+name+"`: "+what)
		}
	}
	text := plural(len(names), "file", "files") + " at the top: " + strings.Join(names, ", ") + "."
	if len(about) > 0 {
		text += "\n\n" + bullets(about, 20)
	}
	if readme := resultLines(got[1]); len(readme) > 0 {
		r, ok := w.lookAt(readInput{Path: readme[0], Limit: 30})
		if !ok {
			return
		}
		if !r.failed {
			text += "\n\nFrom `" + readme[0] + "`:\n\n" + quoteBlock(strings.Join(readLines(r).lines, "\n"))
		}
	}
	w.say(text)
}

// manifests says what a well-known file at the top of a project tells.
func manifests() map[string]string {
	return map[string]string{
		"go.mod": "a Go module", "package.json": "a Node package", "Cargo.toml": "a Rust crate",
		"pyproject.toml": "a Python project", "setup.py": "a Python project", "Makefile": "built with make",
		"pom.xml": "a Maven project", "build.gradle": "a Gradle project", "Gemfile": "a Ruby project",
		"composer.json": "a PHP project", "CMakeLists.txt": "built with CMake", "Dockerfile": "can be built as a container image",
		"AGENTS.md": "instructions for coding agents", "CLAUDE.md": "instructions for coding agents",
	}
}
