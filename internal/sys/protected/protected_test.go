package protected_test

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// One table answers tools, shell account and sandbox.
func TestKF153_OneTable(t *testing.T) {
	const mount, watch, none = protected.Mount, protected.Watch, protected.None
	for _, tc := range []struct {
		path   string
		dir    bool
		root   bool
		column protected.Column
		asks   bool // of the last name
	}{
		{"/p/.husky", true, true, watch, true},
		{"/p/a/b/.npmrc", false, false, watch, true},
		{"/p/.pre-commit-config.yaml", false, true, watch, true},
		{"/p/rust-toolchain", false, true, watch, true},
		{"/p/.devcontainer", true, true, watch, true},
		{"/p/.cargo", true, true, watch, true},
		{"/p/.yarn/releases", true, false, watch, false},
		{"/p/.yarn/cache", true, false, none, false},
		{"/p/.yarn/install-state.gz", false, false, none, false},
		{"/p/.yarn", true, true, none, true},
		{"/p/.mcp.json", false, true, mount, true},
		{"/p/sub/.mcp.json", false, false, mount, true},
		{"/p/.envrc", false, true, mount, true},
		{"/p/.bashrc", false, true, mount, true},
		{"/p/dotfiles/.bashrc", false, false, none, true},
		{"/p/.claude", true, true, none, true},
		{"/p/.claude", false, true, mount, true},
		{"/p/.claude/settings.json", false, false, mount, false},
		{"/p/.claude/CLAUDE.md", false, false, none, false},
		{"/p/.myelin", true, true, mount, true},
		{"/p/.git/config", false, false, mount, false},
		{"/p/.git/hooks", true, false, mount, false},
		{"/p/.git/info/attributes", false, false, mount, false},
		{"/p/.git/index", false, false, none, false},
		{"/p/.git/modules/a/b/hooks", true, false, mount, false},
		{"/p/.git/modules/a/config", false, false, mount, false},
		{"/p/sub/.git/config.worktree", false, false, mount, false},
		{"/p/config", false, true, none, false},
		{"/p/info/attributes", false, false, none, false},
		{"/p/main.go", false, true, none, false},
		{"/p/CLAUDE.md", false, true, none, false},
	} {
		if got := protected.Of(tc.path, tc.dir, tc.root); got != tc.column {
			t.Errorf("%s (folder %v): column %v, want %v", tc.path, tc.dir, got, tc.column)
		}
		name := tc.path[len("/p/"):]
		for i := len(name) - 1; i >= 0; i-- {
			if name[i] == '/' {
				name = name[i+1:]
				break
			}
		}
		if got := protected.Asks(name, "") != ""; got != tc.asks {
			t.Errorf("%s: asks %v", name, got)
		}
	}
}

func TestAsksOfWhatLiesInAFolder(t *testing.T) {
	for _, tc := range []struct {
		seg, after string
		want       bool
	}{
		{".git", "hooks/x", true},
		{".husky", "pre-commit", true},
		{".claude", "settings.json", true},
		{".claude", "worktrees", true},
		{".claude", "worktrees/w/main.go", false},
		{".npmrc", "x", false},
		{".config", "git/config", true},
		{".config", "fish/conf.d/x", true},
		{".config", "htop/htoprc", false},
		{"", "x", false},
	} {
		if got := protected.Asks(tc.seg, tc.after) != ""; got != tc.want {
			t.Errorf("%s/%s: %v", tc.seg, tc.after, got)
		}
	}
}

func TestEntered(t *testing.T) {
	for dir, want := range map[string]bool{
		"/p/.git": true, "/p/.git/objects": false, "/p/.git/modules/x/objects": false, "/p/.git/modules": true, "/p/.git/hooks": true, "/p/objects": true, "/p/logs": true,
	} {
		if got := protected.Entered(dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}
