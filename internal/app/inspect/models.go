package inspect

import (
	"context"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/discover"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

// ModelRow is one model one could use.
type ModelRow struct {
	provider.Info
	Found  string `json:"found"`             // where: a variable, a local server, built in
	Chosen bool   `json:"chosen"`            // a session would begin with it
	Why    string `json:"problem,omitempty"` // why it cannot be used; empty: it can
}

// Models lists the models that can be used here, and the services that cannot, with why.
func Models(ctx context.Context, find *discover.Discovery) []ModelRow {
	listed, lacking := find.List(ctx)
	choice, err := find.Resolve(ctx)
	chosen := err == nil
	var rows []ModelRow
	seen := false
	for _, l := range listed {
		row := ModelRow{Info: l.Info, Found: l.Source, Chosen: chosen && l.Info.Ref() == choice.Info.Ref()}
		seen = seen || row.Chosen
		rows = append(rows, row)
	}
	if chosen && !seen && choice.API != discover.Offline {
		rows = append([]ModelRow{{Info: choice.Info, Found: choice.Source, Chosen: true}}, rows...)
	}
	rows = append(rows, ModelRow{Info: offline.New().Info(), Found: "built in", Chosen: chosen && choice.API == discover.Offline})
	for _, text := range lacking {
		service, why, _ := strings.Cut(text, ": ")
		rows = append(rows, ModelRow{Info: provider.Info{Provider: service, ID: "*"}, Found: "no key", Why: why})
	}
	return rows
}
