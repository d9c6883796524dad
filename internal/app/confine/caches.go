package confine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// cacheFolder is the folder of a project's build caches. Its name holds a hash of the path, for two
// projects can have one key, and what one of them builds the other must not use.
func (p *profiler) cacheFolder() string {
	start := p.Places.Start
	if real, err := filepath.EvalSymlinks(start); err == nil {
		start = real
	}
	sum := sha256.Sum256([]byte(start))
	key := p.ProjectKey()
	return filepath.Join(p.Places.Home, "cache", "build", key[:min(len(key), 120)]+"-"+hex.EncodeToString(sum[:8]))
}

// caches gives the command folders of its own in the place of those that its environment names and that
// it cannot write: modules of Go, fed from what the machine has downloaded, and cargo's home, with a copy
// of its registry. Other caches are [sandbox.Config.Cache]'s.
func (p *profiler) caches(cfg *sandbox.Config, env []string) error {
	if cfg.ReadOnly || cfg.FilesFree {
		return nil
	}
	p.goModules(cfg, env)
	return p.cargoHome(cfg, env)
}

func (p *profiler) goModules(cfg *sandbox.Config, env []string) {
	host := variable(env, "GOMODCACHE")
	named := host != ""
	if gopath := filepath.SplitList(variable(env, "GOPATH")); host == "" && len(gopath) > 0 {
		host, named = filepath.Join(gopath[0], "pkg", "mod"), true
	}
	host = cmp.Or(host, filepath.Join(p.Places.UserHome, "go", "pkg", "mod"))
	if !filepath.IsAbs(host) || writable(cfg, host) || !named && !private(host) {
		return
	}
	proxy := cmp.Or(variable(env, "GOPROXY"), "https://proxy.golang.org,direct")
	if downloads := filepath.Join(host, "cache", "download"); isFolder(downloads) {
		cfg.Show = append(cfg.Show, downloads)
		proxy = "file://" + filepath.ToSlash(downloads) + "," + proxy
	}
	cfg.Set = append(cfg.Set,
		"GOMODCACHE="+filepath.Join(cfg.Cache, "go-mod"), "GOPROXY="+proxy,
		"GOFLAGS="+strings.TrimSpace(variable(env, "GOFLAGS")+" -modcacherw")) // so that it can be taken away
}

func (p *profiler) cargoHome(cfg *sandbox.Config, env []string) error {
	host := variable(env, "CARGO_HOME")
	named := host != ""
	host = cmp.Or(host, filepath.Join(p.Places.UserHome, ".cargo"))
	if !filepath.IsAbs(host) || writable(cfg, host) || !named && !private(host) || !isFolder(host) {
		return nil
	}
	to := filepath.Join(cfg.Cache, "cargo-home")
	cfg.Set = append(cfg.Set, "CARGO_HOME="+to)
	return seed(host, to, []string{"config.toml", "config", "registry/index", "registry/cache"})
}

// maxSeed is how much of a folder is copied, in bytes.
const maxSeed = 512 << 20

// seed fills a folder that is not there yet with parts of another. It is made beside the cache, where no
// command can write, and moved in when it is whole.
func seed(from, to string, parts []string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at, err := os.MkdirTemp(filepath.Dir(filepath.Dir(to)), ".seed-")
	if err != nil {
		return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
	}
	defer os.RemoveAll(at) // moved away when all went well
	left := int64(maxSeed)
	for _, part := range parts {
		if err := copyTree(filepath.Join(from, part), filepath.Join(at, part), &left); err != nil {
			return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
		}
	}
	if err := os.Rename(at, to); err != nil && !errors.Is(err, fs.ErrExist) { // another command was quicker
		return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
	}
	return nil
}

// copyTree copies regular files as long as there is room left; what is missing is fetched again.
func copyTree(from, to string, left *int64) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.Type().IsRegular() || *left <= 0:
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := nolink.ReadFile(path, *left)
		if errors.Is(err, nolink.ErrTooLarge) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		*left -= int64(len(data))
		return nolink.WriteFile(filepath.Join(to, rel), data)
	})
}

// variable is the value of a variable; the last one counts.
func variable(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// writable says whether a command may write the folder, so that it needs none in its place.
func writable(cfg *sandbox.Config, path string) bool {
	return slices.ContainsFunc(cfg.Write, func(w string) bool { return within(path, w) })
}

// private says whether a path lies where a command sees a folder of its own.
func private(path string) bool { return within(path, "/tmp") || within(path, "/run") }

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
