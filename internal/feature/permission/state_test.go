package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func mode(t *testing.T, s *State, m Mode) *State {
	t.Helper()
	next, err := s.WithMode(m)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestModeChanges(t *testing.T) {
	s := &State{}
	if next := mode(t, s, Default); next != s {
		t.Error("the same mode is a change")
	}
	if _, err := s.WithMode(Bypass); !errors.Is(err, ErrNoBypass) {
		t.Error(err)
	}
	if _, err := s.WithMode(Auto); !errors.Is(err, ErrNoAuto) {
		t.Error(err)
	}
	if _, err := s.WithMode("made"); !errors.Is(err, ErrNoSuchMode) {
		t.Error(err)
	}
	s, _ = s.WithAvailable(true, true, nil)
	edits := mode(t, s, AcceptEdits)
	plan := mode(t, edits, Plan)
	if plan.PrePlanMode != AcceptEdits || plan.Revision != edits.Revision+1 {
		t.Errorf("%+v", plan)
	}
	if left, err := plan.LeavePlan(""); err != nil || left.Mode != AcceptEdits || left.PrePlanMode != "" {
		t.Errorf("%+v, %v", left, err)
	}
	if left, err := plan.LeavePlan(Auto); err != nil || left.Mode != Auto {
		t.Errorf("%+v, %v", left, err)
	}
	if same, err := edits.LeavePlan(""); err != nil || same != edits {
		t.Error("leaving plan mode outside of it changes something")
	}
	if got, why := mode(t, s, Bypass).WithAvailable(false, true, nil); got.Mode != Default || why == "" {
		t.Errorf("bypass was forbidden and the mode is %s", got.Mode)
	}
	if got, why := mode(t, mode(t, s, Bypass), Plan).WithAvailable(false, true, nil); got.PrePlanMode != Default || why != "" {
		t.Errorf("plan mode would go back to %s", got.PrePlanMode)
	}
}

func TestCycle(t *testing.T) {
	for _, c := range []struct {
		bypass, auto bool
		forbidden    map[Mode]string
		want         []Mode
	}{
		{false, false, nil, []Mode{Default, AcceptEdits, Plan}},
		{true, false, nil, []Mode{Default, AcceptEdits, Plan, Bypass}},
		{true, true, nil, []Mode{Default, AcceptEdits, Plan, Bypass, Auto}},
		{false, true, nil, []Mode{Default, AcceptEdits, Plan, Auto}},
		{true, true, map[Mode]string{AcceptEdits: "no", Bypass: "no"}, []Mode{Default, Plan, Auto}},
		{true, true, map[Mode]string{Default: "no", Auto: "no"}, []Mode{Default, AcceptEdits, Plan, Bypass}},
	} {
		s, _ := (&State{}).WithAvailable(c.bypass, c.auto, c.forbidden)
		if diff := cmp.Diff(c.want, s.Cycle()); diff != "" {
			t.Errorf("%+v: %s", c, diff)
		}
	}
}

// Every way into a mode passes one door, which knows what is forbidden and says who forbids it.
func TestKF113_OneDoorForModes(t *testing.T) {
	set := func(m Mode) proto.PermissionUpdate {
		return proto.PermissionUpdate{Type: "setMode", Mode: string(m), Destination: "session"}
	}
	rapid.Check(t, func(t *rapid.T) {
		modes := []Mode{AcceptEdits, Plan, Auto, DontAsk, Bypass}
		forbidden := map[Mode]string{}
		for _, m := range modes {
			if rapid.Bool().Draw(t, "forbid "+string(m)) {
				forbidden[m] = "the mode " + string(m) + " is forbidden by the organisation"
			}
		}
		bypass, auto := rapid.Bool().Draw(t, "bypass"), rapid.Bool().Draw(t, "auto")
		s, _ := (&State{}).WithAvailable(bypass, auto, forbidden)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			m := rapid.SampledFrom(append(modes, Default)).Draw(t, "mode")
			var err error
			before := s
			switch rapid.IntRange(0, 4).Draw(t, "way") {
			case 0: // key, operation, host
				s, err = s.WithMode(m)
			case 1: // answer, hook, host
				s, _, err = s.Apply(set(m), nil)
			case 2: // the plan was approved
				s, err = s.LeavePlan(m)
			case 3: // a start, a resumed session
				var got Mode
				got, _, _, _, err = StartMode(Start{Recorded: m, AutoAvailable: auto, AllowBypass: bypass && forbidden[Bypass] == "", Forbidden: forbidden})
				if forbidden[got] != "" {
					t.Fatalf("a session starts in %s", got)
				}
			case 4: // an agent of a session
				if got := s.AgentMode(m); got != s.mode() && s.MayEnter(got) != nil {
					t.Fatalf("an agent runs in %s", got)
				}
			}
			if why := forbidden[s.mode()]; why != "" || s.mode() == Bypass && !bypass || s.mode() == Auto && !auto {
				t.Fatalf("in %s: %s", s.mode(), why)
			}
			if err != nil && (before != s || !strings.Contains(err.Error(), string(m))) {
				t.Fatalf("changed %v, and says %v", before != s, err)
			}
		}
		tight, why := s.WithAvailable(bypass, auto, map[Mode]string{s.mode(): "closed now"})
		if was := s.mode(); was != Default && (tight.mode() != Default || why != "closed now") {
			t.Fatalf("still in %s, says %q", tight.mode(), why)
		}
	})
}

