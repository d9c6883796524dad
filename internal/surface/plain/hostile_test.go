package plain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/testkit/hostile"
)

// shown fails when lines that a terminal will print hold what acts on it.
func shown(t *testing.T, what any, lines []string) {
	t.Helper()
	for _, l := range lines {
		if bad := hostile.Acts(l); bad != "" || strings.Contains(l, "\n") {
			t.Fatalf("%+q: the line %+q holds %s", fmt.Sprintf("%T %+v", what, what), l, bad)
		}
	}
}

// Each text of each event in turn is hostile, within a whole session: what an event shows may
// depend on those before it.
func TestKF161_NoEventActsOnTheTerminal(t *testing.T) {
	list := day()
	for i, e := range list {
		if _, raw := e.Body.(proto.Terminal); raw {
			continue // the sequence a hook sends to the terminal, by its own rules
		}
		for _, v := range hostile.Variants(e.Body) {
			p := NewPrinter(screen.Style{}, func() int { return 80 })
			for j, other := range list[:i+1] {
				if j == i {
					other.Body = v.(proto.EventBody)
				}
				lines := p.Event(other)
				if j == i {
					shown(t, v, lines)
				}
			}
			for _, later := range list[i+1:] {
				shown(t, v, p.Event(later))
				shown(t, v, append(strings.Split(p.Tail(), "\n"), p.Activity()))
			}
		}
	}
}

func TestKF161_NoQuestionActsOnTheTerminal(t *testing.T) {
	a := ask(three()...)
	a.Path, a.Input = "/p/a.go", []byte(`{"file_path":"/p/a.go","old_string":"x","new_string":"y"}`)
	for _, tool := range []string{"Bash", "Edit", "Write"} {
		a.Tool = tool
		for _, kind := range []proto.AskKind{proto.AskPermission, proto.AskTrust, proto.AskHost, proto.AskPlan} {
			a.Kind = kind
			for _, v := range hostile.Variants(a) {
				shown(t, v, screen.NewQuestion(v.(proto.Ask), surfaceID).Lines(screen.Style{}, screen.Window{Cells: 80}))
			}
		}
	}
}
