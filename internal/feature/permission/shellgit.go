package permission

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// gitVerdict says why a git that only reads does not run unasked: in a folder nobody trusts even a
// status may run what the repository's configuration names. Empty: it may, or it is no git.
func (s *shellEval) gitVerdict(p *shellsyntax.Part) string {
	if s.pol.Git == nil || !p.ReadOnly || !runsGit(p) {
		return ""
	}
	if p.Moved || p.Elsewhere || namesRepository(p) {
		return "git would run in a folder that is not known before, and nothing is known of that repository"
	}
	return s.pol.Git(s.req.Cwd)
}

func runsGit(p *shellsyntax.Part) bool {
	for _, forms := range [][]shellsyntax.Form{p.Forms, p.Alts} {
		for _, f := range forms {
			if name := path.Base(f.Name); name == "git" || strings.HasPrefix(name, "git-") {
				return true
			}
		}
	}
	return false
}

// namesRepository tells whether options lead git to another repository than the directory's.
func namesRepository(p *shellsyntax.Part) bool {
	for _, w := range p.Words {
		text := w.Value
		if strings.HasPrefix(text, "-C") || strings.HasPrefix(text, "--git-dir") || strings.HasPrefix(text, "--work-tree") {
			return true
		}
	}
	return false
}

func orElse(text string, otherwise func() string) string {
	if text != "" {
		return text
	}
	return otherwise()
}
