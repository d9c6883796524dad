package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app"
)

func (c *command) tasksCommand() *cobra.Command {
	return group("tasks", "See and stop the running work of a session", c.tasksList(), c.tasksShow(), c.tasksStop(), c.tasksOutput())
}

func (c *command) taskCommand(cmd *cobra.Command) (*common, *string) {
	s := c.share(cmd)
	return s, cmd.Flags().String("session", "", "session id; default: the newest of this folder")
}

func (c *command) tasksList() *cobra.Command {
	if c.deps.Tasks.List == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "list", Short: "List tasks", Args: argsBetween(0, 0, "no arguments")}
	s, session := c.taskCommand(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		tasks, err := c.deps.Tasks.List(cmd.Context(), *session)
		if err != nil {
			return err
		}
		return s.print(list(tasks), func(w io.Writer) {
			var out [][]string
			for _, t := range tasks {
				out = append(out, []string{t.ID, string(t.Kind), string(t.Status), clip(t.Description, 70)})
			}
			table(w, out)
			if len(tasks) == 0 {
				fmt.Fprintln(w, "no tasks")
			}
		})
	}
	return cmd
}

func (c *command) tasksShow() *cobra.Command {
	if c.deps.Tasks.List == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "show ID", Short: "Show one task", Args: argsBetween(1, 1, "one task id")}
	s, session := c.taskCommand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		tasks, err := c.deps.Tasks.List(cmd.Context(), *session)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if t.ID == args[0] {
				return s.print(t, func(w io.Writer) { printTask(w, t) })
			}
		}
		return fmt.Errorf("no task %q in this session", args[0])
	}
	return cmd
}

func printTask(w io.Writer, t app.Task) {
	rows := [][]string{{"id", t.ID}, {"kind", string(t.Kind)}, {"status", string(t.Status)}, {"description", t.Description}}
	if t.Error != "" {
		rows = append(rows, []string{"error", t.Error})
	}
	if t.ExitCode != nil {
		rows = append(rows, []string{"exit code", fmt.Sprint(*t.ExitCode)})
	}
	if t.OutputFile != "" {
		rows = append(rows, []string{"output", t.OutputFile})
	}
	table(w, rows)
}

func (c *command) tasksStop() *cobra.Command {
	if c.deps.Tasks.Stop == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "stop ID", Short: "Stop a task", Args: argsBetween(1, 1, "one task id")}
	s, session := c.taskCommand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t, err := c.deps.Tasks.Stop(cmd.Context(), *session, args[0])
		if err != nil {
			return err
		}
		return s.print(t, func(w io.Writer) { printTask(w, t) })
	}
	return cmd
}

func (c *command) tasksOutput() *cobra.Command {
	if c.deps.Tasks.Output == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "output ID", Short: "Print what a task has printed", Args: argsBetween(1, 1, "one task id")}
	s, session := c.taskCommand(cmd)
	follow := cmd.Flags().BoolP("follow", "f", false, "go on until the task ends")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		return c.deps.Tasks.Output(ctx, *session, args[0], *follow, s.out())
	}
	return cmd
}
