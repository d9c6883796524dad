package offline

import (
	"regexp"
	"strings"
	"sync"
)

// change is one change to files that a call made, with what takes it back.
type change struct {
	text string // for people
	path string
	back call   // takes it back; tool "" when nothing can
	why  string // why nothing can
	made string // content the file got, for a created file: it is checked before it goes
}

// changeOf reads what a call changed; ok is false when it changed nothing or failed.
func changeOf(d done) (c change, ok bool) {
	if d.result.failed {
		return change{}, false
	}
	switch d.call.Name {
	case "Edit":
		in := inputOf[editInput](d)
		c = change{text: "edited `" + in.Path + "`", path: in.Path, back: call{"Edit", editInput{Path: in.Path, Old: in.New, New: in.Old, All: in.All}}}
		if in.New == "" || in.Old == "" {
			c.back, c.why = call{}, "an edit that only adds or only takes away text leaves no mark to find its place by"
		}
		return c, in.Path != ""
	case "Write":
		in := inputOf[writeInput](d)
		c = change{text: "wrote `" + in.Path + "`", path: in.Path, why: "what stood there before is not in this conversation", made: in.Content}
		if createdWord().MatchString(d.result.text) {
			c.text, c.back = "created `"+in.Path+"`", bash("rm -- "+shellQuote(in.Path), "Delete "+in.Path)
		}
		return c, in.Path != ""
	case "Bash":
		return shellChange(inputOf[bashInput](d).Command)
	default:
		return change{}, false
	}
}

// shellChange knows the commands this model writes itself.
func shellChange(command string) (change, bool) {
	if m := moveShape().FindStringSubmatch(command); m != nil {
		from, to := shellWord(m[1]), shellWord(m[2])
		return change{text: "renamed `" + from + "` to `" + to + "`", path: to, back: moveCall(to, from)}, true
	}
	if rest, ok := strings.CutPrefix(command, "rm -- "); ok {
		return change{text: "deleted `" + shellWord(rest) + "`", why: "a deleted file is gone"}, true
	}
	if rest, ok := strings.CutPrefix(command, "mkdir -p -- "); ok {
		return change{text: "created the folder `" + shellWord(rest) + "`", back: bash("rmdir -- "+rest, "Remove the folder")}, true
	}
	return change{}, false
}

var (
	createdWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bcreated?\b|new file`) })
	moveShape   = sync.OnceValue(func() *regexp.Regexp {
		const word = `('(?:[^']|'\\'')*'|\S+)`
		return regexp.MustCompile(`^mv -n -- ` + word + ` ` + word + `$`)
	})
)

// shellWord undoes [shellQuote].
func shellWord(s string) string {
	if len(s) >= 2 && s[0] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], `'\''`, "'")
	}
	return s
}

// undo takes back what the last turn that changed files did.
func undo(w *work) {
	var changes []change
	for i := len(w.past) - 1; i >= 0 && len(changes) == 0; i-- {
		for _, d := range w.past[i].done {
			if c, ok := changeOf(d); ok {
				changes = append(changes, c)
			}
		}
	}
	if len(changes) == 0 {
		w.say("There is nothing to undo: no file was changed in this conversation.")
		return
	}
	var undone, kept []string
	for i := len(changes) - 1; i >= 0; i-- {
		ok, why := w.takeBack(changes[i])
		if w.waiting() {
			return
		}
		if ok {
			undone = append(undone, changes[i].text)
		} else {
			kept = append(kept, changes[i].text+" – "+why)
		}
	}
	if len(undone) > 0 {
		w.say("Taken back:\n\n" + bullets(undone, 50))
	}
	if len(kept) > 0 {
		w.say("Not taken back:\n\n" + bullets(kept, 50))
	}
}

// takeBack reverses one change; why says why not.
func (w *work) takeBack(c change) (ok bool, why string) {
	if c.back.tool == "" {
		return false, c.why
	}
	if !w.has(c.back.tool) {
		return false, "the tool " + c.back.tool + " is not available"
	}
	if c.back.tool == "Edit" {
		if why := w.editFits(c); why != "" || w.waiting() {
			return false, why
		}
	}
	if c.made != "" {
		got, ran := w.lookAt(readInput{Path: c.path})
		if !ran {
			return false, ""
		}
		if got.failed {
			return false, firstLine(got.failure("read it"))
		}
		if strings.Join(readLines(got).lines, "\n") != strings.TrimSuffix(strings.ReplaceAll(c.made, "\r\n", "\n"), "\n") {
			return false, "the file was changed since"
		}
	}
	got, ran := w.one(c.back)
	if !ran {
		return false, ""
	}
	if got.failed {
		return false, strings.ReplaceAll(got.failure("take it back"), "\n", " ")
	}
	return true, ""
}

// editFits tells why an edit that replaced every occurrence cannot be taken back by replacing
// again: the new text stood in the file before.
func (w *work) editFits(c change) string {
	in := c.back.input.(editInput)
	if !in.All {
		return ""
	}
	for i := len(w.past) - 1; i >= 0; i-- {
		for _, d := range w.past[i].done {
			if d.call.Name != "Read" || inputOf[readInput](d).Path != in.Path || d.result.failed || isUnchanged(d.result) {
				continue
			}
			if n := readLines(d.result); strings.Contains(strings.Join(n.lines, "\n"), in.Old) && strings.Contains(strings.Join(n.lines, "\n"), in.New) {
				return "\"" + in.Old + "\" stood in the file before as well"
			}
		}
	}
	return ""
}
