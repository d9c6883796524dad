package screen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// previewBytes is the largest file whose change is shown in its place.
const previewBytes = 4 << 20

// fileChange is what a call would do to a file, as its input says.
type fileChange struct {
	File    string  `json:"file_path"`
	Content *string `json:"content"` // of the whole file
	replacement
	Edits []replacement `json:"edits"`

	tool string
}

type replacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// changeOf is the change of a file that a question is about; nil when it is about something else.
func changeOf(a proto.Ask) *fileChange {
	var c fileChange
	if a.Kind != proto.AskPermission || json.Unmarshal(a.Input, &c) != nil || c.File == "" {
		return nil
	}
	switch {
	case a.Tool == "Edit":
		c.Content = nil
	case a.Tool != "Write" || c.Content == nil:
		return nil
	}
	c.tool = a.Tool
	return &c
}

func (c *fileChange) replacements() []replacement {
	var out []replacement
	for _, r := range append([]replacement{c.replacement}, c.Edits...) {
		if r.Old != "" || r.New != "" {
			out = append(out, r)
		}
	}
	return out
}

// verb names the change by what is there now.
func (c *fileChange) verb() string {
	_, err := os.Lstat(c.File)
	switch {
	case os.IsNotExist(err):
		return "Create"
	case c.Content != nil:
		return "Overwrite"
	}
	return c.tool
}

// lines show the change: with line numbers and context where the file can be read and the change fits it, else
// what the call itself says.
func (c *fileChange) lines(s Style) []string {
	before := ""
	if c.verb() != "Create" {
		f, err := textfile.Load(c.File, previewBytes)
		if err != nil {
			return c.fragments(s)
		}
		before = f.Text.View()
	}
	after, places, ok := c.apply(before)
	if !ok {
		return c.fragments(s)
	}
	patch := textfile.Diff(before, after)
	var out []string
	if places > 1 {
		out = append(out, s.Dim(fmt.Sprintf("    %d places", places)))
	}
	for i, h := range patch.Hunks {
		if i > 0 {
			out = append(out, s.Dim("    "+s.Sign("⋮", "...")))
		}
		for _, l := range numberedHunk(s, h.OldStart, h.NewStart, h.Lines) {
			out = append(out, "    "+l)
		}
	}
	if patch.LeftOut > 0 {
		out = append(out, s.Dim(fmt.Sprintf("    %s %d more changed lines", s.Sign("…", "..."), patch.LeftOut)))
	}
	return out
}

// apply is the text after the change, and in how many places it differs.
func (c *fileChange) apply(text string) (after string, places int, ok bool) {
	if c.Content != nil {
		return *c.Content, 1, true
	}
	for _, r := range c.replacements() {
		n := strings.Count(text, r.Old)
		switch {
		case r.Old == "" && text == "":
			text, n = r.New, 1
		case r.Old == "" || n == 0 || n > 1 && !r.All:
			return "", 0, false
		default:
			text = strings.ReplaceAll(text, r.Old, r.New)
		}
		places += n
	}
	return text, places, true
}

// fragments are what the call itself says of the change.
func (c *fileChange) fragments(s Style) []string {
	var out []string
	side := func(sign string, look func(string) string, text string) {
		for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			out = append(out, look("    "+sign+visible.Exact(l)))
		}
	}
	if c.Content != nil {
		side("+", s.Green, *c.Content)
	}
	for _, r := range c.replacements() {
		if r.All {
			out = append(out, "    in every place:")
		}
		side("-", s.Red, r.Old)
		side("+", s.Green, r.New)
	}
	return out
}

// numberedHunk shows the lines of a hunk (with ' ', '-' or '+' before each) behind their numbers: those of the old
// text for what is taken away, else of the new one.
func numberedHunk(s Style, old, now int, lines []string) []string {
	digits := len(fmt.Sprint(max(old, now) + len(lines)))
	var out []string
	for _, l := range lines {
		sign, rest := " ", l
		if l != "" {
			sign, rest = l[:1], l[1:]
		}
		text := visible.Exact(strings.ReplaceAll(rest, "\n", `\n`))
		switch sign {
		case "-":
			out = append(out, s.Red(fmt.Sprintf("%*d -%s", digits, old, text)))
			old++
		case "+":
			out = append(out, s.Green(fmt.Sprintf("%*d +%s", digits, now, text)))
			now++
		case " ":
			out = append(out, s.Dim(fmt.Sprintf("%*d ", digits, now))+" "+text)
			old, now = old+1, now+1
		default: // such as "\ No newline at end of file"
			out = append(out, s.Dim(strings.Repeat(" ", digits)+" "+visible.Text(l)))
		}
	}
	return out
}

// relative is a path as seen from a folder above it, else as it is.
func relative(path, cwd string) string {
	if !filepath.IsAbs(path) || cwd == "" {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	return path
}
