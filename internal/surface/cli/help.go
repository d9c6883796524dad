package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootExamples = `  myelin                                      a conversation in this folder
  myelin "why does the parser test fail?"     the same, with a first prompt
  myelin -c                                   go on with the newest conversation
  myelin -p "run the tests" --allowed-tools "Bash(go test *)" Read
  git diff | myelin -p "review this" --output-format json
  myelin --model ollama/qwen3:8b --permission-mode plan`

// groupUsage prints the usage of commands that have the session's flags: by group, wrapped at the window. Other
// commands keep the usage they have.
func groupUsage(root *cobra.Command, groups []flagGroup, columns int) {
	other := root.UsageFunc()
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		if f := cmd.Flags().Lookup("model"); f == nil || f.Annotations[groupKey] == nil {
			return other(cmd)
		}
		_, err := io.WriteString(cmd.OutOrStdout(), usage(cmd, groups, columns))
		return err
	})
}

func usage(cmd *cobra.Command, groups []flagGroup, columns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands (myelin COMMAND --help says more):\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				b.WriteString(hang(fmt.Sprintf("  %-12s ", sub.Name()), sub.Short, columns))
			}
		}
	}
	for _, g := range append(groups, flagGroup{}) {
		part := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
		part.SortFlags = false
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Join(f.Annotations[groupKey], "") == g.title {
				part.AddFlag(f)
			}
		})
		if text := part.FlagUsagesWrapped(columns); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", orText(g.title, "Other"), text)
		}
	}
	b.WriteString("\nA name in camel case is the same flag: --allowedTools is --allowed-tools.\n")
	return b.String()
}

// hang wraps text behind a head, at the width of the window.
func hang(head, text string, columns int) string {
	lines := strings.Split(ansi.Wordwrap(text, max(columns-len(head), 20), ""), "\n")
	return head + strings.Join(lines, "\n"+strings.Repeat(" ", len(head))) + "\n"
}

func orText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
