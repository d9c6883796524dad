package spending

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// Query says what of the use of all sessions is wanted.
type Query struct {
	Cwd   string    // the folder; empty: all
	Since time.Time // zero: from the beginning
	By    string    // one of [Groups]
}

// Row is what was used under one heading.
type Row struct {
	Key string `json:"key"`
	cost.Usage
}

// Cost is the money for people.
func (r Row) Cost() string { return r.USD.String() }

// Plus is the sum of both, under no heading.
func (r Row) Plus(o Row) Row { return Row{Usage: r.Add(o.Usage)} }

// Groups are the words that [Query.By] knows.
func Groups() []string {
	return []string{"day", "project", "session", "model", "lane", "tool", "agent"}
}

// NoteKind is the kind of the notes that [Usage] reads.
const NoteKind = "usage"

// Usage adds up what sessions wrote into their transcripts. What a copy of a conversation repeats is
// counted once.
func Usage(shelf transcript.Shelf, q Query) ([]Row, error) {
	infos, err := shelf.List(q.Cwd)
	if err != nil {
		return nil, err
	}
	sums, seen := map[string]cost.Usage{}, map[string]bool{}
	for _, info := range infos {
		if info.Modified.Before(q.Since) {
			continue
		}
		for note, err := range transcript.NotesOf(info.Path, NoteKind) {
			if err != nil {
				return nil, err
			}
			var spent cost.Spent
			if json.Unmarshal(note.Data, &spent) != nil || seen[spent.ID] || spent.At.Before(q.Since) {
				continue
			}
			seen[spent.ID] = true
			for key, u := range groupsOf(q.By, spent) {
				sums[key] = sums[key].Add(u)
			}
		}
	}
	out := make([]Row, 0, len(sums))
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, Row{key, sums[key]})
	}
	if q.By != "day" {
		slices.SortStableFunc(out, func(a, b Row) int { return cmp.Compare(b.USD, a.USD) })
	}
	return out, nil
}

// groupsOf divides one note by what is asked for.
func groupsOf(by string, x cost.Spent) map[string]cost.Usage {
	switch by {
	case "project":
		return map[string]cost.Usage{x.Project: x.Use.Total}
	case "session":
		return map[string]cost.Usage{x.Session: x.Use.Total}
	case "model":
		return x.Use.ByModel
	case "lane":
		return x.Use.ByLane
	case "tool":
		return x.Use.ByTool
	case "agent":
		agents := maps.Clone(x.Use.ByAgent)
		if u, ok := agents[""]; ok {
			delete(agents, "")
			agents["main"] = u
		}
		return agents
	}
	return map[string]cost.Usage{x.At.Local().Format(time.DateOnly): x.Use.Total}
}
