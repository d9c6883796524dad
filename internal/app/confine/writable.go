package confine

import (
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// Roots are the folders that commands of the model may write, confined or not. No program that the
// harness runs for itself may come from there.
func (c *Confiner) Roots() []string { return c.profiler.roots() }

// Writable are the folders that confined programs may write, whatever is cut out of them. With the
// sandbox switched off there are none.
func (c *Confiner) Writable() []string {
	if c.choice.Wanted() == "off" {
		return nil
	}
	return c.profiler.roots()
}

// roots are the folders that commands of the model may write, confined or not. No program that the
// harness runs for itself may come from there.
func (p *profiler) roots() []string {
	profile := p.profile(tool.Confinement{Level: tool.Sandboxed})
	var out []string
	for _, path := range append(profile.Write, profile.Temp, profile.Cache) {
		for strings.ContainsAny(path, "*?[") { // up to where the pattern begins
			path = filepath.Dir(path)
		}
		if filepath.IsAbs(path) {
			out = append(out, path)
		}
	}
	return out
}

// workFolders are the folders of the work at this moment.
func (p *profiler) workFolders() []string {
	return append([]string{p.Places.Start}, p.State.Get().WorkDirs()...)
}
