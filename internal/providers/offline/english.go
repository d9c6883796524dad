package offline

import (
	"regexp"
	"strings"
	"sync"
)

// task is one understood request.
type task func(w *work)

// groups are the named parts of a matched request; absent ones are empty.
type groups map[string]string

// rule recognises one kind of request. make returns nil when the parts do not fit after all.
type rule struct {
	pattern string
	make    func(g groups) task
}

// understand reads a prompt and returns what to do, nil when no rule fits. Several requests joined
// by "and", "then" or full stops are done in order, when each part is understood.
func understand(prompt string) []task {
	text, block := takeFence(prompt)
	text = clean(text)
	if text == "" || len(text) > 4000 {
		return nil
	}
	if t := one(text, block); t != nil {
		return []task{t}
	}
	for _, joint := range joints() {
		parts := split(text, joint)
		if len(parts) < 2 || len(parts) > 6 {
			continue
		}
		var out []task
		for i, p := range parts {
			last := ""
			if i == len(parts)-1 {
				last = block
			}
			t := one(clean(p), last)
			if t == nil {
				break
			}
			out = append(out, t)
		}
		if len(out) == len(parts) {
			return out
		}
	}
	return nil
}

// split cuts text at a joint, but not inside quotation marks.
func split(text string, joint *regexp.Regexp) []string {
	masked := quotedText().ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("q", len(s)) })
	var out []string
	from := 0
	for _, at := range joint.FindAllStringIndex(masked, -1) {
		out = append(out, text[from:at[0]])
		from = at[1]
	}
	return append(out, text[from:])
}

var quotedText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`[^`]*`|\"[^\"]*\"|\\B'[^']*'\\B")
})

// one finds the first rule that fits.
func one(text, block string) task {
	for _, r := range compiled() {
		m := r.expr.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		g := groups{"block": block}
		for i, name := range r.expr.SubexpNames() {
			if name != "" && m[i] != "" {
				g[name] = m[i]
			}
		}
		if t := r.make(g); t != nil {
			return t
		}
	}
	return nil
}

type compiledRule struct {
	expr *regexp.Regexp
	make func(g groups) task
}

var compiled = sync.OnceValue(func() []compiledRule {
	var out []compiledRule
	for _, set := range [][]rule{runRules(), changeRules(), lookRules()} {
		for _, r := range set {
			p := r.pattern
			for name, part := range parts() {
				p = strings.ReplaceAll(p, "{"+name+"}", part)
			}
			out = append(out, compiledRule{regexp.MustCompile(`(?is)^(?:` + p + `)$`), r.make})
		}
	}
	return out
})

// parts are the pieces patterns are written with.
func parts() map[string]string {
	const quoted = "`[^`]+`|\"[^\"]+\"|'[^']+'"
	return map[string]string{
		"path":  `(?P<path>` + quoted + `|\S+)`,
		"dir":   `(?P<dir>` + quoted + `|(?:(?:the|this|my|our|current|working|root|whole)\s+)+(?:project|repo|repository|code ?base|code|folder|dir|directory|files?)|\S+)`,
		"to":    `(?P<to>` + quoted + `|\S+)`,
		"old":   `(?P<old>` + quoted + `|.+?)`,
		"new":   `(?P<new>` + quoted + `|.+?|)`,
		"text":  `(?P<text>` + quoted + `|.+?)`,
		"kind":  `(?P<kind>[\w+#*.-]+)`,
		"the":   `(?:(?:the|a|an|my|our|this|that|all|all of|every|any|each)\s+)*`,
		"in":    `\s+(?:in|inside|within|under|of|from|at|across|throughout)\s+`,
		"file":  `(?:(?:new|empty|text|source|whole|entire|full)\s+)*(?:file\s+)?(?:(?:named|called|at)\s+)?`,
		"tests": `(?:(?:unit|project|project's|whole|entire|full|complete|go|python|npm|all|integration|existing)\s+)*tests?(?:\s*suites?)?`,
		"all":   `(?:\s+(?:everywhere|in\s+(?:all|every|each)\s+(?:of\s+)?(?:the\s+)?files?|in\s+the\s+(?:whole\s+)?(?:project|repo|repository|code ?base)))`,
	}
}

var joints = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)\s*(?:[.;,]|\n+)?\s+(?:and\s+then|then|after that|afterwards)[,]?\s+|\s*;\s+|[.!?]\s+|\n+`),
		regexp.MustCompile(`(?i)\s*(?:[.;,]|\n+)?\s+(?:and\s+then|then|after that|afterwards|and)[,]?\s+|\s*;\s+|[.!?]\s+|\n+|,\s+`),
	}
})

var again = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:(?:do|run|try)\s+(?:it|that|them)\s+)?(?:once more|again|one more time)$|^(?:try|retry|repeat)(?:\s+(?:it|that|again))?$`)
})