func TestAutoSetsBroadRulesAside(t *testing.T) {
	s := (&State{AutoAvailable: true}).WithRules(FromUser, Lists{Allow: []Rule{
		{List: AllowList, Text: "Bash"}, {List: AllowList, Text: "Bash(npm run *)"}, {List: AllowList, Text: "Bash(npm test)"}, {List: AllowList, Text: "Task(x)"}, {List: AllowList, Text: "Bash(python3.12 *)"}, {List: AllowList, Text: "Bash(go test *)"}, {List: AllowList, Text: "Read(//x)"},
	}})
	auto := mode(t, s, Auto)
	var got []string
	for _, r := range auto.SetAside {
		got = append(got, r.Text)
	}
	if diff := cmp.Diff([]string{"Bash", "Bash(npm run *)", "Task(x)", "Bash(python3.12 *)"}, got); diff != "" {
		t.Error(diff)
	}
	if back := mode(t, auto, Default); len(back.SetAside) != 0 || len(back.AllRules()) != 7 {
		t.Error("rules are not restored")
	}
}

func TestApplyUpdates(t *testing.T) {
	rules := func(kind, behavior, dest string, texts ...string) proto.PermissionUpdate {
		u := proto.PermissionUpdate{Type: kind, Behavior: behavior, Destination: dest}
		for _, text := range texts {
			u.Rules = append(u.Rules, proto.RuleValue{ToolName: "Bash", RuleContent: text})
		}
		return u
	}
	apply := func(s *State, u proto.PermissionUpdate) (*State, bool) {
		t.Helper()
		next, save, err := s.Apply(u, func(Source) string { return "/base" })
		if err != nil {
			t.Fatal(err)
		}
		return next, save
	}
	s, save := apply(&State{}, rules("addRules", "allow", "session", "a", "b", "a"))
	if save || len(s.Grants.Rules) != 2 || s.Grants.Rules[0].Base != "/base" {
		t.Errorf("%+v, %v", s.Grants, save)
	}
	if same, _ := apply(s, rules("addRules", "allow", "session", "b")); same != s {
		t.Error("adding what is there is a change")
	}
	s, _ = apply(s, rules("removeRules", "allow", "session", "a"))
	s, save = apply(s, rules("addRules", "deny", "localSettings", "c"))
	if !save || len(s.Rules[FromLocal].Deny) != 1 {
		t.Errorf("%+v", s.Rules)
	}
	s, _ = apply(s, rules("replaceRules", "allow", "session", "x"))
	var got []string
	for _, r := range s.AllRules() {
		got = append(got, string(r.List)+" "+r.Text)
	}
	if diff := cmp.Diff([]string{"deny Bash(c)", "allow Bash(x)"}, got); diff != "" {
		t.Error(diff)
	}
	s, save = apply(s, proto.PermissionUpdate{Type: "setMode", Mode: "acceptEdits", Destination: "session"})
	if s.Mode != AcceptEdits || save {
		t.Errorf("%s %v", s.Mode, save)
	}
	if same, save, err := s.Apply(proto.PermissionUpdate{Type: "setMode", Mode: "bypassPermissions", Destination: "userSettings"}, nil); same != s || save || !errors.Is(err, ErrNoBypass) {
		t.Errorf("bypass by an update: changed %v, saved %v, says %v", same != s, save, err)
	}
	s, _ = apply(s, proto.PermissionUpdate{Type: "addDirectories", Directories: []string{"/x", "/y"}, Destination: "session"})
	s, save = apply(s, proto.PermissionUpdate{Type: "addDirectories", Directories: []string{"/x"}, Destination: "localSettings"})
	s, _ = apply(s, proto.PermissionUpdate{Type: "removeDirectories", Directories: []string{"/x"}, Destination: "localSettings"})
	if diff := cmp.Diff([]string{"/x", "/y"}, s.WorkDirs()); diff != "" || !save {
		t.Errorf("removing a setting took the granted directory: %s", diff)
	}
	for _, bad := range []proto.PermissionUpdate{
		{Type: "addRules", Behavior: "allow", Destination: "nowhere"},
		{Type: "made", Destination: "session"},
		{Type: "setMode", Mode: "bubble", Destination: "session"},
		{Type: "addDirectories", Directories: []string{"rel"}, Destination: "session"},
		{Type: "addRules", Behavior: "perhaps", Destination: "session"},
	} {
		if next, _, err := s.Apply(bad, nil); !errors.Is(err, ErrUpdate) || next != s {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if next, dropped := s.DropGrants(); !dropped || len(next.Grants.Rules)+len(next.Grants.Dirs) != 0 || len(next.Rules[FromLocal].Deny) != 1 {
		t.Errorf("%+v", next)
	}
}

func TestDenialTracking(t *testing.T) {
	s := &State{}
	var pause bool
	for i := range 3 {
		s, pause = s.Blocked(Denied{Tool: "Bash", Summary: fmt.Sprint(i)})
		if pause != (i == 2) {
			t.Errorf("block %d: pause %v", i+1, pause)
		}
	}
	if s = s.Allowed(); s.Denials.Consecutive != 0 || s.Denials.Total != 3 {
		t.Errorf("%+v", s.Denials)
	}
	if s.Allowed() != s {
		t.Error("nothing to reset is a change")
	}
	for i := 3; i < 20; i++ {
		s, pause = s.Blocked(Denied{Tool: "Bash"})
		s = s.Allowed()
		if pause != (i == 19) {
			t.Errorf("block %d: pause %v", i+1, pause)
		}
	}
	if s.Denials.Total != 0 || s.Denials.LastDeniedTool != "Bash" {
		t.Errorf("%+v", s.Denials)
	}
	for range 100 {
		s = s.Refused(Denied{Tool: "Edit"})
	}
	if len(s.Denials.Recent) != 50 {
		t.Errorf("%d kept", len(s.Denials.Recent))
	}
}

func TestVerdictsAreDropped(t *testing.T) {
	with := func() *State {
		return (&State{AutoAvailable: true, Mode: Auto}).WithVerdict("k", Kept{Behavior: Deny, Reason: "r", At: time.Unix(1, 0)})
	}
	if v, ok := with().Verdict("k"); !ok || v.Kind != VerdictBlock {
		t.Errorf("%+v %v", v, ok)
	}
	for name, drop := range map[string]func(*State) *State{
		"mode":       func(s *State) *State { return mode(t, s, Default) },
		"rules":      func(s *State) *State { return s.WithRules(FromUser, Lists{Deny: []Rule{{Text: "x"}}}) },
		"message":    func(s *State) *State { return s.NewTurn(true) },
		"compaction": func(s *State) *State { return s.NewContent(true) },
	} {
		if _, ok := drop(with()).Verdict("k"); ok {
			t.Errorf("a verdict outlives a change of %s", name)
		}
	}
	if s := with(); s.NewTurn(false) != s {
		t.Error("a turn without a message drops verdicts")
	}
}

func TestStateIsData(t *testing.T) {
	s := (&State{AutoAvailable: true}).WithRules(FromUser, Lists{Allow: []Rule{{List: AllowList, Text: "Bash(a)", File: "f", Line: 3}}})
	s, _ = s.Blocked(Denied{Tool: "Bash"})
	s = s.WithHost("h:1", HostFor{Allow: true, Until: "session"}).WithRequest(WorkerRequest{RequestID: "1", State: "open"})
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*s, back); diff != "" {
		t.Error(diff)
	}
	if s.WithRequest(WorkerRequest{RequestID: "1", State: "allowed"}).Requests[0].State != "allowed" || len(s.WithoutRequest("1").Requests) != 0 || s.WithoutRequest("2") != s {
		t.Error("requests")
	}
}

// Whatever is done to a state, earlier values stay as they were.
func TestStateIsNeverChangedInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := (&State{}).WithAvailable(true, true, nil)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			before, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			old, next := s, s
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				next, err = s.WithMode(rapid.SampledFrom([]Mode{Default, Plan, Auto, Bypass, AcceptEdits}).Draw(t, "mode"))
			case 1:
				next = s.WithRules(FromUser, Lists{Allow: []Rule{{List: AllowList, Text: rapid.SampledFrom([]string{"Bash", "Read"}).Draw(t, "rule")}}})
			case 2:
				next, _ = s.Blocked(Denied{Tool: "x"})
			case 3:
				next = s.WithVerdict(rapid.StringN(1, 2, 2).Draw(t, "key"), Kept{})
			case 4:
				next = s.WithHost("h", HostFor{Allow: true, Until: rapid.SampledFrom([]string{"turn", "session", "content"}).Draw(t, "until")})
			case 5:
				next, _, err = s.Apply(proto.PermissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session", Rules: []proto.RuleValue{{ToolName: "T"}}}, nil)
			case 6:
				next = s.WithRequest(WorkerRequest{RequestID: rapid.StringN(1, 1, 1).Draw(t, "id")})
			case 7:
				next = s.WithDirs(FromUser, []string{"/a"}).NewTurn(true).NewContent(true)
			}
			if err != nil {
				t.Fatal(err)
			}
			after, err := json.Marshal(old)
			if err != nil {
				t.Fatal(err)
			}
			if string(after) != string(before) {
				t.Fatalf("changed in place: %s → %s", before, after)
			}
			s = next
		}
	})
}

