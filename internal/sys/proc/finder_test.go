package proc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// TestKF145_NoProgramOfOursComesFromWhereOthersWrite plants programs on every kind of PATH entry.
func TestKF145_NoProgramOfOursComesFromWhereOthersWrite(t *testing.T) {
	base := t.TempDir()
	project, system := filepath.Join(base, "project"), filepath.Join(base, "system")
	plant := func(dir string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	plant(filepath.Join(project, "bin"))
	plant(system)
	link(filepath.Join(project, "bin"), filepath.Join(base, "dirlink"))
	if err := os.Mkdir(filepath.Join(base, "filelink"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(project, "bin", "git"), filepath.Join(base, "filelink", "git"))
	link(system, filepath.Join(project, "out"))
	link(project, filepath.Join(base, "alias"))
	t.Chdir(project)
	good := filepath.Join(system, "git")
	for name, c := range map[string]struct {
		path  string
		roots []string
	}{
		"below":                  {filepath.Join(project, "bin"), []string{project}},
		"a link to a folder":     {filepath.Join(base, "dirlink"), []string{project}},
		"a link to a program":    {filepath.Join(base, "filelink"), []string{project}},
		"a link that lies there": {filepath.Join(project, "out"), []string{project}},
		"the root by its link":   {filepath.Join(project, "bin"), []string{filepath.Join(base, "alias")}},
		"with a slash":           {filepath.Join(project, "bin") + "/", []string{project + "/"}},
		"with dots":              {filepath.Join(project, "..", "project", "bin"), []string{project}},
		"relative":               {"bin", nil},
		"dot":                    {".", nil},
		"empty":                  {"", nil},
		"above":                  {filepath.Join(project, "bin"), []string{"/"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := proc.Finder{Writable: func() []string { return c.roots }}
			if got, err := f.Find("git", c.path); err == nil || got != "" {
				t.Fatalf("found %q, %v", got, err)
			} else if len(c.roots) > 0 && !errors.Is(err, proc.ErrWritable) {
				t.Errorf("the error does not say why: %v", err)
			}
			if len(c.roots) == 1 && c.roots[0] == "/" {
				return
			}
			both := c.path + string(os.PathListSeparator) + system
			if got, err := f.Find("git", both); got != good || err != nil {
				t.Errorf("behind it: %q, %v", got, err)
			}
			if got := f.Path(both); got != system && name != "a link to a program" { // that folder itself is nobody else's
				t.Errorf("what is left of PATH: %q", got)
			}
		})
	}
	f := proc.Finder{Writable: func() []string { return []string{project} }}
	if _, err := f.Find(filepath.Join(project, "bin", "git"), ""); !errors.Is(err, proc.ErrWritable) {
		t.Errorf("by its whole name: %v", err)
	}
	if got, err := f.Find(good, ""); got != good || err != nil {
		t.Errorf("by its whole name: %q, %v", got, err)
	}
	if f.Trusts(filepath.Join(base, "filelink", "git")) || !f.Trusts(good) {
		t.Error("what is trusted")
	}
	if _, err := (proc.Finder{}).Find("git", filepath.Join(base, "nothing")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("nowhere: %v", err)
	}
}
