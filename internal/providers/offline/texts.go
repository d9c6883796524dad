package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// helpText says what this model can do and how to get a better one.
func helpText() string {
	return `I am the offline model: a fixed set of rules, no language model. I understand plain requests such as

- show ` + "`main.go`" + ` · show lines 10-40 of main.go · explain main.go · describe this project
- list the files in src · find all Go files · where is config.yaml
- search for "retry" in src · how many lines has main.go · count the occurrences of TODO
- run ` + "`go vet ./...`" + ` · run the tests · build the project
- create a file notes.txt with the content "hello" · append "more" to notes.txt
- replace "foo" with "bar" in main.go (or: in all files) · rename a.txt to b.txt · delete b.txt
- show what changed · undo

To connect a real model, do one of these and start again:

- set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY
- start a local server (Ollama, LM Studio, llama.cpp or vLLM); it is found on its usual port
- name a model: ` + "`myelin --model provider/name`" + `; ` + "`myelin models`" + ` lists what is available`
}

func unknownText() string {
	return "I did not understand that, and I have done nothing.\n\n" + helpText()
}

// refusal says what was not allowed, which rule is missing, and where it would go. The rule stands
// in the result.
func (o outcome) refusal(what string) string {
	text := "I was not allowed to " + what + "."
	if rule := ruleIn(o.text); rule != "" {
		return text + fmt.Sprintf(" The rule that would allow it is `%s`: give it with `--allowedTools %s`, or put it under permissions.allow in .myelin/settings.local.json.",
			rule, shellQuote(rule))
	}
	return text + " The answer was:\n\n" + quoteBlock(cut(o.text, 1000))
}

// refused tells whether the call was turned down rather than tried.
func (o outcome) refused() bool {
	return o.failed && !strings.HasPrefix(o.text, "Exit code") && !osRefusal().MatchString(o.text) && refusalWords().MatchString(o.text)
}

var (
	refusalWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)was not run|not run:|permission|not allowed|not permitted|\bdenied\b|\bdeny\b|refused|rejected|declined|not approved|needs? approval|requires? approval|blocked by`)
	})
	// osRefusal is what the system says of a file, not the gate of a call.
	osRefusal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(open|read|write|stat|lstat|mkdir|rename|unlink|chmod|create) \S+: permission denied`)
	})
	// ruleStart finds the rule a refusal names as the one that would allow the call; a rule that
	// denied it is named otherwise.
	ruleStart = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:allow rule such as|(?:would|to) allow (?:it|this)[^\n(]*?\brule|missing rule:?|rule (?:is )?missing:?|needs? approval:?)\s+["'` + "`" + `]?([A-Z]\w+|mcp__[\w*-]+)`)
	})
)

// ruleIn finds the rule that would allow a refused call, up to the bracket that closes it; empty:
// none is named.
func ruleIn(text string) string {
	at := ruleStart().FindStringSubmatchIndex(text)
	if at == nil {
		return ""
	}
	name := text[at[2]:at[3]]
	line, _, _ := strings.Cut(text[at[2]:], "\n")
	if !strings.HasPrefix(line[len(name):], "(") {
		return name
	}
	depth := 0
	for i, r := range line {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return line[:i+1]
			}
		}
	}
	return ""
}

// failure says in one paragraph that something did not work.
func (o outcome) failure(what string) string {
	if o.refused() {
		return o.refusal(what)
	}
	return "I could not " + what + ":\n\n" + quoteBlock(cut(strings.TrimSpace(unwrapped(o.text)), 2000))
}

func unwrapped(s string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "<tool_use_error>"), "</tool_use_error>")
}

// fence puts text between fences longer than any in it.
func fence(text, language string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + language + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}

func quoteBlock(text string) string { return fence(text, "") }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return msg.Cut(s, most) + "…"
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// tail is the last n lines of s, with a word about what is missing.
func tail(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n")
	}
	return fmt.Sprintf("… %d lines before this …\n%s", len(lines)-n, strings.Join(lines[len(lines)-n:], "\n"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-+:@%,=", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// numbered is a Read result taken apart.
type numbered struct {
	lines []string
	first int  // number of the first line
	whole bool // nothing says that there is more
}

// readLines takes the numbers off a Read result ("<n>\t<text>" a line); notes around it are left
// out.
func readLines(o outcome) numbered {
	n := numbered{whole: true}
	for line := range strings.Lines(o.text) {
		line = strings.TrimSuffix(line, "\n")
		number, text, ok := strings.Cut(strings.TrimLeft(line, " "), "\t")
		at, err := strconv.Atoi(number)
		switch {
		case !ok || err != nil:
			if strings.Contains(line, "PARTIAL") || strings.Contains(line, "truncated") {
				n.whole = false
			}
			continue
		case len(n.lines) == 0:
			n.first = at
		}
		n.lines = append(n.lines, strings.TrimSuffix(text, "\r"))
	}
	if n.first > 1 {
		n.whole = false
	}
	return n
}

// resultLines are the lines of a search result that are no notes.
func resultLines(o outcome) []string {
	var out []string
	for line := range strings.Lines(o.text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || noteLine().MatchString(line) {
			continue
		}
		out = append(out, line)
	}
	return out
}

var noteLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(No (files|matches|entries)\b.*|Found \d+ .*|Total\b.*|\(.*\)|\[.*\]|\.\.\. .*|… .*|Results? (are|is) truncated.*|\(Results.*)$`)
})
