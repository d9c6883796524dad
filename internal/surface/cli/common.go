package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// common are the flags that commands share: where they look and how they print.
type common struct {
	c    *command
	json bool
	from Flags // the session's flags that matter here: settings, sources, rights, model
}

// share adds the shared flags to a command.
func (c *command) share(cmd *cobra.Command) *common {
	s := &common{c: c}
	f := cmd.Flags()
	s.from.set = f
	f.BoolVar(&s.json, "json", false, "print JSON")
	f.StringVar(&s.from.Cwd, "cwd", "", "look from this folder")
	f.StringVar(&s.from.Settings, "settings", "", "further settings: a file or JSON")
	f.StringVar(&s.from.SettingSources, "setting-sources", "", "settings files to read, of user,project,local")
	f.StringVar(&s.from.Trust, "trust", "", "take what this folder supplies")
	f.Lookup("trust").NoOptDefVal = trustAll
	return s
}

// options are the options of a session with the shared flags.
func (s *common) options() (app.Options, error) {
	if err := s.from.check(s.c.process); err != nil {
		return app.Options{}, err
	}
	return s.from.options(s.c.process)
}

func (s *common) out() io.Writer { return s.c.process.Out }

// print writes a value as JSON, or what people lays out.
func (s *common) print(v any, people func(w io.Writer)) error {
	if !s.json {
		people(visible.Writer(s.out()))
		return nil
	}
	return writeJSON(s.out(), v)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// interruptible ends a command's context at the usual signals, so that it can tidy up. It is nil
// work where no signals are delivered.
func (c *command) interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.process.Notify == nil {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, terminated()...)
}

// table lays out rows in columns, the first as head. The last column is never padded.
func table(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// checkSign marks a check; words follow, so nothing depends on the sign.
func checkSign(status string) string {
	switch status {
	case "ok":
		return "✓"
	case "warning":
		return "!"
	case "failed":
		return "✗"
	}
	return "·"
}

// tellChecks prints checks as they come and counts those that failed. With JSON each is a line.
func (s *common) tellChecks(failed *int) func(inspect.Check) {
	return func(k inspect.Check) {
		if k.Status == "failed" {
			*failed++
		}
		if s.json {
			raw, err := json.Marshal(k)
			if err == nil { // a struct of strings always encodes
				fmt.Fprintln(s.out(), string(raw))
			}
			return
		}
		printCheck(visible.Writer(s.out()), k)
	}
}

func printCheck(w io.Writer, k inspect.Check) {
	if k.Status == "" { // a sum, no finding
		fmt.Fprintln(w, k.Name)
		return
	}
	line := checkSign(k.Status) + " " + k.Name
	if k.Status != "ok" && k.Status != "info" {
		line += " (" + k.Status + ")"
	}
	if k.Detail != "" {
		line += ": " + k.Detail
	}
	fmt.Fprintln(w, line)
	if k.Fix != "" {
		fmt.Fprintln(w, "    → "+k.Fix)
	}
}
