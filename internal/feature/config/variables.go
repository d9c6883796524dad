package config

// variables are the environment variables one may know from the published format, and our own.
func variables() []Variable {
	var out []Variable
	for _, part := range [][]Variable{accessVariables(), modelVariables(), contextVariables(), toolVariables(), otherVariables()} {
		out = append(out, part...)
	}
	return out
}

func accessVariables() []Variable {
	return []Variable{
		{Name: "ANTHROPIC_API_KEY", Meaning: "key of the Anthropic service"},
		{Name: "ANTHROPIC_AUTH_TOKEN", Meaning: "bearer token of the Anthropic service"},
		{Name: "ANTHROPIC_BASE_URL", Meaning: "address of the Anthropic service"},
		{Name: "ANTHROPIC_CUSTOM_HEADERS", Meaning: "more headers of its requests, one a line"},
		{Name: "ANTHROPIC_BETAS", Meaning: "betas its requests ask for"},
		{Name: "OPENAI_API_KEY", Meaning: "key of the OpenAI service"},
		{Name: "OPENAI_BASE_URL", Meaning: "address of a service that speaks its protocol"},
		{Name: "GEMINI_API_KEY", Meaning: "key of the Gemini service"},
		{Name: "GOOGLE_API_KEY", Meaning: "the same"},
		{Name: "GOOGLE_GEMINI_BASE_URL", Meaning: "address of the Gemini service"},
		{Name: "OLLAMA_HOST", Meaning: "address of a local Ollama"},
		{Name: "MYELIN_API_KEY_HELPER_TTL_MS", Meaning: "how long a key of apiKeyHelper is kept"},
		{Name: "MYELIN_EXTRA_BODY", Meaning: "JSON object that is added to the body of requests"},
		{Name: "MYELIN_USE_BEDROCK", Meaning: "reach Claude models through Amazon Bedrock"},
		{Name: "MYELIN_USE_VERTEX", Meaning: "reach Claude models through Google Vertex"},
		{Name: "MYELIN_USE_FOUNDRY", Meaning: "reach Claude models through Microsoft Foundry"},
		{Name: "HTTP_PROXY", Meaning: "proxy of plain requests"},
		{Name: "HTTPS_PROXY", Meaning: "proxy of requests"},
		{Name: "NO_PROXY", Meaning: "hosts that are reached without it"},
		{Name: "NODE_EXTRA_CA_CERTS", Meaning: "file of more certificate authorities"},
		{Name: "MYELIN_CLIENT_CERT", Meaning: "file of a client certificate"},
		{Name: "MYELIN_CLIENT_KEY", Meaning: "file of its key"},
		{Name: "MYELIN_CLIENT_KEY_PASSPHRASE", Meaning: "passphrase of the key"},
		{Name: "MYELIN_CERT_STORE", Meaning: "which store of authorities is used"},
		{Name: "API_TIMEOUT_MS", Meaning: "longest wait for the head of an answer"},
	}
}

func modelVariables() []Variable {
	return []Variable{
		{Name: "MYELIN_MODEL", Meaning: "model to begin with"},
		{Name: "ANTHROPIC_MODEL", Meaning: "model to begin with, over the settings key"},
		{Name: "ANTHROPIC_DEFAULT_MODEL", Meaning: "model to begin with, under the settings key"},
		{Name: "ANTHROPIC_DEFAULT_OPUS_MODEL", Meaning: "what opus stands for"},
		{Name: "ANTHROPIC_DEFAULT_SONNET_MODEL", Meaning: "what sonnet stands for"},
		{Name: "ANTHROPIC_DEFAULT_HAIKU_MODEL", Meaning: "what haiku stands for"},
		{Name: "ANTHROPIC_SMALL_FAST_MODEL", Meaning: "the same, its older name"},
		{Name: "MYELIN_SUBAGENT_MODEL", Meaning: "model of subagents"},
		{Name: "MYELIN_EFFORT_LEVEL", Meaning: "how much effort the model takes, over flag and settings key"},
		{Name: "MAX_THINKING_TOKENS", Meaning: "most tokens of thinking; 0: none"},
		{Name: "MYELIN_MAX_OUTPUT_TOKENS", Meaning: "most tokens of an answer"},
		{Name: "MYELIN_MAX_CONTEXT_TOKENS", Meaning: "window of a model the catalogue does not know"},
		{Name: "MYELIN_DISABLE_1M_CONTEXT", Meaning: "use no window of a million tokens"},
		{Name: "DISABLE_PROMPT_CACHING", Meaning: "ask for no prompt cache"},
		{Name: "ENABLE_PROMPT_CACHING_1H", Meaning: "keep the prompt cache for an hour"},
		{Name: "FORCE_PROMPT_CACHING_5M", Meaning: "keep it for five minutes"},
		{Name: "MYELIN_MAX_RETRIES", Meaning: "how often a failed request is repeated"},
		{Name: "MYELIN_RETRY_WATCHDOG", Meaning: "go on repeating where nobody watches"},
		{Name: "CLAUDE_STREAM_IDLE_TIMEOUT_MS", Meaning: "longest silence of a stream"},
		{Name: "CLAUDE_ENABLE_STREAM_WATCHDOG", Meaning: "watch for silence"},
		{Name: "MYELIN_DISABLE_NONSTREAMING_FALLBACK", Meaning: "never ask again without streaming"},
		{Name: "MYELIN_DISABLE_EXPERIMENTAL_BETAS", Meaning: "ask for no betas unasked"},
		{Name: "FALLBACK_FOR_ALL_PRIMARY_MODELS", Meaning: "fall back whatever the model is"},
	}
}

