package confine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
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

// TestKF172_SeedIsWhole: a copy appears when it is whole, is made once, follows no link, and has room for
// what fits.
func TestKF172_SeedIsWhole(t *testing.T) {
	from, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	for path, text := range map[string]string{"registry/index/a": "one", "config.toml": "two", "credentials.toml": "key", "secret": "key"} {
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
	for path, want := range map[string]string{"registry/index/a": "one", "config.toml": "two", "credentials.toml": "", "registry/index/link": ""} {
		if got, _ := os.ReadFile(filepath.Join(to, path)); string(got) != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(cache), ".seed-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
