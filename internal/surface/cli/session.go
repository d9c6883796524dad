package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/surface/plain"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// session runs the program without a command: an interactive session or a headless run.
func (c *command) session(ctx context.Context, root *cobra.Command) int {
	f := c.flags
	if err := root.ParseFlags(joinOptional(c.args)); err != nil {
		return c.fail(flagError(err, root.Flags()))
	}
	if help, _ := root.Flags().GetBool("help"); help {
		if err := root.Help(); err != nil {
			return c.fail(err)
		}
		return headless.ExitDone
	}
	if asked, _ := root.Flags().GetBool("version"); asked {
		text, _ := versionLine("--version")
		fmt.Fprintln(c.process.Out, text)
		return headless.ExitDone
	}
	if err := f.check(c.process); err != nil {
		return c.fail(err)
	}
	for _, w := range f.warnings() {
		c.warn(w)
	}
	if c.deps.Open == nil {
		return c.fail(errors.New("this program was built without sessions"))
	}
	o, err := f.options(c.process)
	if err != nil {
		return c.fail(err)
	}
	inert := f.inert(c.deps.Inert)
	for _, guard := range guards() {
		if slices.Contains(inert, "--"+guard) {
			return c.fail(usagef("--%s cannot be heeded in this release", guard))
		}
	}
	if len(inert) > 0 {
		c.warn(warnInert(inert))
	}
	if f.InitOnly {
		return c.prepare(ctx, o)
	}
	words := root.Flags().Args()
	if near, planned := mistyped(root, words); near != "" && !f.Print && root.Flags().ArgsLenAtDash() < 0 {
		if planned {
			return c.fail(usagef("%q is no command of this release (as a prompt: myelin -- %s)", near, strings.Join(words, " ")))
		}
		return c.fail(usagef("unknown command %q (did you mean %s? as a prompt: myelin -- %s)", words[0], near, strings.Join(words, " ")))
	}
	if f.headlessWanted(c.process) {
		return c.headless(ctx, o, strings.Join(words, " "))
	}
	return c.interactive(ctx, o, strings.Join(words, " "))
}

// prepare runs the hooks that prepare a project, and nothing else.
func (c *command) prepare(ctx context.Context, o app.Options) int {
	if c.deps.Prepare == nil {
		return c.fail(errors.New("this program was built without sessions"))
	}
	signals, stop := c.process.notify(terminated()...)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the command
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := c.deps.Prepare(ctx, o, func(n proto.Notice) { fmt.Fprintf(c.process.Err, "myelin: %s\n", n.Text) }); err != nil {
		return c.fail(err)
	}
	return headless.ExitDone
}

func (c *command) warn(text string) { fmt.Fprintf(c.process.Err, "myelin: warning: %s\n", text) }

// headlessWanted reports whether nobody shall be asked: as the flags say, or because there is no
// terminal to sit at.
func (f *Flags) headlessWanted(p Process) bool {
	switch {
	case f.Plain:
		return false
	case f.Print, f.format() != headless.Text, f.InputFormat == string(headless.StreamJSON):
		return true
	}
	return !p.OutTTY || !p.InTTY
}

func (c *command) headless(ctx context.Context, o app.Options, prompt string) int {
	f, p := c.flags, c.process
	if f.Given("resume") && f.Resume == resumePick {
		return c.fail(usagef("--resume needs a session id or title where nobody can choose from a list"))
	}
	h := f.headless(p)
	if f.InputFormat == string(headless.StreamJSON) {
		if c.deps.StreamInput == nil {
			return c.fail(usagef("--input-format=stream-json is not part of this release"))
		}
		return c.deps.StreamInput(ctx, o, f, h, p.In)
	}
	text, err := headless.ReadPrompt(prompt, headless.Stdin{In: p.In, TTY: p.InTTY}, c.warn)
	if errors.Is(err, headless.ErrNoPrompt) {
		return c.fail(usagef("no prompt and no terminal to ask for one: give it as in myelin -p \"…\", or on standard input"))
	}
	if err != nil {
		return c.fail(err)
	}
	h.Prompt = headless.PromptText(text)
	s, err := c.deps.Open(ctx, o, f)
	if err != nil {
		return c.openFailed(h, err)
	}
	// Not before: until a session is there a signal may just end the program, whatever it waits for.
	signals, stop := p.notify(terminated()...)
	defer stop()
	// With nobody listening for it the runtime dies of a broken pipe before a session could close.
	_, listen := p.notify(syscall.SIGPIPE)
	defer listen()
	h.Signals = signals
	if c.deps.Init != nil {
		h.Init = func() headless.Init { return c.deps.Init(s) }
	}
	return headless.Run(ctx, s, h)
}

// resumeRefused is an error of a session that cannot be gone on with.
type resumeRefused interface {
	error
	ResumeRefused() string // id that was asked for
}

// openFailed tells that no session could be started, in the form hosts expect.
func (c *command) openFailed(h headless.Options, err error) int {
	var refused resumeRefused
	if errors.As(err, &refused) {
		return headless.Refused(h, refused.ResumeRefused(), refused.Error())
	}
	return c.fail(err)
}

// interactive runs a session a person sits at.
func (c *command) interactive(ctx context.Context, o app.Options, prompt string) int {
	f, p := c.flags, c.process
	if f.Given("resume") && f.Resume == resumePick {
		id, err := c.pickSession(ctx, o.Cwd)
		if err != nil {
			return c.fail(err)
		}
		o.Resume = id
	}
	o.Interactive, o.Answers = true, o.Silent == ""
	po := plain.Options{
		Out: p.Out, In: p.In, Getenv: p.env, Prompt: prompt, Version: Version(),
		LineMode: f.Plain || p.Terminal == nil || p.env("TERM") == "dumb" || p.env("TERM") == "",
	}
	if !po.LineMode {
		t, err := p.Terminal()
		if err != nil {
			c.warn("the terminal cannot be set up, going on line by line: " + err.Error())
			po.LineMode = true
		}
		po.Terminal = t
	}
	s, err := c.deps.Open(ctx, o, f)
	if err != nil {
		return c.fail(err)
	}
	signals, stop := p.notify(screen.Signals()...)
	defer stop()
	po.Signals = signals
	c.supply(&po, o, s)
	return plain.Run(ctx, s, po)
}

// supply hands the interactive session what it shows beside the events.
func (c *command) supply(po *plain.Options, o app.Options, s Session) {
	if c.deps.History != nil {
		po.History = c.deps.History(o)
	}
	po.Commands = commandsOf(s)
	if c.deps.Complete != nil {
		po.Complete = c.deps.Complete(s)
	}
	if c.deps.ProgramEnv != nil {
		po.ProgramEnv = c.deps.ProgramEnv(s)
	}
	if c.deps.Sessions != nil {
		po.Sessions = func(ctx context.Context) ([]plain.SessionChoice, error) {
			rows, err := c.deps.Sessions(ctx, o.Cwd, false)
			return choices(rows), err
		}
	}
}

func choices(rows []inspect.SessionRow) []plain.SessionChoice {
	out := make([]plain.SessionChoice, 0, len(rows))
	for _, r := range rows {
		out = append(out, plain.SessionChoice{ID: r.ID, Text: sessionLine(r)})
	}
	return out
}

// terminated are the signals that end a command.
func terminated() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} }
