package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// root builds the command line: the session itself with its flags, and a command for every
// function that was handed in.
func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "myelin [flags] [prompt]",
		Short: "A coding agent in your terminal",
		Long: "Myelin works on the project in the current folder: it reads, edits, runs commands and tests,\n" +
			"and asks before it does what you have not allowed.\n\n" +
			"Without a prompt an interactive session starts; -p answers one prompt and ends.",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Example:       rootExamples,
	}
	root.RunE = func(cmd *cobra.Command, _ []string) error { return ended(c.session(cmd.Context(), root)) }
	root.SetIn(c.process.In)
	root.SetOut(c.process.Out)
	root.SetErr(c.process.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(err, cmd.Flags()) })
	c.flags = &Flags{}
	c.flags.define(root.Flags(), c.deps.Inert)
	groupUsage(root, c.flags.groups(), c.process.columns())
	root.Flags().BoolP("version", "v", false, "print the version")
	completeChoices(root)
	for _, add := range c.commands() {
		if add != nil {
			root.AddCommand(add)
		}
	}
	root.InitDefaultHelpFlag()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	return root
}

// commands are the commands whose functions are there; nil for the others.
func (c *command) commands() []*cobra.Command {
	return []*cobra.Command{
		c.sessionsCommand(), c.resumeCommand(), usageCommand(c), c.demoCommand(), c.modelsCommand(), c.toolsCommand(), c.configCommand(),
		c.permissionsCommand(), c.sandboxCommand(), c.hooksCommand(), c.policyCommand(), c.tasksCommand(), c.stateCommand(),
		c.replayCommand(), c.doctorCommand(), c.fakeAPICommand(), c.versionCommand(),
	}
}

func completeChoices(root *cobra.Command) {
	for name, choices := range map[string][]string{
		"output-format":   {"text", "json", "stream-json"},
		"input-format":    {"text", "stream-json"},
		"permission-mode": modes(),
		"effort":          efforts(),
		"setting-sources": {"user", "project", "local"},
	} {
		// The flag was defined a moment ago, so registering it cannot fail.
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	}
}

// isCommand reports whether a word names a command, also one that only shells ask for.
func isCommand(root *cobra.Command, word string) bool {
	if word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd {
		return true
	}
	return slices.ContainsFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.Name() == word || cmd.HasAlias(word) })
}

// mistyped is the command that words were probably meant to be; sent to a model they would cost money and puzzle
// it. One or two bare words that begin like a command do; of commands that are planned there is only a note.
func mistyped(root *cobra.Command, words []string) (near string, planned bool) {
	if len(words) == 0 || len(words) > 2 || strings.ContainsFunc(words[0], func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') }) {
		return "", false
	}
	word := words[0]
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	verbs := []string{"list", "add", "remove", "get", "set", "show", "install", "update", "enable", "disable", "stop", "check"}
	if slices.Contains(later(), word) && (len(words) == 1 || slices.Contains(verbs, words[1])) {
		return word, true
	}
	if len(words) == 2 && !slices.Contains(verbs, words[1]) || len(word) < 4 {
		return "", false
	}
	return nearest.Name(word, names, min(len(word)/3, 2)), false
}

// later are commands of programs like this one that this release does not have.
func later() []string { return []string{"mcp", "plugin", "agents", "update", "install"} }

// group is a command that only holds others; nil when none of them is there.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	children = slices.DeleteFunc(children, func(c *cobra.Command) bool { return c == nil })
	if len(children) == 0 {
		return nil
	}
	var names []string
	for _, child := range children {
		names = append(names, child.Name())
	}
	g := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listOrHelp(cmd, children)
			}
			text := fmt.Sprintf("%s has no command %q", use, args[0])
			if near := near(args[0], names); near != "" {
				text += fmt.Sprintf(" (did you mean %s?)", near)
			}
			return &usageError{text}
		},
	}
	g.AddCommand(children...)
	return g
}

// listOrHelp is what a command that only holds others does alone: its list, where it has one, else its help.
func listOrHelp(cmd *cobra.Command, children []*cobra.Command) error {
	for _, child := range children {
		if child.Name() == "list" {
			child.SetContext(cmd.Context())
			return child.RunE(child, nil)
		}
	}
	return cmd.Help()
}

// argsBetween checks the number of arguments with a sentence of ours.
func argsBetween(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}
