package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

func (c *command) sessionsCommand() *cobra.Command {
	if c.deps.Sessions == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "sessions", Short: "List earlier sessions", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	all := cmd.Flags().Bool("all", false, "of every folder")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		rows, err := c.deps.Sessions(cmd.Context(), o.Cwd, *all)
		if err != nil {
			return err
		}
		return s.print(list(rows), func(w io.Writer) { printSessions(w, rows, *all) })
	}
	return cmd
}

func printSessions(w io.Writer, rows []inspect.SessionRow, all bool) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "no sessions here yet")
		return
	}
	out := [][]string{}
	for _, r := range rows {
		row := []string{r.ID, ago(time.Since(r.Changed)), clip(sessionTitle(r), 60)}
		if all {
			row = append(row, r.Cwd)
		}
		out = append(out, row)
	}
	table(w, out)
}

func sessionTitle(r inspect.SessionRow) string {
	for _, s := range []string{r.Title, r.FirstPrompt, r.LastPrompt} {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			return s
		}
	}
	return "(no prompt)"
}

func sessionLine(r inspect.SessionRow) string {
	line := clip(sessionTitle(r), 60) + " · " + ago(time.Since(r.Changed))
	if r.Branch != "" {
		line += " · " + r.Branch
	}
	return line
}

// ago is a time past in the unit that says most.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

func (c *command) resumeCommand() *cobra.Command {
	if c.deps.Open == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "resume [session]",
		Short: "Go on with an earlier session",
		Args:  argsBetween(0, 1, "one session id or title, or none to choose from a list"),
	}
	f := &Flags{}
	f.define(cmd.Flags(), c.deps.Inert)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.flags = f
		id := resumePick
		if len(args) == 1 {
			id = args[0]
		}
		if err := cmd.Flags().Set("resume", id); err != nil {
			return err
		}
		if err := f.check(c.process); err != nil {
			return err
		}
		o, err := f.options(c.process)
		if err != nil {
			return err
		}
		run := c.interactive
		if f.headlessWanted(c.process) {
			run = c.headless
		}
		return ended(run(cmd.Context(), o, ""))
	}
	return cmd
}

// ended is a run's exit code as the outcome of a command; what went wrong was told already.
func ended(code int) error {
	if code == headless.ExitDone {
		return nil
	}
	return &statusError{code: code}
}

// pickSession lets a person choose a session by its number.
func (c *command) pickSession(ctx context.Context, cwd string) (string, error) {
	if c.deps.Sessions == nil {
		return "", usagef("--resume needs a session id or title")
	}
	rows, err := c.deps.Sessions(ctx, cwd, false)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", errors.New("no session to resume in this folder")
	}
	for i, r := range rows {
		fmt.Fprintf(c.process.Out, "%3d  %s\n", i+1, visible.Line(sessionLine(r)))
	}
	in := bufio.NewReader(c.process.In)
	for {
		fmt.Fprintf(c.process.Out, "session 1–%d (empty: none): ", len(rows))
		answer, err := in.ReadString('\n')
		if answer = strings.TrimSpace(answer); answer == "" {
			return "", &statusError{code: headless.ExitDone}
		}
		if n, bad := strconv.Atoi(answer); bad == nil && n >= 1 && n <= len(rows) {
			return rows[n-1].ID, nil
		}
		if err != nil {
			return "", &statusError{code: headless.ExitDone}
		}
	}
}
