package bash

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// maxArgument is below what the kernel takes as one argument (128 KiB); longer scripts go by file.
const maxArgument = 120 << 10

// script is what one shell is given, and where it leaves its last working directory.
type script struct {
	shell   string
	args    []string
	cwdFile string   // where a confined shell leaves it, it may hold anything
	temp    []string // files to remove afterwards
}

// quote makes one word of s for any POSIX shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// write makes the script of a command: the user's aliases, the files hooks have written, a note of
// where the shell ends up, then the command. The command is given to eval, so that an error in it is
// its own and aliases set before hold in it.
func (s *Shell) write(in Input, c tool.Call, dir, snapshot string, lim Limits) (script, error) {
	sc := script{shell: shellPath(lim.Shell, s.world.Finder)}
	var err error
	if sc.cwdFile, err = s.note(c); err != nil {
		return sc, err
	}
	var b strings.Builder
	if snapshot != "" {
		fmt.Fprintf(&b, ". %s\n", quote(snapshot))
	}
	if s.world.EnvFiles != nil {
		for _, f := range s.world.EnvFiles(c.Confine.Level != tool.Unconfined) {
			if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
				fmt.Fprintf(&b, ". %s\n", quote(f))
			}
		}
	}
	// A trap, so that it also holds for a command that says exit. The exit code stays.
	fmt.Fprintf(&b, "trap %s EXIT\n", quote(fmt.Sprintf(`[ "$PWD" = %s ] || pwd >| %s`, quote(dir), quote(sc.cwdFile))))
	command := in.Command
	if lim.Prefix != "" {
		command = lim.Prefix + " " + quote(command)
	}
	fmt.Fprintf(&b, "eval %s\n", quote(command))
	text := b.String()
	if len(text) > maxArgument {
		file := filepath.Join(s.world.Dir(), rand.Text()+".sh") // never where a confined command could change it
		if err := nolink.WriteFile(file, []byte(text)); err != nil {
			return sc, fmt.Errorf("write long command: %w", err)
		}
		sc.temp = append(sc.temp, file)
		text = ". " + quote(file)
	}
	sc.args = []string{"-c", text}
	return sc, nil
}

// note is the file in which the shell leaves its last working directory. A confined shell can write in
// the temporary folder only, where others like it may have put anything under any name; the note of an
// unconfined one is made beforehand where no sandbox can write.
func (s *Shell) note(c tool.Call) (string, error) {
	name := "cwd-" + safeName(c.ID) + "-" + rand.Text()
	if c.Confine.Level != tool.Unconfined {
		return filepath.Join(s.world.Temp(), name), nil
	}
	file := filepath.Join(s.world.Dir(), name)
	if err := nolink.WriteFile(file, nil); err != nil {
		return "", fmt.Errorf("make note of the working directory: %w", err)
	}
	return file, nil
}

// shellPath is the shell to run. Commands are written for bash, so bash wherever there is one.
func shellPath(want string, finder proc.Finder) string {
	candidates := []string{want, "/bin/bash", "/usr/bin/bash"}
	for _, c := range candidates {
		if _, err := finder.Find(c, ""); filepath.IsAbs(c) && err == nil {
			return c
		}
	}
	if p, err := finder.Find("bash", os.Getenv("PATH")); err == nil {
		return p
	}
	return "/bin/sh"
}

// safeName makes a file name of an id that came from a model service.
func safeName(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, id[:min(len(id), 80)])
}

// maxPath is the longest path a note may hold, in bytes.
const maxPath = 64 << 10

// newDir reads where the shell ended up; empty: where it began, or nowhere one can stand.
func (sc script) newDir() string {
	if sc.cwdFile == "" { // without a shell nothing moves
		return ""
	}
	data, err := nolink.ReadFile(sc.cwdFile, maxPath)
	if err != nil {
		return ""
	}
	dir := strings.TrimSuffix(string(data), "\n")
	if !filepath.IsAbs(dir) || !isDir(dir) {
		return ""
	}
	return filepath.Clean(dir)
}

// clean removes what the call left in the temporary folder.
func (sc script) clean() {
	if sc.cwdFile == "" {
		return
	}
	for _, f := range append(sc.temp, sc.cwdFile) {
		_ = os.Remove(f) // mostly never made
	}
}
