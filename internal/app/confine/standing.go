package confine

import (
	"context"
	"fmt"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// standing is whether commands are confined here, at which level, and what of it people should know.
type standing struct {
	*Scene
	choice
	sys      *sandbox.Box
	ctx      context.Context // bounds the trial of the machine
	early    func(proto.Notice)
	planning func() bool
	profiler *profiler
	upstream func() string

	mu       sync.Mutex // guards all below
	judged   string     // the rules that were looked at last
	loose    []string   // those of them that do not hold inside
	complain map[string]bool
}

// full reports a level that keeps all that is asked of files.
func full(level sandbox.Level) bool {
	return level == sandbox.Full || level == sandbox.Seatbelt || level == sandbox.Container
}

// Status is what this machine can do. The first call may try it out.
func (s *standing) Status() sandbox.Status {
	return s.sys.Probe(s.ctx, sandbox.Config{Bwrap: setting(s.Config(), "sandbox.bwrapPath", ""), Nested: s.weaker(), Container: s.engine()})
}

// Line is the sandbox in one line, for people.
func (s *standing) Line() string {
	if s.Wanted() == "off" {
		return "off"
	}
	return s.Status().State()
}

// On says whether shell commands run inside, and at which level.
func (s *standing) On() (sandbox.Level, bool) {
	want := s.Wanted()
	if want == "off" {
		return sandbox.None, false
	}
	level := s.Status().Level
	return level, full(level) || (want == "on" && level == sandbox.Partial)
}

// Policy is what decisions know of the sandbox.
func (s *standing) Policy() permission.Sandbox {
	level, on := s.On()
	state := s.Config()
	return permission.Sandbox{
		Enabled:         on,
		NoAutoAllow:     !setting(state, "sandbox.autoAllowBashIfSandboxed", true) || (level == sandbox.Partial && !s.weaker()) || Scrubs(s.Env()) || on && len(s.unheld()) > 0,
		NoEscape:        !setting(state, "sandbox.allowUnsandboxedCommands", true),
		Excluded:        setting[[]string](state, "sandbox.excludedCommands", nil),
		ReadOnlyMissing: s.planning() && !s.ReadOnly(), // looked at in plan mode only, for it costs a trial
	}
}

// ReadOnly says whether a command can be confined to reading, which plan mode needs whatever the
// settings say.
func (s *standing) ReadOnly() bool {
	level := s.Status().Level
	return full(level)
}

// Announce enters the state of the sandbox, and refuses the start with an [ErrRequired] when it is
// required and missing.
func (s *standing) Announce() error {
	want := s.Wanted()
	if want == "off" {
		s.enter("off", "", nil)
		return nil
	}
	s.tellMasked()
	s.begin()
	required := setting(s.Config(), "sandbox.failIfUnavailable", false)
	if want == "auto" && !required {
		return nil // looked at when the first command needs it: a start must not pay for it
	}
	st := s.Status()
	s.enter(st.State(), st.Backend, st.Missing)
	if _, on := s.On(); on {
		return nil
	}
	if required {
		return fmt.Errorf("%w: %s. %s", ErrRequired, st.Reason, st.Fix)
	}
	s.early(proto.Notice{Level: "warning", Key: "sandbox", Text: fmt.Sprintf("The sandbox is asked for and cannot be had: %s. %s Commands are asked for instead.", st.Reason, st.Fix)})
	return nil
}

func (s *standing) enter(state, backend string, missing []string) {
	s.State.Set(func(p *permission.State) *permission.State {
		if p.Sandbox.State == state && p.Sandbox.Backend == backend {
			return p
		}
		next := *p
		next.Sandbox = permission.SandboxState{State: state, Backend: backend, Missing: missing}
		return &next
	})
}
