//go:build linux

package bash_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// started notes the programs that are started.
func started(programs *[]string) func(*bash.World) {
	return func(w *bash.World) {
		run := w.Runner
		w.Runner = func(s proc.Spec, c tool.Confinement) (bash.Run, error) {
			*programs = append(*programs, filepath.Base(s.Path))
			return run(s, c)
		}
	}
}

// A line of plain words runs without a shell, and gives what it gives inside one.
func TestPlainCommandsNeedNoShell(t *testing.T) {
	var programs []string
	s := newStand(t, started(&programs))
	for name, content := range map[string]string{
		"a b":  "two words\n",
		"late": "#!/bin/sh\necho \"$0 says $1\" >&2\nexit 3\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command string
		direct  bool
	}{
		{"true", true},
		{"false", true},
		{"ls", true},
		{"ls -l nosuch", true},
		{"cat 'a b'", true},
		{`cat "a b"`, true},
		{"cat ''", true},
		{`grep -c two "a b"`, true},
		{"sh -c 'kill -KILL $$'", true},
		{"env printf x=y", true},
		{filepath.Join("/", "bin", "echo") + " -n a  b", true},
		{"echo -n a", false}, // the shell's own
		{"pwd", false},
		{"cat a\\ b", false},
		{"cat a*", false},
		{"cat < 'a b'", false},
		{"cat 'a b' | cat", false},
		{"cat 'a b'; true", false},
		{"cat 'a b' # with a comment", true},
		{"X=1 printenv X", false},
		{"ls $HOME/nosuch", false},
		{"ls ~/nosuch", false},
		{"ls {a,b}", false},
		{"cat $'a b'", false},
		{"! true", false},
		{"nosuchprogram", false},
		{"./late x", false},
		{"cd /", false},
	} {
		programs = nil
		got := s.sh(c.command)
		if ran := programs[0] != "bash"; ran != c.direct {
			t.Errorf("%s ran as %v", c.command, programs)
		}
		s.scope.SetCwd(s.dir)
		want := s.sh("{ " + strings.TrimSuffix(c.command, " # with a comment") + "\n}")
		s.scope.SetCwd(s.dir)
		if strings.Contains(c.command, "KILL") { // a shell says beside it which line it was
			if got.IsError != want.IsError || !strings.Contains(text(got), "137") {
				t.Errorf("%s: %q", c.command, text(got))
			}
			continue
		}
		anyLine := regexp.MustCompile(`line \d+:`)
		if anyLine.ReplaceAllString(text(got), "") != anyLine.ReplaceAllString(text(want), "") || got.IsError != want.IsError {
			t.Errorf("%s: %q, %v, in a shell %q, %v", c.command, text(got), got.IsError, text(want), want.IsError)
		}
	}
}

// What gives a name another meaning is heeded.
func TestNamesOfTheUsersShellNeedTheShell(t *testing.T) {
	var programs []string
	snapshot := filepath.Join(t.TempDir(), "snapshot.sh")
	if err := os.WriteFile(snapshot, []byte("shopt -s expand_aliases\nalias ls='echo aliased'\nwc () \n{ \n    echo a function\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStand(t, started(&programs), func(w *bash.World) {
		w.Snapshot = func(context.Context) (string, error) { return snapshot, nil }
	})
	for command, want := range map[string]string{"ls": "aliased", "wc": "a function", "uname": "Linux"} {
		programs = nil
		if got := s.sh(command); !strings.Contains(text(got), want) || (programs[0] == "bash") == (command == "uname") {
			t.Errorf("%s: %q by %v", command, text(got), programs)
		}
	}
	env := newStand(t, started(&programs), func(w *bash.World) {
		w.Env = func() []string {
			return append(os.Environ(), "BASH_FUNC_uname%%=() { echo exported; }")
		}
	})
	if got := env.sh("uname"); !strings.Contains(text(got), "exported") {
		t.Errorf("an exported function: %q", text(got))
	}
}

// A file that the kernel cannot run by itself is the shell's to read.
func TestScriptsWithoutAFirstLineNeedTheShell(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "bare"), []byte("echo bare $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStand(t, func(w *bash.World) {
		w.Env = func() []string { return append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")) }
	})
	if got := s.sh("bare x"); strings.TrimSpace(text(got)) != "bare x" || got.IsError {
		t.Errorf("%q, %v", text(got), got.IsError)
	}
}
