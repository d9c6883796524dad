package prompt

import (
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Environment is where the work happens, as it was at the start of the session. Empty fields are
// not told.
type Environment struct {
	Cwd      string   // absolute
	Dirs     []string // further working directories
	Git      string   // a snapshot for people: branch, status, last commits; empty: no repository
	Platform string   // "linux", "darwin"
	System   string   // "Debian GNU/Linux 12"
	Shell    string   // "bash"
	Started  time.Time
}

// maxGit bounds the snapshot of the repository; a dirty tree can have any size.
const maxGit = 4000

// text is the environment block. The line of the working directory is read by scripted models, so
// its form is fixed.
func (e Environment) text(model string, withGit bool) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("Working directory", e.Cwd)
	line("Further directories", strings.Join(e.Dirs, ", "))
	if withGit && e.Cwd != "" {
		repo := "no"
		if e.Git != "" {
			repo = "yes"
		}
		line("Git repository", repo)
	}
	platform := e.Platform
	if e.System != "" {
		platform = strings.TrimSpace(platform + " (" + e.System + ")")
	}
	line("Platform", platform)
	line("Shell", e.Shell)
	line("Model", model)
	if !e.Started.IsZero() {
		line("Date at the start", e.Started.Format("2006-01-02 (Monday)"))
	}
	if b.Len() == 0 {
		return ""
	}
	out := "# Environment\n" + b.String()
	if withGit && e.Git != "" {
		out += "\nThe repository at the start of the session (this does not update):\n" + bounded(e.Git, maxGit) + "\n"
	}
	return out
}

// bounded cuts text at a line and says what is missing.
func bounded(text string, most int) string {
	text = strings.TrimRight(text, "\n ")
	if len(text) <= most {
		return text
	}
	cut := msg.Cut(text, most)
	if at := strings.LastIndexByte(cut, '\n'); at > 0 {
		cut = cut[:at]
	}
	return fmt.Sprintf("%s\n… %d more lines", cut, strings.Count(text[len(cut):], "\n"))
}
