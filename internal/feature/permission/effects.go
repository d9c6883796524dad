package permission

import (
	"slices"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Effects is what a command line does, whoever may allow it. The zero Effects is: anything.
type Effects struct {
	ReadOnly bool // it only reads, as the read-only set has it
	Quiet    bool // nothing else can notice it
	Discards bool // it may throw away work
}

// EffectsOf tells what a command line does in a directory. Of the policy only folders, links and
// remembered accounts count; no rule and no mode does.
func EffectsOf(command, cwd string, pol Policy) Effects {
	req := Request{Tool: "Bash", Traits: tool.Traits{Command: command}, Cwd: cwd}
	pol.Rules, pol.Mode, pol.Sandbox = &Rules{}, Default, Sandbox{}
	e := newEval(&req, &pol)
	e.acc = pol.Accounts.of(command, cwd, pol.Dirs.Home)
	s := &shellEval{eval: e, acc: e.acc, command: command}
	var out Effects
	if _, stop := s.floors(nil); !stop {
		d := s.approve()
		out.ReadOnly = d.Behavior == Allow && d.Reason.Kind == ByReadOnly
	}
	out.Quiet = s.quiet()
	out.Discards = !out.ReadOnly && DiscardsWork(command)
	return out
}

// quiet tells whether every part is one that nothing else can notice.
func (s *shellEval) quiet() bool {
	if len(s.acc.Parts) == 0 || len(s.acc.Problems) > 0 {
		return false
	}
	for i := range s.acc.Parts {
		p := &s.acc.Parts[i]
		if len(p.Forms) != 1 || len(p.Assigns) > 0 || len(p.Redirs) > 0 || len(p.Unknown) > 0 || len(p.Loose) > 0 ||
			!slices.Contains([]string{"true", "false", ":", "sleep"}, p.Forms[0].Name) {
			return false
		}
	}
	return true
}