func contextVariables() []Variable {
	return []Variable{
		{Name: "DISABLE_COMPACT", Meaning: "never compact"},
		{Name: "DISABLE_AUTO_COMPACT", Meaning: "compact only when asked"},
		{Name: "MYELIN_AUTO_COMPACT_WINDOW", Meaning: "window compaction reckons with, over the settings key"},
		{Name: "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", Meaning: "compact at this percentage of the window"},
		{Name: "MYELIN_DISABLE_CLAUDE_MDS", Meaning: "load no instruction files"},
		{Name: "MYELIN_DISABLE_AUTO_MEMORY", Meaning: "keep no notes between sessions"},
		{Name: "MYELIN_ADDITIONAL_DIRECTORIES_CLAUDE_MD", Meaning: "load instruction files of added folders"},
		{Name: "MYELIN_DISABLE_FILE_CHECKPOINTING", Meaning: "keep no checkpoints"},
		{Name: "MYELIN_ENABLE_SDK_FILE_CHECKPOINTING", Meaning: "keep them for a host"},
		{Name: "MYELIN_FILE_READ_MAX_OUTPUT_TOKENS", Meaning: "longest result of a read"},
		{Name: "MAX_MCP_OUTPUT_TOKENS", Meaning: "longest result of an MCP tool"},
		{Name: "TASK_MAX_OUTPUT_LENGTH", Meaning: "longest output of a task that is shown"},
		{Name: "SLASH_COMMAND_TOOL_CHAR_BUDGET", Meaning: "longest list of skills"},
		{Name: "MYELIN_DISABLE_ATTACHMENTS", Meaning: "attach nothing to prompts"},
		{Name: "MYELIN_SKIP_PROMPT_HISTORY", Meaning: "keep no prompt history"},
	}
}

