package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// modes are the permission modes one may start in.
func modes() []string {
	return []string{"default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "manual"}
}

func efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// check refuses flags that contradict each other or hold what cannot be meant. It reads the files
// that are named, so that a wrong one is told before anything starts.
func (f *Flags) check(p Process) error {
	for _, check := range []func() error{f.checkFormats, f.checkChoices, f.checkNumbers, f.checkSession, f.checkJSON} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := f.checkSetup(p); err != nil {
		return err
	}
	return f.checkBypass(p)
}

func (f *Flags) checkSetup(p Process) error {
	switch {
	case f.Init && f.Maintenance, f.InitOnly && (f.Init || f.Maintenance || f.Print):
		return usagef("of --init, --maintenance and --init-only one can be given, the last without --print")
	case (f.Init || f.Maintenance) && !f.headlessWanted(p):
		return usagef("--init and --maintenance run hooks before the prompt of -p; without a prompt use --init-only")
	}
	return nil
}

func (f *Flags) format() headless.Format {
	if f.OutputFormat == "" {
		if f.InputFormat == string(headless.StreamJSON) {
			return headless.StreamJSON
		}
		return headless.Text
	}
	return headless.Format(f.OutputFormat)
}

func (f *Flags) checkFormats() error {
	if err := oneOf("output-format", f.OutputFormat, f.Given("output-format"), "text", "json", "stream-json"); err != nil {
		return err
	}
	if err := oneOf("input-format", f.InputFormat, f.Given("input-format"), "text", "stream-json"); err != nil {
		return err
	}
	stream := f.OutputFormat == "stream-json"
	switch {
	case f.Print && stream && !f.Verbose:
		return usagef("with --print, --output-format=stream-json needs --verbose")
	case f.InputFormat == "stream-json" && !stream:
		return usagef("--input-format=stream-json needs --output-format=stream-json")
	case f.IncludePartial && !stream:
		return usagef("--include-partial-messages needs --output-format=stream-json")
	case f.ReplayUser && !stream:
		return usagef("--replay-user-messages needs --output-format=stream-json")
	case f.Plain && (f.Print || f.Given("output-format")):
		return usagef("--plain is for interactive sessions; leave out --print and --output-format")
	}
	return nil
}

func oneOf(name, value string, given bool, choices ...string) error {
	if !given || slices.Contains(choices, value) {
		return nil
	}
	text := fmt.Sprintf("option '--%s': %q is none of %s", name, value, strings.Join(choices, ", "))
	if near := near(value, choices); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return &usageError{text}
}

func (f *Flags) checkChoices() error {
	for _, c := range []struct {
		name, value string
		choices     []string
	}{
		{"permission-mode", f.PermissionMode, modes()},
		{"permission-prompts", f.PermissionPrompts, []string{"host", "none"}},
		{"thinking", f.Thinking, []string{"adaptive", "enabled", "disabled"}},
	} {
		if err := oneOf(c.name, c.value, f.Given(c.name), c.choices...); err != nil {
			return err
		}
	}
	for _, source := range splitList(f.SettingSources) {
		if err := oneOf("setting-sources", source, true, "user", "project", "local"); err != nil {
			return err
		}
	}
	if f.Given("trust") && f.Trust != trustAll {
		for _, part := range splitList(f.Trust) {
			if err := oneOf("trust", part, true, "hooks", "env", "helpers", "mcp", "allow", "all"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Flags) checkNumbers() error {
	switch {
	case f.Given("max-turns") && f.MaxTurns < 1:
		return usagef("option '--max-turns': must be 1 or more")
	case f.Given("max-budget-usd") && !(f.MaxBudgetUSD > 0):
		return usagef("option '--max-budget-usd': must be more than 0")
	case f.MaxThinking < 0:
		return usagef("option '--max-thinking-tokens': must be 0 or more")
	case f.Given("max-tokens") && f.MaxTokens < 1:
		return usagef("option '--max-tokens': must be 1 or more")
	}
	return nil
}

func (f *Flags) checkSession() error {
	going := f.Given("resume") || f.Continue
	switch {
	case f.Given("session-id") && (len(f.SessionID) != 36 || uuid.Validate(f.SessionID) != nil):
		return usagef("option '--session-id': %q is no UUID", f.SessionID)
	case f.Given("session-id") && going && !f.Fork:
		return usagef("--session-id with --resume or --continue needs --fork-session")
	case f.Given("system-prompt") && f.Given("system-prompt-file"):
		return usagef("--system-prompt and --system-prompt-file exclude each other")
	case f.Given("resume") && f.Resume == "":
		return usagef("option '--resume' needs a session id or title behind '='")
	case f.Fork && !going:
		return usagef("--fork-session needs --resume or --continue")
	case f.Given("resume-session-at") && !going:
		return usagef("--resume-session-at needs --resume or --continue")
	}
	return nil
}

// checkJSON reads what is given as JSON or as a file of it.
func (f *Flags) checkJSON() error {
	if f.Given("settings") {
		if err := jsonOrFile("settings", f.Settings); err != nil {
			return err
		}
	}
	for _, c := range f.MCPConfig {
		if err := jsonOrFile("mcp-config", c); err != nil {
			return err
		}
	}
	if f.Given("agents") {
		if err := jsonObject("agents", "", []byte(f.Agents)); err != nil {
			return err
		}
	}
	if f.Given("json-schema") {
		return checkSchema(f.JSONSchema)
	}
	return nil
}

func jsonOrFile(flag, value string) error {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return jsonObject(flag, "", []byte(value))
	}
	if value == "" {
		return usagef("option '--%s' needs JSON or the name of a file", flag)
	}
	text, err := os.ReadFile(value)
	if err != nil {
		return usagef("option '--%s': %v", flag, err)
	}
	return jsonObject(flag, value, text)
}

func jsonObject(flag, file string, text []byte) error {
	doc, err := jsonc.Parse(origin.Flag, file, text)
	if err != nil {
		return usagef("option '--%s': %v", flag, err)
	}
	if doc.Root().Kind != jsonc.Object {
		return usagef("option '--%s': expected a JSON object", flag)
	}
	return nil
}

func checkSchema(text string) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		return usagef("option '--json-schema': %v", err)
	}
	if _, err := schema.Resolve(nil); err != nil {
		return usagef("option '--json-schema': %v", err)
	}
	return nil
}

// checkBypass refuses to skip permissions as the superuser, who could break the whole machine,
// unless the surroundings say they are a sandbox.
func (f *Flags) checkBypass(p Process) error {
	asked := f.Bypass || f.AllowBypass || f.PermissionMode == "bypassPermissions"
	if !asked || !p.Root || p.Container || p.env("IS_SANDBOX") == "1" {
		return nil
	}
	return usagef("permissions cannot be skipped as root: use another user, or a container; IS_SANDBOX=1 says that this is one")
}

// warnings are about values that are no errors, one line each.
func (f *Flags) warnings() []string {
	var out []string
	if f.Given("effort") && !slices.Contains(efforts(), f.Effort) {
		out = append(out, fmt.Sprintf("effort %q is none of %s; the model's default is used", f.Effort, strings.Join(efforts(), ", ")))
	}
	if f.Given("managed-settings") {
		out = append(out, "--managed-settings is not enforced by this program")
	}
	return out
}
