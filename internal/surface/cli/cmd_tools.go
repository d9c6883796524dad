package cli

import (
	"io"
	"strings"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/spf13/cobra"
)

func (c *command) toolsCommand() *cobra.Command {
	if c.deps.Tools == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "tools", Short: "List the tools the model is offered", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	trace := cmd.Flags().Bool("trace", false, "show for every tool which step kept or dropped it")
	shareRights(cmd, &s.from)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		rows, err := c.deps.Tools(cmd.Context(), o)
		if err != nil {
			return err
		}
		if !*trace {
			rows = offered(rows)
		}
		return s.print(list(rows), func(w io.Writer) { printTools(w, rows, *trace) })
	}
	return cmd
}

// shareRights adds the flags that decide what a session may do.
func shareRights(cmd *cobra.Command, f *Flags) {
	s := cmd.Flags()
	s.StringVar(&f.PermissionMode, "permission-mode", "", strings.Join(modes(), ", "))
	s.StringArrayVar(&f.AllowedTools, "allowed-tools", nil, "rules that allow")
	s.StringArrayVar(&f.DisallowedTools, "disallowed-tools", nil, "rules that deny")
	s.StringArrayVar(&f.Tools, "tools", nil, "built-in tools to offer")
	s.StringArrayVar(&f.AddDirs, "add-dir", nil, "a further working directory")
	s.SetNormalizeFunc(normalise)
}

func offered(rows []inspect.ToolRow) []inspect.ToolRow {
	var out []inspect.ToolRow
	for _, r := range rows {
		if r.State == "offered" || r.State == "deferred" {
			out = append(out, r)
		}
	}
	return out
}

func printTools(w io.Writer, rows []inspect.ToolRow, trace bool) {
	var out [][]string
	for _, r := range rows {
		line, _, _ := strings.Cut(r.Description, "\n")
		row := []string{r.Name}
		if trace {
			row = append(row, r.State, r.Step, r.Reason)
		} else if r.State == "deferred" {
			row = append(row, "(deferred) "+clip(line, 80))
		} else {
			row = append(row, clip(line, 90))
		}
		out = append(out, row)
	}
	table(w, out)
}
