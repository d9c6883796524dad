package app

import (
	"maps"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// Surface is one face that is attached to a session, as the state shows it.
type Surface struct {
	Kind       string    `json:"kind"` // plain, headless, tui, web, editor, sdk
	AttachedAt time.Time `json:"attachedAt"`
	Answers    bool      `json:"answers"` // somebody behind it can answer questions
}

// View is what a screen shows of a session beside its events. It is a snapshot.
type View struct {
	Session   string
	Name      string
	Title     string
	Cwd       string
	Model     string   // provider/id
	Mode      string   // permission mode, in its outward name
	Modes     []string // that the mode key goes through
	CostUSD   float64
	BudgetUSD float64 // 0: no bound
	Context   Fill
	Tasks     []proto.Task // running work
	Todos     []proto.Todo
	Branch    string
	Style     string // output style
}

// Fill says how full the context window is, in tokens. Zero means unknown.
type Fill struct {
	Used   int
	Window int
}

// screenOf is what a screen shows of a state.
func screenOf(now *State, budget float64) View {
	v := View{
		Session: now.Session.ID, Name: now.Session.Name, Title: now.Session.Title, Cwd: now.Session.Cwd,
		Model: now.Session.Model, Mode: outward(now.Permission), Modes: modeNames(now.Permission.Cycle()), CostUSD: now.Cost.Total.USD.Float(),
		BudgetUSD: budget, Context: fillOf(now.Shaping),
		Todos: now.Todo.Events().Items, Branch: branch(now.Session.Cwd),
	}
	for _, t := range now.Task.Living() {
		v.Tasks = append(v.Tasks, t.Wire())
	}
	return v
}

// attach enters a surface in the state.
func attach(to store.Slice[Surfaces], a proto.Attach, now time.Time) {
	to.Set(func(prev *Surfaces) *Surfaces {
		next := &Surfaces{ByID: maps.Clone(prev.ByID)}
		if next.ByID == nil {
			next.ByID = map[string]Surface{}
		}
		next.ByID[a.Surface] = Surface{Kind: a.Kind, AttachedAt: now, Answers: a.Answers}
		return next
	})
}

// detach takes a surface out of the state.
func detach(from store.Slice[Surfaces], id string) {
	from.Set(func(prev *Surfaces) *Surfaces {
		if _, ok := prev.ByID[id]; !ok {
			return prev
		}
		next := &Surfaces{ByID: maps.Clone(prev.ByID)}
		delete(next.ByID, id)
		return next
	})
}

func fillOf(s *shaping.State) Fill { return Fill{Used: s.Used, Window: s.Window} }
