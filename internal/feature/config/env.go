package config

import (
	"fmt"
	"os"
	"strings"
)

// Environ is a set of environment variables in which MYELIN_X and CLAUDE_CODE_X are one variable;
// the former wins. The zero Environ is empty. It is immutable.
type Environ struct {
	vars map[string]string
}

// ProcessEnviron is the environment this process was started with.
func ProcessEnviron() Environ { return EnvironOf(os.Environ()) }

// EnvironOf takes KEY=value lines; of doubles the last counts.
func EnvironOf(lines []string) Environ {
	e := Environ{vars: make(map[string]string, len(lines))}
	for _, kv := range lines {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			e.vars[k] = v
		}
	}
	return e
}

// EnvironOfMap takes a map, which must not be changed afterwards.
func EnvironOfMap(vars map[string]string) Environ { return Environ{vars: vars} }

const (
	nativePrefix = "MYELIN_"
	publicPrefix = "CLAUDE_CODE_"
)

// Get returns a variable. name may have either prefix, or none at all.
func (e Environ) Get(name string) (string, bool) {
	for _, prefix := range []string{publicPrefix, nativePrefix} {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if v, ok := e.vars[nativePrefix+rest]; ok {
			return v, true
		}
		v, ok := e.vars[publicPrefix+rest]
		return v, ok
	}
	v, ok := e.vars[name]
	return v, ok
}

// Value is Get without telling empty from unset.
func (e Environ) Value(name string) string {
	v, _ := e.Get(name)
	return v
}

// Bool reads a boolean: 1 true yes on, or 0 false no off, in any case. set is false when the
// variable is not there or empty. Anything else is an error that names the variable.
func (e Environ) Bool(name string) (value, set bool, err error) {
	text, ok := e.Get(name)
	if !ok || strings.TrimSpace(text) == "" {
		return false, false, nil
	}
	value, ok = ParseBool(text)
	if ok {
		return value, true, nil
	}
	if optOut(name) {
		return true, true, nil // whoever wrote something there meant it
	}
	return false, false, fmt.Errorf("%s=%s: expected 1, true, yes or on, or 0, false, no or off", name, text)
}

// ParseBool reads a boolean as environment variables have them.
func ParseBool(text string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "1", "true", "yes", "on":
		return true, true
	case "0", "false", "no", "off":
		return false, true
	}
	return false, false
}

// optOut lists the variables of which any text means yes.
func optOut(name string) bool {
	switch strings.TrimPrefix(strings.TrimPrefix(name, nativePrefix), publicPrefix) {
	case "FALLBACK_FOR_ALL_PRIMARY_MODELS", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_NONESSENTIAL_TRAFFIC":
		return true
	}
	return false
}

// canonicalName is the public name of a variable.
func canonicalName(name string) string {
	if rest, ok := strings.CutPrefix(name, nativePrefix); ok {
		return publicPrefix + rest
	}
	return name
}

// harmless reports whether a folder may set a variable before anybody trusts it: choice of model,
// time limits, and switches that turn something of the program off. Nothing that names a host, a
// file or a program is among them.
func harmless(name string) bool {
	switch canonicalName(name) {
	case "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
		"ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL",
		"MAX_THINKING_TOKENS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
		"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH", "API_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
		"DISABLE_TELEMETRY", "DO_NOT_TRACK", "DISABLE_ERROR_REPORTING", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
		"DISABLE_AUTO_COMPACT", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "CLAUDE_CODE_DISABLE_TERMINAL_TITLE":
		return true
	}
	return false
}

// ownVariable reports whether the program itself sets a variable, or reads it only before there are
// settings: a file cannot set it.
func ownVariable(name string) bool {
	switch canonicalName(name) {
	case "CLAUDECODE", "MYELIN", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_EFFORT", "CLAUDE_PID",
		"CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_HOME", "CLAUDE_CODE_TRUST",
		"CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_DEBUG_LOGS_DIR":
		return true
	}
	return false
}

// folderMayNot reports whether project and local files may not set a variable even when the folder
// is trusted: wrappers of every process, folders of plugins, synchronisation.
func folderMayNot(name string) bool {
	n := canonicalName(name)
	return strings.Contains(n, "PROCESS_WRAPPER") || n == "CLAUDE_CODE_SHELL_PREFIX" ||
		strings.Contains(n, "PLUGIN_DIR") || strings.Contains(n, "PLUGIN_SEED") ||
		strings.HasPrefix(n, "CLAUDE_CODE_SYNC") || n == "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB" || n == "IS_SANDBOX"
}

func cutPublic(name string) (rest string, ok bool) { return strings.CutPrefix(name, publicPrefix) }

func cutKey(key string) (name, rest string, deeper bool) { return strings.Cut(key, ".") }
