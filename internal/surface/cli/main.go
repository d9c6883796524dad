package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// Protocol is the release of the published headless protocol the program speaks. SDKs probe it.
const Protocol = "2.1.332"

// Helper answers an internal mode of the program, such as the sandbox helper, before anything
// else is built. It reports whether the arguments (without the program's name) were its own.
type Helper func(args []string) (code int, mine bool)

// Main runs the program with its arguments (args[0] is its name) and returns the exit code. The
// version and the helper modes are answered first: they are asked for each shell command, and
// must not wait for the command line to be built.
func Main(args []string, p Process, d Deps) int {
	if len(args) > 0 {
		args = args[1:]
	}
	if len(args) > 0 {
		if text, ok := versionLine(args[0]); ok {
			fmt.Fprintln(p.Out, text)
			return headless.ExitDone
		}
	}
	for _, helper := range d.Helpers {
		if code, mine := helper(args); mine {
			return code
		}
	}
	if p.Err != nil {
		p.Err = visible.Writer(p.Err)
	}
	easeGarbage()
	c := &command{process: p, deps: d, args: args}
	return c.run(context.Background())
}

// command is one run of the command line.
type command struct {
	process Process
	deps    Deps
	args    []string
	flags   *Flags
}

func (c *command) run(ctx context.Context) int {
	root := c.root()
	if len(c.args) > 0 && isCommand(root, c.args[0]) {
		out := &minding{w: c.process.Out}
		c.process.Out = out
		root.SetOut(out)
		root.SetArgs(c.args)
		if err := root.ExecuteContext(ctx); err != nil {
			return c.fail(err)
		}
		if out.err != nil {
			return c.fail(fmt.Errorf("write the output: %w", out.err))
		}
		return headless.ExitDone
	}
	return c.session(ctx, root)
}

// minding remembers that writing failed: a command whose output is lost has not succeeded.
type minding struct {
	w   io.Writer
	err error // the first
}

// Write implements io.Writer.
func (m *minding) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	if m.err == nil {
		m.err = err
	}
	return n, err
}

// streamJSON reports whether the arguments name the published protocol, however the rest reads.
func streamJSON(args []string) bool {
	for _, a := range args {
		if a == "stream-json" || strings.HasSuffix(a, "=stream-json") {
			return true
		}
	}
	return false
}
