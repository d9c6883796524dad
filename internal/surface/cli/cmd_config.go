package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

func (c *command) configCommand() *cobra.Command {
	return group("config", "Read and change settings, and see where they come from",
		c.configGet(), c.configSet(), c.configExplain(), c.configValidate(), c.configList(), c.configPath(), c.configSchema())
}

func (c *command) configGet() *cobra.Command {
	if c.deps.Config.Get == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "get KEY", Short: "Print the value in force", Args: argsBetween(1, 1, "one key")}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		v, err := c.deps.Config.Get(cmd.Context(), o, args[0])
		if err != nil {
			return err
		}
		return s.print(v, func(w io.Writer) { fmt.Fprintln(w, valueText(v.Value)) })
	}
	return cmd
}

// valueText is a value for people: a string without its quotes, anything else as JSON.
func valueText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

func (c *command) configSet() *cobra.Command {
	if c.deps.Config.Set == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Write a setting; VALUE is JSON, or text",
		Args:  argsBetween(2, 2, "a key and a value"),
	}
	s := c.share(cmd)
	scope := cmd.Flags().String("scope", "user", "file to write: user, project or local")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := oneOf("scope", *scope, true, "user", "project", "local"); err != nil {
			return err
		}
		o, err := s.options()
		if err != nil {
			return err
		}
		note, err := c.deps.Config.Set(cmd.Context(), o, *scope, args[0], jsonValue(args[1]))
		if err != nil {
			return err
		}
		if note != "" {
			fmt.Fprintln(s.out(), visible.Text(note))
		}
		return nil
	}
	return cmd
}

// jsonValue takes an argument as JSON where it is some, else as text.
func jsonValue(arg string) json.RawMessage {
	if json.Valid([]byte(arg)) {
		return json.RawMessage(arg)
	}
	raw, _ := json.Marshal(arg) // a string always encodes
	return raw
}

func (c *command) configExplain() *cobra.Command {
	if c.deps.Config.Explain == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use:   "explain KEY",
		Short: "Show every place that sets a key, and which one wins",
		Args:  argsBetween(1, 1, "one key"),
	}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		values, err := c.deps.Config.Explain(cmd.Context(), o, args[0])
		if err != nil {
			return err
		}
		return s.print(list(values), func(w io.Writer) { printValues(w, values) })
	}
	return cmd
}

func (c *command) configList() *cobra.Command {
	if c.deps.Config.List == nil {
		return nil
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List every setting that is set, or what becomes of each that there is", Args: argsBetween(0, 0, "no arguments"),
		Example: "  myelin config list --effects",
	}
	s := c.share(cmd)
	effects := cmd.Flags().Bool("effects", false, "list every key and variable: who acts upon it, where it may stand, whether it is read live")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		if *effects {
			e, err := c.deps.Config.Effects(cmd.Context(), o)
			if err != nil {
				return err
			}
			return s.print(e, func(w io.Writer) { printEffects(w, e) })
		}
		values, err := c.deps.Config.List(cmd.Context(), o)
		if err != nil {
			return err
		}
		return s.print(list(values), func(w io.Writer) { printValues(w, values) })
	}
	return cmd
}

func printEffects(w io.Writer, e inspect.Effects) {
	by := func(who string) string { return cmp.Or(who, "no effect") }
	var rows [][]string
	for _, k := range e.Keys {
		read := "live"
		if k.Start {
			read = "at start"
		}
		if k.By == "" {
			read = ""
		}
		broken := ""
		if k.Broken != "" {
			broken = "broken: " + k.Broken
		}
		rows = append(rows, []string{k.Key, by(cmp.Or(k.By, k.Lock)), k.Scopes, read, k.Meaning, broken})
	}
	for _, v := range e.Variables {
		rows = append(rows, []string{v.Name, by(v.By), "environment", "", v.Meaning, ""})
	}
	table(w, rows)
}

func printValues(w io.Writer, values []inspect.Value) {
	if len(values) == 0 {
		fmt.Fprintln(w, "nothing is set")
		return
	}
	var out [][]string
	for _, v := range values {
		mark := " "
		if v.Winner {
			mark = "*"
		}
		place := v.Place
		if place == "" {
			place = v.Scope
		} else {
			place = v.Scope + " " + place
		}
		if v.Note != "" {
			place += " (" + v.Note + ")"
		}
		out = append(out, []string{mark, v.Key, clip(string(v.Value), 60), place})
	}
	table(w, out)
}

func (c *command) configValidate() *cobra.Command {
	if c.deps.Config.Validate == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "validate [FILE…]", Short: "Check settings files, by default those in force"}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		problems, err := c.deps.Config.Validate(cmd.Context(), o, args)
		if err != nil {
			return err
		}
		bad := 0
		for _, p := range problems {
			if p.Level == "error" {
				bad++
			}
		}
		err = s.print(list(problems), func(w io.Writer) {
			for _, p := range problems {
				fmt.Fprintf(w, "%s: %s: %s\n", p.Place, p.Level, p.Text)
			}
			if len(problems) == 0 {
				fmt.Fprintln(w, "no problems found")
			}
		})
		if err != nil {
			return err
		}
		return failures(bad)
	}
	return cmd
}

func (c *command) configPath() *cobra.Command {
	if c.deps.Config.Path == nil {
		return nil
	}
	cmd := &cobra.Command{Use: "path", Short: "Show which settings files are read and written", Args: argsBetween(0, 0, "no arguments")}
	s := c.share(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o, err := s.options()
		if err != nil {
			return err
		}
		files, err := c.deps.Config.Path(cmd.Context(), o)
		if err != nil {
			return err
		}
		return s.print(list(files), func(w io.Writer) {
			var out [][]string
			for _, f := range files {
				state := f.State
				if f.Writes {
					state += ", written to"
				}
				out = append(out, []string{f.Scope, f.Path, state})
			}
			table(w, out)
		})
	}
	return cmd
}

func (c *command) configSchema() *cobra.Command {
	if c.deps.Config.Schema == nil {
		return nil
	}
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of settings files",
		Args:  argsBetween(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			raw, err := c.deps.Config.Schema()
			if err != nil {
				return err
			}
			return writeJSON(c.process.Out, raw)
		},
	}
}
