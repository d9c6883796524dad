package prompt

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/frontmatter"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Style is an output style: how the model speaks, and how far it goes by itself.
type Style struct {
	Name        string
	Description string
	Text        string
	Coding      bool   // the working rules of this program hold beside it
	Path        string // empty: built in
}

// maxStyle bounds the file of a style.
const maxStyle = 256 << 10

// styles are those that are built in. The default says nothing.
func styles() []Style {
	return []Style{
		{Name: "Default", Description: "brief, to the point", Coding: true},
		{Name: "Proactive", Description: "goes on without asking", Coding: true, Text: `# Output style: Proactive
Act on what follows from the request without waiting to be told: do the obvious next step, run the checks, mend what they show. State an assumption and go on instead of asking, unless a wrong guess would be costly or cannot be undone. Permissions and refusals hold as ever.`},
		{Name: "Concise", Description: "as few words as possible", Coding: true, Text: `# Output style: Concise
Answer in as few words as the matter allows: one line where one line does. No introductions, no summaries of what was done, no lists of what could be done. Show code and commands instead of describing them.`},
		{Name: "Explanatory", Description: "explains choices along the way", Coding: true, Text: `# Output style: Explanatory
Beside the work, teach: before and after a change explain in two or three sentences why it is done in this way here, what in this code base decided it, and what the alternative would have cost. Speak of this code, not of programming in general. Put these notes into the conversation, not into the code.`},
		{Name: "Learning", Description: "leaves pieces for the person to write", Coding: true, Text: `# Output style: Learning
The person wants to learn by doing. Do the routine parts yourself and leave the pieces that teach something (two to ten lines: a decision, an algorithm, an error path) to them: put a comment TODO(human) in that place, say in which file it is, what it must do and what to weigh, and wait. Leave one such piece at a time. When they have written it, say in a sentence or two what is good and what could go wrong.`},
	}
}

// StyleDirs are the folders of styles: of the project from start up to its root, the closest first,
// then below homes. Without start there is no project.
func StyleDirs(start, root string, homes []string) []string {
	var out []string
	for dir := start; dir != ""; dir = filepath.Dir(dir) {
		out = append(out, filepath.Join(dir, ".myelin", "output-styles"), filepath.Join(dir, ".claude", "output-styles"))
		if dir == root || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, home := range homes {
		if home != "" {
			out = append(out, filepath.Join(home, "output-styles"))
		}
	}
	return out
}

// FindStyle returns a style by its name, whose case does not matter: of the first of dirs that has
// it, else the one that is built in. report is told what cannot be used; with an unknown name it is
// the default, and those that are there are told.
func FindStyle(name string, dirs []string, report func(problem string)) Style {
	all := allStyles(dirs, report)
	if name == "" {
		name = "default"
	}
	at := slices.IndexFunc(all, func(s Style) bool { return strings.EqualFold(s.Name, name) })
	if at < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		report(fmt.Sprintf("outputStyle: there is no style %q; expected one of %s", name, strings.Join(names, ", ")))
		return styles()[0]
	}
	return all[at]
}

func allStyles(dirs []string, report func(string)) []Style {
	var out []Style
	add := func(s Style) {
		if !slices.ContainsFunc(out, func(o Style) bool { return strings.EqualFold(o.Name, s.Name) }) {
			out = append(out, s)
		}
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			report(fmt.Sprintf("the output styles in %s cannot be read: %v", dir, err))
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".md" || e.IsDir() {
				continue
			}
			s, err := readStyle(filepath.Join(dir, e.Name()))
			if err != nil {
				report(err.Error())
				continue
			}
			add(s)
		}
	}
	for _, s := range styles() {
		add(s)
	}
	return out
}

func readStyle(path string) (Style, error) {
	f, err := textfile.Load(path, maxStyle)
	if err != nil {
		return Style{}, fmt.Errorf("read output style: %w", err)
	}
	doc := frontmatter.Parse([]byte(f.Text.View()), frontmatter.Options{File: path, Keys: []string{"name", "description", "keep-coding-instructions"}})
	s := Style{Name: strings.TrimSuffix(filepath.Base(path), ".md"), Text: strings.TrimSpace(doc.Body), Path: path}
	for _, field := range doc.Fields {
		text, _ := field.Value.Text()
		switch field.Key {
		case "name":
			s.Name = cmp.Or(strings.TrimSpace(text), s.Name)
		case "description":
			s.Description = text
		case "keep-coding-instructions":
			if s.Coding, _ = field.Value.Bool(); !s.Coding && text != "false" {
				return s, fmt.Errorf("read output style: %s: keep-coding-instructions is %q, expected true or false", field.At.Place(), text)
			}
		}
	}
	if s.Text == "" {
		return s, fmt.Errorf("read output style: %s says nothing below its header", path)
	}
	return s, nil
}
