package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/surface/plain"
)

// Wired are the functions of this program's own parts.
func Wired() Deps {
	return Deps{
		Inert:   inertFlags(),
		Helpers: []Helper{func([]string) (int, bool) { return app.HelperMain() }},
		Open:    openSession,
		Prepare: app.Prepare,
		Init:    initOf,
		FakeAPI: serveFake,

		History: historyOf, Complete: completerOf, ProgramEnv: programEnvOf, Sessions: listSessions,
		Models: app.Models, CheckModel: checkModel, Tools: listTools, Doctor: doctor,
		Usage: app.Usage,
		State: printState, Replay: replay, HooksList: listHooks, HooksTest: testHooks,
		Config: wiredConfig(), Permission: wiredPermissions(), Policy: wiredPolicy(), Tasks: wiredTasks(), Sandbox: wiredSandbox(),
	}
}

// session is an app session as the faces of the command line see it.
type session struct{ *app.Session }

// View implements Session.
func (s session) View() plain.View {
	v := s.Session.View()
	return plain.View{
		Session: v.Session, Title: v.Title, Cwd: v.Cwd, Model: v.Model, Mode: v.Mode, Modes: v.Modes, CostUSD: v.CostUSD,
		BudgetUSD: v.BudgetUSD, ContextUsed: v.Context.Used, ContextWindow: v.Context.Window, Running: len(v.Tasks), Branch: v.Branch,
	}
}

// Events implements Session.
func (s session) Events(ctx context.Context) iter.Seq[proto.Event] {
	return s.Session.Events(ctx, app.Reading{})
}

func openSession(ctx context.Context, o app.Options, _ *Flags) (Session, error) {
	s, err := app.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// initOf tells what a headless turn opens with.
func initOf(s Session) headless.Init {
	in := headless.Init{Version: Protocol, OutputStyle: "default", KeySource: keySource()}
	if real, ok := s.(session); ok {
		in.OutputStyle = real.Session.View().Style
		for _, c := range real.Commands() {
			in.Commands = append(in.Commands, c.Name)
		}
	}
	return in
}

func keySource() string {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return "ANTHROPIC_API_KEY"
	}
	return "none"
}

func serveFake(ctx context.Context, r FakeAPIRequest, out io.Writer) error {
	cfg, err := fakeapi.Load(r.Script, r.API)
	if err != nil {
		return err
	}
	if r.Log != "" {
		log, err := os.OpenFile(r.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		defer log.Close()
		cfg.Log = log
	}
	return fakeapi.Serve(ctx, out, cfg, r.Listen)
}
