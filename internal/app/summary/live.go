package summary

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Live is what a model would lose with the messages that a summary stands for, as it is now.
type Live struct {
	Mode     string // the permission mode
	PlanFile string
	Planning bool // plan mode is on
	Todos    []proto.Todo
	Tasks    []task.Task // that run
	Notes    string      // what is told of the scratchpad
	Reads    []tool.ReadRecord
	MayRead  func(path string) bool
	Room     int // tokens that recently used files may take
}

// Bounds of what is told of files.
const (
	mostPlan   = 8 << 10
	mostRecent = 5
	perToken   = 3 // bytes; a careful estimate
)

// Texts tells it, a text for each kind.
func (l Live) Texts() []string {
	var out []string
	if plan, ok := l.plan(); ok {
		out = append(out, plan)
	}
	if len(l.Todos) > 0 {
		text := "The todo list as it stands:"
		for _, it := range l.Todos {
			text += fmt.Sprintf("\n- %s [%s] %s", it.ID, it.Status, it.Subject)
		}
		out = append(out, text)
	}
	if len(l.Tasks) > 0 {
		text := "Running in the background:"
		for _, t := range l.Tasks {
			text += fmt.Sprintf("\n- %s (%s): %s, output in %s", t.ID, t.Kind, t.Description, t.OutputFile)
		}
		out = append(out, text)
	}
	if l.Notes != "" {
		out = append(out, l.Notes)
	}
	return append(out, l.recent()...)
}

// plan tells of the plan and of the mode.
func (l Live) plan() (string, bool) {
	f, err := textfile.Load(l.PlanFile, 1<<20)
	switch {
	case err == nil:
		text := "The plan of this conversation, " + l.PlanFile + ":\n\n" + msg.Cut(f.Text.View(), mostPlan)
		if l.Planning {
			text = "Plan mode is still on. " + text
		}
		return text, true
	case l.Planning:
		return "Plan mode is still on; the plan file is " + l.PlanFile + ".", true
	case l.Mode != "default":
		return "The permission mode is still " + l.Mode + ".", true
	}
	return "", false
}

// recent shows the files that were used last, as they are now. When they do not fit, the largest are
// cut first.
func (l Live) recent() []string {
	type shown struct{ path, text string }
	var files []shown
	for _, rec := range l.Reads {
		if len(files) == mostRecent {
			break
		}
		info, err := os.Lstat(rec.Path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || l.MayRead != nil && !l.MayRead(rec.Path) {
			continue
		}
		if f, err := textfile.Load(rec.Path, 1<<20); err == nil && f.Text.View() != "" {
			files = append(files, shown{rec.Path, f.Text.View()})
		}
	}
	sizes := make([]int, len(files))
	for i, f := range files {
		sizes[i] = len(f.text)
	}
	most := bound(sizes, l.Room*perToken)
	var out []string
	for _, f := range files {
		text := msg.Cut(f.text, most)
		if most < 200 && len(text) < len(f.text) {
			continue // a few words help nobody
		}
		if len(text) < len(f.text) {
			text += fmt.Sprintf("\n[cut; the file has %d bytes]", len(f.text))
		}
		out = append(out, "Used lately, "+f.path+" as it is now (Read it before you edit it):\n\n"+strings.TrimRight(text, "\n"))
	}
	return out
}

// bound is the size to which each may be cut so that all together fit into room.
func bound(sizes []int, room int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		share := room / (len(sorted) - i)
		if n > share {
			return max(share, 0)
		}
		room -= n
	}
	return 1 << 30
}