func TestStartMode(t *testing.T) {
	for _, c := range []struct {
		name   string
		start  Start
		mode   Mode
		bypass bool
		fails  bool
	}{
		{"nothing", Start{}, Default, false, false},
		{"flag", Start{Flag: Plan, Setting: AcceptEdits}, Plan, false, false},
		{"setting", Start{Setting: AcceptEdits}, AcceptEdits, false, false},
		{"auto from project", Start{Setting: Auto, SettingFrom: FromProject, AutoAvailable: true}, Default, false, false},
		{"auto from user", Start{Setting: Auto, SettingFrom: FromUser, AutoAvailable: true}, Auto, false, false},
		{"auto forbidden", Start{Setting: Auto, SettingFrom: FromUser, AutoAvailable: true, Forbidden: map[Mode]string{Auto: "a setting"}}, Default, false, false},
		{"skip permissions", Start{Bypass: true}, Bypass, true, false},
		{"bypass allowed", Start{AllowBypass: true}, Default, true, false},
		{"bypass by setting", Start{Setting: Bypass, SettingFrom: FromUser}, Bypass, true, false},
		{"bypass forbidden", Start{Bypass: true, Forbidden: map[Mode]string{Bypass: "a policy"}}, Default, false, true},
		{"bypass setting forbidden", Start{Setting: Bypass, Forbidden: map[Mode]string{Bypass: "a policy"}}, Default, false, false},
		{"edits forbidden", Start{Flag: AcceptEdits, Forbidden: map[Mode]string{AcceptEdits: "a policy"}}, Default, false, false},
		{"resumed, forbidden since", Start{Recorded: AcceptEdits, Forbidden: map[Mode]string{AcceptEdits: "a policy"}}, Default, false, false},
		{"resumed", Start{Recorded: Plan, Setting: AcceptEdits}, Plan, false, false},
		{"resumed bypass", Start{Recorded: Bypass, Setting: AcceptEdits}, AcceptEdits, false, false},
		{"resumed bypass, enabled again", Start{Recorded: Bypass, AllowBypass: true}, Bypass, true, false},
	} {
		got, bypass, _, _, err := StartMode(c.start)
		if got != c.mode || bypass != c.bypass || (err != nil) != c.fails {
			t.Errorf("%s: %s, bypass %v, %v", c.name, got, bypass, err)
		}
	}
}

