package cli

import (
	"io"

	"github.com/spf13/cobra"
)

func (c *command) sandboxCommand() *cobra.Command {
	return group("sandbox", "See and try the sandbox for shell commands", c.sandboxStatus(), c.sandboxRun())
}

func (c *command) sandboxStatus() *cobra.Command {
	if c.deps.Sandbox.Status == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the sandbox can keep here, and what is missing",
		Args:  argsBetween(0, 0, "no arguments"),
	}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		checks, err := c.deps.Sandbox.Status(cmd.Context(), o)
		if err != nil {
			return err
		}
		return s.print(list(checks), func(w io.Writer) {
			for _, k := range checks {
				printCheck(w, k)
			}
		})
	}
	return cmd
}

func (c *command) sandboxRun() *cobra.Command {
	if c.deps.Sandbox.Run == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:     "run -- COMMAND [ARGUMENT…]",
		Short:   "Run a command as a session would run it",
		Example: "  myelin sandbox run -- npm test",
		Args:    argsBetween(1, -1, "a command behind --"),
	}
	s := c.share(cmd)
	cmd.Flags().SetInterspersed(false) // the command's own flags are its own
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		code, err := c.deps.Sandbox.Run(ctx, o, args, c.process)
		if err != nil {
			return err
		}
		return ended(code)
	}
	return cmd
}
