package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// withSettings hands the settings of a folder to f.
func withSettings(ctx context.Context, o app.Options, f func(*inspect.Settings) error) error {
	x, err := app.OpenSettings(ctx, o)
	if err != nil {
		return err
	}
	defer x.Close()
	return f(x)
}

func wiredConfig() ConfigDeps {
	return ConfigDeps{
		Get: func(ctx context.Context, o app.Options, key string) (out inspect.Value, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				out, err = x.Get(key)
				return err
			})
			return out, err
		},
		Set: func(ctx context.Context, o app.Options, scope, key string, value json.RawMessage) (note string, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				note, err = x.Set(ctx, scope, key, value)
				return err
			})
			return note, err
		},
		Explain: func(ctx context.Context, o app.Options, key string) (out []inspect.Value, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				out, err = x.Explain(key)
				return err
			})
			return out, err
		},
		Validate: validateConfig,
		List: func(ctx context.Context, o app.Options) (out []inspect.Value, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				out = x.List()
				return nil
			})
			return out, err
		},
		Effects: func(ctx context.Context, o app.Options) (out inspect.Effects, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				out = x.Effects()
				return nil
			})
			return out, err
		},
		Path: func(ctx context.Context, o app.Options) (out []inspect.Place, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				out = x.Files()
				return nil
			})
			return out, err
		},
		Schema: app.SettingsSchema,
	}
}

func validateConfig(ctx context.Context, o app.Options, files []string) (out []inspect.Problem, err error) {
	err = withSettings(ctx, o, func(x *inspect.Settings) error {
		out, err = x.Validate(ctx, o.Cwd, files)
		return err
	})
	return out, err
}

func wiredPolicy() PolicyDeps {
	return PolicyDeps{
		Show: func(ctx context.Context, o app.Options) (raw json.RawMessage, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				raw, _, err = x.ShowPolicy(ctx, false)
				return err
			})
			return raw, err
		},
		Refresh: func(ctx context.Context, o app.Options) (note string, err error) {
			err = withSettings(ctx, o, func(x *inspect.Settings) error {
				_, note, err = x.ShowPolicy(ctx, true)
				return err
			})
			return strings.TrimSpace(note), err
		},
	}
}

func wiredPermissions() PermissionDeps {
	return PermissionDeps{
		Why: func(ctx context.Context, o app.Options, r CallRequest) (inspect.Decision, error) {
			var d inspect.Decision
			err := app.Look(ctx, o, func(s *inspect.Subject) (err error) {
				d, err = s.Why(inspect.Ask{Tool: r.Tool, Argument: r.Argument, Input: r.Input})
				return err
			})
			return d, err
		},
		Test: testPermissions,
		List: func(ctx context.Context, o app.Options) (rows []inspect.RuleRow, err error) {
			err = app.Look(ctx, o, func(s *inspect.Subject) error {
				rows = s.Rules()
				return nil
			})
			return rows, err
		},
	}
}

// testPermissions tells each category, and the sum as the last line, without a mark.
func testPermissions(_ context.Context, _ app.Options, file string, tell func(inspect.Check)) error {
	report, err := inspect.TestVectors(file)
	if err != nil {
		return err
	}
	for _, c := range report.Categories {
		check := inspect.Check{Name: c.Name, Status: "ok", Detail: fmt.Sprintf("%d right, %d wrong", c.Right, c.Wrong)}
		if c.Wrong > 0 {
			check.Status = "failed"
		}
		tell(check)
		for _, line := range c.Lines {
			tell(inspect.Check{Name: line, Status: "info"})
		}
	}
	tell(inspect.Check{Name: report.Summary})
	return nil
}

func checkModel(ctx context.Context, o app.Options, name string, tell func(inspect.Check)) error {
	return app.CheckModel(ctx, o, name, func(name string, ok bool, detail string) {
		c := inspect.Check{Name: name, Status: "ok", Detail: detail}
		if !ok {
			c.Status = "failed"
		}
		tell(c)
	})
}

