package confine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// begin says what is open although commands run inside, and has the tree indexed beside what goes on.
func (s *standing) begin() {
	if wide := s.profiler.wide(); len(wide) > 0 {
		s.early(proto.Notice{Level: "warning", Key: "sandbox-home", Text: fmt.Sprintf(
			"Commands may write in %s, which holds your home folder: everything in it is open to them but credentials and the start files of shells, services, desktops and tools.", strings.Join(wide, " and "))})
	}
	cfg := s.profiler.profile(tool.Confinement{Level: tool.Sandboxed})
	s.sys.Prepare(cfg)
	go func() { // ends with the walk, at the latest with Close
		s.unheld()
		if gaps := s.sys.Gaps(); len(gaps) > 0 {
			s.early(proto.Notice{Level: "warning", Key: "sandbox-gaps", Text: fmt.Sprintf(
				"There are more files than are looked at for protected places: %s, and what comes after it, are left out.", strings.Join(gaps, ", "))})
		}
	}()
}

// wide lists the writable roots that hold the whole home.
func (p *profiler) wide() []string {
	home := p.Places.UserHome
	var out []string
	for _, root := range p.workFolders() {
		if home != "" && (root == "/" || home == root || strings.HasPrefix(home, strings.TrimSuffix(root, "/")+"/")) {
			out = append(out, root)
		}
	}
	return out
}

// unheld lists the deny rules that hold neither by a mount nor by the check afterwards, so that running
// inside is no reason to allow a command. It says so, once a rule. It may wait for the first walk of
// the tree.
func (s *standing) unheld() []string {
	cfg := s.profiler.profile(tool.Confinement{Level: tool.Sandboxed})
	key := strings.Join(slices.Concat(cfg.DenyRead, []string{""}, cfg.DenyWrite, []string{""}, cfg.Write), "\x00")
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == s.judged {
		return s.loose
	}
	s.loose, s.judged = s.sys.Unheld(s.ctx, cfg), key
	if s.complain == nil {
		s.complain = map[string]bool{}
	}
	for _, rule := range s.loose {
		if !s.complain[rule] {
			s.complain[rule] = true
			s.early(proto.Notice{Level: "warning", Key: "sandbox-rule", Text: "A deny rule cannot be held inside the sandbox, so that commands are asked for although they run in it: " + rule})
		}
	}
	return s.loose
}
