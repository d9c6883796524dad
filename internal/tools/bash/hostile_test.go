//go:build linux

package bash_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/tools/bash"
)

// findNote is shell code that finds the file in which the shell will note where it ended up.
const findNote = `note=$(tr '\0' '\n' </proc/$$/cmdline | grep -o "[^']*/cwd-[^']*" | head -n 1); `

// TestKF156_HostileNote: whatever a confined command leaves as the note of its working directory, it
// neither blocks the program nor fills its memory, and no other folder is entered.
func TestKF156_HostileNote(t *testing.T) {
	for name, leave := range map[string]string{
		"pipe":   `rm -f "$note"; mkfifo "$note"`,
		"zero":   `rm -f "$note"; ln -s /dev/zero "$note"`,
		"sparse": `truncate -s 40G "$note"`,
		"link":   `rm -f "$note"; echo / > other; ln -s "$PWD/other" "$note"`,
		"folder": `rm -f "$note"; mkdir "$note"`,
	} {
		s := newStand(t, func(w *bash.World) {
			w.Temp = sync.OnceValue(t.TempDir)
			plain := w.Runner
			w.Runner = func(spec proc.Spec, _ tool.Confinement) (bash.Run, error) { return plain(spec, tool.Confinement{}) }
		})
		call := s.call(in{"command": findNote + `[ -n "$note" ] || exit 9; trap - EXIT; ` + leave})
		call.Confine.Level = tool.Sandboxed
		res, err := s.shell.Run(t.Context(), call)
		if err != nil || res.IsError || res.Cwd != "" {
			t.Errorf("%s: %q, now in %q, %v", name, text(res), res.Cwd, err)
		}
	}
}

// TestKF157_PlantedNote: the note of an unconfined command lies where no confined one can write, so that
// no link planted in the temporary folder is written through.
func TestKF157_PlantedNote(t *testing.T) {
	temp := t.TempDir()
	s := newStand(t, func(w *bash.World) { w.Temp = func() string { return temp } })
	victim := filepath.Join(s.dir, "victim")
	if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cwd-call_1", "cwd-call_1.sh", "cwd-call_2", "cwd-call_2.sh"} {
		if err := os.Symlink(victim, filepath.Join(temp, name)); err != nil {
			t.Fatal(err)
		}
	}
	res := s.sh(findNote + `echo "$note"; cd /`)
	note := strings.TrimSpace(text(res))
	if !strings.HasPrefix(note, s.world.Dir()+"/") || s.scope.Cwd() != "/" {
		t.Errorf("the note is %q, now in %s", note, s.scope.Cwd())
	}
	s.sh("cd " + s.dir + "; : " + strings.Repeat("x", 130<<10))
	if got, err := os.ReadFile(victim); err != nil || string(got) != "mine" {
		t.Errorf("the victim reads %q, %v", got, err)
	}
	for _, dir := range []string{s.world.Dir(), temp} {
		if left, err := filepath.Glob(filepath.Join(dir, "cwd-*-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