func doctor(ctx context.Context, o app.Options, tell func(inspect.Check)) error {
	if err := app.Doctor(ctx, o, tell); err != nil {
		return err
	}
	p := OS()
	c := inspect.Check{Name: "terminal", Status: "ok", Detail: orText(os.Getenv("TERM"), "none")}
	switch {
	case !p.InTTY || !p.OutTTY:
		c.Status, c.Detail = "info", "none: sessions here answer one prompt and end"
	case c.Detail == "none" || c.Detail == "dumb":
		c.Status, c.Fix = "warning", "set TERM; without it sessions go line by line"
	}
	tell(c)
	return nil
}

func listTools(ctx context.Context, o app.Options) (rows []inspect.ToolRow, err error) {
	err = app.LookAtTools(ctx, o, func(s *inspect.Subject) error {
		rows = s.Pool()
		return nil
	})
	return rows, err
}

func listHooks(ctx context.Context, o app.Options) (l HookList, err error) {
	err = app.Look(ctx, o, func(s *inspect.Subject) error {
		l.Disabled = s.HooksOff
		l.Hooks, l.Problems = s.Hooks()
		l.Hooks = list(l.Hooks)
		return nil
	})
	return l, err
}

func testHooks(ctx context.Context, o app.Options, r HookRequest, out io.Writer) error {
	var report inspect.HookReport
	err := app.Look(ctx, o, func(s *inspect.Subject) (err error) {
		report, err = s.TestHooks(ctx, r.Event, r.Match, r.Input)
		return err
	})
	if err != nil {
		return err
	}
	if r.JSON {
		return writeJSON(out, report)
	}
	out = visible.Writer(out)
	for _, p := range report.Problems {
		fmt.Fprintln(out, "problem: "+p)
	}
	if report.Disabled != "" {
		fmt.Fprintln(out, "hooks are off: "+report.Disabled)
	}
	for _, run := range report.Runs {
		printRun(out, run)
	}
	fmt.Fprintf(out, "%d of %d %s hooks ran\n", len(report.Runs), report.Configured, report.Event)
	printOutcome(out, report)
	return nil
}

func printRun(out io.Writer, r inspect.HookRun) {
	line := fmt.Sprintf("%s (%s): %s in %d ms", r.Hook, r.Place, r.Outcome, r.MS)
	if r.ExitCode != nil {
		line += fmt.Sprintf(", exit code %d", *r.ExitCode)
	}
	fmt.Fprintln(out, line)
	for _, part := range [][2]string{{"failure", r.Failure}, {"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		for l := range strings.Lines(part[1]) {
			fmt.Fprintf(out, "    %s: %s\n", part[0], strings.TrimRight(l, "\n"))
		}
	}
}

// printOutcome tells what the hooks want together, of what they want anything.
func printOutcome(out io.Writer, r inspect.HookReport) {
	say := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "%s: %s\n", name, text)
		}
	}
	decision := r.Decision
	if decision == "" {
		decision = "none"
	}
	say("decision", decision)
	say("reason", r.Reason)
	if r.Guard {
		say("guard", "a guarding hook failed: nothing but a person may let the call through")
	}
	say("blocks", r.Block)
	say("stops", r.Stop)
	for _, group := range []struct {
		name  string
		texts []string
	}{{"context", r.Context}, {"message", r.Messages}, {"notice", r.Notices}} {
		for _, t := range group.texts {
			say(group.name, t)
		}
	}
	say("input becomes", string(r.Input))
}

func printState(ctx context.Context, r StateRequest, out io.Writer) error {
	if r.Names {
		return printFields(r, out)
	}
	if r.Diff[0] != "" {
		return usagef("a conversation's file keeps no revisions; --record FILE does, and myelin replay FILE --diff shows them")
	}
	st, err := app.Recorded(ctx, here(r.Cwd), r.Session)
	if err != nil {
		return err
	}
	raw, err := inspect.Snapshot(st)
	if err != nil {
		return err
	}
	return printSnapshot(raw, r.Fields, r.JSON, out)
}

