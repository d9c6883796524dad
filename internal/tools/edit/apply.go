package edit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// apply makes the changes one after the other; problem says why one of them cannot be made.
func apply(t textfile.Text, changes []Change) (next textfile.Text, problem string) {
	for i, c := range changes {
		if t, problem = applyOne(t, c); problem != "" {
			if len(changes) > 1 {
				problem += "\nNone of the edits was made."
			}
			return t, at(i, changes) + problem
		}
	}
	return t, ""
}

// at names an edit when there are several.
func at(i int, changes []Change) string {
	if len(changes) == 1 {
		return ""
	}
	return fmt.Sprintf("Edit %d of %d: ", i+1, len(changes))
}

func applyOne(t textfile.Text, c Change) (textfile.Text, string) {
	if c.Old == "" {
		if t.View() != "" {
			return t, "old_string is empty, which creates a file, but the file exists and is not empty. Give the text to replace, or use Write to replace all of it."
		}
		next, err := t.Rewrite(c.New)
		return next, said(err)
	}
	if !c.ReplaceAll {
		if places, _ := t.Find(c.Old); len(places) > 1 {
			return t, ambiguous(t.View(), c.Old, places)
		}
	}
	next, n, err := t.Replace(c.Old, c.New)
	if n == 0 {
		return t, notFound(t.View(), c.Old)
	}
	return next, said(err)
}

func said(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, textfile.ErrReplacement):
		return err.Error() + ". Write the character as an escape, or leave that part out of the replaced text."
	default:
		return err.Error() + ". Nothing was written."
	}
}

// maxQuoted is how much of a text the model wrote is shown back to it, in characters.
const maxQuoted = 1000

func notFound(view, old string) string {
	text := "String to replace not found in file.\nString: " + textfile.Cut(old, maxQuoted)
	if near := nearest(view, old); near > 0 {
		text += "\nThe file has something like it, perhaps with other blanks or around other lines:\n" +
			textfile.Numbered(view, near-2, near+strings.Count(old, "\n")+2)
	}
	return text
}

// nearest is the number of the line that is, but for blanks, the first telling line of old; 0: none.
func nearest(view, old string) int {
	for wanted := range strings.Lines(old) {
		wanted = squeeze(wanted)
		if len(wanted) < 4 {
			continue
		}
		n := 0
		for line := range strings.Lines(view) {
			n++
			if squeezed := squeeze(line); squeezed != "" && (squeezed == wanted || (len(wanted) >= 12 && strings.Contains(squeezed, wanted))) {
				return n
			}
		}
	}
	return 0
}

func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

func ambiguous(view, old string, places []int) string {
	var lines []string
	for _, p := range places[:min(len(places), 10)] {
		lines = append(lines, fmt.Sprint(textfile.LineAt(view, p)))
	}
	more := ""
	if len(places) > 10 {
		more = ", …"
	}
	return fmt.Sprintf("Found %d matches of the string to replace (lines %s%s), but replace_all is not set. Set replace_all or give more context to make it unique.\nString: %s",
		len(places), strings.Join(lines, ", "), more, textfile.Cut(old, maxQuoted))
}
