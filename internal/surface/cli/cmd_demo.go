package cli

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/surface/cli/svg"
	"github.com/myelin-agent/myelin/internal/surface/plain"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// demoFiles are the demo's small project, and the script of what its model says.
//
//go:embed demo
var demoFiles embed.FS

// demoPrompt is what the demo asks.
const demoPrompt = "The test fails. Find out why, mend it, and show me that it passes."

// demoCheck is the demo's test. The demo runs it itself in the end.
const demoCheck = "sh test.sh"

func (c *command) demoCommand() *cobra.Command {
	if c.deps.Open == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a short session on a small project; only the model's words are scripted",
		Args:  argsBetween(0, 0, "flags only"),
	}
	fast := cmd.Flags().Bool("fast", false, "without pauses")
	picture := cmd.Flags().String("svg", "", "also draw what was shown into this file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		return c.demo(ctx, *fast, *picture)
	}
	return cmd
}

func (c *command) demo(ctx context.Context, fast bool, picture string) error {
	dir, err := os.MkdirTemp("", "myelin-demo-")
	if err != nil {
		return fmt.Errorf("make the demo's folder: %w", err)
	}
	defer os.RemoveAll(dir)
	project := filepath.Join(dir, "project")
	script, err := layOut(dir, project, fast)
	if err != nil {
		return err
	}
	style := screen.StyleFor(c.process.OutTTY, c.process.env)
	out := c.process.Out
	var drawn bytes.Buffer
	if picture != "" {
		style = screen.Style{Attributes: true, Color: true, Signs: true}
		out = io.MultiWriter(&plainWriter{out, c.process.OutTTY}, &drawn)
	}
	fmt.Fprintln(out, "A small project with a failing test, and a scripted model: all but its words is real.")
	if err := c.demoTurn(ctx, project, script, plain.ShowOptions{Out: out, Style: style, Width: 96, Prompt: demoPrompt}); err != nil {
		return err
	}
	passed, err := runCheck(ctx, project)
	if err != nil {
		return err
	}
	if picture != "" {
		if err := drawPicture(resolve(c.process.Cwd, picture), drawn.String()); err != nil {
			return err
		}
	}
	if !passed {
		return errors.New("the demo's test still fails")
	}
	return nil
}

// demoTurn plays the scripted turn in a session of its own, which keeps nothing.
func (c *command) demoTurn(ctx context.Context, project, script string, show plain.ShowOptions) error {
	o := app.Options{
		Cwd:         project,
		Version:     Version(),
		Warn:        c.process.Err,
		ModelChoice: app.ModelChoice{Model: "script:" + script},
		Access:      app.Access{Mode: "acceptEdits", Allow: []string{"Bash(" + demoCheck + ")"}},
		Thread:      app.Thread{NoPersist: true},
	}
	s, err := c.deps.Open(ctx, o, c.flags)
	if err != nil {
		return err
	}
	r, err := plain.Show(ctx, s, show)
	closing := s.Close(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return err
	case closing != nil:
		return fmt.Errorf("close the demo's session: %w", closing)
	case r.IsError || r.Ended.API != nil:
		return errors.New("the demo's turn failed")
	}
	return nil
}

// layOut writes the project and the script; fast leaves the pauses out of it.
func layOut(dir, project string, fast bool) (script string, err error) {
	if err := os.MkdirAll(project, 0o755); err != nil {
		return "", fmt.Errorf("make the demo's folder: %w", err)
	}
	entries, err := demoFiles.ReadDir("demo")
	if err != nil {
		return "", err
	}
	script = filepath.Join(dir, "script.yaml")
	for _, e := range entries {
		text, err := demoFiles.ReadFile("demo/" + e.Name())
		if err != nil {
			return "", err
		}
		path := filepath.Join(project, e.Name())
		if e.Name() == "script.yaml" {
			path = script
			if fast {
				text = withoutPauses(text)
			}
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return "", fmt.Errorf("write the demo's project: %w", err)
		}
	}
	return script, nil
}

// withoutPauses drops the script's delays, each of which has a line of its own.
func withoutPauses(text []byte) []byte {
	var out []string
	for l := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(strings.TrimSpace(l), "delay:") {
			out = append(out, l)
		}
	}
	return []byte(strings.Join(out, "\n"))
}

// runCheck runs the demo's test as anybody would.
func runCheck(ctx context.Context, project string) (bool, error) {
	cmd := exec.CommandContext(ctx, "sh", "test.sh")
	cmd.Dir = project
	err := cmd.Run()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("run the demo's test: %w", err)
	}
	return true, nil
}

func drawPicture(file, text string) error {
	if err := os.WriteFile(file, svg.Render(text, svg.Options{Title: "myelin demo"}), 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// plainWriter passes text on, without its styles where there is no terminal to show them.
type plainWriter struct {
	w   io.Writer
	tty bool
}

func (p *plainWriter) Write(b []byte) (int, error) {
	if p.tty {
		return p.w.Write(b)
	}
	if _, err := io.WriteString(p.w, svg.Strip(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
