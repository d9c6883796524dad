package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/myelin-agent/myelin/internal/app/confine"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/providers/offline"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// HelperMain answers the modes in which the program is its own helper: inside a sandbox, or as the
// watcher that ends orphaned commands. It must be called before anything else in main; when it
// reports handled, the process must exit with the code at once.
func HelperMain() (code int, handled bool) {
	handled, code = sandbox.HelperMain()
	return code, handled
}

// newConfiner binds the shell sandbox to the session.
func newConfiner(r *rooms) *confine.Confiner {
	return confine.New(confine.Given{
		Scene: confine.Scene{
			Config: r.settings.now, Env: r.settings.env, Places: r.settings.places, State: r.part.permission,
			Policy: func() permission.Policy { return r.gate.Policy() }, DropIn: r.opts.DropIn, Temp: r.folders.temp, SessionDir: r.folders.dir,
			ProjectKey: func() string { return filepath.Base(r.part.session.Get().ProjectDir) },
		},
		People: confine.People{
			Answers: r.opts.Answers, Ask: r.asks.Put, NewID: r.clock.newID, Grant: r.rights.grant,
			Classify: func(ctx context.Context, host, port string) permission.Verdict {
				return classifyHost(ctx, r, host, port)
			},
			Notice: func(n proto.Notice) { r.events.Emit(n) }, Early: func(n proto.Notice) { r.events.Early(n) },
		},
		Context: r.ctx, Planning: r.rights.planning, Owner: r.programs.owner, Hold: func() func() { return r.settings.live.Hold() },
	})
}

// classifyHost asks the auto-mode classifier about a connection of a sandboxed command.
func classifyHost(ctx context.Context, r *rooms, host, port string) permission.Verdict {
	if !r.part.permission.Get().AutoAvailable {
		return permission.Verdict{Kind: permission.VerdictUnavailable, Reason: "auto mode is not available"}
	}
	input, err := json.Marshal(map[string]string{"host": host, "port": port})
	if err != nil {
		return permission.Verdict{Kind: permission.VerdictUnavailable, Reason: err.Error()}
	}
	req := permission.Request{Tool: "SandboxNetworkAccess", Literal: input, Input: input, Cwd: r.scope.Cwd()}
	return r.models.classifier.Judge(ctx, req, scene(ctx, r, req))
}

// announceSandbox enters the state of the sandbox; a start that needs it and cannot have it ends.
func announceSandbox(box *confine.Confiner) error {
	err := box.Announce()
	if errors.Is(err, confine.ErrRequired) {
		return &ExitError{codeSettings, err}
	}
	return err
}

// SandboxReport is what the machine can keep, and what the settings make of it.
type SandboxReport struct {
	sandbox.Status
	Off   bool // the settings have it off
	Facts []confine.Fact
}

// Sandbox tells the state of the sandbox here, as "myelin sandbox status" prints it.
func Sandbox(ctx context.Context, o Options) (SandboxReport, error) {
	o.Interactive = true // an unattended run would refuse to start; here everything is to be seen
	s, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return SandboxReport{}, err
	}
	defer s.close(ctx) // nothing was started
	s.rooms.programs.box.Forget()
	return SandboxReport{Status: s.rooms.programs.box.Status(), Off: s.rooms.programs.box.Wanted() == "off", Facts: s.rooms.programs.box.Facts()}, nil
}

// RunSandboxed runs a program in the sandbox the settings describe, with this process's streams, and
// returns its exit code.
func RunSandboxed(ctx context.Context, o Options, args []string) (int, error) {
	o.Interactive = true // an unattended run would refuse to start; here everything is to be seen
	s, err := lookAt(ctx, o, offline.New())
	if err != nil {
		return 1, err
	}
	defer s.close(context.WithoutCancel(ctx)) // the code of the program says what came of it
	spec := proc.Spec{Path: args[0], Args: args[1:], Dir: o.Cwd, Env: s.rooms.programs.childEnv(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Label: args[0], Wraps: true}
	ended, err := s.rooms.programs.guard.Confined(s.rooms.programs.outsideCommands())
	if err != nil {
		return 1, err
	}
	defer ended()
	c, err := s.rooms.programs.box.Start(spec)
	if err != nil {
		return 1, err
	}
	var exit proc.Exit
	select {
	case <-c.Process.Done():
		exit = c.Process.Exit()
	case <-ctx.Done():
		exit = c.Process.Stop("interrupted")
	}
	if text := c.Finish("").Text(); text != "" {
		fmt.Fprintln(os.Stderr, visible.Text(text))
	}
	return exit.Code, nil
}

// cmdSandbox shows how commands are confined and what was put aside, or brings something of that back.
func cmdSandbox(_ context.Context, r *rooms, args string) (string, error) {
	verb, which, _ := strings.Cut(strings.TrimSpace(args), " ")
	aside := r.programs.box.Aside()
	switch verb {
	case "":
		return table(func(w *tabwriter.Writer) {
			fmt.Fprintf(w, "sandbox\t%s\n", r.programs.box.Line())
			for _, gap := range r.programs.box.Gaps() {
				fmt.Fprintf(w, "not looked into\t%s, and what comes after it: there are too many files\n", gap)
			}
			for i, a := range aside {
				fmt.Fprintf(w, "put aside %d\t%s, now %s\n", i+1, a.Path, a.At)
			}
		}), nil
	case "restore":
	default:
		return "", fmt.Errorf("/sandbox takes nothing, or restore with a number; got %q", args)
	}
	if which = strings.TrimSpace(which); which != "" {
		n, err := strconv.Atoi(which)
		if err != nil || n < 1 || n > len(aside) {
			return "", fmt.Errorf("/sandbox restore takes a number from 1 to %d, as /sandbox lists them; got %q", len(aside), which)
		}
		aside = aside[n-1 : n]
	}
	if len(aside) == 0 {
		return "Nothing was put aside.", nil
	}
	var out []string
	for _, a := range aside {
		if err := r.programs.box.BringBack(a); err != nil {
			return strings.Join(out, "\n"), err
		}
		out = append(out, a.Path+" is back.")
	}
	return strings.Join(out, "\n"), nil
}
