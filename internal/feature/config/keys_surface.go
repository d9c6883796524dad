package config

func surfaceKeys() []Key {
	timeout := []string{"60s", "5m", "10m", "never"}
	return []Key{
		// custom:… names a theme of one's own, so the list cannot be closed.
		{Name: "theme", Type: TString, Default: `"dark"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "auto, dark, light, dark-daltonized, light-daltonized, dark-ansi, light-ansi, or custom:name"},
		{Name: "editorMode", Type: TString, Enum: []string{"normal", "vim"}, Default: `"normal"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "keys of the input line"},
		{Name: "vimInsertModeRemaps", Type: TStringMap, Scopes: UserManaged, Need: 2, Kind: Plain, Meaning: "keys remapped in insert mode"},
		{Name: "keybindingFlavor", Type: TString, Enum: []string{"classic", "readline"}, Default: `"classic"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "default key bindings"},
		{Name: "tui", Type: TString, Enum: []string{"default", "fullscreen"}, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "kind of screen"},
		{Name: "viewMode", Type: TString, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "detail of the transcript"},
		{Name: "verbose", Type: TBool, Default: "false", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "show everything"},
		{Name: "statusLine", Type: TObject, Scopes: Anywhere, Need: 1, Kind: Helpers, Merge: Replace, Meaning: "command that prints the status line: type, command, padding, refreshInterval"},
		{Name: "subagentStatusLine", Type: TObject, Scopes: Anywhere, Need: 2, Kind: Helpers, Merge: Replace, Meaning: "the same for subagents"},
		{Name: "fileSuggestion", Type: TObject, Scopes: Anywhere, Need: 2, Kind: Helpers, Merge: Replace, Meaning: "command that suggests files for @"},
		{Name: "footerLinksRegexes", Type: TObjects, Scopes: UserManaged, Need: 3, Kind: Plain, Meaning: "links in the footer"},
		{Name: "spinnerTipsEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "tips while one waits"},
		{Name: "spinnerTipsOverride", Type: TAny, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "tips of one's own"},
		{Name: "spinnerVerbs", Type: TAny, Scopes: Anywhere, Need: 2, Kind: Plain, Merge: Replace, Meaning: "words while one waits"},
		{Name: "showTurnDuration", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "how long a turn took"},
		{Name: "terminalProgressBarEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "progress in the terminal's own bar"},
		{Name: "syntaxHighlightingDisabled", Type: TBool, Default: "false", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "code without colours"},
		{Name: "autoScrollEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "follow the output"},
		{Name: "wheelScrollAccelerationEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "fast wheel, long way"},
		{Name: "emojiCompletionEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "complete :names: of emoji"},
		{Name: "promptSuggestionEnabled", Type: TBool, Default: "true", Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "suggest the next prompt"},
		{Name: "prefersReducedMotion", Type: TBool, Default: "false", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "no animation"},
		{Name: "axScreenReader", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "output for screen readers"},
		{Name: "respondToBashCommands", Type: TBool, Default: "true", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "the model answers after a command typed with !"},
		{Name: "defaultShell", Type: TString, Enum: []string{"bash", "powershell"}, Default: `"bash"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "shell of commands typed with !"},
		{Name: "showClearContextOnPlanAccept", Type: TBool, Default: "false", Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "offer to clear the context when a plan is accepted"},
		{Name: "askUserQuestionTimeout", Type: TString, Enum: timeout, Default: `"never"`, Scopes: UserManaged, Need: 1, Kind: Plain, Meaning: "how long a question of the model waits"},
		{Name: "dialogExpiry", Type: TString, Enum: timeout, Default: `"5m"`, Scopes: UserManaged, Need: 2, Kind: Plain, Meaning: "how long a dialog of the program waits"},
		{Name: "companyAnnouncements", Type: TStrings, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "lines shown at start"},
		{Name: "preferredNotifChannel", Type: TString, Enum: []string{"auto", "terminal_bell", "iterm2", "iterm2_with_bell", "kitty", "ghostty", "notifications_disabled"}, Default: `"auto"`, Scopes: Anywhere, Need: 1, Kind: Plain, Meaning: "how one is called"},
		{Name: "autoConnectIde", Type: TBool, Default: "false", Scopes: InGlobal, Need: 2, Kind: Plain, Meaning: "connect to an editor at start"},
		{Name: "autoInstallIdeExtension", Type: TBool, Default: "true", Scopes: InGlobal, Need: 2, Kind: Plain, Meaning: "install the editor's extension"},
		{Name: "diffTool", Type: TString, Default: `"auto"`, Scopes: InGlobal, Need: 2, Kind: Plain, Meaning: "where differences are shown"},
		{Name: "externalEditorContext", Type: TBool, Default: "false", Scopes: InGlobal, Need: 2, Kind: Plain, Meaning: "what the external editor is given"},
	}
}

// noSignIn is why a lock on the sign-in refuses the start: who is signed in cannot be known here.
const noSignIn = "this release has no sign-in, only keys, and cannot keep it"

