package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Names of the folders and files of the formats.
const (
	nativeFolder = ".myelin"
	guestFolder  = ".claude"
	sharedName   = "settings.json"
	localName    = "settings.local.json"
	managedName  = "managed-settings.json"
	managedDrops = "managed-settings.d"
)

// Places are the folders and files settings come from. They are found once and do not follow the
// working directory.
type Places struct {
	Home      string   // the program's own home
	GuestHome string   // home of the other tool, read one step below; empty: none
	UserHome  string   // the person's home folder
	Start     string   // folder the session starts in: the project folder of shared settings
	LocalRoot string   // folder whose local file is written: main checkout, or Start
	Managed   []string // folders of the administrator, lowest first
	Folder    string   // name of the project folder that is written: .myelin, or .claude in drop-in mode
	StateFile string   // the program's own state
	// GuestState is the other tool's state file: read for servers of the user, never for trust.
	// Empty: none.
	GuestState string
	DropIn     bool
	Doubt      string // why a folder that claims to be a worktree is not taken for one; see gitrepo
	AdminUID   int    // owner a policy helper must have; 0: root
}

// PlaceOptions say where to look. UserHome and Start are needed.
type PlaceOptions struct {
	UserHome string
	Start    string // absolute
	Env      Environ
	DropIn   bool // an Agent SDK started the process
	Managed  []string
}

// Find works out the places. It reads no settings and runs nothing.
func Find(opts PlaceOptions) (Places, error) {
	if !filepath.IsAbs(opts.Start) || !filepath.IsAbs(opts.UserHome) {
		return Places{}, fmt.Errorf("find settings: start folder %q and home folder %q must be absolute", opts.Start, opts.UserHome)
	}
	p := Places{UserHome: opts.UserHome, Start: filepath.Clean(opts.Start), DropIn: opts.DropIn, Managed: opts.Managed}
	if p.Managed == nil {
		p.Managed = managedFolders()
	}
	if err := p.homes(opts.Env); err != nil {
		return Places{}, err
	}
	p.LocalRoot, p.Doubt = localRoot(p.Start, p.UserHome)
	return p, nil
}

// homes sets home, guest home and state files.
func (p *Places) homes(env Environ) error {
	own, err := folderFrom(env, "MYELIN_HOME", p.UserHome)
	if err != nil {
		return err
	}
	moved, err := folderFrom(env, "CLAUDE_CONFIG_DIR", p.UserHome)
	if err != nil {
		return err
	}
	public := filepath.Join(p.UserHome, guestFolder)
	publicState := filepath.Join(p.UserHome, ".claude.json")
	if moved != "" {
		public, publicState = moved, filepath.Join(moved, ".claude.json")
	}
	switch {
	case p.DropIn:
		p.Home, p.StateFile, p.Folder = public, publicState, guestFolder
		return nil
	case own != "":
		p.Home = own
	case moved != "":
		p.Home = moved
	default:
		p.Home = filepath.Join(p.UserHome, nativeFolder)
	}
	p.Folder = nativeFolder
	p.StateFile = filepath.Join(p.Home, "state.json")
	p.GuestState = publicState
	if public != p.Home {
		p.GuestHome = public
	}
	return nil
}

func folderFrom(env Environ, name, home string) (string, error) {
	v := env.vars[name] // literal: MYELIN_HOME has no twin
	if v == "" {
		return "", nil
	}
	if rest, ok := strings.CutPrefix(v, "~/"); ok {
		v = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(v) {
		return "", fmt.Errorf("%s=%s: expected an absolute path", name, v)
	}
	return filepath.Clean(v), nil
}

func managedFolders() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/Library/Application Support/ClaudeCode", "/Library/Application Support/Myelin"}
	case "windows":
		return []string{`C:\Program Files\ClaudeCode`, `C:\Program Files\Myelin`}
	}
	return []string{"/etc/claude-code", "/etc/myelin"}
}

