package cli

import "github.com/spf13/cobra"

func (c *command) doctorCommand() *cobra.Command {
	if c.deps.Doctor == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine the installation: files, model, sandbox, terminal",
		Args:  argsBetween(0, 0, "no arguments"),
	}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		failed := 0
		if err := c.deps.Doctor(ctx, o, s.tellChecks(&failed)); err != nil {
			return err
		}
		return failures(failed)
	}
	return cmd
}
