package permission

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
)

// State is the permission slice of a session: data only. It is never changed in place; the
// functions below return a changed copy, or the very same pointer when nothing changed. The zero State is
// the mode default without any rule.
type State struct {
	Mode            Mode               `json:"mode"`
	PrePlanMode     Mode               `json:"prePlanMode,omitempty"` // set on entering plan mode
	BypassAvailable bool               `json:"bypassAvailable"`
	AutoAvailable   bool               `json:"autoAvailable"`
	Forbidden       map[Mode]string    `json:"forbidden,omitempty"` // modes that nobody may enter, and the sentence that says who forbids each
	Rules           map[Source]Lists   `json:"rules,omitempty"`
	Dirs            []Dir              `json:"dirs,omitempty"`
	Grants          Grants             `json:"grants"`                // answers of this session; memory only
	ManagedOnly     bool               `json:"managedOnly,omitempty"` // only the administrator's rules allow anything
	SetAside        []Rule             `json:"setAside,omitempty"`    // allow rules parked while in auto
	Denials         Denials            `json:"denials"`
	Verdicts        map[string]Kept    `json:"verdicts,omitempty"`
	Hosts           map[string]HostFor `json:"hosts,omitempty"` // by host:port
	WaitingTool     *WaitingTool       `json:"waitingTool,omitempty"`
	WaitingHost     *WaitingHost       `json:"waitingHost,omitempty"`
	Requests        []WorkerRequest    `json:"requests,omitempty"`
	Sandbox         SandboxState       `json:"sandbox"`
	Revision        int                `json:"revision"` // raised by every change of mode, rules, dirs, grants
}

// Lists are the rules of one source.
type Lists struct {
	Allow []Rule `json:"allow,omitempty"`
	Ask   []Rule `json:"ask,omitempty"`
	Deny  []Rule `json:"deny,omitempty"`
}

// Dir is one further working directory.
type Dir struct {
	Path   string `json:"path"`
	Source Source `json:"source"`
}

// Grants are the answers of this session. They are never written anywhere.
type Grants struct {
	Rules []Rule   `json:"rules,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`
}

// Kept is a verdict of the classifier that is remembered.
type Kept struct {
	Tool     string    `json:"tool,omitempty"`
	Summary  string    `json:"summary,omitempty"` // of the call, for people
	Behavior Behavior  `json:"behavior"`
	Reason   string    `json:"reason,omitempty"`
	At       time.Time `json:"at"`
}

// HostFor is a remembered answer about a host: until new content comes for an allow, until the turn
// ends for a deny.
type HostFor struct {
	Allow bool   `json:"allow"`
	Until string `json:"until"` // "content", "turn" or "session"
}

// WaitingTool is what a worker waits for its leader to allow.
type WaitingTool struct {
	ToolName    string `json:"toolName"`
	ToolUseID   string `json:"toolUseId"`
	Description string `json:"description"`
}

// WaitingHost is the same for a network host.
type WaitingHost struct {
	RequestID string `json:"requestId"`
	Host      string `json:"host"`
}

// WorkerRequest is one request in the leader's queue.
type WorkerRequest struct {
	RequestID   string    `json:"requestId"`
	WorkerID    string    `json:"workerId"`
	WorkerName  string    `json:"workerName"`
	Tool        string    `json:"tool,omitempty"`
	ToolUseID   string    `json:"toolUseId,omitempty"`
	Host        string    `json:"host,omitempty"`
	Description string    `json:"description"`
	State       string    `json:"state"` // open, allowed, denied or withdrawn
	Since       time.Time `json:"since"`
}

// SandboxState is what is known of the shell sandbox, for surfaces.
type SandboxState struct {
	State   string   `json:"state,omitempty"` // on, partial, unavailable, off
	Backend string   `json:"backend,omitempty"`
	Missing []string `json:"missing,omitempty"`
}

// The errors of a change of mode. Each is a sentence that names the mode.
var (
	ErrForbidden  = errors.New("a mode that may not be entered")
	ErrNoSuchMode = errors.New("there is no such permission mode")
	ErrNoBypass   = errors.New("the mode bypassPermissions was not made available when the session started")
	ErrNoAuto     = errors.New("the mode auto is not available")
)

// change returns a copy of s with a new revision.
func (s *State) change() *State {
	c := *s
	c.Revision++
	return &c
}

// ForbiddenError says who forbids a mode. It is an [ErrForbidden].
type ForbiddenError struct {
	Mode Mode
	Why  string
}

func (e *ForbiddenError) Error() string { return e.Why }

// Is says that e is an [ErrForbidden].
func (e *ForbiddenError) Is(target error) bool { return target == ErrForbidden }

// MayEnter says why a mode may not be entered; nil: it may. The mode default always may: it is what
// everything falls back to.
func (s *State) MayEnter(m Mode) error {
	if _, known := ParseMode(string(m)); !known && m != Bubble {
		return fmt.Errorf("%w: %q", ErrNoSuchMode, m)
	}
	why, forbidden := s.Forbidden[m]
	switch {
	case m == Default:
		return nil
	case forbidden:
		return &ForbiddenError{m, why}
	case m == Bypass && !s.BypassAvailable:
		return ErrNoBypass
	case m == Auto && !s.AutoAvailable:
		return ErrNoAuto
	}
	return nil
}

