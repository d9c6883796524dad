package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

func (c *command) policyCommand() *cobra.Command {
	return group("policy", "See the limits an organisation has set", c.policyShow(), c.policyRefresh())
}

func (c *command) policyShow() *cobra.Command {
	if c.deps.Policy.Show == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "show", Short: "Print the policy in force and where it comes from", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		raw, err := c.deps.Policy.Show(cmd.Context(), o)
		if err != nil {
			return err
		}
		return writeJSON(s.out(), raw)
	}
	return cmd
}

func (c *command) policyRefresh() *cobra.Command {
	if c.deps.Policy.Refresh == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "refresh", Short: "Fetch the policy anew", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		note, err := c.deps.Policy.Refresh(cmd.Context(), o)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.out(), visible.Text(note))
		return nil
	}
	return cmd
}