// here are the options of a look at a folder.
func here(cwd string) app.Options {
	p := OS()
	return app.Options{Cwd: cwd, Version: Version(), Warn: p.Err, Host: app.Host{Entrypoint: p.entrypoint(), DropIn: p.sdk()}}
}

func printFields(r StateRequest, out io.Writer) error {
	fields := app.StateShape().Fields()
	if r.JSON {
		return writeJSON(out, fields)
	}
	var rows [][]string
	for _, f := range fields {
		if len(r.Fields) == 0 || slices.ContainsFunc(r.Fields, func(p string) bool { return f.Name == p || strings.HasPrefix(f.Name, p+".") }) {
			rows = append(rows, []string{f.Name, f.Type, f.Lifetime, f.Writer})
		}
	}
	table(out, rows)
	return nil
}

// printSnapshot prints a state, or the parts of it that are named.
func printSnapshot(raw json.RawMessage, parts []string, asJSON bool, out io.Writer) error {
	if len(parts) == 0 {
		return writeJSON(out, raw)
	}
	picked, err := app.StateShape().Pick(raw, parts)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(out, picked)
	}
	out = visible.Writer(out)
	for _, p := range parts {
		fmt.Fprintf(out, "%s = %s\n", p, valueText(picked[p]))
	}
	return nil
}

func replay(_ context.Context, r ReplayRequest, out io.Writer) (*app.Options, error) {
	played, err := inspect.OpenRecording(r.File)
	if err != nil {
		return nil, err
	}
	switch {
	case r.Fork:
		b, err := played.Fork(r.At)
		if err != nil {
			return nil, err
		}
		p := OS()
		return &app.Options{
			Cwd: b.Cwd, Thread: app.Thread{Resume: b.Transcript, ResumeAt: b.At, Fork: true},
			Host: app.Host{Entrypoint: p.entrypoint()}, Version: Version(), Warn: visible.Writer(p.Err),
		}, nil
	case r.Diff[0] != "":
		return nil, printDiff(played, r, out)
	case r.At != "":
		raw, err := played.At(r.At)
		if err != nil {
			return nil, err
		}
		return nil, writeJSON(out, raw)
	}
	if r.JSON {
		raw, err := played.At("")
		if err != nil {
			return nil, err
		}
		return nil, writeJSON(out, raw)
	}
	out = visible.Writer(out)
	fmt.Fprintf(out, "%s, %s, %d tool results, revisions 0 to %d\n", played.Program, strings.Join(played.Models, ", "), played.Results, played.Last())
	if played.Torn {
		fmt.Fprintln(out, "the recording ended badly: its last line is cut off")
	}
	return nil, played.WriteTimeline(out)
}

func printDiff(played *inspect.Played, r ReplayRequest, out io.Writer) error {
	deltas, err := played.Diff(r.Diff[0], r.Diff[1])
	if err != nil {
		return err
	}
	if r.JSON {
		return writeJSON(out, list(deltas))
	}
	for _, d := range deltas {
		fmt.Fprintln(out, visible.Line(inspect.DeltaLine(d)))
	}
	return nil
}

func wiredTasks() TaskDeps {
	cwd := func() app.Options {
		dir, err := os.Getwd()
		if err != nil {
			dir = "/" // a folder that was removed has no sessions
		}
		return here(dir)
	}
	return TaskDeps{
		List: func(ctx context.Context, session string) ([]app.Task, error) { return app.Tasks(ctx, cwd(), session) },
		Stop: func(ctx context.Context, session, id string) (app.Task, error) {
			return app.StopTask(ctx, cwd(), session, id)
		},
		Output: func(ctx context.Context, session, id string, follow bool, out io.Writer) error {
			return app.TaskOutput(ctx, cwd(), session, id, follow, out)
		},
	}
}
