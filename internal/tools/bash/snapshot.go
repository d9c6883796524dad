package bash

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// The bounds of capturing the user's shell: how long the first command waits for it, how long it
// may take in all, and how much is kept.
const (
	snapshotWait  = time.Second
	snapshotLimit = 10 * time.Second
	snapshotBytes = 512 << 10
)

// snapshot is the capture of the user's aliases, functions and options, made once a session.
type snapshot struct {
	done chan struct{}
	path string
}

// snapshotFile returns the file to source before a command. The first call starts the capture and
// waits for it a moment; a slow one is used from the call on that finds it ready.
func (s *Shell) snapshotFile(ctx context.Context) string {
	if s.world.Snapshot == nil {
		return ""
	}
	s.mu.Lock()
	first := s.snap == nil
	if first {
		s.snap = &snapshot{done: make(chan struct{})}
		go s.capture(s.snap)
	}
	snap := s.snap
	s.mu.Unlock()
	if first {
		limit := time.NewTimer(snapshotWait)
		defer limit.Stop()
		select {
		case <-snap.done:
		case <-limit.C:
		case <-ctx.Done():
		}
	}
	select {
	case <-snap.done:
		return snap.path
	default:
		return ""
	}
}

// capture ends with the capture or its time limit.
func (s *Shell) capture(snap *snapshot) {
	defer close(snap.done)
	ctx, cancel := context.WithTimeout(context.Background(), snapshotLimit)
	defer cancel()
	if path, err := s.world.Snapshot(ctx); err == nil { // without it commands run as in a plain shell
		snap.path = path
	}
}

// dump prints what is worth keeping of an interactive shell. Names that begin with an underscore
// are helpers of completion, which nobody calls here.
const dump = `printf '%s\n' "$0 begins"
\shopt -p | \grep -v -e ' login_shell$' -e ' restricted_shell$' -e ' progcomp'
\alias -p
\declare -F | while read -r _ _ f; do case $f in _*) ;; *) \declare -f -- "$f";; esac; done
printf '%s\n' "$0 ends"
`

// Capture returns a function for [World.Snapshot] that asks the user's login shell once, and leaves
// the answer in dir. It runs the user's own start files in the home folder, with the environment env
// but without the variables that name further start files, and nothing of any project. It takes
// bash only; for another shell, or where nothing is worth keeping, the path is empty.
func Capture(owner *proc.Owner, finder proc.Finder, shell, dir func() string, env func() []string) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		shell := shellPath(shell(), finder)
		if filepath.Base(shell) != "bash" {
			return "", nil
		}
		home, err := os.UserHomeDir()
		flags, prelude := startFiles(home)
		if err != nil || flags == "" {
			return "", err
		}
		out := proc.NewCapture(proc.CaptureConfig{Keep: snapshotBytes})
		const tag = "myelin-snapshot"
		exit, err := owner.Run(ctx, proc.Spec{
			Path: shell, Args: []string{flags, prelude + dump, tag}, Dir: home,
			Env: withoutStartFiles(env()), Stdout: out, Label: "capture of the login shell",
		})
		if err != nil {
			return "", fmt.Errorf("capture login shell: %w", err)
		}
		if exit.Stopped != "" {
			return "", fmt.Errorf("capture login shell: %s", exit.Stopped)
		}
		text, _, more := out.Ends(snapshotBytes, 0)
		_, text, begun := bytes.Cut(text, []byte(tag+" begins\n"))
		text, _, ended := bytes.Cut(text, []byte(tag+" ends\n"))
		if !begun || !ended || more > 0 {
			return "", errors.New("capture login shell: it did not answer, or too much")
		}
		return keepSnapshot(dir(), string(text))
	}
}

// startFiles says how to start a shell that reads what the user's terminal reads: as a login shell
// where its start file reads .bashrc too or there is none, else as an interactive one that reads the
// login file first. Empty flags: the user has no start files.
func startFiles(home string) (flags, prelude string) {
	_, rcErr := os.Stat(filepath.Join(home, ".bashrc"))
	for _, f := range []string{".bash_profile", ".bash_login", ".profile"} {
		path := filepath.Join(home, f)
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if rcErr != nil || bytes.Contains(data, []byte("bashrc")) {
			return "-lic", ""
		}
		return "-ic", ". " + quote(path) + "\n"
	}
	if rcErr != nil {
		return "", ""
	}
	return "-ic", ""
}

func withoutStartFiles(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if name != "BASH_ENV" && name != "ENV" && name != "PROMPT_COMMAND" && !strings.HasPrefix(name, "BASH_FUNC_") {
			out = append(out, kv)
		}
	}
	return out
}

// keepSnapshot writes the file, unless the shell says nothing that a plain one does not.
func keepSnapshot(dir, text string) (string, error) {
	worth := false
	var b strings.Builder
	b.WriteString("shopt -s expand_aliases\n")
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "shopt ") {
			if !strings.Contains(line, " expand_aliases") && !plainOption(line) {
				b.WriteString(line)
				worth = true
			}
			continue
		}
		b.WriteString(line)
		worth = worth || strings.TrimSpace(line) != ""
	}
	if !worth {
		return "", nil
	}
	path := filepath.Join(dir, "shell-snapshot-"+rand.Text()+".sh")
	if err := nolink.WriteFile(path, []byte(b.String())); err != nil {
		return "", fmt.Errorf("keep capture of login shell: %w", err)
	}
	return path, nil
}

// plainOption reports that a line of shopt -p says what holds in a shell without start files, or
// what holds for interactive shells only.
func plainOption(line string) bool {
	return plainOptions()[strings.TrimSpace(line)]
}

var plainOptions = sync.OnceValue(func() map[string]bool {
	on := "checkwinsize cmdhist complete_fullquote extquote force_fignore globasciiranges globskipdots " +
		"hostcomplete interactive_comments patsub_replacement promptvars sourcepath"
	off := "array_expand_once assoc_expand_once autocd bash_source_fullpath cdable_vars cdspell checkhash checkjobs checkwinsize " +
		"compat31 compat32 compat40 compat41 compat42 compat43 compat44 compat50 direxpand dirspell dotglob execfail extdebug extglob " +
		"failglob globstar gnu_errfmt histappend histreedit histverify huponexit inherit_errexit lastpipe lithist localvar_inherit " +
		"localvar_unset mailwarn no_empty_cmd_completion nocaseglob nocasematch noexpand_translation nullglob shift_verbose " +
		"syslog_history varredir_close xpg_echo"
	// What only concerns typing and history is plain both ways.
	both := "checkwinsize histappend histreedit histverify cmdhist lithist huponexit mailwarn checkjobs cdspell dirspell direxpand hostcomplete no_empty_cmd_completion force_fignore complete_fullquote"
	out := map[string]bool{}
	add := func(flag, names string) {
		for _, n := range strings.Fields(names) {
			out["shopt -"+flag+" "+n] = true
		}
	}
	add("s", on)
	add("u", off)
	add("s", both)
	add("u", both)
	return out
})
