package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app/spending"
)

func usageCommand(c *command) *cobra.Command {
	if c.deps.Usage == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "usage", Short: "Show what sessions used and what it cost", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	by := cmd.Flags().String("by", "day", "add up by "+strings.Join(spending.Groups(), ", "))
	days := cmd.Flags().Int("days", 30, "of the last days, today included; 0: all there is")
	here := cmd.Flags().Bool("here", false, "of this folder alone")
	cmd.RunE = func(*cobra.Command, []string) error {
		o, err := s.options()
		switch {
		case err != nil:
			return err
		case !slices.Contains(spending.Groups(), *by):
			return usagef("--by %s: expected %s", *by, strings.Join(spending.Groups(), ", "))
		case *days < 0:
			return usagef("--days %d: expected a number of days, 0 for all", *days)
		}
		q := spending.Query{By: *by}
		if *days > 0 {
			y, m, d := time.Now().Date()
			q.Since = time.Date(y, m, d-*days+1, 0, 0, 0, 0, time.Local)
		}
		if *here {
			q.Cwd = o.Cwd
		}
		rows, err := c.deps.Usage(o, q)
		if err != nil {
			return err
		}
		return s.print(list(rows), func(w io.Writer) { printUsage(w, *by, rows) })
	}
	return cmd
}

func printUsage(w io.Writer, by string, rows []spending.Row) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "nothing was used")
		return
	}
	out := [][]string{{by, "cost", "requests", "in", "out", "cache read", "cache write"}}
	line := func(name string, r spending.Row) []string {
		return []string{
			name, r.Cost(), fmt.Sprint(r.Requests), fmt.Sprint(r.Input), fmt.Sprint(r.Output), fmt.Sprint(r.CacheRead), fmt.Sprint(r.CacheWrite),
		}
	}
	total := spending.Row{}
	for _, r := range rows {
		out = append(out, line(r.Key, r))
		total = total.Plus(r)
	}
	if len(rows) > 1 {
		out = append(out, line("total", total))
	}
	table(w, out)
}