func toolVariables() []Variable {
	return []Variable{
		{Name: "BASH_DEFAULT_TIMEOUT_MS", Meaning: "time limit of a command"},
		{Name: "BASH_MAX_TIMEOUT_MS", Meaning: "longest time limit"},
		{Name: "BASH_MAX_OUTPUT_LENGTH", Meaning: "longest output of a command"},
		{Name: "MYELIN_SHELL", Meaning: "shell of commands"},
		{Name: "MYELIN_SHELL_PREFIX", Meaning: "program that commands are handed to"},
		{Name: "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR", Meaning: "each command begins in the project"},
		{Name: "MYELIN_TMPDIR", Meaning: "folder of temporary files"},
		{Name: "MYELIN_TOOL_MEMORY_LIMIT", Meaning: "most memory of a command"},
		{Name: "MYELIN_SUBPROCESS_ENV_SCRUB", Meaning: "keep keys from what is started"},
		{Name: "MYELIN_SCRIPT_CAPS", Meaning: "limits of scripts"},
		{Name: "MYELIN_DISABLE_BACKGROUND_TASKS", Meaning: "run nothing in the background"},
		{Name: "MYELIN_GLOB_HIDDEN", Meaning: "find hidden files"},
		{Name: "MYELIN_GLOB_NO_IGNORE", Meaning: "find ignored files"},
		{Name: "MYELIN_GLOB_TIMEOUT_SECONDS", Meaning: "time limit of a search for files"},
		{Name: "MYELIN_MAX_TOOL_USE_CONCURRENCY", Meaning: "most calls side by side"},
		{Name: "ENABLE_TOOL_SEARCH", Meaning: "name tools only until they are searched for"},
		{Name: "USE_BUILTIN_RIPGREP", Holds: true, Meaning: "which ripgrep searches; none is needed here"},
		{Name: "MYELIN_WEBFETCH_CACHE_TTL_MS", Meaning: "how long a page is kept"},
		{Name: "MYELIN_MAX_WEB_SEARCHES_PER_SESSION", Meaning: "most searches of the web"},
		{Name: "MYELIN_ENABLE_TASKS", Meaning: "0: one tool writes the whole list of todos"},
		{Name: "MYELIN_TASK_LIST_ID", Meaning: "list of todos that sessions share"},
		{Name: "MYELIN_PERFORCE_MODE", Meaning: "files are read-only until they are opened"},
		{Name: "MYELIN_MAX_CONCURRENT_SUBAGENTS", Meaning: "most subagents side by side"},
		{Name: "MYELIN_MAX_SUBAGENT_SPAWN_DEPTH", Meaning: "how deep subagents start others"},
		{Name: "MYELIN_MAX_TURNS", Meaning: "most rounds of a turn"},
		{Name: "MYELIN_FORK_SUBAGENT", Meaning: "subagents begin with the conversation"},
		{Name: "MYELIN_EXPERIMENTAL_AGENT_TEAMS", Meaning: "agents work in teams"},
		{Name: "CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS", Meaning: "when a silent agent counts as stuck"},
		{Name: "MYELIN_STOP_HOOK_BLOCK_CAP", Meaning: "how often stop hooks may keep a turn going"},
		{Name: "MYELIN_SESSIONEND_HOOKS_TIMEOUT_MS", Meaning: "time limit of SessionEnd hooks"},
		{Name: "MCP_TIMEOUT", Meaning: "longest start of an MCP server"},
		{Name: "MCP_TOOL_TIMEOUT", Meaning: "longest call of an MCP tool"},
		{Name: "MYELIN_MCP_TOOL_IDLE_TIMEOUT", Meaning: "longest silence of one"},
		{Name: "MYELIN_MCP_ALLOWLIST_ENV", Meaning: "MCP servers see chosen variables only"},
		{Name: "MCP_CONNECTION_NONBLOCKING", Meaning: "begin before MCP servers are connected"},
		{Name: "MCP_SERVER_CONNECTION_BATCH_SIZE", Meaning: "local servers connected at once"},
		{Name: "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", Meaning: "remote servers connected at once"},
	}
}

func otherVariables() []Variable {
	return []Variable{
		{Name: "DISABLE_TELEMETRY", Holds: true, Meaning: "send no telemetry; none is sent here"},
		{Name: "DO_NOT_TRACK", Holds: true, Meaning: "the same"},
		{Name: "DISABLE_ERROR_REPORTING", Holds: true, Meaning: "report no errors; none are reported here"},
		{Name: "MYELIN_DISABLE_NONESSENTIAL_TRAFFIC", Holds: true, Meaning: "reach nothing but the model; nothing else is reached here"},
		{Name: "MYELIN_ENABLE_TELEMETRY", Meaning: "send telemetry"},
		{Name: "NO_COLOR", Meaning: "no colours"},
		{Name: "FORCE_COLOR", Meaning: "colours also into pipes"},
		{Name: "MYELIN_DISABLE_TERMINAL_TITLE", Meaning: "leave the title of the terminal alone"},
		{Name: "MYELIN_NO_FLICKER", Meaning: "draw on a screen of its own"},
		{Name: "MYELIN_DISABLE_ALTERNATE_SCREEN", Meaning: "never do"},
		{Name: "MYELIN_DISABLE_MOUSE", Meaning: "leave the mouse alone"},
		{Name: "MYELIN_SYNTAX_HIGHLIGHT", Meaning: "colour code"},
		{Name: "CLAUDE_AX_SCREEN_READER", Meaning: "suit a screen reader"},
		{Name: "FORCE_HYPERLINK", Meaning: "links in the terminal"},
		{Name: "MYELIN_HIDE_CWD", Meaning: "do not show the folder"},
		{Name: "CLAUDE_CONFIG_DIR", Meaning: "home, where MYELIN_HOME is not set"},
		{Name: "MYELIN_HOME", Meaning: "home"},
		{Name: "MYELIN_TRUST", Meaning: "what of the folder is trusted in this run"},
		{Name: "MYELIN_SAFE_MODE", Meaning: "start without hooks, skills, plugins, servers and instruction files"},
		{Name: "MYELIN_SIMPLE", Meaning: "shell, read and edit alone"},
		{Name: "MYELIN_DEBUG_LOG_LEVEL", Meaning: "what the debug log holds"},
		{Name: "MYELIN_DEBUG_LOGS_DIR", Meaning: "where it is"},
		{Name: "IS_SANDBOX", Meaning: "this is a container: bypassPermissions may be used as root"},
	}
}
