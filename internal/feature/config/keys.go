package config

// Keys is the catalogue of the settings the program knows: the public settings format and its own
// additions. The table is what validation, docs/settings.schema.json and "myelin config" go by.
// Each call returns a table of its own.
func Keys() []Key {
	var out []Key
	for _, part := range [][]Key{modelKeys(), permissionKeys(), sandboxKeys(), contextKeys(), budgetKeys(), extensionKeys(), surfaceKeys(), accessKeys(), laterKeys()} {
		out = append(out, part...)
	}
	return out
}

func modelKeys() []Key {
	return []Key{
		{Name: "model", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Start: true, Meaning: "alias or id of the model new sessions start with"},
		{Name: "fallbackModel", Type: TStrings | TString, Scopes: Anywhere, Need: 1, Kind: Plain, Merge: Replace, Meaning: "models tried in order, for the rest of the turn, when the model is overloaded or unavailable; at most three"},
		{Name: "availableModels", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Plain, Merge: ReplaceManaged, Closed: "[]", Meaning: "models that may be used at all; none given: all"},
		{Name: "enforceAvailableModels", Type: TBool, Default: "false", Scopes: Anywhere, Need: 2, Kind: Plain, Closed: "true", Meaning: "the default choice must be in availableModels too"},
		{Name: "modelOverrides", Type: TStringMap, Scopes: Anywhere, Need: 2, Kind: Plain, Merge: ReplaceEach, Meaning: "model id to the provider's id"},
		{Name: "models", Type: TObject, Scopes: UserManaged, Need: 1, Kind: Plain, Merge: ReplaceEach, Start: true, Meaning: "by provider/model: what the built-in list of models lacks or has wrong (context_window, max_output, price, …)"},
		{Name: "effortLevel", Type: TString, Enum: []string{"low", "medium", "high", "xhigh"}, Scopes: Anywhere, Need: 1, Kind: Plain, Start: true, Meaning: "how much effort the model takes"},
		{Name: "alwaysThinkingEnabled", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "false turns thinking off"},
		{Name: "showThinkingSummaries", Type: TBool, Default: "false", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "show summaries of thinking"},
		{Name: "outputStyle", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Start: true, Meaning: "name of the output style; applies after /clear or a restart"},
		{Name: "language", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "language of the answers"},
	}
}

func permissionKeys() []Key {
	return []Key{
		{Name: "permissions.allow", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Allow, Meaning: "rules for calls that need no question"},
		{Name: "permissions.ask", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Restrict, Forbids: true, Meaning: "rules for calls that are always asked about"},
		{Name: "permissions.deny", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Restrict, Forbids: true, Meaning: "rules for calls that are refused"},
		{Name: "permissions.additionalDirectories", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Allow, Meaning: "more working directories"},
		{Name: "permissions.defaultMode", Type: TString, Default: `"default"`, Enum: []string{"default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"}, Scopes: Anywhere, Need: 1, Kind: Allow, Start: true, Closed: `"default"`, Meaning: "permission mode a session starts in; auto is not taken from project and local files"},
		{Name: "permissions.disableBypassPermissionsMode", Type: TString, Enum: []string{"disable"}, Scopes: Anywhere, Need: 1, Kind: Restrict, Strict: []string{`"disable"`}, StrictFrom: Anywhere, Closed: `"disable"`, Meaning: "locks out bypassPermissions"},
		{Name: "permissions.disableAutoMode", Type: TString, Enum: []string{"disable"}, Scopes: Anywhere, Need: 1, Kind: Restrict, Strict: []string{`"disable"`}, StrictFrom: Anywhere, Closed: `"disable"`, Meaning: "locks out auto"},
		{Name: "disableAutoMode", Type: TString, Enum: []string{"disable"}, Scopes: Anywhere, Need: 1, Kind: Restrict, Strict: []string{`"disable"`}, StrictFrom: Anywhere, Closed: `"disable"`, Meaning: "locks out auto"},
		{Name: "allowManagedPermissionRulesOnly", Type: TBool, Default: "false", Scopes: ManagedOnly, Need: 1, Kind: Restrict, Closed: "true", Meaning: "only managed permission rules count"},
		{Name: "autoMode", Type: TObject, Scopes: UserManaged, Need: 1, Kind: Allow, Forbids: true, Meaning: "prose rules of the auto mode's classifier: environment, allow, soft_deny, hard_deny, classifyAllShell"},
		{Name: "useAutoModeDuringPlan", Type: TBool, Default: "true", Scopes: UserLocalManaged, Need: 1, Kind: Allow, Strict: []string{"false"}, StrictFrom: UserLocalManaged, Closed: "false", Meaning: "the classifier decides in plan mode"},
		{Name: "skipDangerousModePermissionPrompt", Type: TBool, Scopes: UserLocalManaged, Need: 1, Kind: Allow, Meaning: "the warning of bypassPermissions was accepted"},
		{Name: "skipAutoPermissionPrompt", Type: TBool, Scopes: UserManaged, Need: 2, Kind: Allow, Meaning: "skip the notice of the auto mode"},
		{Name: "permissionExplainerEnabled", Type: TBool, Default: "true", Scopes: InGlobal, Need: 2, Kind: Plain, Meaning: "explain key in questions about shell commands"},
	}
}

