package memory

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/frontmatter"
)

// Bounds of the auto memory.
const (
	indexName   = "MEMORY.md"
	indexLines  = 200
	indexBytes  = 25 << 10
	mostTopics  = 500
	headerBytes = 2 << 10
)

// Auto is the auto memory of one project: a folder with an index and topic files that the model keeps
// with the ordinary file tools. What stands there is text for the model and decides nothing.
type Auto struct {
	Dir     string
	MayRead func(path string) bool // nil: all may be
}

// Topic is the header of one memory.
type Topic struct {
	Path        string
	Name        string
	Description string
	Type        string // user, feedback, project, reference
	Session     string // the session that wrote it; empty: not known
	Modified    time.Time
}

func (a Auto) mayRead(path string) bool { return a.MayRead == nil || a.MayRead(path) }

// Index is the beginning of the index that goes into the context, empty when there is none. What is
// left out, or why it cannot be read, is said in it.
func (a Auto) Index() string {
	path := filepath.Join(a.Dir, indexName)
	if !a.mayRead(path) {
		return ""
	}
	text, size, err := readHead(path, indexBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return fmt.Sprintf("(%s cannot be read: %v)", path, err)
	}
	shown, all := firstLines(text, indexLines)
	if !all || size > indexBytes {
		shown += fmt.Sprintf("\n[the rest is left out: the index has %d bytes; only the first %d lines and %d bytes are read]", size, indexLines, indexBytes)
	}
	return strings.TrimSpace(shown)
}

// IndexPath is where the index stands.
func (a Auto) IndexPath() string { return filepath.Join(a.Dir, indexName) }

// firstLines are the first n lines of a text; all tells that there are no more.
func firstLines(text string, n int) (first string, all bool) {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return text, true
		}
		at += i + 1
	}
	return text[:at], at == len(text)
}

// Topics are the headers of the newest topic files, the newest first.
func (a Auto) Topics() ([]Topic, error) {
	entries, err := os.ReadDir(a.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the auto memory: %w", err)
	}
	var out []Topic
	for _, e := range entries {
		path := filepath.Join(a.Dir, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == indexName || filepath.Ext(e.Name()) != ".md" || !a.mayRead(path) {
			continue
		}
		out = append(out, Topic{Path: path, Modified: info.ModTime()})
	}
	slices.SortFunc(out, func(x, y Topic) int {
		return cmp.Or(y.Modified.Compare(x.Modified), strings.Compare(x.Path, y.Path))
	})
	out = out[:min(len(out), mostTopics)]
	for i := range out {
		out[i].readHeader()
	}
	return out, nil
}

// headerKeys are the fields of a topic's header.
func headerKeys() []string { return []string{"name", "description", "type", "modified", "session"} }

// readHeader fills in what the beginning of the file says; one that cannot be read keeps its name.
func (t *Topic) readHeader() {
	t.Name = strings.TrimSuffix(filepath.Base(t.Path), ".md")
	text, _, err := readHead(t.Path, headerBytes)
	if err != nil {
		return
	}
	doc := frontmatter.Parse([]byte(text), frontmatter.Options{File: t.Path, Keys: headerKeys()})
	for _, f := range doc.Fields {
		value, _ := f.Value.Text()
		value = oneLine(value, 300)
		switch f.Key {
		case "name":
			t.Name = cmp.Or(value, t.Name)
		case "description":
			t.Description = value
		case "type":
			t.Type = value
		case "session":
			t.Session = value
		}
	}
	if t.Description == "" {
		t.Description = oneLine(title(doc.Body), 300)
	}
}

// title is the first line of a text that says something, without the marks of a heading.
func title(body string) string {
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return line
		}
	}
	return ""
}

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// Review looks at what shall stand in a file of the memory: a problem is a sentence for the model, and
// nothing is written then. A topic with a header gets the time and the session of this change.
func (a Auto) Review(path, text, session string, now time.Time) (next, problem string) {
	if what := credential(text); what != "" {
		return text, fmt.Sprintf("%s was not written: the text holds what looks like %s, and the memory keeps no secrets. Note where it can be found instead.", path, what)
	}
	if filepath.Base(path) == indexName {
		return text, ""
	}
	return stamped(text, [][2]string{{"modified", now.UTC().Format(time.RFC3339)}, {"session", session}}), ""
}

