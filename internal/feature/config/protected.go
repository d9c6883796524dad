package config

import (
	"path/filepath"
	"slices"
)

// ProtectedNames are the names, relative to a working directory and each of its parents, of what
// settings and their like are read from. Nothing the model runs may write them, also where they do
// not exist yet: whoever writes them decides what runs next.
func ProtectedNames() []string {
	out := []string{nativeFolder, ".mcp.json"}
	for _, name := range []string{
		sharedName, localName, "skills", "agents", "commands", "hooks", "workflows", "rules", "output-styles", "scheduled_tasks.json",
	} {
		out = append(out, filepath.Join(guestFolder, name))
	}
	return out
}

// Protected lists the absolute paths of the program's own files and folders outside of the project,
// and those of the project's settings: homes, state files, local root, the administrator's folders.
func (p Places) Protected() []string {
	out := []string{p.Home, p.StateFile}
	out = append(out, p.Managed...)
	for _, path := range []string{p.GuestHome, p.GuestState} {
		if path != "" {
			out = append(out, path)
		}
	}
	for _, dir := range []string{p.Start, p.LocalRoot} {
		for _, name := range ProtectedNames() {
			out = append(out, filepath.Join(dir, name))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
