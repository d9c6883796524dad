package app

import (
	"context"
	"path/filepath"
	"text/tabwriter"

	"github.com/myelin-agent/myelin/internal/app/spending"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// newLedger makes what books and bounds what the session uses.
func newLedger(r *rooms) *spending.Ledger {
	return spending.New(spending.Config{
		State: r.part.cost, Own: r.opts.MaxBudgetUSD, Limits: r.limits.inForce, Settings: r.settings.now, Tell: r.events.Emit, Now: r.clock.now,
		Day: cost.Day{Dir: filepath.Join(r.settings.places.Home, "spent"), Now: r.clock.now},
		Note: func(use cost.Use) error {
			at := r.part.session.Get()
			return r.main.Transcript().Note(spending.NoteKind, cost.Spent{
				ID: r.clock.newID(), At: r.clock.now(), Session: at.ID, Project: at.ProjectRoot, Use: use,
			})
		},
	})
}

// cmdCost shows what the session used.
func cmdCost(_ context.Context, r *rooms, _ string) (string, error) {
	return table(func(w *tabwriter.Writer) { r.limits.spending.Report(w) }), nil
}

// Usage adds up what all sessions used that are kept where o looks.
func Usage(o Options, q spending.Query) ([]spending.Row, error) {
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return nil, err
	}
	return spending.Usage(transcript.Shelf{Home: places.Home, Public: places.DropIn}, q)
}
