package app

import (
	"maps"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
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
}

// Fill says how full the context window is, in tokens. Zero means unknown.
type Fill struct {
	Used   int
	Window int
}

// View returns what a screen shows now.
func (s *Session) View() View {
	now := s.rooms.store.Get()
	v := View{
		Session: now.Session.ID, Name: now.Session.Name, Title: now.Session.Title, Cwd: now.Session.Cwd,
		Model: now.Session.Model, Mode: s.rooms.rights.mode(), Modes: modeNames(now.Permission.Cycle()), CostUSD: now.Cost.Total.USD.Float(),
		BudgetUSD: s.rooms.opts.MaxBudgetUSD, Context: fillOf(now.Shaping),
		Todos: now.Todo.Events().Items, Branch: s.rooms.branch(),
	}
	for _, t := range now.Task.Living() {
		v.Tasks = append(v.Tasks, t.Wire())
	}
	return v
}

// attach enters a surface in the state.
func (s *Session) attach(a proto.Attach) {
	s.rooms.part.surface.Set(func(prev *Surfaces) *Surfaces {
		next := &Surfaces{ByID: maps.Clone(prev.ByID)}
		if next.ByID == nil {
			next.ByID = map[string]Surface{}
		}
		next.ByID[a.Surface] = Surface{Kind: a.Kind, AttachedAt: s.rooms.clock.now(), Answers: a.Answers}
		return next
	})
}

func (s *Session) detach(id string) {
	s.rooms.part.surface.Set(func(prev *Surfaces) *Surfaces {
		if _, ok := prev.ByID[id]; !ok {
			return prev
		}
		next := &Surfaces{ByID: maps.Clone(prev.ByID)}
		delete(next.ByID, id)
		return next
	})
}

func fillOf(s *shaping.State) Fill { return Fill{Used: s.Used, Window: s.Window} }
