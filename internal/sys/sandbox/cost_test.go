//go:build linux

package sandbox_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// crowd fills the project of a cell: nested repositories, files, further writable roots, patterns.
func (c *cell) crowd(repositories, files, roots, patterns int) {
	c.t.Helper()
	made := 0
	for i := range repositories {
		dir := fmt.Sprintf("r%04d", i)
		for _, f := range []string{".git/HEAD", ".git/config", ".git/info/exclude", ".git/objects/pack/x", ".git/refs/heads/main"} {
			c.put(dir+"/"+f, "[core]\n\tbare = false\n")
		}
		if err := os.Mkdir(filepath.Join(c.dir, dir, ".git", "hooks"), 0o755); err != nil {
			c.t.Fatal(err)
		}
		for ; made < files*(i+1)/repositories; made++ {
			c.put(fmt.Sprintf("%s/f%d", dir, made), "")
		}
	}
	base := filepath.Dir(c.dir)
	for i := range roots {
		dir := fmt.Sprintf("%s/root%03d", base, i)
		if err := os.Mkdir(dir, 0o755); err != nil {
			c.t.Fatal(err)
		}
		c.cfg.Write = append(c.cfg.Write, dir)
	}
	for i := range patterns {
		c.cfg.DenyRead = append(c.cfg.DenyRead, fmt.Sprintf("%s/**/secret%d/**", c.dir, i))
	}
}

// pairs runs true in two cells by turns and returns the medians: what the machine does besides falls on both.
func pairs(t testing.TB, n int, a, b func()) (time.Duration, time.Duration) {
	t.Helper()
	var as, bs []time.Duration
	for range n {
		start := time.Now()
		a()
		mid := time.Now()
		b()
		as, bs = append(as, mid.Sub(start)), append(bs, time.Since(mid))
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[n/2], bs[n/2]
}

func (c *cell) true() {
	if out, exit, _ := c.run("true"); exit.Code != 0 {
		c.t.Fatal(exit, out)
	}
}

// A command costs what it costs in an empty folder, however large the tree, however many roots and
// patterns there are.
func TestKF174_CostDoesNotGrowWithTheTree(t *testing.T) {
	empty, full := newCell(t), newCell(t)
	full.crowd(1000, 100_000, 100, 50)
	empty.true()
	full.true() // reads the tree
	small, large := pairs(t, 25, empty.true, full.true)
	t.Logf("empty folder %v, 1,000 repositories, 100,000 files, 100 roots, 50 patterns %v: %.2f ×", small, large, float64(large)/float64(small))
	if large > small*5/2 { // generous: other tests run beside this one; the figure is printed by make bench
		t.Errorf("%v, in an empty folder %v", large, small)
	}
}

// What is protected in a large tree is so without a mount for each place.
func TestKF174_LargeTreesAreProtected(t *testing.T) {
	c := newCell(t)
	c.crowd(300, 1500, 2, 3)
	c.cfg.DenyRead = append(c.cfg.DenyRead, c.dir+"/**/.env")
	c.put("r0299/deep/.env", "secret")
	c.put("r0150/.git/hooks/pre-commit", "mine")
	c.true()
	out, _, report := c.run(`cat r0299/deep/.env; echo evil > r0299/.git/hooks/pre-commit; echo evil >> r0150/.git/hooks/pre-commit; echo evil >> r0001/.git/config
mkdir -p new/deep && echo evil > new/deep/.mcp.json; grep -c project /proc/self/mountinfo`)
	if c.text("r0150/.git/hooks/pre-commit") != "mine" || c.text("r0001/.git/config") != "[core]\n\tbare = false\n" {
		t.Errorf("hook %q, config %q", c.text("r0150/.git/hooks/pre-commit"), c.text("r0001/.git/config"))
	}
	for _, f := range []string{"r0299/.git/hooks/pre-commit", "new/deep/.mcp.json"} {
		if _, err := os.Lstat(filepath.Join(c.dir, f)); err == nil {
			t.Errorf("%s is there: %+v", f, report)
		}
	}
	var mounts int
	for line := range strings.Lines(out) {
		if n, err := fmt.Sscan(line, &mounts); n == 1 && err == nil {
			break
		}
	}
	if mounts == 0 || mounts > 60 {
		t.Errorf("%d mounts: %s", mounts, out)
	}
}

func BenchmarkCost(b *testing.B) {
	ten := func(c *cell) {
		if err := exec.Command("git", "init", "-q", c.dir).Run(); err != nil {
			b.Fatal(err)
		}
		for i := range 10 {
			c.put(fmt.Sprintf("d%d/.mcp.json", i), "{}")
			c.put(fmt.Sprintf("store%d/credentials", i), "x")
			c.cfg.DenyRead = append(c.cfg.DenyRead, fmt.Sprintf("%s/store%d", c.dir, i))
		}
	}
	for _, bench := range []struct {
		name string
		fill func(*cell)
	}{
		{"empty", func(*cell) {}},
		{"ten-protected-ten-stores", ten},
		{"1000-repositories", func(c *cell) { c.crowd(1000, 5000, 0, 0) }},
		{"100-roots", func(c *cell) { c.crowd(0, 0, 100, 0) }},
		{"50-patterns-100000-files", func(c *cell) { c.crowd(100, 100_000, 0, 50) }},
		{"all", func(c *cell) { c.crowd(1000, 100_000, 100, 50) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := newCell(b)
			bench.fill(c)
			c.true()
			for b.Loop() {
				c.true()
			}
		})
	}
	b.Run("all-by-turns-with-empty", func(b *testing.B) { // what the machine does besides falls on both
		empty, full := newCell(b), newCell(b)
		full.crowd(1000, 100_000, 100, 50)
		empty.true()
		full.true()
		var ratio float64
		for b.Loop() {
			small, large := pairs(b, 15, empty.true, full.true)
			ratio = float64(large) / float64(small)
		}
		b.ReportMetric(ratio, "x-empty")
	})
	bare := func() {
		if err := exec.Command("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-user", "--unshare-pid", "--unshare-net", "--", "/bin/bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("bare-bubblewrap", func(b *testing.B) {
		for b.Loop() {
			bare()
		}
	})
	b.Run("ten-and-ten-by-turns-with-bubblewrap", func(b *testing.B) {
		c := newCell(b)
		ten(c)
		c.true()
		var over time.Duration
		for b.Loop() {
			least, ours := pairs(b, 15, bare, c.true)
			over = ours - least
		}
		b.ReportMetric(float64(over)/float64(time.Millisecond), "ms-over-bubblewrap")
	})
}

// A rule that neither a mount nor the check afterwards can hold is named, and nothing runs as if it were.
func TestKF112_RulesThatCannotBeHeldAreNamed(t *testing.T) {
	c := newCell(t)
	c.put("a/.env", "")
	good := []string{c.dir + "/**/.env", c.dir + "/later", c.dir + "/*.lock", "/nowhere/**/x"}
	c.cfg.DenyWrite, c.cfg.DenyRead = good, good
	if got := c.box.Unheld(t.Context(), c.cfg); len(got) != 0 {
		t.Errorf("held: %v", got)
	}
	bad := c.dir + "/**/[a"
	c.cfg.DenyWrite = append(c.cfg.DenyWrite, bad)
	if got := c.box.Unheld(t.Context(), c.cfg); len(got) != 1 || !strings.HasPrefix(got[0], bad) {
		t.Errorf("unheld: %v", got)
	}
	_, err := c.box.Start(c.owner, proc.Spec{Path: "/bin/true", Dir: c.dir}, c.cfg)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), bad) {
		t.Errorf("started: %v", err)
	}
}
