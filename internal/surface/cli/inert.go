package cli

// inertFlags are the flags that are read but that nothing in this release acts upon. Each leaves
// the list with the part that heeds it.
func inertFlags() []string {
	return []string{
		"mcp-config", "strict-mcp-config", "agents", "agent", "plugin-dir", "plugin-dir-no-mcp", "permission-prompt-tool",
		"session-mirror", "await-initialize", "thinking-display", "debug", "debug-file", "debug-to-stderr", "resume-drops-turn",
	}
}

// guards are the flags that forbid something. One that cannot be heeded ends the run: a host that
// set it relies on it.
func guards() []string { return []string{"resume-drops-turn"} }