// WithMode changes the mode. It is the one door: whoever wants a mode, a key, an answer, a hook, a resumed
// session or a host, comes through here, and what [State.MayEnter] refuses is not entered. Entering plan mode
// remembers the mode before; entering auto sets broad allow rules aside, leaving it brings them back.
// Remembered verdicts go with every change.
func (s *State) WithMode(m Mode) (*State, error) {
	if m == "" {
		m = Default
	}
	if m == s.mode() {
		return s, nil
	}
	if err := s.MayEnter(m); err != nil {
		return s, err
	}
	c := s.change()
	c.PrePlanMode = ""
	if m == Plan {
		c.PrePlanMode = s.mode()
	}
	c.Mode, c.Verdicts, c.SetAside = m, nil, nil
	if m == Auto {
		c.SetAside = c.broadRules()
	}
	c.Hosts = dropHosts(c.Hosts, "content", "turn")
	return c, nil
}

func (s *State) mode() Mode {
	if s.Mode == "" {
		return Default
	}
	return s.Mode
}

// LeavePlan leaves plan mode: into the picked mode, or without a pick into the mode before. Bypass is
// entered only by a pick or when it was the mode before. Outside of plan mode nothing happens.
func (s *State) LeavePlan(pick Mode) (*State, error) {
	if s.mode() != Plan {
		return s, nil
	}
	if pick == "" {
		pick = s.PrePlanMode
	}
	if pick == "" || pick == Plan {
		pick = Default
	}
	return s.WithMode(pick)
}

// Modes are the modes that may be entered.
func (s *State) Modes() []Mode { return s.enterable(Default, AcceptEdits, Plan, Auto, DontAsk, Bypass) }

// Cycle are the modes that the mode key goes through, beginning with default. From a mode that is not
// among them it goes to default.
func (s *State) Cycle() []Mode { return s.enterable(Default, AcceptEdits, Plan, Bypass, Auto) }

func (s *State) enterable(modes ...Mode) []Mode {
	return slices.DeleteFunc(modes, func(m Mode) bool { return s.MayEnter(m) != nil })
}

// WithAvailable says which modes may be entered: whether bypassPermissions was made available, whether a
// classifier can be asked, and which modes are forbidden. A mode that may no longer be entered is left for
// default; why is the sentence that says so, empty when the mode stays.
func (s *State) WithAvailable(bypass, auto bool, forbidden map[Mode]string) (next *State, why string) {
	bypass = bypass && forbidden[Bypass] == ""
	auto = auto && forbidden[Auto] == ""
	if s.BypassAvailable == bypass && s.AutoAvailable == auto && maps.Equal(s.Forbidden, forbidden) {
		return s, ""
	}
	c := s.change()
	c.BypassAvailable, c.AutoAvailable, c.Forbidden = bypass, auto, maps.Clone(forbidden)
	if err := c.MayEnter(c.mode()); err != nil {
		c.Mode, c.PrePlanMode, c.SetAside, c.Verdicts, why = Default, "", nil, nil, err.Error()
	}
	if c.PrePlanMode != "" && c.MayEnter(c.PrePlanMode) != nil {
		c.PrePlanMode = Default
	}
	return c, why
}

// WithRules replaces all rules of a source, after its files were read again.
func (s *State) WithRules(source Source, lists Lists) *State {
	if equalRules(s.Rules[source], lists) {
		return s
	}
	c := s.change()
	c.Rules = maps.Clone(s.Rules)
	if c.Rules == nil {
		c.Rules = map[Source]Lists{}
	}
	c.Rules[source] = lists
	return c.rulesChanged()
}

// ForgetJudged drops what the classifier said, after its own rules were changed: it was said under others.
func (s *State) ForgetJudged() *State {
	c := s.change()
	c.Hosts = dropHosts(s.Hosts, "content")
	return c.rulesChanged()
}

// rulesChanged drops what depended on the rules.
func (s *State) rulesChanged() *State {
	s.Verdicts = nil
	if s.mode() == Auto {
		s.SetAside = s.broadRules()
	}
	return s
}

func equalRules(a, b Lists) bool {
	return slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) && slices.Equal(a.Deny, b.Deny)
}

// WithDirs replaces the further working directories of a source; those of others stay, also the same
// directory.
func (s *State) WithDirs(source Source, paths []string) *State {
	var dirs []Dir
	for _, d := range s.Dirs {
		if d.Source != source {
			dirs = append(dirs, d)
		}
	}
	for _, p := range paths {
		dirs = append(dirs, Dir{Path: p, Source: source})
	}
	if slices.Equal(dirs, s.Dirs) {
		return s
	}
	c := s.change()
	c.Dirs = dirs
	return c
}

