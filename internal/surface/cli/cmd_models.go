package cli

import (
	"fmt"
	"io"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/spf13/cobra"
)

func (c *command) modelsCommand() *cobra.Command {
	if c.deps.Models == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models one could use, and where they were found",
		Args:  argsBetween(0, 0, "no arguments, or: check NAME"),
	}
	s := c.share(cmd)
	all := cmd.Flags().Bool("all", false, "also those that cannot be used now, with the reason")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		rows, err := c.deps.Models(cmd.Context(), o)
		if err != nil {
			return err
		}
		if !*all {
			rows = usable(rows)
		}
		return s.print(list(rows), func(w io.Writer) { printModels(w, rows) })
	}
	if c.deps.CheckModel != nil {
		cmd.AddCommand(c.modelsCheckCommand())
	}
	return cmd
}

func usable(rows []inspect.ModelRow) []inspect.ModelRow {
	var out []inspect.ModelRow
	for _, r := range rows {
		if r.Why == "" {
			out = append(out, r)
		}
	}
	return out
}

func printModels(w io.Writer, rows []inspect.ModelRow) {
	out := [][]string{{"", "model", "window", "output", "US$/M in", "out", "found"}}
	for _, r := range rows {
		mark, found := " ", r.Found
		if r.Chosen {
			mark = "*"
		}
		if r.Why != "" {
			found += " (" + r.Why + ")"
		}
		out = append(out, []string{mark, r.Ref(), tokens(r.ContextWindow), tokens(r.MaxOutput), price(r.Price.Input), price(r.Price.Output), found})
	}
	table(w, out)
}

func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return fmt.Sprintf("%gM", float64(n/100_000)/10)
	}
	return fmt.Sprintf("%dk", n/1000)
}

func price(p float64) string {
	if p == 0 {
		return "–"
	}
	return fmt.Sprintf("%g", p)
}

func (c *command) modelsCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check NAME",
		Short: "Try a model: streaming, tool calls, parallel calls, its window, stopping",
		Args:  argsBetween(1, 1, "one model"),
	}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		failed := 0
		if err := c.deps.CheckModel(ctx, o, args[0], s.tellChecks(&failed)); err != nil {
			return err
		}
		return failures(failed)
	}
	return cmd
}

// failures is the outcome of an examination: code 1 when something failed, which was told.
func failures(n int) error {
	if n == 0 {
		return nil
	}
	return &statusError{code: 1}
}
