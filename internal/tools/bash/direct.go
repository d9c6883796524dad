package bash

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Half of what a short command costs is the shell around it. A line that is one program with plain
// words means the same without it, and is run without it.

// onlyWords returns the words of a line that is one simple command of plain words, nil for any other:
// nothing in it expands, redirects, assigns or is special to a shell.
func onlyWords(file *syntax.File) []string {
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || len(st.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil
	}
	out := make([]string, len(call.Args))
	for i, w := range call.Args {
		var b strings.Builder
		for _, p := range w.Parts {
			text, ok := literal(p)
			if !ok {
				return nil
			}
			b.WriteString(text)
		}
		out[i] = b.String()
	}
	return out
}

// literal returns the text of a part of a word that stands for itself.
func literal(p syntax.WordPart) (string, bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		return p.Value, !strings.ContainsAny(p.Value, "\\*?[]{}~!")
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		if p.Dollar || len(p.Parts) > 1 {
			return "", false
		}
		if len(p.Parts) == 0 {
			return "", true
		}
		lit, ok := p.Parts[0].(*syntax.Lit)
		if !ok || strings.Contains(lit.Value, `\`) {
			return "", false
		}
		return lit.Value, true
	}
	return "", false
}

// direct makes a script of a line that needs no shell; false: it needs one.
func (s *Shell) direct(words, env []string, snapshot string, lim Limits, confined bool) (script, bool) {
	if len(words) == 0 || lim.Prefix != "" || lim.Shell != "" || inShell(words[0]) || s.named(snapshot, words[0]) {
		return script{}, false
	}
	path := ""
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			path = value
		case name == "BASH_ENV" && value != "", strings.HasPrefix(name, "BASH_FUNC_"):
			return script{}, false
		}
	}
	if s.world.EnvFiles != nil && len(s.world.EnvFiles(confined)) > 0 {
		return script{}, false
	}
	if !s.found(words[0], path) { // the shell says best that there is none
		return script{}, false
	}
	return script{shell: words[0], args: words[1:]}, true
}

// program is one that was found to need no shell, as it was then.
type program struct {
	path string // the search path it was found by
	file string
	info os.FileInfo
}

// found reports whether a program of this name is there and can run by itself. What was found once is
// only looked at again when it changed; who starts it searches anew in any case.
func (s *Shell) found(name, path string) bool {
	s.mu.Lock()
	p, known := s.programs[name]
	s.mu.Unlock()
	if known && p.path == path {
		if now, err := os.Stat(p.file); err == nil && os.SameFile(now, p.info) && now.ModTime().Equal(p.info.ModTime()) {
			return true
		}
	}
	file, err := proc.Find(name, path)
	if err != nil || !runnable(file) {
		return false
	}
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.programs == nil || len(s.programs) == mostPrograms {
		s.programs = map[string]program{}
	}
	s.programs[name] = program{path, file, info}
	return true
}

// mostPrograms bounds what is remembered of programs.
const mostPrograms = 256

// runnable reports that the kernel can run a program: it is no text without a first line that names
// what reads it, which a shell would read itself.
func runnable(program string) bool {
	f, err := os.Open(program)
	if err != nil {
		return false // one that may be run and not be read
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head) // a shorter one is text, or nothing
	head = head[:n]
	return bytes.HasPrefix(head, []byte("#!")) || bytes.IndexByte(head, 0) >= 0
}

// inShell reports that bash itself carries a command out, and not as the program of that name does.
func inShell(name string) bool { return builtins()[name] }

var builtins = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare " +
		"dirs disown echo enable eval exec exit export fc fg getopts hash help history jobs kill let local logout mapfile popd " +
		"printf pushd pwd read readarray readonly return set shift shopt source suspend test time times trap type typeset ulimit " +
		"umask unalias unset wait") {
		out[name] = true
	}
	return out
})

// named reports whether the capture of the user's shell gives a name a meaning of its own. The capture
// is read once; one that cannot be read may name anything.
func (s *Shell) named(snapshot, name string) bool {
	if snapshot == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil || s.namesOf != snapshot {
		names, err := namesIn(snapshot)
		if err != nil {
			return true
		}
		s.names, s.namesOf = names, snapshot
	}
	return s.names[name]
}

func namesIn(snapshot string) (map[string]bool, error) {
	f, err := os.Open(snapshot)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := map[string]bool{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, snapshotBytes)
	for lines.Scan() {
		line := lines.Text()
		if rest, ok := strings.CutPrefix(line, "alias "); ok {
			name, _, _ := strings.Cut(strings.TrimPrefix(rest, "-- "), "=")
			out[name] = true
		}
		if name, _, ok := strings.Cut(line, " ()"); ok {
			out[strings.TrimPrefix(name, "function ")] = true
		}
	}
	return out, lines.Err()
}