// AllRules are the rules of every source and the grants of this session.
func (s *State) AllRules() []Rule {
	var out []Rule
	for _, source := range slices.Sorted(maps.Keys(s.Rules)) {
		l := s.Rules[source]
		out = append(append(append(out, l.Deny...), l.Ask...), l.Allow...)
	}
	for _, r := range s.Grants.Rules {
		if !s.ManagedOnly || r.List != AllowList {
			out = append(out, r)
		}
	}
	return out
}

// WithManagedOnly says whether only the administrator's rules allow anything. What was granted in this
// session before, or is granted all the same, does not count while it is so.
func (s *State) WithManagedOnly(only bool) *State {
	if s.ManagedOnly == only {
		return s
	}
	c := s.change()
	c.ManagedOnly = only
	return c.rulesChanged()
}

// WorkDirs are the further working directories, each once, with those granted.
func (s *State) WorkDirs() []string {
	var out []string
	for _, d := range s.Dirs {
		if !slices.Contains(out, d.Path) {
			out = append(out, d.Path)
		}
	}
	for _, d := range s.Grants.Dirs {
		if !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

func (s *State) broadRules() []Rule {
	var out []Rule
	for _, r := range s.AllRules() {
		if r.List != AllowList {
			continue
		}
		if p, err := ParseRule(r.Text); err == nil {
			p.Tool = tool.Current(p.Tool)
			if isBroad(p, ruletext.ParseShell(p.Specifier)) {
				out = append(out, r)
			}
		}
	}
	return out
}

// DropGrants forgets every answer of this session, because the project root is another one now. It
// reports whether there was any to forget.
func (s *State) DropGrants() (*State, bool) {
	if len(s.Grants.Rules) == 0 && len(s.Grants.Hosts) == 0 && len(s.Grants.Dirs) == 0 {
		return s, false
	}
	c := s.change()
	c.Grants, c.Hosts = Grants{}, nil
	return c.rulesChanged(), true
}

// NewTurn forgets what holds for one turn; message tells that a user message came, which also drops
// remembered verdicts.
func (s *State) NewTurn(message bool) *State {
	hosts := dropHosts(s.Hosts, "turn")
	if len(hosts) == len(s.Hosts) && (!message || len(s.Verdicts) == 0) {
		return s
	}
	c := *s
	c.Hosts = hosts
	if message {
		c.Verdicts = nil
	}
	return &c
}

// NewContent forgets host verdicts that hold until new content comes, and after a compaction the
// verdicts of the classifier.
func (s *State) NewContent(compacted bool) *State {
	hosts := dropHosts(s.Hosts, "content")
	if len(hosts) == len(s.Hosts) && (!compacted || len(s.Verdicts) == 0) {
		return s
	}
	c := *s
	c.Hosts = hosts
	if compacted {
		c.Verdicts = nil
	}
	return &c
}

func dropHosts(hosts map[string]HostFor, until ...string) map[string]HostFor {
	var out map[string]HostFor
	for k, v := range hosts {
		if slices.Contains(until, v.Until) {
			continue
		}
		if out == nil {
			out = map[string]HostFor{}
		}
		out[k] = v
	}
	return out
}

// WithHost remembers an answer about host:port (or a host).
func (s *State) WithHost(key string, v HostFor) *State {
	if old, ok := s.Hosts[key]; ok && old == v {
		return s
	}
	c := *s
	c.Hosts = maps.Clone(s.Hosts)
	if c.Hosts == nil {
		c.Hosts = map[string]HostFor{}
	}
	c.Hosts[key] = v
	if v.Until == "session" && v.Allow {
		c.Grants.Hosts = append(slices.Clone(s.Grants.Hosts), key)
	}
	return &c
}

// GrantedHosts is the map [DecideHost] asks.
func (s *State) GrantedHosts() map[string]bool {
	out := make(map[string]bool, len(s.Hosts))
	for k, v := range s.Hosts {
		out[k] = v.Allow
	}
	return out
}

// The bounds of denial tracking.
const (
	maxConsecutive = 3
	maxTotal       = 20
	keptDenials    = 50
)

// WithVerdict remembers a verdict of the classifier under its key.
func (s *State) WithVerdict(key string, k Kept) *State {
	c := *s
	c.Verdicts = maps.Clone(s.Verdicts)
	if c.Verdicts == nil {
		c.Verdicts = map[string]Kept{}
	}
	c.Verdicts[key] = k
	return &c
}

// WithRequest puts a worker's request in the queue, or changes the one of the same id.
func (s *State) WithRequest(r WorkerRequest) *State {
	c := *s
	c.Requests = slices.Clone(s.Requests)
	for i := range c.Requests {
		if c.Requests[i].RequestID == r.RequestID {
			c.Requests[i] = r
			return &c
		}
	}
	c.Requests = append(c.Requests, r)
	return &c
}

// WithoutRequest takes a settled request out of the queue.
func (s *State) WithoutRequest(id string) *State {
	i := slices.IndexFunc(s.Requests, func(r WorkerRequest) bool { return r.RequestID == id })
	if i < 0 {
		return s
	}
	c := *s
	c.Requests = slices.Delete(slices.Clone(s.Requests), i, i+1)
	return &c
}
