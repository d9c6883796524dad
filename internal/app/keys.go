package app

import (
	"slices"

	"github.com/myelin-agent/myelin/internal/app/confine"
	"github.com/myelin-agent/myelin/internal/app/spending"
	"github.com/myelin-agent/myelin/internal/feature/config"
)

// usedKeys collects the settings that some part of the program acts upon, as each declares them. What is
// not among them has no effect, and the program says so.
func usedKeys() []config.Section {
	return slices.Concat(
		config.OwnKeys(), confine.Keys(), spending.Keys(),
		config.Used("app/models", "model", "fallbackModel", "modelOverrides", "models", "apiKeyHelper", "effortLevel", "alwaysThinkingEnabled"),
		config.Used("app/limits", "availableModels", "permissions.disableBypassPermissionsMode", "permissions.disableAutoMode",
			"disableAutoMode", "policyLimits", "requiredMinimumVersion", "requiredMaximumVersion"),
		config.Used("feature/permission", "permissions.defaultMode", "allowManagedPermissionRulesOnly", "autoMode",
			"useAutoModeDuringPlan", "skipDangerousModePermissionPrompt"),
		config.Used("feature/hook", "disableAllHooks", "allowManagedHooksOnly", "allowedHttpHookUrls", "httpHookAllowedEnvVars",
			"strictPluginOnlyCustomization"),
		config.Used("feature/shaping", "autoCompactEnabled", "autoCompactWindow", "shaping.budget", "shaping.microcompact",
			"shaping.collapse", "shaping.snip", "shaping.microcompactAfter"),
		config.Used("feature/memory", "claudeMd", "claudeMdExcludes", "instructions.agentsMd"),
		config.Used("feature/prompt", "outputStyle", "includeGitInstructions", "language", "attribution.commit", "attribution.pr", "includeCoAuthoredBy"),
		config.Used("app/notes", "autoMemoryEnabled", "autoMemoryDirectory"),
		config.Used("tools/plan", "plansDirectory"),
		config.Used("app/retention", "cleanupPeriodDays"),
	)
}

// usedVariables are the environment variables that some part of the program acts upon, by who does.
func usedVariables() map[string][]string {
	return map[string][]string{
		"feature/config": {"CLAUDE_CONFIG_DIR", "MYELIN_HOME"},
		"feature/trust":  {"MYELIN_TRUST"},
		"sys/transport": {
			"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "MYELIN_CLIENT_CERT", "MYELIN_CLIENT_KEY",
			"MYELIN_CLIENT_KEY_PASSPHRASE", "API_TIMEOUT_MS",
		},
		"providers/discover": {
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BETAS",
			"OPENAI_API_KEY", "OPENAI_BASE_URL", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_HOST",
			"MYELIN_EXTRA_BODY", "MYELIN_USE_BEDROCK", "MYELIN_USE_VERTEX", "MYELIN_USE_FOUNDRY", "MYELIN_MODEL",
			"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
			"ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "MYELIN_MAX_CONTEXT_TOKENS",
			"MYELIN_DISABLE_1M_CONTEXT", "ENABLE_PROMPT_CACHING_1H", "FORCE_PROMPT_CACHING_5M", "MYELIN_DISABLE_EXPERIMENTAL_BETAS",
		},
		"app/models": {"MYELIN_API_KEY_HELPER_TTL_MS", "MYELIN_EFFORT_LEVEL", "MAX_THINKING_TOKENS"},
		"core/engine": {
			"MYELIN_MAX_OUTPUT_TOKENS", "DISABLE_PROMPT_CACHING", "MYELIN_MAX_RETRIES", "MYELIN_RETRY_WATCHDOG",
			"CLAUDE_STREAM_IDLE_TIMEOUT_MS", "MYELIN_DISABLE_NONSTREAMING_FALLBACK", "MYELIN_MAX_TOOL_USE_CONCURRENCY",
			"MYELIN_STOP_HOOK_BLOCK_CAP",
		},
		"feature/shaping":    {"DISABLE_COMPACT", "DISABLE_AUTO_COMPACT", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "MYELIN_AUTO_COMPACT_WINDOW"},
		"feature/memory":     {"MYELIN_DISABLE_CLAUDE_MDS"},
		"app/notes":          {"MYELIN_DISABLE_AUTO_MEMORY"},
		"feature/transcript": {"MYELIN_SKIP_PROMPT_HISTORY"},
		"feature/permission": {"IS_SANDBOX"},
		"app/confine":        {"MYELIN_SUBPROCESS_ENV_SCRUB"},
		"tools/read":         {"MYELIN_FILE_READ_MAX_OUTPUT_TOKENS"},
		"tools/taskctl":      {"TASK_MAX_OUTPUT_LENGTH"},
		"tools/todo":         {"MYELIN_ENABLE_TASKS"},
		"tools/glob":         {"MYELIN_GLOB_HIDDEN", "MYELIN_GLOB_NO_IGNORE", "MYELIN_GLOB_TIMEOUT_SECONDS"},
		"tools/bash": {
			"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH", "MYELIN_SHELL", "MYELIN_SHELL_PREFIX",
			"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", "MYELIN_DISABLE_BACKGROUND_TASKS",
		},
		"tools/webfetch":  {"MYELIN_WEBFETCH_CACHE_TTL_MS"},
		"tools/websearch": {"MYELIN_MAX_WEB_SEARCHES_PER_SESSION"},
		"feature/hook":    {"MYELIN_SESSIONEND_HOOKS_TIMEOUT_MS"},
		"app/pool":        {"MYELIN_SIMPLE"},
		"app":             {"MYELIN_TMPDIR"},
		"surface/screen":  {"NO_COLOR", "FORCE_COLOR"},
	}
}