var (
	polite = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(?:(?:please|hey|hi|hello|ok|okay|now|so|well|thanks|great|good|just|kindly|also|next|first|finally|and|myelin)[,!.]?\s+|(?:can|could|would|will)\s+you\s+|(?:i|we)\s+(?:want|need)\s+(?:you\s+)?to\s+|(?:i|we)(?:'d|\s+would)\s+like\s+(?:you\s+)?to\s+|let'?s\s+|let us\s+|go ahead and\s+|help me(?: to)?\s+|try to\s+)`)
	})
	politeEnd = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[\s,]+(?:please|for me|thanks|thank you|now|right now|and (?:tell|show) me(?: (?:the|what)[\w ]*)?|and report(?: back)?(?: (?:the|what)[\w ]*)?)$`)
	})
)

// clean takes politeness and closing marks off a request.
func clean(s string) string {
	s = strings.TrimSpace(s)
	for {
		shorter := polite().ReplaceAllString(s, "")
		shorter = politeEnd().ReplaceAllString(shorter, "")
		shorter = strings.TrimSpace(withoutMark(shorter))
		if shorter == s {
			return s
		}
		s = shorter
	}
}

// withoutMark drops a closing mark, but not the dots of "./...".
func withoutMark(s string) string {
	trimmed := strings.TrimRight(s, "!?:,")
	if body, ok := strings.CutSuffix(trimmed, "."); ok && body != "" && body[len(body)-1] != '.' && body[len(body)-1] != '/' && !strings.HasSuffix(body, " ") {
		return body
	}
	if trimmed == "" {
		return s
	}
	return trimmed
}

// takeFence takes the first fenced block out of a prompt. found is its text, "" when there is none.
func takeFence(prompt string) (rest, found string) {
	const marks = "```"
	from := strings.Index(prompt, marks)
	if from < 0 {
		return prompt, ""
	}
	body := prompt[from+len(marks):]
	to := strings.Index(body, "\n"+marks)
	lineEnd := strings.IndexByte(body, '\n')
	if to < 0 || lineEnd < 0 || lineEnd >= to {
		return prompt, ""
	}
	return prompt[:from] + " " + body[to+1+len(marks):], body[lineEnd+1:to] + "\n"
}

// unquote takes the quotation marks off. quoted tells whether there were some; in double quotes \n
// and \t mean what they mean elsewhere.
func unquote(s string) (text string, quoted bool) {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || !strings.ContainsRune("`\"'", rune(s[0])) {
		return s, false
	}
	inner := s[1 : len(s)-1]
	if s[0] == '"' {
		inner = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`).Replace(inner)
	}
	return inner, true
}

// pathOf returns s as a path when it looks like one.
func pathOf(s string) (string, bool) {
	path, quoted := unquote(s)
	path = strings.TrimPrefix(path, "@")
	if !quoted {
		path = strings.TrimRight(path, ",;:")
	}
	if path == "" || strings.ContainsAny(path, "\n\x00") {
		return "", false
	}
	return path, quoted || looksLikePath(path)
}

// looksLikePath tells words from names of files.
func looksLikePath(s string) bool {
	if strings.Contains(s, "://") || strings.ContainsAny(s, "*?{}<>|") {
		return false
	}
	return strings.Contains(s, "/") || strings.HasPrefix(s, "~") || fileName().MatchString(s)
}

var fileName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[\w.@+~-]*\.[A-Za-z][A-Za-z0-9_~-]{0,11}|\.[\w.-]+|(?i:Makefile|GNUmakefile|Dockerfile|Containerfile|README|LICENSE|LICENCE|COPYING|CHANGELOG|NOTICE|AUTHORS|CODEOWNERS|Jenkinsfile|Vagrantfile|Procfile|Gemfile|Rakefile|Justfile|VERSION|TODO))$`)
})

// dirOf reads a folder; "here" and its like are the working directory.
func dirOf(s string) string {
	s, _ = unquote(s)
	s = strings.TrimRight(s, ",;:")
	if hereWords().MatchString(s) || s == "" {
		return "."
	}
	return s
}

var hereWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(?:here|there|this|it|(?:the |this |my |our )?(?:current |working |root |whole )?(?:project|repo|repository|code ?base|code|folder|dir|directory|files?))$`)
})
