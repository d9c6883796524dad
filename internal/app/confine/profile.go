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
	"github.com/myelin-agent/myelin/internal/tools/edit"
	"github.com/myelin-agent/myelin/internal/tools/read"
)

// profiler makes profiles: what one command may write, read and reach.
type profiler struct {
	*Scene
	choice
	network func() sandbox.Network
}

// profile turns the settings and the rules in force into what one command may do.
func (p *profiler) profile(how tool.Confinement) sandbox.Config {
	g, state := p.Places, p.Config()
	out := sandbox.Config{
		Dir: g.Start, ReadOnly: how.Level == tool.ReadOnly, Temp: p.Temp(),
		Cache:     p.cacheFolder(),
		Write:     append([]string{g.Start}, p.State.Get().WorkDirs()...),
		Protect:   []string{g.Home, g.StateFile, g.GuestHome, p.SessionDir()},
		FilesFree: setting(state, "sandbox.filesystem.disabled", false), UnixSockets: setting(state, "sandbox.network.allowAllUnixSockets", false),
		AllowPartial: p.Wanted() == "on", Nested: p.weaker(), Bwrap: setting(state, "sandbox.bwrapPath", ""),
		Quarantine: filepath.Join(p.SessionDir(), "quarantine"),
		Network:    p.network(), Container: p.engine(),
	}
	out.Write = append(out.Write, p.paths("sandbox.filesystem.allowWrite")...)
	out.DenyWrite = append(p.paths("sandbox.filesystem.denyWrite"), p.rulePaths(permission.DenyList, edit.Name)...)
	out.DenyRead = append(p.paths("sandbox.filesystem.denyRead"), p.rulePaths(permission.DenyList, read.Name)...)
	out.AllowRead = p.paths(allowRead)
	out.Write = append(out.Write, p.rulePaths(permission.AllowList, edit.Name)...)
	out.Show = []string{p.SessionDir()} // aliases and what hooks left for commands
	out.DropEnv = slices.Clone(modelKeys)
	for _, v := range setting[[]credential](state, "sandbox.credentials.envVars", nil) {
		out.DropEnv = append(out.DropEnv, v.Name) // one that cannot be masked is taken away
	}
	for _, f := range setting[[]credential](state, "sandbox.credentials.files", nil) {
		out.DenyRead = append(out.DenyRead, p.absolute(f.Path, g.Start))
	}
	p.closeStores(&out)
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
func (p *profiler) paths(key string) []string {
	return p.pathsOf(key, func(origin.Scope) bool { return true })
}

// pathsOf is paths of the scopes that wanted says yes to.
func (p *profiler) pathsOf(key string, wanted func(origin.Scope) bool) []string {
	var out []string
	state := p.Config()
	managedOnly := key == allowRead && setting(state, "sandbox.filesystem.allowManagedReadPathsOnly", false)
	for _, block := range state.Blocks(key) {
		if !wanted(block.At.Scope) || managedOnly && block.At.Scope != origin.Managed {
			continue
		}
		base := p.Places.Start
		if block.At.Scope == origin.User {
			base = p.Places.Home
		}
		for _, path := range texts(block.JSON) {
			out = append(out, p.absolute(strings.Replace(path, "//", "/", 1), base))
		}
	}
	return out
}

// absolute is where a path of the settings leads.
func (p *profiler) absolute(path, base string) string {
	switch {
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(p.Places.UserHome, path[2:])
	case !filepath.IsAbs(path):
		return filepath.Join(base, path)
	}
	return filepath.Clean(path)
}

// rulePaths are the paths of path rules of a list, so that what a rule says of files holds for
// whatever a command does. A pattern without a slash holds at any depth.
func (p *profiler) rulePaths(list permission.List, name string) []string {
	var out []string
	for _, rule := range p.Policy().Rules.Paths(name, list) {
		pattern := strings.Trim(rule.Pattern, "/")
		if pattern != "" && !strings.Contains(strings.TrimPrefix(rule.Pattern, "/"), "/") && !strings.HasPrefix(rule.Pattern, "/") {
			pattern = "**/" + pattern
		}
		out = append(out, filepath.Join(rule.Base, pattern))
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
