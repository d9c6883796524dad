package confine

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// profile turns the settings and the rules in force into what one command may do.
func (c *Confiner) profile(how tool.Confinement) sandbox.Config {
	g, state := c.given, c.given.Config()
	p := g.Places
	out := sandbox.Config{
		Dir: p.Start, ReadOnly: how.Level == tool.ReadOnly, Temp: g.Temp(),
		Cache:     c.cacheFolder(),
		Write:     append([]string{p.Start}, g.State.Get().WorkDirs()...),
		Protect:   []string{p.Home, p.StateFile, p.GuestHome, g.SessionDir()},
		FilesFree: setting(state, "sandbox.filesystem.disabled", false), UnixSockets: setting(state, "sandbox.network.allowAllUnixSockets", false),
		AllowPartial: c.Wanted() == "on", Nested: c.weaker(), Bwrap: setting(state, "sandbox.bwrapPath", ""),
		Quarantine: filepath.Join(g.SessionDir(), "quarantine"),
		Network:    sandbox.Network{Decide: c.decideHost, Upstream: c.upstream(), Direct: c.direct}, Container: c.engine(),
	}
	out.Write = append(out.Write, c.paths("sandbox.filesystem.allowWrite")...)
	out.DenyWrite = append(c.paths("sandbox.filesystem.denyWrite"), c.rulePaths(permission.DenyList, "Edit")...)
	out.DenyRead = append(c.paths("sandbox.filesystem.denyRead"), c.rulePaths(permission.DenyList, "Read")...)
	out.AllowRead = c.paths(allowRead)
	out.Write = append(out.Write, c.rulePaths(permission.AllowList, "Edit")...)
	out.Show = []string{g.SessionDir()} // aliases and what hooks left for commands
	out.DropEnv = slices.Clone(modelKeys)
	for _, v := range setting[[]credential](state, "sandbox.credentials.envVars", nil) {
		out.DropEnv = append(out.DropEnv, v.Name) // one that cannot be masked is taken away
	}
	for _, f := range setting[[]credential](state, "sandbox.credentials.files", nil) {
		out.DenyRead = append(out.DenyRead, c.absolute(f.Path, p.Start))
	}
	c.closeStores(&out)
	return out
}

// credential is an entry of sandbox.credentials.
type credential struct {
	Path string `json:"path"`
	Name string `json:"name"`
	Mode string `json:"mode"`
}

// allowRead lists paths that may be read inside denied ones.
const allowRead = "sandbox.filesystem.allowRead"

// paths reads a list of paths; relative ones start where their file's scope says.
func (c *Confiner) paths(key string) []string {
	return c.pathsOf(key, func(origin.Scope) bool { return true })
}

// pathsOf is paths of the scopes that wanted says yes to.
func (c *Confiner) pathsOf(key string, wanted func(origin.Scope) bool) []string {
	var out []string
	state := c.given.Config()
	managedOnly := key == allowRead && setting(state, "sandbox.filesystem.allowManagedReadPathsOnly", false)
	for _, block := range state.Blocks(key) {
		if !wanted(block.At.Scope) || managedOnly && block.At.Scope != origin.Managed {
			continue
		}
		base := c.given.Places.Start
		if block.At.Scope == origin.User {
			base = c.given.Places.Home
		}
		for _, path := range texts(block.JSON) {
			out = append(out, c.absolute(strings.Replace(path, "//", "/", 1), base))
		}
	}
	return out
}

// absolute is where a path of the settings leads.
func (c *Confiner) absolute(path, base string) string {
	switch {
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(c.given.Places.UserHome, path[2:])
	case !filepath.IsAbs(path):
		return filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// rulePaths are the paths of path rules of a list, so that what a rule says of files holds for
// whatever a command does. A pattern without a slash holds at any depth.
func (c *Confiner) rulePaths(list permission.List, name string) []string {
	var out []string
	for _, p := range c.given.Policy().Rules.Paths(name, list) {
		pattern := strings.Trim(p.Pattern, "/")
		if pattern != "" && !strings.Contains(strings.TrimPrefix(p.Pattern, "/"), "/") && !strings.HasPrefix(p.Pattern, "/") {
			pattern = "**/" + pattern
		}
		out = append(out, filepath.Join(p.Base, pattern))
	}
	return out
}

func managed(state *config.State, key string) []string {
	var out []string
	for _, b := range state.Blocks(key) {
		if b.At.Scope == origin.Managed {
			out = append(out, texts(b.JSON)...)
		}
	}
	return out
}

// texts reads a JSON array of strings; files are checked when they are read.
func texts(raw json.RawMessage) []string {
	var out []string
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}