func accessKeys() []Key {
	helper := func(name string, need int, meaning string) Key {
		return Key{Name: name, Type: TString, Scopes: Anywhere, Need: need, Kind: Helpers, Meaning: meaning}
	}
	return []Key{
		helper("apiKeyHelper", 1, "command whose output is the key of the model's service"),
		helper("awsAuthRefresh", 2, "command that renews the sign-in at AWS"),
		helper("awsCredentialExport", 2, "command that prints credentials of AWS"),
		helper("gcpAuthRefresh", 2, "command that renews the sign-in at Google Cloud"),
		helper("otelHeadersHelper", 2, "command that prints headers for telemetry"),
		{Name: "forceLoginMethod", Type: TString, Scopes: Anywhere, Need: 2, Kind: Plain, Refuse: true, Unkept: noSignIn, Meaning: "the only way to sign in"},
		{Name: "forceLoginOrgUUID", Type: TString | TStrings, Scopes: Anywhere, Need: 2, Kind: Plain, Refuse: true, Unkept: noSignIn, Meaning: "the only organisations to sign in to"},
		{Name: "forceLoginGatewayUrl", Type: TString, Scopes: ManagedOnly, Need: 3, Kind: Plain, Refuse: true, Unkept: noSignIn, Meaning: "gateway to sign in at"},
		{Name: "skipWebFetchPreflight", Type: TBool, Scopes: Anywhere, Need: 1, Kind: Allow, Meaning: "fetch without asking the service about the host first"},
		{Name: "autoUpdatesChannel", Type: TString, Scopes: Anywhere, Need: 2, Kind: Plain, Meaning: "channel of updates"},
		{Name: "minimumVersion", Type: TString, Scopes: Anywhere, Need: 2, Kind: Plain, Lacks: "updates of itself", Meaning: "never update to less"},
		{Name: "requiredMinimumVersion", Type: TString, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Start: true, Open: "a bound nobody can read must not lock everybody out", Meaning: "older programs refuse to start"},
		{Name: "requiredMaximumVersion", Type: TString, Scopes: ManagedOnly, Need: 2, Kind: Restrict, Start: true, Open: "a bound nobody can read must not lock everybody out", Meaning: "newer programs refuse to start"},
		{Name: "forceRemoteSettingsRefresh", Type: TBool, Scopes: ManagedOnly, Need: 3, Kind: Restrict, Start: true, Closed: "true", Unkept: "this release fetches no remote settings and cannot keep it", Meaning: "fetch remote settings before the start"},
		{Name: "parentSettingsBehavior", Type: TString, Scopes: ManagedOnly, Need: 3, Kind: Restrict, Open: "no value of it is stricter than none here", Lacks: "settings of a parent process", Meaning: "settings of a parent process"},
	}
}

// laterKeys are known keys without effect here: accepted, so that files shared with other tools
// give no warnings. Scopes follow what a clone must not set.
func laterKeys() []Key {
	later := func(scopes Scopes, kind Kinds, names ...string) []Key {
		var out []Key
		for _, n := range names {
			out = append(out, Key{Name: n, Type: TAny, Scopes: scopes, Need: 3, Kind: kind, Meaning: "known, without effect"})
		}
		return out
	}
	var out []Key
	out = append(out, later(Anywhere, Plain,
		"advisorModel", "fastMode", "fastModePerSessionOptIn", "ultracode", "switchModelsOnFlag",
		"disableAgentView", "disableWorkflows", "enableWorkflows", "workflowSizeGuideline", "workflowKeywordTriggerEnabled",
		"terminalTitleFromRename", "spellcheck", "voice", "voiceEnabled", "awaySummaryEnabled", "agentPushNotifEnabled",
		"inputNeededNotifEnabled", "feedbackSurveyRate", "disableDeepLinkRegistration", "sshConfigs")...)
	out = append(out, later(UserManaged, Helpers, "processWrapper")...)
	out = append(out, later(ManagedOnly, Plugins, "allowAllClaudeAiMcps", "channelsEnabled")...)
	return append(
		out,
		Key{Name: "allowedChannelPlugins", Type: TAny, Scopes: ManagedOnly, Need: 3, Kind: Restrict, Closed: "[]", Lacks: "channels", Meaning: "known, without effect"},
		Key{Name: "sshHostAllowlist", Type: TAny, Scopes: ManagedOnly, Need: 3, Kind: Restrict, Closed: "[]", Lacks: "connections by SSH", Meaning: "known, without effect"},
		Key{Name: "disableClaudeAiConnectors", Type: TBool, Scopes: Anywhere, Need: 3, Kind: Restrict, Closed: "true", Lacks: "connectors", Strict: []string{"true"}, StrictFrom: Anywhere, Meaning: "known, without effect"},
		Key{Name: "remoteControlAtStartup", Type: TBool, Scopes: Anywhere, Need: 3, Kind: Plain, Closed: "false", Strict: []string{"false"}, StrictFrom: InProject | InLocal, Meaning: "known, without effect"},
		Key{Name: "syncClaudeAiSkills", Type: TBool, Scopes: Anywhere, Need: 3, Kind: Plain, Closed: "false", Strict: []string{"false"}, StrictFrom: UserLocalManaged, Meaning: "known, without effect"},
	)
}
