package offline

import (
	"regexp"
	"strings"
	"sync"
)

// request is one understood prompt.
type request func(*work)

// form is one form of request. make returns nil when the arguments do not fit after all.
type form struct {
	pattern string
	make    func(args []string) request
}

// forms are the eight kinds of request, each a verb with its arguments. ARG is a quoted text or a
// word, TEXT a quoted text or the rest.
func forms() []form {
	return []form{
		{`(?:help|\?|hi|hello|hey|what can you do)`, func([]string) request { return func(w *work) { w.say(helpText()) } }},
		{`(?:read|show|cat|open|print) (?:the file |lines (?P<from>\d+)(?:-(?P<to>\d+))? (?:of|in) )?(ARG)`, func(a []string) request { return read(a[3], a[1], a[2]) }},
		{`(?:list|ls)(?: (?:all )?(?:the )?files)?(?: (?:in )?(ARG))?`, func(a []string) request { return list(a[1]) }},
		{`find (?:the )?(?:files? )?(?:named )?(ARG)(?: in (ARG))?`, func(a []string) request { return find(a[1], a[2]) }},
		{`(?:search|grep)(?: for)? (TEXT)(?: in (ARG))?`, func(a []string) request { return search(a[1], a[2]) }},
		{`(?:run |run )?(?:all )?(?:the )?tests?`, func([]string) request { return runTests }},
		{`(?:run|execute) (?:the command )?(TEXT)`, func(a []string) request { return run(a[1]) }},
		{`replace (TEXT) (?:with|by) (TEXT) in (ARG)`, func(a []string) request { return replace(a[1], a[2], a[3]) }},
	}
}

type compiledForm struct {
	expr *regexp.Regexp
	make func(args []string) request
}

var compiledForms = sync.OnceValue(func() []compiledForm {
	const quoted = "`[^`]+`|\"[^\"]+\"|'[^']+'"
	kinds := strings.NewReplacer("ARG", quoted+`|[^\s"'`+"`]\\S*", "TEXT", quoted+"|[^\"'`].*?", " ", `\s+`)
	var out []compiledForm
	for _, f := range forms() {
		out = append(out, compiledForm{regexp.MustCompile(`(?is)^(?:` + kinds.Replace(f.pattern) + `)$`), f.make})
	}
	return out
})

// parse reads a prompt; nil means that no form fits.
func parse(prompt string) request {
	text := strings.TrimSpace(prompt)
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(text, "please "), "Please "))
	if trimmed := strings.TrimRight(text, "!?."); !strings.HasSuffix(text, "..") && trimmed != "" {
		text = trimmed
	}
	if len(text) > 4000 {
		return nil
	}
	for _, f := range compiledForms() {
		if m := f.expr.FindStringSubmatch(text); m != nil {
			if r := f.make(m); r != nil {
				return r
			}
		}
	}
	return nil
}

// unquote removes the quotation marks around s.
func unquote(s string) (text string, quoted bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || !strings.ContainsRune("`\"'", rune(s[0])) {
		return s, false
	}
	return s[1 : len(s)-1], true
}

// path returns s as a path; ok is false for a plain word, which may belong to a sentence.
func path(s string) (p string, ok bool) {
	p, quoted := unquote(s)
	p = strings.TrimPrefix(p, "@")
	return p, quoted || strings.ContainsAny(p, "./~") || fileName().MatchString(p)
}

var fileName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:Makefile|Dockerfile|[A-Z]{4,})$`) })

// dir returns s as a folder; empty is the working directory.
func dir(s string) string {
	p, _ := unquote(s)
	switch strings.ToLower(p) {
	case "", "here", ".":
		return ""
	}
	return p
}
