package memory

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/frontmatter"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

const (
	maxFile = 4 << 20 // bytes of a file
	warnAt  = 40_000  // characters from which a file is reported as long
)

// stamp tells whether a file changed without reading it.
type stamp struct {
	size int64
	mod  time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{size: info.Size(), mod: info.ModTime()} }

// readRaw reads a file of any encoding that [textfile] knows. problem is a sentence when it cannot
// be used.
func readRaw(path string) (text string, at stamp, problem string) {
	f, err := textfile.Load(path, maxFile)
	if err != nil {
		return "", stamp{}, "not loaded: " + err.Error()
	}
	return f.Text.View(), stampOf(f.Info), ""
}

// readText reads a file as the model is shown it: without the header of a rule, comments and
// invisible characters. problem may come with a text that is used.
func readText(path string) (text string, at stamp, problem string) {
	raw, at, problem := readRaw(path)
	if problem != "" {
		return "", at, problem
	}
	if strings.HasPrefix(raw, "---") {
		raw = frontmatter.Parse([]byte(raw), frontmatter.Options{File: path}).Body
	}
	visible, removed := withoutInvisible(raw)
	text = clean(visible)
	switch {
	case removed > 0:
		problem = fmt.Sprintf("%d invisible characters were removed; they can hide instructions from people", removed)
	case len(text) > warnAt:
		problem = fmt.Sprintf("it is long (%d characters); under 200 lines are followed best", len(text))
	}
	return text, at, problem
}

// clean normalises line ends and removes block-level HTML comments outside of code.
func clean(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if !strings.Contains(text, "<!--") {
		return strings.TrimSpace(text)
	}
	var out strings.Builder
	fence, comment := "", false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case comment:
			_, rest, ended := strings.Cut(line, "-->")
			comment = !ended
			if ended && strings.TrimSpace(rest) != "" {
				out.WriteString(rest)
			}
			continue
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case fenceOf(trimmed) != "":
			fence = fenceOf(trimmed)
		case strings.HasPrefix(trimmed, "<!--"):
			_, rest, ended := strings.Cut(trimmed[4:], "-->")
			comment = !ended
			if strings.TrimSpace(rest) != "" {
				out.WriteString(rest + "\n")
			}
			continue
		}
		out.WriteString(line)
	}
	return strings.TrimSpace(out.String())
}

// fenceOf returns the marks of a code fence that a line opens.
func fenceOf(trimmed string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(trimmed, mark) {
			n := len(trimmed) - len(strings.TrimLeft(trimmed, mark[:1]))
			return trimmed[:n]
		}
	}
	return ""
}

// withoutInvisible removes characters that people cannot see and models read: directions, tags and
// zero-width ones. Joiners stay where they join emoji or letters of scripts that need them.
func withoutInvisible(text string) (visible string, removed int) {
	if !strings.ContainsFunc(text, invisible) {
		return text, 0
	}
	visible = strings.Map(func(r rune) rune {
		if invisible(r) {
			removed++
			return -1
		}
		return r
	}, text)
	return visible, removed
}

func invisible(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r == 0x200E, r == 0x200F, r == 0x061C:
		return true // directions
	case r == 0x200B, r == 0x2060, r >= 0x2061 && r <= 0x2064, r == 0xFEFF, r == 0x180E, r == 0x00AD:
		return true // of no width
	case r >= 0xE0000 && r <= 0xE007F:
		return true // tags
	}
	return false
}

var importMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s(\[{"'])@((?:\\ |[^\s\\"'()\[\]{}<>|*?])+)`)
})

// imports returns what a text imports, in order: @path at the beginning of a word, outside of code.
func imports(text string) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	var out []string
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			continue
		case fenceOf(trimmed) != "":
			fence = fenceOf(trimmed)
			continue
		}
		for _, m := range importMark().FindAllStringSubmatch(withoutSpans(line), -1) {
			target := strings.TrimSpace(strings.TrimRight(strings.ReplaceAll(m[1], `\ `, " "), ".,;:!"))
			if strings.Trim(target, "./~") != "" && !slices.Contains(out, target) {
				out = append(out, target)
			}
		}
	}
	return out
}

// withoutSpans blanks out code spans.
func withoutSpans(line string) string {
	return codeSpan().ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat("x", len(s)) })
}

var codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("``[^`].*?``|`[^`\n]*`") })