func TestAgentMode(t *testing.T) {
	for _, c := range []struct{ parent, defined, want Mode }{
		{Default, "", Default}, {Default, Plan, Plan}, {Bypass, Plan, Bypass}, {AcceptEdits, Default, AcceptEdits}, {Auto, Plan, Auto}, {Default, Bypass, Default}, {Plan, AcceptEdits, AcceptEdits},
	} {
		if got := (&State{Mode: c.parent, AutoAvailable: true}).AgentMode(c.defined); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.defined, c.parent, got, c.want)
		}
	}
}

func TestOutward(t *testing.T) {
	if Outward(Bubble, Plan) != Plan || Outward(Auto, Plan) != Auto || Outward(Bubble, Bubble) != Default || Outward("", "") != Default {
		t.Error("outward names")
	}
	if m, ok := ParseMode("manual"); m != Default || !ok {
		t.Error("manual is default")
	}
	if _, ok := ParseMode("bubble"); ok {
		t.Error("bubble can be set")
	}
}

func TestCompiledRulesFollowTheRevision(t *testing.T) {
	var c Compiled
	s := &State{}
	a := c.Rules(s, Env{})
	if c.Rules(s, Env{}) != a {
		t.Error("compiled twice")
	}
	s = s.WithRules(FromUser, Lists{Deny: []Rule{{List: DenyList, Text: "Bash"}}})
	if b := c.Rules(s, Env{}); b == a || len(b.All()) != 1 {
		t.Error("a new revision is not compiled")
	}
}

func TestLedger(t *testing.T) {
	var l Ledger
	for i := range 1200 {
		settled := Allow
		if i%2 == 0 {
			settled = Deny
		}
		l.Add(Entry{Call: fmt.Sprint(i), Settled: settled})
	}
	got := l.Recent(3)
	if len(l.Recent(0)) != 500 || l.Total() != 1200 || got[0].Call != "1199" || got[2].Call != "1197" {
		t.Errorf("%d kept, %d in all, newest %+v", len(l.Recent(0)), l.Total(), got)
	}
	if _, ok := l.Find("1"); ok {
		t.Error("an old entry is still there")
	}
	if e, ok := l.Find("900"); !ok || e.Call != "900" || len(l.Denied()) != 250 {
		t.Errorf("%+v %v %d", e, ok, len(l.Denied()))
	}
}
