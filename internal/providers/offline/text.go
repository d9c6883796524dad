package offline

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// helpText says what this model can do and how to get a real one.
func helpText() string {
	return "I am the offline model: a fixed set of rules, not a language model. I understand\n\n" +
		"- help\n" +
		"- read `main.go` · read lines 10-40 of main.go\n" +
		"- list · list src\n" +
		"- find `*_test.go` in src\n" +
		"- search \"retry\" in src\n" +
		"- run `go vet ./...`\n" +
		"- run the tests\n" +
		"- replace \"foo\" with \"bar\" in main.go\n\n" +
		"To connect a real model, do one of these and start again:\n\n" +
		"- set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY\n" +
		"- start a local server (Ollama, LM Studio, llama.cpp or vLLM); it is found on its usual port\n" +
		"- name a model: `myelin --model provider/name`; `myelin models` lists what is available"
}

// refused reports whether the call was refused rather than tried.
func (o outcome) refused() bool {
	return o.failed && !strings.HasPrefix(o.text, "Exit code") && !fileRefusal().MatchString(o.text) && refusalWords().MatchString(o.text)
}

// refusal says what was not allowed and, where the result names it, the rule that would allow it.
func (o outcome) refusal(what string) string {
	text := "I was not allowed to " + what + "."
	if m := missingRule().FindStringSubmatch(o.text); m != nil {
		return text + fmt.Sprintf(" The rule that would allow it is `%s`: give it with `--allowedTools %s`, or put it under permissions.allow in .myelin/settings.local.json.",
			m[1], shellQuote(m[1]))
	}
	return text + " The answer was:\n\n" + fence(cut(o.text, 1000))
}

var (
	refusalWords = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)not run:|permission|not allowed|denied|refused|needs approval`)
	})
	// fileRefusal is what the operating system says of a file; it does not refuse the call.
	fileRefusal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(open|read|write|stat|lstat|mkdir|rename|unlink|chmod|create) \S+: permission denied`)
	})
	missingRule = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`allow rule such as (.+) in the settings`)
	})
)

// fence puts text, cut to 20,000 bytes, between fences longer than any in it.
func fence(text string) string {
	text = cut(text, 20_000)
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + strings.TrimRight(text, "\n") + "\n" + marks
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return msg.Cut(s, limit) + "…"
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	if s != "" && !regexp.MustCompile(`[^\w./:@%,=+-]`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