// stamped sets fields of a header; a text without one stays as it is.
func stamped(text string, fields [][2]string) string {
	head, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(head, " \r") != "---" {
		return text
	}
	end := "\n"
	if strings.HasSuffix(head, "\r") {
		end = "\r\n"
	}
	var out strings.Builder
	out.WriteString(head + "\n")
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \r\n") == "---" {
			for _, f := range fields {
				out.WriteString(f[0] + ": " + f[1] + end)
			}
			return out.String() + rest
		}
		rest = rest[len(line):]
		if !slices.ContainsFunc(fields, func(f [2]string) bool { return strings.HasPrefix(line, f[0]+":") }) {
			out.WriteString(line)
		}
	}
	return text // the header has no end
}

// Written is what the model is told after it wrote a file of the memory; empty: nothing.
func (a Auto) Written(path string) string {
	text, size, err := readHead(path, indexBytes)
	if err != nil {
		return ""
	}
	if filepath.Base(path) != indexName {
		return a.lacks(path, text)
	}
	_, all := firstLines(text, indexLines)
	lines := strings.Count(text, "\n") + 1
	switch {
	case !all || size > indexBytes:
		return fmt.Sprintf("%s is longer than %d lines or %d bytes. What stands behind them is not read: shorten it now.", path, indexLines, indexBytes)
	case lines > indexLines*9/10 || size > indexBytes*9/10:
		return fmt.Sprintf("%s is nearly full (%d lines, %d bytes; %d lines and %d bytes are read). Shorten it, or move details to topic files.", path, lines, size, indexLines, indexBytes)
	}
	return ""
}

// lacks says what a topic needs so that later sessions find it; empty: nothing.
func (a Auto) lacks(path, text string) string {
	var out []string
	if doc := frontmatter.Parse([]byte(text), frontmatter.Options{File: path, Keys: headerKeys()}); !doc.Present {
		out = append(out, "a header in front of its text (---, name: …, description: one line, type: user, feedback, project or reference, ---)")
	}
	name := filepath.Base(path)
	if index, _, _ := readHead(a.IndexPath(), indexBytes); !strings.Contains(index, name) { // without an index it is in none
		out = append(out, fmt.Sprintf("a line in %s: - [title](%s): what it says in a few words", a.IndexPath(), name))
	}
	if len(out) == 0 {
		return ""
	}
	return "So that later sessions find this memory, give it " + strings.Join(out, ", and ") + "."
}

// secrets are what credentials look like, with a word for each.
var secrets = sync.OnceValue(func() []struct {
	what string
	like *regexp.Regexp
} {
	type kind = struct {
		what string
		like *regexp.Regexp
	}
	return []kind{
		{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY`)},
		{"an access key", regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}`)},
		{"a token", regexp.MustCompile(`\b(gh[pousr]_[0-9A-Za-z]{30,}|github_pat_[0-9A-Za-z_]{40,}|glpat-[0-9A-Za-z_-]{20,}|xox[abposr]-[0-9A-Za-z-]{10,}|npm_[0-9A-Za-z]{30,}|sk-[0-9A-Za-z_-]{20,}|hf_[0-9A-Za-z]{30,})`)},
		{"a token", regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}`)},
		{"a password in an address", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@<>{}$]{4,}@`)},
		{"a password", regexp.MustCompile(`(?i)\b(password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|bearer)["'` + "`" + `]?\s*[:=]\s*["'` + "`" + `]?[^\s"'` + "`" + `<>{}$]*[0-9][^\s"'` + "`" + `<>{}$]*[^\s"'` + "`" + `<>{}$.,;]`)},
	}
})

// credential names what in a text looks like a credential; empty: nothing does.
func credential(text string) string {
	for _, s := range secrets() {
		if m := s.like.FindString(text); len(m) >= 12 {
			return s.what
		}
	}
	return ""
}
