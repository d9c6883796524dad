package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// TestKF158_UniqueCacheFolders: two projects with one key have two folders.
func TestKF158_UniqueCacheFolders(t *testing.T) {
	seen := map[string]string{}
	for _, start := range []string{"/w/a-b", "/w/a/b", "/w/a b", "/w/a-b/"} {
		c, _, _, _ := faked(t)
		c.given.Places, c.given.ProjectKey = config.Places{Start: filepath.Clean(start), Home: "/h"}, func() string { return "-w-a-b" }
		folder := c.profiler.cacheFolder()
		if other, taken := seen[folder]; taken && other != filepath.Clean(start) {
			t.Errorf("%s and %s share %s", start, other, folder)
		}
		seen[folder] = filepath.Clean(start)
	}
}

// TestKF172_SeedIsWhole: a copy appears when it is whole, is made once, holds no content behind a link, and
// links to what is large.
func TestKF172_SeedIsWhole(t *testing.T) {
	from, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	for path, text := range map[string]string{"registry/index/a": "one", "config.toml": "two", "credentials.toml": "key", "secret": "key", "registry/index/large": strings.Repeat("x", smallFile+1)} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../secret", filepath.Join(from, "registry/index/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(cache, "cargo-home")
	for range 2 {
		if err := seed(from, to, []string{"config.toml", "registry/index", "missing"}); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"registry/index/a": "one", "config.toml": "two", "credentials.toml": ""} {
		if got, _ := os.ReadFile(filepath.Join(to, path)); string(got) != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, name := range []string{"link", "large"} {
		if at, err := os.Readlink(filepath.Join(to, "registry/index", name)); err != nil || at != filepath.Join(from, "registry/index", name) {
			t.Errorf("%s leads to %q, %v", name, at, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(cache), ".seed-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Each variable of the table leads into the project's folder when it names a place that cannot be written, and
// stays when it names one that can.
func TestKF172_EveryVariable(t *testing.T) {
	c, _, _, _ := faked(t)
	home := t.TempDir()
	c.given.Places = config.Places{Home: home + "/.myelin", UserHome: home, Start: home + "/p"}
	mine := t.TempDir()
	for _, row := range cacheTable() {
		for _, own := range []bool{false, true} {
			cfg := sandbox.Config{Cache: home + "/.myelin/cache/build/p", Write: []string{mine}}
			if err := os.MkdirAll(cfg.Cache, 0o755); err != nil {
				t.Fatal(err)
			}
			names := home + "/elsewhere"
			if own {
				names = mine + "/x"
			}
			env := []string{row.name + "=" + names}
			if err := c.profiler.caches(&cfg, env); err != nil {
				t.Fatal(err)
			}
			if got, want := variable(cfg.Set, row.name), cfg.Cache+"/"+row.folder; own && got != "" || !own && got != want {
				t.Errorf("%s=%s: %q", row.name, names, got)
			}
		}
	}
}

// What "go env -w" has written counts as what the environment says; the environment comes first.
func TestKF172_GoEnvironmentFile(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(home+"/.config/go", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/.config/go/env", []byte("GOFLAGS=-tags=x\nGOPROXY=https://proxy.test\nGOMODCACHE="+home+"/modules\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(home+"/modules/cache/download", 0o755); err != nil {
		t.Fatal(err)
	}
	c, _, _, _ := faked(t)
	c.given.Places = config.Places{Home: home + "/.myelin", UserHome: home, Start: home + "/p"}
	for _, step := range []struct {
		env         []string
		flags, from string
	}{
		{nil, "-tags=x -modcacherw", "file://" + home + "/modules/cache/download,https://proxy.test"},
		{[]string{"GOFLAGS=-v", "GOPROXY=off"}, "-v -modcacherw", "file://" + home + "/modules/cache/download,off"},
		{[]string{"GOENV=off"}, "-modcacherw", "https://proxy.golang.org,direct"},
	} {
		cfg := sandbox.Config{Cache: home + "/.myelin/cache/build/p"}
		c.profiler.goModules(&cfg, step.env, writable(nil))
		if flags, from := variable(cfg.Set, "GOFLAGS"), variable(cfg.Set, "GOPROXY"); flags != step.flags || from != step.from {
			t.Errorf("%v: %q, %q", step.env, flags, from)
		}
	}
}

// Of maven's settings only the mirrors are taken over, without what signs in.
func TestKF159_MirrorsOfMaven(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"<settings xmlns=\"x\"><servers><server><password>key</password></server></servers><mirrors><mirror><id>a</id><url>https://me:key@m.test/x</url><mirrorOf>*</mirrorOf></mirror></mirrors></settings>": "<settings><mirrors><mirror><id>a</id><url>https://me:xxxxx@m.test/x</url><mirrorOf>*</mirrorOf></mirror></mirrors></settings>",
		"<settings><key": "<settings><mirrors></mirrors></settings>",
	} {
		from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
		if err := os.WriteFile(from, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := mirrors(from, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		os.Remove(to)
	}
}

// A project takes over the machine's cache of what it uses, and nothing of what others use.
func TestKF172_OnlyWhatAProjectUses(t *testing.T) {
	home := t.TempDir()
	for _, path := range []string{"/.cargo/registry/cache/r/a.crate", "/.pub-cache/hosted/x", "/.m2/repository/x", "/p/crates/Cargo.toml"} {
		if err := os.MkdirAll(filepath.Dir(home+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(home+path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, _, _, _ := faked(t)
	c.given.Places = config.Places{Home: home + "/.myelin", UserHome: home, Start: home + "/p"}
	cfg := sandbox.Config{Cache: home + "/.myelin/cache/build/p"}
	if err := os.MkdirAll(cfg.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.profiler.caches(&cfg, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"cargo-home/registry/cache/r/a.crate": true, "pub": false, "maven/repository": false} {
		if _, err := os.Stat(filepath.Join(cfg.Cache, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, name := range []string{"CARGO_HOME", "PUB_CACHE", "MAVEN_OPTS"} {
		if variable(cfg.Set, name) == "" {
			t.Errorf("%s leads to the machine's", name)
		}
	}
}