func sandboxKeys() []Key {
	allow := func(name string, t Type, need int, def, meaning string) Key {
		return Key{Name: "sandbox." + name, Type: t, Default: def, Scopes: Anywhere, Need: need, Kind: Allow, Meaning: meaning}
	}
	restrict := func(name string, t Type, need int, meaning string) Key {
		return Key{Name: "sandbox." + name, Type: t, Scopes: Anywhere, Need: need, Kind: Restrict, Forbids: true, Meaning: meaning}
	}
	only := func(name string, t Type, scopes Scopes, need int, def, meaning string) Key {
		return Key{Name: "sandbox." + name, Type: t, Default: def, Scopes: scopes, Need: need, Kind: Allow, Meaning: meaning}
	}
	enabled := allow("enabled", TBool|TString, 1, `"auto"`, "run shell commands in a sandbox; auto: where the full level is available, off in drop-in mode")
	enabled.Enum = []string{"auto"}
	fail := allow("failIfUnavailable", TBool, 1, "false", "refuse to start without a sandbox")
	fail.Start = true
	closed := func(k Key, value string) Key {
		k.Closed = value
		return k
	}
	backend := only("backend", TString, UserManaged, 2, `"auto"`, "what confines: auto (bubblewrap, Landlock or Seatbelt), or a container engine: docker, podman")
	backend.Enum = []string{"auto", "docker", "podman"}
	return []Key{
		closed(enabled, "true"), backend,
		only("image", TString, UserManaged, 2, "", "image of the containers, for a backend that is an engine; it is never fetched"),
		closed(fail, "true"),
		closed(allow("autoAllowBashIfSandboxed", TBool, 1, "true", "commands inside the sandbox need no question"), "false"),
		allow("excludedCommands", TStrings, 1, "", "patterns of commands that run outside"),
		closed(allow("allowUnsandboxedCommands", TBool, 1, "true", "the model may ask to run a command outside"), "false"),
		only("environment.allow", TStrings, UserManaged, 1, "", "variables that commands inside may see although their names look like secrets; * stands for any text"),
		allow("filesystem.allowWrite", TStrings, 1, "", "more paths that may be written"),
		restrict("filesystem.denyWrite", TStrings, 1, "paths that may not be written"),
		restrict("filesystem.denyRead", TStrings, 1, "paths that may not be read"),
		allow("filesystem.allowRead", TStrings, 1, "", "paths that may be read inside denied ones"),
		closed(only("filesystem.allowManagedReadPathsOnly", TBool, ManagedOnly, 1, "false", "only managed allowRead counts"), "true"),
		only("filesystem.disabled", TBool, UserManaged, 1, "false", "confine the network only"),
		allow("network.allowedDomains", TStrings, 1, "", "hosts that may be reached: host, *.host, host:port, [ipv6]"),
		restrict("network.deniedDomains", TStrings, 1, "hosts that may not be reached"),
		closed(only("network.strictAllowlist", TBool, UserManaged, 1, "false", "refuse other hosts instead of asking"), "true"),
		closed(only("network.allowManagedDomainsOnly", TBool, ManagedOnly, 1, "false", "only managed allowedDomains count"), "true"),
		allow("network.allowUnixSockets", TStrings, 2, "", "sockets that may be used (macOS)"),
		allow("network.allowAllUnixSockets", TBool, 1, "false", "lift the filter of sockets"),
		allow("network.allowLocalBinding", TBool, 2, "", "listen on local ports (macOS)"),
		allow("network.allowMachLookup", TStrings, 2, "", "services that may be looked up (macOS)"),
		allow("network.httpProxyPort", TInt, 2, "", "port of an HTTP proxy of one's own"),
		allow("network.socksProxyPort", TInt, 2, "", "port of a SOCKS proxy of one's own"),
		only("network.tlsTerminate", TObject, UserManaged, 3, "", "look into TLS: caCertPath, caKeyPath"),
		restrict("credentials.files", TObjects, 1, "files kept from commands: path and mode, deny or mask"),
		restrict("credentials.envVars", TObjects, 1, "variables kept from commands: name and mode, deny or mask"),
		only("credentials.allowPlaintextInject", TAny, UserManaged, 3, "", "detail of masking"),
		only("credentials.awsPairs", TAny, UserManaged, 3, "", "detail of masking"),
		only("credentials.sigv4", TAny, UserManaged, 3, "", "detail of masking"),
		allow("ignoreViolations", TObject, 2, "", "part of a command to the paths that are not reported"),
		allow("enableWeakerNestedSandbox", TBool, 1, "false", "use the container's /proc"),
		allow("enableWeakerNetworkIsolation", TBool, 3, "false", "macOS"),
		only("allowAppleEvents", TBool, UserManaged, 3, "false", "macOS"),
		only("bwrapPath", TString, ManagedOnly, 1, "", "absolute path of bubblewrap; none given: from PATH"),
		only("socatPath", TString, ManagedOnly, 3, "", "not needed here"),
		only("ripgrep", TAny, UserManaged, 3, "", "not needed here"),
	}
}

