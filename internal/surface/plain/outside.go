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

// editOutside opens the draft in the person's own editor.
func (k *keyFace) editOutside() {
	if k.editor() == "" {
		k.print([]string{k.style.Yellow("no editor: set VISUAL or EDITOR")})
		return
	}
	file, err := draftFile(k.draft.Text())
	if err != nil {
		k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
		return
	}
	k.outside(file, func(bad error) { k.edited(file, bad) })
}

func (k *keyFace) editor() string {
	if editor := k.opt.Getenv("VISUAL"); editor != "" {
		return editor
	}
	return k.opt.Getenv("EDITOR")
}

// outside gives the terminal to the person's own editor. The session goes on meanwhile; what it says is
// printed when the terminal comes back, before done is called.
func (k *keyFace) outside(file string, done func(bad error)) {
	if k.out.writing {
		<-k.out.written
		k.out.writing = false
	}
	k.restore()
	k.taken = true
	go guarded(k.crashed, func() { // ends with the editor
		shell := "/bin/sh"
		if runtime.GOOS == "windows" {
			shell = "sh"
		}
		cmd := exec.CommandContext(k.ctx, shell, "-c", k.editor()+` "$1"`, "sh", file)
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

// decide takes an answer. One about a file is sent when the person has edited it.
func (k *keyFace) decide(q *screen.Question, v screen.Verdict) {
	switch {
	case v.Open == "":
		k.print(k.settle(v))
	case k.editor() == "":
		k.print([]string{k.style.Yellow("no editor: set VISUAL or EDITOR; " + visible.Line(v.Open) + " is read again as it stands")})
		k.print(k.settle(v))
	default:
		k.outside(v.Open, func(bad error) {
			if bad != nil {
				k.print([]string{k.style.Red("error: editor: " + visible.Line(bad.Error()))})
			} else if k.asked() == q { // nobody else has answered it meanwhile
				k.print(k.settle(v))
			}
		})
	}
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

func (k *keyFace) edited(file string, bad error) {
	defer os.Remove(file)
	if bad != nil {
		k.print([]string{k.style.Red("error: editor: " + visible.Line(bad.Error()))})
		return
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		k.print([]string{k.style.Red("error: " + visible.Line(err.Error()))})
		return
	}
	k.draft.Set(strings.TrimRight(string(raw), "\n"))
}
