package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Git runs the git program on behalf of the harness. The zero Git is ready. It is safe for
// concurrent use.
type Git struct {
	Program string      // empty: git, as Finder finds it
	Finder  proc.Finder // of git, and of what git starts
	Env     []string    // KEY=value; nil: the process's
	Limit   int         // most bytes of output kept; 0: 1 MiB
}

// CommandError is a git that ran and failed.
type CommandError struct {
	Args   []string
	Code   int
	Stderr string
}

// Error is one line.
func (e *CommandError) Error() string {
	return fmt.Sprintf("git %s: exit %d: %s", strings.Join(e.Args, " "), e.Code, strings.TrimSpace(e.Stderr))
}

// Flags switch off, for one run, what a repository's configuration could make git execute. They go
// before the subcommand.
func Flags() []string {
	return []string{
		"--no-pager", "--no-optional-locks",
		"-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.fsmonitor=false",
		"-c", "core.untrackedCache=keep",
		"-c", "log.showSignature=false",
		"-c", "diff.external=",
		"-c", "protocol.allow=never", // nothing here fetches; a filter or lazy clone must not either
	}
}

// Run runs one git command in dir and returns its output, cut at the limit. What git writes when it
// fails is in a [*CommandError]. The process ends with ctx.
func (g Git) Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	env := cleanEnv(g.Env, g.Finder)
	program := g.Program
	if program == "" {
		var err error
		if program, err = g.Finder.Find("git", pathOf(env)); err != nil {
			return nil, fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	cmd := exec.CommandContext(ctx, program, append(Flags(), args...)...)
	cmd.Dir = dir
	cmd.Env = env
	cmd.WaitDelay = time.Second // a grandchild that keeps the pipe open must not keep us
	limit := g.Limit
	if limit == 0 {
		limit = 1 << 20
	}
	out, stderr := &capped{limit: limit}, &capped{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, &CommandError{Args: args, Code: exit.ExitCode(), Stderr: stderr.String()}
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	return out.Bytes(), nil
}

// capped keeps the first bytes written to it and drops the rest.
type capped struct {
	bytes.Buffer
	limit int
}

// Write takes all and keeps what fits.
func (c *capped) Write(p []byte) (int, error) {
	if room := c.limit - c.Len(); room > 0 {
		c.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// pathOf is the value of PATH; the last one counts.
func pathOf(env []string) (path string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	return path
}

// cleanEnv drops what would make git work on another repository or run something, also the folders of
// PATH that the finder does not trust.
func cleanEnv(env []string, finder proc.Finder) []string {
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env)+4)
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH":
			out = append(out, "PATH="+finder.Path(strings.TrimPrefix(kv, "PATH=")))
		case keepVariable(name):
			out = append(out, kv)
		}
	}
	return append(out, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}

func keepVariable(name string) bool {
	switch name {
	case "LC_ALL", "PAGER":
		return false
	case "GIT_CONFIG_GLOBAL", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH":
		return true // the person's own set-up; they cannot name another repository
	}
	return !strings.HasPrefix(name, "GIT_")
}

// Status is what git says has changed.
type Status struct {
	Branch   string // empty when detached
	Commit   string // empty before the first commit
	Upstream string
	Ahead    int
	Behind   int
	Changes  []Change
	Cut      bool // there were more changes than fit
}

// Change is one changed path, relative to the top folder.
type Change struct {
	Code string // two letters, as "git status --short" prints them
	Path string
	From string // the old name of a renamed path
}

// Clean reports whether nothing has changed.
func (s Status) Clean() bool { return len(s.Changes) == 0 }

// Status asks git what has changed in the checkout dir is in, at most max entries (0: 1000).
// Submodules count as changed only when another commit is out: looking into them would run git
// with their configuration.
func (g Git) Status(ctx context.Context, dir string, most int) (Status, error) {
	out, err := g.Run(ctx, dir, "status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=dirty")
	if err != nil {
		return Status{}, err
	}
	if most == 0 {
		most = 1000
	}
	limit := g.Limit
	if limit == 0 {
		limit = 1 << 20
	}
	s := parseStatus(out, most)
	s.Cut = s.Cut || len(out) >= limit
	return s, nil
}

// parseStatus reads "git status --porcelain=v2 --branch -z" (git-status(1)).
func parseStatus(out []byte, most int) Status {
	var s Status
	records := strings.Split(string(out), "\x00")
	if n := len(records); records[n-1] != "" { // cut in the middle
		s.Cut = true
	}
	records = records[:len(records)-1]
	for i := 0; i < len(records); i++ {
		r := records[i]
		if strings.HasPrefix(r, "# ") {
			s.header(r[2:])
			continue
		}
		c, renamed, ok := change(r)
		if renamed && i+1 < len(records) {
			i++
			c.From = records[i]
		}
		if !ok {
			continue
		}
		if len(s.Changes) == most {
			s.Cut = true
			break
		}
		s.Changes = append(s.Changes, c)
	}
	return s
}

func (s *Status) header(line string) {
	name, value, _ := strings.Cut(line, " ")
	switch name {
	case "branch.oid":
		if value != "(initial)" {
			s.Commit = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = value
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

func change(r string) (c Change, renamed, ok bool) {
	fields := map[byte]int{'1': 9, '2': 10, 'u': 11}
	if r == "" {
		return Change{}, false, false
	}
	if path, is := strings.CutPrefix(r, "? "); is {
		return Change{Code: "??", Path: path}, false, true
	}
	n, known := fields[r[0]]
	parts := strings.SplitN(r, " ", n)
	if !known || len(parts) < n || len(parts[1]) != 2 {
		return Change{}, r[0] == '2', false
	}
	return Change{Code: strings.ReplaceAll(parts[1], ".", " "), Path: parts[n-1]}, r[0] == '2', true
}

// Log returns the newest n commits as "hash subject", newest first; none before the first commit.
func (g Git) Log(ctx context.Context, dir string, n int) ([]string, error) {
	out, err := g.Run(ctx, dir, "log", "--no-ext-diff", "--no-textconv", "--no-decorate", "--format=%h %s", "-n", strconv.Itoa(n))
	var failed *CommandError
	if errors.As(err, &failed) && strings.Contains(failed.Stderr, "does not have any commits") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text := strings.TrimRight(string(out), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}

// Tracked reports whether git keeps the file at path (absolute, or relative to dir) in the
// checkout dir is in.
func (g Git) Tracked(ctx context.Context, dir, path string) (bool, error) {
	_, err := g.Run(ctx, dir, "ls-files", "--error-unmatch", "--", path)
	var failed *CommandError
	if errors.As(err, &failed) && failed.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// GlobalExcludes is the file of patterns the person ignores in every repository: what
// core.excludesFile says, else git/ignore in the XDG configuration folder. It runs git in home, in
// no repository.
func (g Git) GlobalExcludes(ctx context.Context, home string) (string, error) {
	out, err := g.Run(ctx, home, "config", "--global", "--type=path", "--get", "core.excludesFile")
	var failed *CommandError
	if err != nil && (!errors.As(err, &failed) || failed.Code != 1) {
		return "", err
	}
	if path := strings.TrimSpace(string(out)); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		return path, nil
	}
	base := filepath.Join(home, ".config")
	for _, kv := range cleanEnv(g.Env, g.Finder) {
		if dir, ok := strings.CutPrefix(kv, "XDG_CONFIG_HOME="); ok && filepath.IsAbs(dir) {
			base = dir
		}
	}
	return filepath.Join(base, "git", "ignore"), nil
}

// maxPatterns bounds a file of ignore patterns, in bytes.
const maxPatterns = 4 << 20

// AddPattern adds a line to a file of ignore patterns unless it is there. The file and its folders
// are made when missing. A link leads to the user's file where he put it; see to it that nobody else can.
func AddPattern(file, pattern string) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	old, err := nolink.ReadFile(file, maxPatterns)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("ignore %s: %w", pattern, err)
	}
	for line := range strings.Lines(string(old)) {
		if strings.TrimRight(line, " \t\r\n") == pattern {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("ignore %s: %w", pattern, err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("ignore %s: %w", pattern, err)
	}
	line := pattern + "\n"
	if len(old) > 0 && old[len(old)-1] != '\n' {
		line = "\n" + line
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("ignore %s: %w", pattern, err)
	}
	return nil
}