// localRoot is the top of the main checkout; the start folder outside git, when the top is the
// person's home, or when somebody else owns the top or the folders settings stand in.
func localRoot(start, home string) (root, doubt string) {
	r, err := gitrepo.Find(start)
	if err != nil {
		return start, ""
	}
	if sameFile(r.Main, home) {
		return start, r.Doubt
	}
	for _, name := range []string{".", ".git", guestFolder, nativeFolder} {
		if ownedByOther(filepath.Join(r.Main, name)) {
			return start, r.Doubt
		}
	}
	return r.Main, r.Doubt
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// candidate is a file that may hold settings.
type candidate struct {
	scope origin.Scope
	path  string
	guest bool
}

// files lists the candidates of the file scopes, lowest first. The managed ones come from
// managedFiles.
func (p Places) files() []candidate {
	var out []candidate
	add := func(scope origin.Scope, guest bool, parts ...string) {
		path := filepath.Join(parts...)
		for _, c := range out {
			if c.path == path || sameFile(c.path, path) {
				return // home as start folder: the user's file is no project file too
			}
		}
		out = append(out, candidate{scope, path, guest})
	}
	if p.GuestHome != "" {
		add(origin.User, true, p.GuestHome, sharedName)
	}
	add(origin.User, false, p.Home, sharedName)
	add(origin.Project, p.Folder != guestFolder, p.Start, guestFolder, sharedName)
	add(origin.Project, false, p.Start, nativeFolder, sharedName)
	for _, dir := range []string{p.Start, p.LocalRoot} {
		add(origin.Local, p.Folder != guestFolder, dir, guestFolder, localName)
		add(origin.Local, false, dir, nativeFolder, localName)
	}
	return out
}

// managedFiles lists the administrator's files, lowest first: of each folder the main file, then
// the drop-ins in alphabetical order without hidden ones.
func (p Places) managedFiles() []candidate {
	var out []candidate
	for i, dir := range p.Managed {
		guest := i < len(p.Managed)-1
		out = append(out, candidate{origin.Managed, filepath.Join(dir, managedName), guest})
		drops, err := os.ReadDir(filepath.Join(dir, managedDrops)) // sorted; none is the usual case
		if err != nil && !os.IsNotExist(err) {
			// Named as a file it cannot be read, and so reported.
			out = append(out, candidate{origin.Managed, filepath.Join(dir, managedDrops), guest})
		}
		for _, d := range drops {
			if strings.HasSuffix(d.Name(), ".json") && !strings.HasPrefix(d.Name(), ".") {
				out = append(out, candidate{origin.Managed, filepath.Join(dir, managedDrops, d.Name()), guest})
			}
		}
	}
	return out
}

// File is the file that is written for a scope: user, project or local; empty for others.
func (p Places) File(scope origin.Scope) string {
	switch scope {
	case origin.User:
		return filepath.Join(p.Home, sharedName)
	case origin.Project:
		return filepath.Join(p.Start, p.Folder, sharedName)
	case origin.Local:
		return filepath.Join(p.LocalRoot, p.Folder, localName)
	}
	return ""
}

// Watched lists every path whose change may change the settings.
func (p Places) Watched() []string {
	var out []string
	for _, c := range p.files() {
		out = append(out, c.path)
	}
	for _, dir := range p.Managed {
		out = append(out, filepath.Join(dir, managedName), filepath.Join(dir, managedDrops))
	}
	return out
}

// PlaceInfo is one line of "myelin config path" and "myelin doctor".
type PlaceInfo struct {
	Scope   origin.Scope
	Path    string
	Guest   bool // read, never written
	Exists  bool
	Written bool // saving in this scope changes this file
}

// List tells every place settings are looked for, lowest first.
func (p Places) List() []PlaceInfo {
	var out []PlaceInfo
	for _, c := range append(p.files(), p.managedFiles()...) {
		_, err := os.Stat(c.path)
		out = append(out, PlaceInfo{
			Scope: c.scope, Path: c.path, Guest: c.guest, Exists: err == nil, Written: c.path == p.File(c.scope),
		})
	}
	return out
}