// budgetKeys are bounds; a level may only lower what another sets, so that they need no trust.
func budgetKeys() []Key {
	var out []Key
	for _, scope := range []struct{ name, of string }{{"session", "of a session"}, {"turn", "of a turn"}, {"agent", "of each subagent"}} {
		for _, unit := range []struct{ name, meaning string }{
			{"usd", "most US dollars "}, {"tokens", "most tokens, cached ones included, "}, {"requests", "most requests to models "}, {"minutes", "most minutes of turns "}, {"turns", "most turns "},
		} {
			if unit.name == "minutes" && scope.name == "agent" || unit.name == "turns" && scope.name != "session" {
				continue
			}
			out = append(out, Key{
				Name: "budget." + scope.name + "." + unit.name, Type: TNumber, Scopes: Anywhere, Need: 1, Kind: Restrict, Closed: "0",
				Min: 0, Max: 1e12, Meaning: unit.meaning + scope.of + "; of several levels the smallest counts",
			})
		}
	}
	return out
}

func contextKeys() []Key {
	onOff := []string{"on", "off"}
	return []Key{
		{Name: "autoCompactEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "compact near the limit of the window"},
		{Name: "autoCompactWindow", Type: TInt, Min: 100000, Max: 1000000, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "tokens, at most the model's window"},
		{Name: "autoMemoryEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "the model keeps notes between sessions"},
		{Name: "autoMemoryDirectory", Type: TString, Scopes: Anywhere, Need: 1, Kind: Allow, Meaning: "where they are; absolute or below ~/"},
		{Name: "shaping.budget", Type: TString, Enum: onOff, Default: `"on"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "stage of context shaping: bound tool results"},
		{Name: "shaping.microcompact", Type: TString, Enum: onOff, Default: `"on"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "stage of context shaping: clear old tool results"},
		{Name: "shaping.collapse", Type: TString, Enum: onOff, Default: `"on"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "stage of context shaping: collapse"},
		{Name: "shaping.snip", Type: TString, Enum: onOff, Default: `"off"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "stage of context shaping: snip"},
		{Name: "shaping.microcompactAfter", Type: TNumber, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "minutes without a request after which old results are cleared; none given: the provider's cache lifetime"},
		{Name: "claudeMd", Type: TString, Scopes: ManagedOnly, Need: 1, Kind: Plain, Meaning: "instructions for everybody on the machine"},
		{Name: "claudeMdExcludes", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "patterns of absolute paths of instruction files that are not read; never managed ones"},
		{Name: "instructions.agentsMd", Type: TString, Enum: []string{"auto", "always", "never"}, Default: `"auto"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "whether AGENTS.md is read"},
		{Name: "env", Type: TStringMap, Scopes: Anywhere, Need: 1, Kind: EnvVars, Meaning: "variables for the session and what it starts; an empty value takes an exported one away"},
		{Name: "fileCheckpointingEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "keep checkpoints of files"},
		{Name: "plansDirectory", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "where plans are kept, inside the project; none given: plans in home"},
		{Name: "skillListingBudgetFraction", Type: TNumber, Default: "0.01", Max: 1, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "share of the window for the list of skills"},
		{Name: "skillListingMaxDescChars", Type: TInt, Default: "1536", Max: 1 << 20, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "longest description in the list of skills"},
		{Name: "includeGitInstructions", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "text about git and a status snapshot in the prompt"},
		{Name: "attribution.commit", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "trailer of commits; empty: none"},
		{Name: "attribution.pr", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "line in pull requests; empty: none"},
		{Name: "attribution.sessionUrl", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "add the session's address"},
		{Name: "includeCoAuthoredBy", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "older form of attribution.commit"},
		{Name: "prUrlTemplate", Type: TString, Scopes: Anywhere, Need: 3, Kind: Plain, Meaning: "template of links to pull requests"},
		{Name: "respectGitignore", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "the @ picker leaves ignored files out"},
		{Name: "cleanupPeriodDays", Type: TInt, Min: 1, Max: 1 << 30, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "days after which transcripts and checkpoints move to a trash; none given: nothing goes"},
		{Name: "compat", Type: TBool, Default: "true", Scopes: UserManaged, Need: 1, Kind: Plain, Meaning: "false: files of the other tool are not read; counts in native files only"},
		{Name: "worktree.baseRef", Type: TString, Enum: []string{"fresh", "head"}, Default: `"fresh"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "what a new worktree starts from"},
		{Name: "worktree.symlinkDirectories", Type: TStrings, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "folders linked into a new worktree"},
		{Name: "worktree.sparsePaths", Type: TStrings, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "paths checked out in a new worktree"},
		{Name: "worktree.bgIsolation", Type: TString, Enum: []string{"worktree", "none"}, Default: `"worktree"`, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "where background agents work"},
	}
}

func extensionKeys() []Key {
	return []Key{
		{Name: "hooks", Type: TObject, Scopes: Anywhere, Need: 1, Kind: Hooks, Merge: Concat, Meaning: "commands, requests and prompts that run at events"},
		{Name: "disableAllHooks", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Hooks, Meaning: "hooks off; managed ones only by a managed value"},
		{Name: "allowManagedHooksOnly", Type: TBool, Scopes: ManagedOnly, Need: 1, Kind: Restrict, Closed: "true", Meaning: "only managed hooks run"},
		{Name: "allowedHttpHookUrls", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Hooks, Closed: "[]", Meaning: "addresses HTTP hooks may use"},
		{Name: "httpHookAllowedEnvVars", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Hooks, Closed: "[]", Meaning: "variables HTTP hooks may send"},
		{Name: "disableSkillShellExecution", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Plain, Closed: "true", Lacks: "skills", Meaning: "no inline shell in skills"},
		{Name: "disableBundledSkills", Type: TBool, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "no skills of the program itself"},
		{Name: "skillOverrides", Type: TStringMap, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "skill to on, name-only, user-invocable-only or off"},
		{Name: "enabledPlugins", Type: TBoolMap, Scopes: Anywhere, Need: 1, Kind: Plugins, Meaning: "plugin@marketplace to true or false"},
		{Name: "extraKnownMarketplaces", Type: TObject, Scopes: Anywhere, Need: 1, Kind: Plugins, Merge: ReplaceEach, Meaning: "more places plugins come from"},
		{Name: "pluginConfigs", Type: TObject, Scopes: UserManaged, Need: 2, Kind: Plugins, Meaning: "values plugins ask for"},
		{Name: "pluginSandbox", Type: TString, Enum: []string{"on", "managed", "off"}, Scopes: UserManaged, Need: 2, Kind: Plugins, Closed: `"on"`, Lacks: "plugins", Meaning: "where code of plugins runs; on where the full level is available"},
		{Name: "policyLimits", Type: TObject, Scopes: UserManaged, Need: 1, Kind: Plain, Merge: Replace, Refuse: true, Meaning: "limits an organisation serves: url, publicKey, onMissing"},
		{Name: "strictKnownMarketplaces", Type: TAny, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Closed: "[]", Lacks: "plugins", Meaning: "the only marketplaces there are"},
		{Name: "blockedMarketplaces", Type: TAny, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Forbids: true, Lacks: "plugins", Meaning: "marketplaces that are refused"},
		{Name: "strictPluginOnlyCustomization", Type: TBool | TStrings, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Enum: []string{"skills", "agents", "hooks", "mcp"}, Closed: "true", Meaning: "hooks, skills and the like from plugins only"},
		{Name: "disableSideloadFlags", Type: TBool, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Closed: "true", Lacks: "plugins", Meaning: "no plugins by flag"},
		{Name: "disableCommandPluginSources", Type: TBool, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Closed: "true", Lacks: "plugins", Meaning: "no plugins from commands"},
		{Name: "pluginSuggestionMarketplaces", Type: TAny, Scopes: ManagedOnly, Need: 3, Kind: Plugins, Meaning: "marketplaces that are suggested"},
		{Name: "pluginTrustMessage", Type: TString, Scopes: ManagedOnly, Need: 3, Kind: Plugins, Meaning: "text beside the question about plugins"},
		{Name: "enableAllProjectMcpServers", Type: TBool, Scopes: Anywhere, Need: 1, Kind: MCP, Meaning: "approve every server of .mcp.json"},
		{Name: "enabledMcpjsonServers", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: MCP, Meaning: "approved servers of .mcp.json"},
		{Name: "disabledMcpjsonServers", Type: TStrings, Scopes: Anywhere, Need: 1, Kind: Restrict, Forbids: true, Lacks: "MCP servers", Meaning: "refused servers of .mcp.json"},
		{Name: "allowedMcpServers", Type: TObjects, Scopes: Anywhere, Need: 1, Kind: MCP, Closed: "[]", Lacks: "MCP servers", Meaning: "the only servers there are: serverName, serverCommand or serverUrl"},
		{Name: "deniedMcpServers", Type: TObjects, Scopes: Anywhere, Need: 1, Kind: Restrict, Forbids: true, Lacks: "MCP servers", Meaning: "servers that are refused"},
		{Name: "allowManagedMcpServersOnly", Type: TBool, Default: "false", Scopes: ManagedOnly, Need: 1, Kind: Restrict, Closed: "true", Lacks: "MCP servers", Meaning: "only managed allowedMcpServers count"},
		{Name: "agent", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Start: true, Meaning: "agent the main conversation runs as"},
		{Name: "teammateMode", Type: TString, Enum: []string{"in-process", "auto", "tmux"}, Default: `"in-process"`, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "where teammates run"},
		{Name: "crossSessionInbound", Type: TString, Enum: []string{"accept", "hold", "refuse"}, Scopes: Anywhere, Need: 2, Kind: Plain, Strict: []string{`"accept"`, `"hold"`, `"refuse"`}, StrictFrom: InProject | InLocal, Closed: `"refuse"`, Lacks: "messages between sessions", Meaning: "messages of other sessions"},
		{Name: "isolatePeerMachines", Type: TBool, Scopes: Anywhere, Need: 2, Kind: Restrict, Strict: []string{"true"}, StrictFrom: Anywhere, Closed: "true", Lacks: "messages between machines", Meaning: "no messages between machines"},
		{Name: "policyHelper", Type: TObject, Scopes: ManagedOnly, Need: 1, Kind: Helpers, Merge: Replace, Start: true, Refuse: true, Meaning: "program that prints the managed settings: path, timeoutMs, refreshIntervalMs"},
	}
}
