package cli

import "github.com/spf13/cobra"

func (c *command) replayCommand() *cobra.Command {
	if c.deps.Replay == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Go through a recorded session without its model",
		Args:  argsBetween(1, 1, "one recording"),
	}
	s := c.share(cmd)
	r := ReplayRequest{}
	cmd.Flags().StringVar(&r.At, "at", "", "show the state at this revision")
	cmd.Flags().BoolVar(&r.Fork, "fork", false, "start a session from there")
	diff := cmd.Flags().StringSlice("diff", nil, "show the difference of two revisions, as in --diff 12,40")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if r.Diff, err = revisions(*diff); err != nil {
			return err
		}
		r.File, r.JSON = resolve(c.process.Cwd, args[0]), s.json
		fork, err := c.deps.Replay(cmd.Context(), r, s.out())
		if err != nil || fork == nil {
			return err
		}
		return ended(c.interactive(cmd.Context(), *fork, ""))
	}
	return cmd
}
