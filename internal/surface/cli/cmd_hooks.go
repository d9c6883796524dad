package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func (c *command) hooksCommand() *cobra.Command {
	return group("hooks", "List and try hooks", hooksList(c), c.hooksTest())
}

func (c *command) hooksTest() *cobra.Command {
	if c.deps.HooksTest == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "test EVENT [MATCH]",
		Short: "Run the hooks of an event on an input and show what each answered",
		Example: "  myelin hooks test PreToolUse Bash --input '{\"tool_input\":{\"command\":\"ls\"}}'\n" +
			"  myelin hooks test Stop --input event.json",
		Args: argsBetween(1, 2, "an event, and what its matchers compare"),
	}
	s := c.share(cmd)
	input := cmd.Flags().String("input", "", "fields of the hook's input: a JSON object, or a file that holds one")
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
			if r.Input, err = objectOf(c.process.Cwd, *input); err != nil {
				return err
			}
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		return c.deps.HooksTest(ctx, o, r, s.out())
	}
	return cmd
}

// objectOf is a JSON object given as such, or as the name of a file that holds one.
func objectOf(cwd, given string) (json.RawMessage, error) {
	raw, from := []byte(given), "option '--input'"
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if raw, err = os.ReadFile(resolve(cwd, given)); err != nil {
			return nil, usagef("option '--input': expected a JSON object or a file that holds one: %v", err)
		}
		from = given
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, usagef("%s: expected a JSON object: %v", from, err)
	}
	return raw, nil
}

func hooksList(c *command) *cobra.Command {
	if c.deps.HooksList == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "list", Short: "List the configured hooks, and what is wrong in their configuration", Args: argsBetween(0, 0, "nothing")}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		l, err := c.deps.HooksList(cmd.Context(), o)
		if err != nil {
			return err
		}
		return s.print(l, func(w io.Writer) {
			var rows [][]string
			for _, h := range l.Hooks {
				guard := ""
				if h.Guard {
					guard = "guards"
				}
				rows = append(rows, []string{h.Event, cmp.Or(h.Matcher, "*"), h.Hook, h.Place, guard})
			}
			table(w, rows)
			for _, p := range l.Problems {
				fmt.Fprintln(w, "problem: "+p)
			}
			switch {
			case l.Disabled != "":
				fmt.Fprintln(w, "hooks are off: "+l.Disabled)
			case len(rows)+len(l.Problems) == 0:
				fmt.Fprintln(w, "no hooks are configured")
			}
		})
	}
	return cmd
}
