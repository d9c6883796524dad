package plain

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// takeover hands the terminal to programs of the person's own.
type takeover struct{ *keyFace }

// editOutside opens the draft in the person's own editor.
func (k takeover) editOutside() { k.editText(k.draft.Text(), k.draft.Set) }

// editText opens a text in the person's own editor and hands back what became of it.
func (k takeover) editText(text string, done func(string)) {
	if k.editor() == "" {
		k.print([]string{k.style.Yellow("no editor: set VISUAL or EDITOR")})
		return
	}
	file, err := draftFile(text)
	if err != nil {
		k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
		return
	}
	k.outside(k.editor(), file, func(bad error) {
		defer os.Remove(file)
		raw, err := os.ReadFile(file)
		if bad != nil {
			err = fmt.Errorf("editor: %w", bad)
		}
		if err != nil {
			k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
			return
		}
		done(strings.TrimRight(string(raw), "\n"))
	})
}

func (k takeover) editor() string {
	if editor := k.opt.Getenv("VISUAL"); editor != "" {
		return editor
	}
	return k.opt.Getenv("EDITOR")
}

// outside gives the terminal to a program of the person's own, such as an editor, with a file. The session goes on meanwhile; what it says is
// printed when the terminal comes back, before done is called.
func (k takeover) outside(program, file string, done func(bad error)) {
	if k.out.writing {
		<-k.out.written
		k.out.writing = false
	}
	k.restore()
	k.taken = true
	go guarded(k.crashed, func() { // ends with the program
		shell := "/bin/sh"
		if runtime.GOOS == "windows" {
			shell = "sh"
		}
		cmd := exec.CommandContext(k.ctx, shell, "-c", program+` "$1"`, "sh", file)
		if k.opt.ProgramEnv != nil {
			cmd.Env = k.opt.ProgramEnv()
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		bad := cmd.Run()
		k.back <- func() {
			k.taken = false
			k.resume()
			done(bad)
		}
	})
}

// singleKey is a key to a question about a right: an answer, or a closer look.
func (k *keyFace) singleKey(q *screen.Question, key string) {
	switch {
	case key == "v" && q.Whole() != nil:
		takeover{k}.page(q.Whole())
	case key == "e" && q.Plan() != "":
		takeover{k}.editPlan(q)
	default:
		k.decide(q, q.Key(key))
	}
}

// decide takes an answer. One about a file is sent when the person has edited it.
func (k *keyFace) decide(q *screen.Question, v screen.Verdict) {
	switch {
	case v.Again != "":
		k.focus.note = v.Again
	case v.Open == "":
		k.print(k.settle(v))
	case takeover{k}.editor() == "":
		k.print([]string{k.style.Yellow("no editor: set VISUAL or EDITOR; " + visible.Line(v.Open) + " is read again as it stands")})
		k.print(k.settle(v))
	default:
		takeover{k}.outside(takeover{k}.editor(), v.Open, func(bad error) {
			if bad != nil {
				k.print([]string{k.style.Red("error: editor: " + visible.Line(bad.Error()))})
			} else if k.asked() == q { // nobody else has answered it meanwhile
				k.print(k.settle(v))
			}
		})
	}
}

// editPlan has the person change the plan that is asked about.
func (k takeover) editPlan(q *screen.Question) {
	k.editText(q.Plan(), func(text string) {
		if k.asked() != q {
			return
		}
		if err := q.SetPlan(text); err != nil {
			k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
			return
		}
		k.print(q.Lines(k.style, k.window()))
	})
}

// page shows lines in the person's pager, else prints them.
func (k takeover) page(lines []string) {
	if len(lines) == 0 {
		return
	}
	pager := k.opt.Getenv("PAGER")
	if pager == "" {
		pager = "less -R"
	}
	file, err := draftFile(strings.Join(lines, "\n") + "\n")
	if err != nil {
		k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
		return
	}
	k.outside(pager, file, func(bad error) {
		os.Remove(file)
		if bad != nil { // there is no such pager: the scrollback is one
			k.print(lines)
		}
	})
}

func draftFile(text string) (string, error) {
	f, err := os.CreateTemp("", "myelin-*.md")
	if err != nil {
		return "", fmt.Errorf("write the draft: %w", err)
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return "", fmt.Errorf("write the draft: %w", err)
	}
	return f.Name(), f.Close()
}
