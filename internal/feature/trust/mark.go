package trust

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

// Mark is one agreement: what a person accepted in one folder.
type Mark struct {
	Rel    string    `json:"rel"`    // start folder within the checkout
	Shared string    `json:"shared"` // print of what the shared files wanted
	Local  string    `json:"local"`  // print of what the local file wanted
	At     time.Time `json:"at"`
}

// Marks are the agreements of the state file, by folder. Marks of other programs, which know of no
// prints, are not among them.
type Marks map[string][]Mark

// maxMarks is how many agreements of one start folder are kept; branches differ, and going back to
// one asks nothing.
const maxMarks = 20

// Names in the state file: projects.<folder>.hasTrustDialogAccepted is the public mark, and
// trust.accepted beside it holds ours.
const (
	keyProjects = "projects"
	keyPublic   = "hasTrustDialogAccepted"
	keyTrust    = "trust"
	keyAccepted = "accepted"
)

// ReadMarks reads the agreements out of the program's own state file; nil is an empty one. Entries
// that are not of our form count for nothing.
func ReadMarks(root *jsonc.Node) Marks {
	out := Marks{}
	projects := root.Get(keyProjects)
	if projects == nil || projects.Kind != jsonc.Object {
		return out
	}
	for _, p := range jsonc.Unique(projects.Members) {
		if public := p.Value.Get(keyPublic); public == nil || public.Kind != jsonc.Bool || public.Text() != "true" {
			continue // taken back
		}
		accepted := p.Value.Get(keyTrust, keyAccepted)
		if accepted == nil {
			continue
		}
		var marks []Mark
		if json.Unmarshal(accepted.JSON(), &marks) != nil {
			continue
		}
		marks = slices.DeleteFunc(marks, func(m Mark) bool { return m.Rel == "" || m.Shared == "" || m.Local == "" })
		if len(marks) > 0 {
			out[p.Name] = marks
		}
	}
	return out
}

// find returns the newest mark of a start folder that fits.
func find(marks []Mark, rel string, fits func(Mark) bool) *Mark {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].Rel == rel && fits(marks[i]) {
			return &marks[i]
		}
	}
	return nil
}

// With returns the marks and one more.
func (m Marks) With(f Folder, mark Mark) Marks {
	out := maps.Clone(m)
	if out == nil {
		out = Marks{}
	}
	out[f.Key] = append(slices.Clone(out[f.Key]), mark)
	return out
}

// Save keeps an agreement in the state file. update is the state file's own: it hands over what
// stands there now, so that processes do not undo each other.
func Save(update func(func(*jsonc.Doc) error) error, f Folder, m Mark) error {
	return update(func(d *jsonc.Doc) error {
		marks := ReadMarks(d.Root())[f.Key]
		marks = slices.DeleteFunc(slices.Clone(marks), func(old Mark) bool {
			return old.Rel == m.Rel && old.Shared == m.Shared && old.Local == m.Local
		})
		marks = append(marks, m)
		marks = newest(marks, m.Rel)
		raw, err := json.Marshal(marks)
		if err != nil {
			return fmt.Errorf("save trust: %w", err)
		}
		if err := d.Set([]string{keyProjects, f.Key, keyPublic}, json.RawMessage("true")); err != nil {
			return fmt.Errorf("save trust: %w", err)
		}
		if err := d.Set([]string{keyProjects, f.Key, keyTrust, keyAccepted}, raw); err != nil {
			return fmt.Errorf("save trust: %w", err)
		}
		return nil
	})
}

// newest drops the oldest marks of a start folder beyond the most that are kept.
func newest(marks []Mark, rel string) []Mark {
	have := 0
	for _, m := range marks {
		if m.Rel == rel {
			have++
		}
	}
	return slices.DeleteFunc(marks, func(m Mark) bool {
		if m.Rel != rel || have <= maxMarks {
			return false
		}
		have--
		return true
	})
}
