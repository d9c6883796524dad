package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// options are the flags as the session understands them.
func (f *Flags) options(p Process) (app.Options, error) {
	o := app.Options{
		Cwd: p.Cwd, Version: Version(), Warn: p.Err,
		Host: app.Host{Entrypoint: p.entrypoint(), DropIn: p.sdk(), Silent: silent(f)},
		ModelChoice: app.ModelChoice{
			Model: f.Model, Fallbacks: splitList(f.FallbackModel), NoOffline: p.sdk() || f.format() == headless.StreamJSON,
			MaxTokens: f.MaxTokens, Betas: splitLists(f.Betas), Record: f.Record,
		},
		Access: app.Access{
			Mode: f.PermissionMode, Bypass: f.Bypass, AllowBypass: f.AllowBypass, Allow: splitLists(f.AllowedTools),
			Deny: splitLists(f.DisallowedTools), Simple: f.Simple, AddDirs: f.AddDirs, IgnoreBadRules: f.IgnoreBadRules,
		},
		Bounds:     app.Bounds{MaxTurns: f.MaxTurns, MaxBudgetUSD: f.MaxBudgetUSD},
		Instructed: app.Instructed{AppendSystemPrompt: f.AppendSystem},
		Sources:    app.Sources{Settings: f.Settings},
		Thread: app.Thread{
			Continue: f.Continue && !f.Given("resume"), // the named session is meant
			ResumeAt: f.ResumeAt, Fork: f.Fork, SessionID: f.SessionID, NoPersist: f.NoPersistence,
		},
	}
	switch {
	case f.Init || f.InitOnly:
		o.Setup = "init"
	case f.Maintenance:
		o.Setup = "maintenance"
	}
	if o.Mode == "manual" {
		o.Mode = "default"
	}
	if slices.Contains(efforts(), f.Effort) {
		o.Effort = f.Effort
	}
	if f.Given("cwd") {
		o.Cwd = resolve(p.Cwd, f.Cwd)
		if info, err := os.Stat(o.Cwd); err != nil || !info.IsDir() {
			return o, usagef("option '--cwd': %s is no folder", f.Cwd)
		}
	}
	if f.Resume != resumePick {
		o.Resume = f.Resume
	}
	if f.Given("json-schema") {
		o.Schema = json.RawMessage(f.JSONSchema)
	}
	f.lists(&o)
	f.thinking(&o)
	return o, f.systemPrompt(&o)
}

// lists fills in those flags whose empty value differs from their absence.
func (f *Flags) lists(o *app.Options) {
	if f.Given("tools") {
		tools := splitLists(f.Tools)
		if !slices.Contains(tools, "default") {
			tools = list(tools)
			o.Tools = &tools
		}
	}
	if f.Given("setting-sources") {
		sources := list(splitList(f.SettingSources))
		o.SettingSources = &sources
	}
	if f.Given("trust") {
		parts := []string{}
		if f.Trust != trustAll {
			parts = splitList(f.Trust)
		}
		if slices.Contains(parts, trustAll) {
			parts = []string{}
		}
		o.Trust = &parts
	}
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func (f *Flags) thinking(o *app.Options) {
	switch {
	case f.Given("max-thinking-tokens"):
		n := f.MaxThinking
		o.Thinking = &n
	case f.Thinking == "disabled":
		o.Thinking = new(int)
	}
}

func (f *Flags) systemPrompt(o *app.Options) error {
	switch {
	case f.Given("system-prompt"):
		text := f.SystemPrompt
		o.SystemPrompt = &text
	case f.Given("system-prompt-file"):
		raw, err := os.ReadFile(f.SystemPromptFile)
		if err != nil {
			return usagef("option '--system-prompt-file': %v", err)
		}
		text := string(raw)
		o.SystemPrompt = &text
	}
	return nil
}

func resolve(cwd, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

// headless are the flags as a headless run understands them.
func (f *Flags) headless(p Process) headless.Options {
	out := p.Out
	if p.OutTTY && f.format() == headless.Text {
		out = visible.Writer(out) // a person reads; a pipe gets the answer as it is
	}
	return headless.Options{
		Format:       f.format(),
		Verbose:      f.Verbose,
		Brief:        f.Brief,
		SDK:          p.sdk(),
		Partial:      f.IncludePartial,
		HookEvents:   f.IncludeHooks,
		Replay:       f.ReplayUser,
		StateEvents:  p.env("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1",
		SubagentText: f.ForwardSubagents || p.env("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT") == "1",
		Out:          out,
		Err:          p.Err,
	}
}

// inert names the given flags that nothing in this program acts upon yet.
func (f *Flags) inert(names []string) []string {
	var out []string
	for _, name := range names {
		if f.Given(name) {
			out = append(out, "--"+name)
		}
	}
	return out
}

func warnInert(names []string) string {
	return fmt.Sprintf("without effect in this release: %s", strings.Join(names, ", "))
}

// silent says why no permission is asked for, where the flags have it so.
func silent(f *Flags) string {
	if f.PermissionPrompts != "none" {
		return ""
	}
	return "questions are switched off (--permission-prompts none)"
}
