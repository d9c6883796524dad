package plain

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// editOutside opens the draft in the person's own editor. The session goes on meanwhile; what it
// says is printed when the terminal comes back.
func (k *keyFace) editOutside() {
	editor := k.opt.Getenv("VISUAL")
	if editor == "" {
		editor = k.opt.Getenv("EDITOR")
	}
	if editor == "" {
		k.print([]string{k.style.yellow("no editor: set VISUAL or EDITOR")})
		return
	}
	file, err := draftFile(k.draft.Text())
	if err != nil {
		k.print([]string{k.style.red("error: " + visible.Line(err.Error()))})
		return
	}
	if k.writing {
		<-k.written
		k.writing = false
	}
	k.restore()
	k.taken = true
	go guarded(k.crashed, func() { // ends with the editor
		shell := "/bin/sh"
		if runtime.GOOS == "windows" {
			shell = "sh"
		}
		cmd := exec.CommandContext(k.ctx, shell, "-c", editor+` "$1"`, "sh", file)
		if k.opt.SearchPath != nil { // a command of the model may have left another editor on the way
			cmd.Env = append(os.Environ(), "PATH="+k.opt.SearchPath())
		}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		bad := cmd.Run()
		k.back <- func() { k.edited(file, bad) }
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

func (k *keyFace) edited(file string, bad error) {
	k.taken = false
	k.resume()
	defer os.Remove(file)
	if bad != nil {
		k.print([]string{k.style.red("error: editor: " + visible.Line(bad.Error()))})
		return
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		k.print([]string{k.style.red("error: " + visible.Line(err.Error()))})
		return
	}
	k.draft.Set(strings.TrimRight(string(raw), "\n"))
}
