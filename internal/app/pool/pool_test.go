package pool

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

func fake(spec tool.Spec) tool.Tool {
	spec.Schema = json.RawMessage(`{"type": "object"}`)
	return tool.New(spec, func(context.Context, struct{}, tool.Call) (tool.Result, error) { return tool.Result{}, nil })
}

// stage is a pool over a store of its own.
type stage struct {
	*Pool
	state  store.Slice[State]
	denied map[string]string
	absent map[string]string
}

type whole struct{ Tool *State }

func begin(change func(*Given), specs ...tool.Spec) *stage {
	s := store.New(whole{&State{}}, func(store.Change[whole]) {}, func(v any) { panic(v) })
	st := &stage{denied: map[string]string{}, absent: map[string]string{}, state: store.Focus(s,
		func(w *whole) *State { return w.Tool },
		func(_ *whole, next *State) *whole { return &whole{next} })}
	g := Given{
		State: st.state, Answers: true,
		Denied: func() func(string) string { return func(name string) string { return st.denied[name] } },
		Absent: func(name string) string { return st.absent[name] },
	}
	for _, s := range specs {
		g.Builtin = append(g.Builtin, fake(s))
	}
	if change != nil {
		change(&g)
	}
	st.Pool = New(g)
	return st
}

func named(tools []tool.Tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.Spec().Name)
	}
	return out
}

// became is what became of each tool, by name and source.
func (st *stage) became() map[string]string {
	out := map[string]string{}
	for _, e := range st.state.Get().Pool {
		out[e.Source+" "+e.Name] = e.State + " at " + e.Step
	}
	return out
}

func TestEveryStepDropsWhatItIsFor(t *testing.T) {
	st := begin(func(g *Given) {
		g.Answers, g.Base = false, &[]string{"Read", "Ask", "Bash", "Search"}
		g.Foreign = func() map[string][]tool.Tool {
			return map[string][]tool.Tool{
				"b": {fake(tool.Spec{Name: "mcp__b__x"})},
				"a": {fake(tool.Spec{Name: "Read"}), fake(tool.Spec{Name: "mcp__a__y"})},
			}
		}
	}, tool.Spec{Name: "Read"}, tool.Spec{Name: "Write"}, tool.Spec{Name: "Ask", NeedsPerson: true}, tool.Spec{Name: "Bash"}, tool.Spec{Name: "Search"})
	st.denied["Bash"], st.denied["mcp__b__x"], st.absent["Search"] = "Bash", "mcp__b", "no"
	if got, want := named(st.Offer()), []string{"Read", "mcp__a__y"}; !slices.Equal(got, want) {
		t.Errorf("offered %q, want %q", got, want)
	}
	want := map[string]string{
		"built-in Read": "offered at dedupe", "built-in Write": "filtered at base", "built-in Ask": "filtered at mode",
		"built-in Bash": "denied at deny", "built-in Search": "absent at base",
		"a Read": "filtered at dedupe", "a mcp__a__y": "offered at dedupe", "b mcp__b__x": "denied at deny",
	}
	if got := st.became(); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got, want := st.Known(), []string{"Ask", "Bash", "Read", "Search", "Write"}; !slices.Equal(got, want) {
		t.Errorf("known %q, want %q", got, want)
	}
}

func TestDeferredToolsAreLoaded(t *testing.T) {
	specs := []tool.Spec{{Name: "Read"}, {Name: "ToolSearch", Finds: true, Description: "Finds tools."}, {Name: "Rare", Deferred: true}, {Name: "Seldom", Deferred: true}}
	st := begin(nil, specs...)
	first := st.Offer()
	if got, want := named(first), []string{"Read", "ToolSearch"}; !slices.Equal(got, want) {
		t.Fatalf("offered %q, want %q", got, want)
	}
	if text := first[1].Spec().Description; !strings.HasSuffix(text, "Rare Seldom") {
		t.Errorf("ToolSearch does not name what it can load: %q", text)
	}
	if again := st.Offer(); again[1] != first[1] {
		t.Error("the same names made another tool: the prompt cache is lost")
	}
	if got := st.Names(); !slices.Equal(got, []string{"Read", "ToolSearch", "Rare", "Seldom"}) {
		t.Errorf("usable are %q", got)
	}
	st.Called("Read") // is not deferred
	st.Called("Seldom")
	st.Called("Nothing")
	if got, want := named(st.Offer()), []string{"Read", "ToolSearch", "Seldom"}; !slices.Equal(got, want) {
		t.Errorf("after a call: %q, want %q", got, want)
	}
	if got := named(st.Deferred()); !slices.Equal(got, []string{"Rare", "Seldom"}) {
		t.Errorf("can be loaded: %q", got)
	}
	st.Load("Rare")
	last := st.Offer()
	if got, want := named(last), []string{"Read", "ToolSearch", "Seldom", "Rare"}; !slices.Equal(got, want) {
		t.Errorf("what was loaded does not come last, in its order: %q, want %q", got, want)
	}
	if last[1] != first[1] || last[3].Spec().Deferred {
		t.Error("ToolSearch changed, or a loaded tool is offered as one that is kept back")
	}

	without := begin(nil, specs[0], specs[2]) // nothing could load it
	if got := named(without.Offer()); !slices.Equal(got, []string{"Read", "Rare"}) {
		t.Errorf("without ToolSearch: %q", got)
	}
}

// TestKF135_ToolsAreKeptBackByTheService: where the service can, all deferred tools come along from the first
// round on, so that loading one changes no byte of them; what no result refers to is offered in full.
func TestKF135_ToolsAreKeptBackByTheService(t *testing.T) {
	st := begin(func(g *Given) { g.Defers = func() bool { return true } },
		tool.Spec{Name: "Read"}, tool.Spec{Name: "ToolSearch", Finds: true}, tool.Spec{Name: "Rare", Deferred: true}, tool.Spec{Name: "ExitPlanMode", Deferred: true, Plans: true})
	first := st.Offer()
	if got, want := named(first), []string{"Read", "ToolSearch", "Rare", "ExitPlanMode"}; !slices.Equal(got, want) || !first[2].Spec().Deferred {
		t.Fatalf("offered %q, want %q", got, want)
	}
	st.Load("Rare")
	if again := st.Offer(); !slices.Equal(again, first) {
		t.Errorf("loading a tool changed what is offered: %q", named(again))
	}
	st.LoadPlanning()
	planning := st.Offer()
	if last := planning[3].Spec(); last.Name != "ExitPlanMode" || last.Deferred || !planning[2].Spec().Deferred {
		t.Errorf("in plan mode: %q", named(planning))
	}
	st.Compacted()
	for _, x := range st.Offer() {
		if x.Spec().Deferred {
			t.Errorf("%s is kept back although no result may refer to it any more", x.Spec().Name)
		}
	}
}

func TestTheRevisionFollowsWhatCanBeUsed(t *testing.T) {
	st := begin(nil, tool.Spec{Name: "Read"}, tool.Spec{Name: "Rare", Deferred: true}, tool.Spec{Name: "ToolSearch", Finds: true})
	st.Offer()
	before := st.state.Get()
	st.Offer()
	if st.state.Get() != before {
		t.Error("nothing changed, and the state did")
	}
	st.Load("Rare") // could be used before
	st.Offer()
	if got := st.state.Get().Revision; got != before.Revision {
		t.Errorf("loading raised the revision to %d", got)
	}
	st.denied["Read"] = "Read"
	st.Offer()
	if got := st.state.Get().Revision; got != before.Revision+1 {
		t.Errorf("revision %d after a tool was denied, want %d", got, before.Revision+1)
	}
}
