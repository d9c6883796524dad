package cli

import "github.com/spf13/cobra"

func (c *command) stateCommand() *cobra.Command {
	if c.deps.State == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "state [SLICE[.FIELD]…]",
		Short: "Print the state of a session, live or as recorded",
	}
	s := c.share(cmd)
	r := StateRequest{}
	cmd.Flags().StringVar(&r.Session, "session", "", "session id; default: the newest of this folder")
	cmd.Flags().BoolVar(&r.Names, "fields", false, "list the fields: name, type, lifetime, writer")
	diff := cmd.Flags().StringSlice("diff", nil, "two revisions, as in --diff 12,40")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		r.Fields, r.JSON, r.Cwd = args, s.json, o.Cwd
		if r.Diff, err = revisions(*diff); err != nil {
			return err
		}
		return c.deps.State(cmd.Context(), r, s.out())
	}
	return cmd
}

func revisions(diff []string) ([2]string, error) {
	switch len(diff) {
	case 0:
		return [2]string{}, nil
	case 2:
		return [2]string{diff[0], diff[1]}, nil
	}
	return [2]string{}, usagef("option '--diff' needs two revisions, as in --diff 12,40")
}
