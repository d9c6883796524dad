package memory

import (
	"os"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Change is a file in the context that is different on disk.
type Change struct {
	Path    string
	Removed bool
	Diff    string // what changed, for the model; empty when removed
}

// maxDiff bounds the lines one change shows.
const maxDiff = 80

// Changes returns what changed on disk since it was last shown, and counts it as shown. The context
// in front of the conversation stays as it is: a change is told at its end.
func (i *Instructions) Changes() []Change {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []Change
	for real, s := range i.shown {
		info, err := os.Stat(real)
		if err != nil {
			out = append(out, Change{Path: s.file.Path, Removed: true})
			delete(i.shown, real)
			continue
		}
		if stampOf(info) == s.stamp {
			continue
		}
		text, stamp, problem := readText(s.file.Path)
		if problem != "" {
			i.report(s.file.Path + ": " + problem)
		}
		old := s.file.Text
		s.file.Text, s.stamp = text, stamp
		i.shown[real] = s
		if text != old {
			out = append(out, Change{Path: s.file.Path, Diff: textfile.Changes(old, text, maxDiff)})
		}
	}
	if len(out) > 0 {
		i.publish()
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}
