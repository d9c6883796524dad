package cli

import (
	"context"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

func wiredSandbox() SandboxDeps {
	return SandboxDeps{
		Status: sandboxStatus,
		Run: func(ctx context.Context, o app.Options, args []string, _ Process) (int, error) {
			return app.RunSandboxed(ctx, o, args)
		},
	}
}

// sandboxStatus tries anew what the sandbox can keep here.
func sandboxStatus(ctx context.Context, o app.Options) ([]inspect.Check, error) {
	st, err := app.Sandbox(ctx, o)
	if err != nil {
		return nil, err
	}
	state := map[sandbox.Level]string{sandbox.None: "failed", sandbox.Partial: "warning"}[st.Level]
	if state == "" {
		state = "ok"
	}
	out := []inspect.Check{{Name: "sandbox", Status: state, Detail: st.State(), Fix: st.Fix}}
	if st.Off {
		out[0].Status, out[0].Detail = "warning", "off by the settings; this machine could have it "+st.State()
	}
	if st.Level == sandbox.Partial {
		out = append(out, inspect.Check{Name: "why not the full level", Status: "info", Detail: st.Reason})
	}
	if st.Version != "" {
		out = append(out, inspect.Check{Name: st.Backend, Status: "info", Detail: st.Version})
	}
	if st.Level == sandbox.Full {
		out = append(out, inspect.Check{Name: "mounts", Status: "info", Detail: st.MountedBy()})
	}
	for _, c := range st.Checks {
		k := inspect.Check{Name: c.Name, Status: "ok", Detail: c.Got}
		if !c.OK {
			k.Status = "failed"
		}
		out = append(out, k)
	}
	for _, m := range st.Missing {
		out = append(out, inspect.Check{Name: "not enforced", Status: "warning", Detail: m})
	}
	for _, f := range st.Facts {
		out = append(out, inspect.Check{Name: f.Name, Status: f.Status, Detail: f.Detail, Fix: f.Fix})
	}
	return out, nil
}
