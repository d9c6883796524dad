package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// TestKF158_GroupsOfTheKilledGo: what a killed program left is taken away by the next; where no group can be
// made, every limit is named as missing.
func TestKF158_GroupsOfTheKilledGo(t *testing.T) {
	g, lacks := New(Limits{Processes: 1000, Memory: 1 << 30})
	if len(g.watched)+len(lacks) != len(controls) {
		t.Errorf("%d limits are set and %q missing, of %d", len(g.watched), lacks, len(controls))
	}
	Tidy()
	for _, dir := range g.dirs {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

// TestMountedGroup finds groups as they are mounted on whole machines and in containers.
func TestMountedGroup(t *testing.T) {
	here := t.TempDir()
	for _, c := range []struct{ line, kind, controller, path, want string }{
		{"30 24 0:26 / " + here + " rw - cgroup2 cgroup2 rw,nsdelegate", "cgroup2", "", "/", here},
		{"30 24 0:26 /docker/x " + here + " rw - cgroup2 cgroup2 rw", "cgroup2", "", "/docker/x", here},
		{"30 24 0:26 / " + here + " rw shared:9 - cgroup cgroup rw,pids", "cgroup", "pids", "/", here},
		{"30 24 0:26 / " + here + " rw - cgroup cgroup rw,cpu,cpuacct", "cgroup", "pids", "/", ""},
		{"30 24 0:26 /other " + here + " rw - cgroup2 cgroup2 rw", "cgroup2", "", "/mine", ""},
		{"30 24 0:26 / " + here + " rw - cgroup2 cgroup2 rw", "cgroup2", "", "/gone", ""},
	} {
		if got := mountedGroup(c.line+"\n", c.kind, c.controller, c.path); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}
