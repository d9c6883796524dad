package confine

import "github.com/myelin-agent/myelin/internal/feature/config"

// Keys declares the settings the sandbox acts upon.
func Keys() []config.Section {
	return config.Used("app/confine",
		"sandbox.enabled", "sandbox.backend", "sandbox.image", "sandbox.failIfUnavailable", "sandbox.autoAllowBashIfSandboxed",
		"sandbox.excludedCommands", "sandbox.allowUnsandboxedCommands", "sandbox.environment.allow",
		"sandbox.filesystem.allowWrite", "sandbox.filesystem.denyWrite", "sandbox.filesystem.denyRead", "sandbox.filesystem.allowRead",
		"sandbox.filesystem.allowManagedReadPathsOnly", "sandbox.filesystem.disabled",
		"sandbox.network.allowedDomains", "sandbox.network.deniedDomains", "sandbox.network.strictAllowlist",
		"sandbox.network.allowManagedDomainsOnly", "sandbox.network.allowAllUnixSockets",
		"sandbox.network.httpProxyPort", "sandbox.network.socksProxyPort",
		"sandbox.credentials.files", "sandbox.credentials.envVars", "sandbox.ignoreViolations",
		"sandbox.enableWeakerNestedSandbox", "sandbox.bwrapPath")
}
