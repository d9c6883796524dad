package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

func (c *command) permissionsCommand() *cobra.Command {
	return group("permissions", "Explain and check what is allowed", c.permissionsWhy(), c.permissionsTest(), c.permissionsList())
}

func (c *command) permissionsWhy() *cobra.Command {
	if c.deps.Permission.Why == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "why TOOL [ARGUMENT…]",
		Short: "Show how a tool call would be decided, and by which rule",
		Example: "  myelin permissions why Bash 'git push --force'\n" +
			"  myelin permissions why Edit src/main.go\n" +
			"  myelin permissions why WebFetch https://example.com/\n" +
			"  myelin permissions why 'Bash(git push)'\n" +
			"  myelin permissions why mcp__db__query --input '{\"sql\":\"drop table t\"}'",
		Args: argsBetween(1, -1, "a tool and what it is called with"),
	}
	s := c.share(cmd)
	input := cmd.Flags().String("input", "", "the call's input as a JSON object")
	shareRights(cmd, &s.from)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v; a command with options goes in quotes: myelin permissions why Bash 'rm -rf x'", flagError(err, cmd.Flags()))
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		call, err := callOf(args, *input)
		if err != nil {
			return err
		}
		call.Mode = o.Mode
		d, err := c.deps.Permission.Why(cmd.Context(), o, call)
		if err != nil {
			return err
		}
		return s.print(d, func(w io.Writer) {
			fmt.Fprintln(w, d.Behavior)
			for _, line := range d.Lines {
				fmt.Fprintln(w, "  "+line)
			}
		})
	}
	return cmd
}

// callOf reads a call in one of the forms people write: a tool and its decisive argument, the
// same as a rule would have it, or a tool and its whole input.
func callOf(args []string, input string) (CallRequest, error) {
	name, rest := args[0], strings.Join(args[1:], " ")
	if before, inner, ok := strings.Cut(name, "("); ok && rest == "" && strings.HasSuffix(inner, ")") {
		name, rest = before, strings.TrimSuffix(inner, ")")
	}
	r := CallRequest{Tool: tool.Current(name)}
	if input != "" {
		if rest != "" {
			return r, usagef("give either --input or an argument")
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(input), &fields); err != nil {
			return r, usagef("option '--input': expected a JSON object: %v", err)
		}
		r.Input = json.RawMessage(input)
		return r, nil
	}
	r.Argument = rest
	return r, nil
}

func (c *command) permissionsTest() *cobra.Command {
	if c.deps.Permission.Test == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Check the rules in force against a file of expected decisions",
		Args:  argsBetween(1, 1, "one file"),
	}
	s := c.share(cmd)
	shareRights(cmd, &s.from)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		failed := 0
		if err := c.deps.Permission.Test(cmd.Context(), o, resolve(c.process.Cwd, args[0]), s.tellChecks(&failed)); err != nil {
			return err
		}
		return failures(failed)
	}
	return cmd
}

func (c *command) permissionsList() *cobra.Command {
	if c.deps.Permission.List == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "list", Short: "List the rules in force, with file and line", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	shareRights(cmd, &s.from)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		rows, err := c.deps.Permission.List(cmd.Context(), o)
		if err != nil {
			return err
		}
		return s.print(list(rows), func(w io.Writer) {
			var out [][]string
			for _, r := range rows {
				out = append(out, []string{r.List, r.Rule, strings.TrimSpace(r.Scope + " " + r.Place), r.Note})
			}
			table(w, out)
			if len(rows) == 0 {
				fmt.Fprintln(w, "no rules")
			}
		})
	}
	return cmd
}
