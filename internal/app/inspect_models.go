package app

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

func lookForModels(ctx context.Context, o Options) (*models, func(), error) {
	x, err := OpenSettings(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	vars, _ := x.s.live.State().Env()
	m, err := newModels(o, x.s.base.With(vars, false), x.s.live.State(), nil)
	if err != nil {
		x.Close()
		return nil, nil, err
	}
	m.cwd = func() string { return o.Cwd }
	return m, x.Close, nil
}

// beginsWith is the model a session with these options would begin with.
func beginsWith(ctx context.Context, o Options) (provider.Model, error) {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	model, _, err := m.first(ctx, o)
	return model, err
}

// Models lists the models that can be used here, and the services that cannot, with why.
func Models(ctx context.Context, o Options) ([]ModelRow, error) {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	listed, lacking := m.find.List(ctx)
	choice, err := m.find.Resolve(ctx)
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
	return rows, nil
}

// CheckModel tries what a session needs of a model and tells each outcome as it is known.
func CheckModel(ctx context.Context, o Options, name string, tell func(name string, ok bool, detail string)) error {
	m, done, err := lookForModels(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	model, err := m.named(ctx, name)
	if err != nil {
		return signIn(err)
	}
	err = discover.Check(ctx, model, func(c discover.Checked) { tell(c.Name, c.OK, c.Detail) })
	return signIn(err)
}
