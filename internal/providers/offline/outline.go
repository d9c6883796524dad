package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// language is what the outline knows of one kind of file.
type language struct {
	fence string   // name after a code fence, and for people
	names []string // what people call it
	ext   []string
	decl  *regexp.Regexp // a line that declares something; nil: no outline
}

// extensions are the endings as a glob alternative.
func (l language) extensions() string {
	if len(l.ext) == 1 {
		return l.ext[0]
	}
	return "{" + strings.Join(l.ext, ",") + "}"
}

var languages = sync.OnceValue(func() []language {
	re := regexp.MustCompile
	cLike := re(`^(?:(?:public|private|protected|internal|static|final|abstract|export|default|async|override|virtual|sealed|open|data|inline|const|extern|unsafe|pub(?:\([a-z]+\))?)\s+)*(?:class|interface|enum|struct|union|record|trait|impl|fn|func|fun|function|type|namespace|module|mod|protocol|extension|object|def)\b.*|^(?:export\s+)?(?:const|let|var)\s+\w+\s*=\s*(?:async\s*)?(?:\(|function).*|^[A-Za-z_][\w\s*&:<>,]*\s+\*?\w+\([^;]*\)\s*\{?\s*$`)
	return []language{
		{"go", []string{"go", "golang"}, []string{"go"}, re(`^(?:func|type|var|const|package)\s+.*`)},
		{"python", []string{"python", "py"}, []string{"py"}, re(`^\s*(?:async\s+)?(?:def|class)\s+.*`)},
		{"javascript", []string{"javascript", "js"}, []string{"js", "mjs", "cjs", "jsx"}, cLike},
		{"typescript", []string{"typescript", "ts"}, []string{"ts", "tsx", "mts"}, cLike},
		{"rust", []string{"rust", "rs"}, []string{"rs"}, cLike},
		{"java", []string{"java"}, []string{"java"}, cLike},
		{"kotlin", []string{"kotlin"}, []string{"kt", "kts"}, cLike},
		{"swift", []string{"swift"}, []string{"swift"}, cLike},
		{"csharp", []string{"c#", "csharp", "cs"}, []string{"cs"}, cLike},
		{"c", []string{"c"}, []string{"c", "h"}, cLike},
		{"cpp", []string{"c++", "cpp"}, []string{"cc", "cpp", "hpp", "cxx"}, cLike},
		{"php", []string{"php"}, []string{"php"}, cLike},
		{"ruby", []string{"ruby", "rb"}, []string{"rb"}, re(`^\s*(?:def|class|module)\s+.*`)},
		{"sh", []string{"shell", "bash", "sh"}, []string{"sh", "bash"}, re(`^\s*(?:function\s+)?[\w-]+\s*\(\)\s*\{?.*`)},
		{"markdown", []string{"markdown", "md"}, []string{"md", "markdown"}, re(`^#{1,6}\s+.*`)},
		{"yaml", []string{"yaml", "yml"}, []string{"yaml", "yml"}, re(`^[\w"'-][^:#]*:.*`)},
		{"toml", []string{"toml"}, []string{"toml"}, re(`^\[.*\]`)},
		{"ini", []string{"ini"}, []string{"ini", "cfg"}, re(`^\[.*\]`)},
		{"json", []string{"json"}, []string{"json"}, re(`^(?:\t|  |    )?"[^"]+"\s*:.*`)},
		{"make", []string{"make"}, []string{"mk"}, re(`^[\w./%-]+(?:\s+[\w./%-]+)*\s*:(?:[^=].*|$)`)},
		{"sql", []string{"sql"}, []string{"sql"}, re(`(?i)^create\s+.*`)},
		{"html", []string{"html"}, []string{"html", "htm"}, re(`(?i)^\s*<(?:h[1-6]|title|head|body|main|section|form|script)\b.*`)},
		{"css", []string{"css"}, []string{"css", "scss"}, re(`^[.#@\w][^;]*\{`)},
		{"text", []string{"text", "txt"}, []string{"txt"}, nil},
	}
})

// languageOf finds the language by the file's name.
func languageOf(p string) language {
	base := strings.ToLower(path.Base(p))
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if base == "makefile" || base == "gnumakefile" {
		ext = "mk"
	}
	for _, l := range languages() {
		for _, e := range l.ext {
			if e == ext {
				return l
			}
		}
	}
	return language{}
}

func makeOutline(g groups) task {
	p, ok := pathOf(g["path"])
	if !ok {
		return nil
	}
	return func(w *work) {
		if !w.need("Read", "look at `"+p+"`") {
			return
		}
		got, p, ok := w.readFile(readInput{Path: p})
		if !ok {
			return
		}
		w.say(outlineText(p, readLines(got)))
	}
}

// maxOutline bounds the declarations shown.
const maxOutline = 80

// outlineText says how a file is built. It describes the shape, not the meaning.
func outlineText(p string, n numbered) string {
	l := languageOf(p)
	blank, todo := 0, 0
	var found []string
	for i, line := range n.lines {
		if strings.TrimSpace(line) == "" {
			blank++
		}
		if strings.Contains(line, "TODO") || strings.Contains(line, "FIXME") {
			todo++
		}
		if l.decl != nil && l.decl.MatchString(line) {
			found = append(found, fmt.Sprintf("%5d  %s", n.first+i, strings.TrimRight(cut(line, 160), " {")))
		}
	}
	kind := l.fence
	if kind == "" {
		kind = "text"
	}
	text := fmt.Sprintf("`%s` (%s) has %s, %d of them blank", p, kind, plural(len(n.lines), "line", "lines"), blank)
	if !n.whole {
		text = fmt.Sprintf("`%s` (%s) is longer than I can see at once; of the first %s %d are blank", p, kind, plural(len(n.lines), "line", "lines"), blank)
	}
	if todo > 0 {
		text += ", " + plural(todo, "TODO or FIXME", "TODOs or FIXMEs")
	}
	text += ". I can describe its shape, not its meaning.\n\n"
	if len(found) == 0 {
		return text + "It begins:\n\n" + fence(strings.Join(n.lines[:min(len(n.lines), 15)], "\n"), l.fence)
	}
	more := ""
	if len(found) > maxOutline {
		more = fmt.Sprintf("\n       … and %d more", len(found)-maxOutline)
		found = found[:maxOutline]
	}
	return text + quoteBlock(strings.Join(found, "\n")+more)
}
