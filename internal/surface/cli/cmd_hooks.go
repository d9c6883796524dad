package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

func (c *command) hooksCommand() *cobra.Command {
	return group("hooks", "Try hooks", c.hooksTest())
}

func (c *command) hooksTest() *cobra.Command {
	if c.deps.HooksTest == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:     "test EVENT [MATCH]",
		Short:   "Run the hooks of an event on an input and show what each answered",
		Example: "  myelin hooks test PreToolUse Bash --input '{\"tool_input\":{\"command\":\"ls\"}}'",
		Args:    argsBetween(1, 2, "an event, and what its matchers compare"),
	}
	s := c.share(cmd)
	input := cmd.Flags().String("input", "", "fields of the hook's input as a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		r := HookRequest{Event: args[0], JSON: s.json}
		if len(args) == 2 {
			r.Match = args[1]
		}
		if *input != "" {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(*input), &fields); err != nil {
				return usagef("option '--input': expected a JSON object: %v", err)
			}
			r.Input = json.RawMessage(*input)
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		return c.deps.HooksTest(ctx, o, r, s.out())
	}
	return cmd
}
