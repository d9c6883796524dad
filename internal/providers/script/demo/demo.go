// Package demo is the data of the demonstration: a small project with a failing test, and what the
// model says while it mends it. Only those words are made up; who plays the demo runs every tool
// call for real. The project needs nothing but a POSIX shell.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/providers/script"
)

// What the session of the demo is started with.
const (
	Prompt = "The test fails. Find out why, mend it, and run it again."
	Mode   = "acceptEdits"
	Rule   = "Bash(sh ./test.sh)" // the one thing that is allowed beside edits
	Test   = "sh ./test.sh"       // succeeds in the project's folder when the demo has worked
)

//go:embed project demo.yaml
var files embed.FS

// Write writes the project into dir, which is created when it is missing. It overwrites nothing:
// a file that exists already is an error.
func Write(dir string) error {
	project, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	return fs.WalkDir(project, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := fs.ReadFile(project, name)
		if err != nil {
			return err
		}
		return writeNew(target, data)
	})
}

func writeNew(target string, data []byte) error {
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write the demo project: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the demo project: %w", err)
	}
	return nil
}

// Script is what the model says; fast leaves the pauses out.
func Script(fast bool) (*script.Script, error) {
	data, err := files.ReadFile("demo.yaml")
	if err != nil {
		return nil, err
	}
	s, err := script.Parse("demo.yaml", data)
	if err != nil {
		return nil, err
	}
	if fast {
		for i := range s.Turns {
			s.Turns[i].Delay = 0
		}
	}
	return s, nil
}
