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
)

// names lists everything in the project as the host sees it, but the .git folder's own.
func (c *cell) names() []string {
	c.t.Helper()
	var out []string
	err := filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(c.dir, path)
		if d.IsDir() && d.Name() == "objects" {
			return filepath.SkipDir
		}
		if rel != "." && rel != "ready" && rel != "go" {
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func (c *cell) git(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %v: %v %s", args, err, out)
	}
	return string(out)
}

// Nothing of the sandbox appears in the project: while a command runs, while two do, after the program
// that started it was killed.
func TestKF119_NothingAppearsOnTheHost(t *testing.T) {
	c := newCell(t)
	c.git("init", "-q")
	c.put("secrets/key", "secret")
	c.cfg.DenyRead = []string{c.dir + "/secrets", c.dir + "/**/.env"}
	c.cfg.DenyWrite = []string{c.dir + "/not-there", c.dir + "/**/*.lock"}
	before := c.names()
	first, _ := c.running("true")
	if now := c.names(); !slices.Equal(now, before) {
		t.Errorf("while one runs: %v, before %v", now, before)
	}
	out, _, report := c.run("ls -A; cat secrets/key")
	if now := c.names(); !slices.Equal(now, before) || strings.Contains(out, ".mcp.json") {
		t.Errorf("while two run: %v, before %v; %s %v", now, before, out, report.Notes)
	}
	c.end(first)
	if now := c.names(); !slices.Equal(now, before) {
		t.Errorf("afterwards: %v, before %v", now, before)
	}
	if err := os.Remove(filepath.Join(c.dir, "ready")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(self, "victim", c.dir, filepath.Join(filepath.Dir(c.dir), "state"))
	victim.Env = append(os.Environ(), "TMPDIR="+c.cfg.Temp)
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("ready")
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // killed
	if now := c.names(); !slices.Equal(now, before) {
		t.Errorf("after a kill: %v, before %v", now, before)
	}
}

// What may not be read is there and cannot be opened: no command that succeeds records its deletion.
func TestKF118_WhatIsHiddenLooksPresent(t *testing.T) {
	c := newCell(t)
	c.git("init", "-q")
	for _, f := range []string{"secrets/key.txt", "secrets/deep/other.txt", "a/secrets/k", ".env", "plain", "pkg/x.go"} {
		c.put(f, "old "+f)
	}
	c.git("add", "-A")
	c.git("commit", "-qm", "one")
	tracked := c.git("ls-tree", "-r", "--name-only", "HEAD")
	c.put("plain", "new")
	c.cfg.DenyRead = []string{c.dir + "/**/secrets/**"}
	out, exit, _ := c.run(`export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.com
git status --porcelain; git commit -qam two; git add -A; git commit -qm three; echo newer > plain; git stash -q; git diff HEAD; ls -A . secrets; test -f .env && test -d secrets && echo there`)
	if got := c.git("ls-tree", "-r", "--name-only", "HEAD"); got != tracked {
		t.Errorf("tracked now:\n%s\n%s (exit %d)", got, out, exit.Code)
	}
	if got := c.git("show", "HEAD:plain"); got != "new" {
		t.Errorf("the commit did not happen: %q\n%s", got, out)
	}
	if !strings.Contains(out, "there\n") || !strings.Contains(out, "key.txt") {
		t.Errorf("inside:\n%s", out)
	}
	if out, _, _ := c.run("ls -A secrets a/secrets"); out != "a/secrets:\nk\n\nsecrets:\nkey.txt\n" {
		t.Errorf("the names in hidden folders: %q", out)
	}
	// A single tracked file that did not change is none of git's business: what else changed is recorded.
	c.put("run.sh", "old run.sh")
	for _, f := range []string{".env", "run.sh"} {
		if err := errors.Join(os.Chmod(c.dir+"/run.sh", 0o755), os.Chtimes(filepath.Join(c.dir, f), time.Time{}, time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	c.git("add", "-A")
	c.git("commit", "-qm", "with a script")
	tracked = c.git("ls-tree", "-r", "HEAD")
	folders := c.cfg.DenyRead
	c.cfg.DenyRead = []string{c.dir + "/**/.env", c.dir + "/run.sh"}
	for i, try := range []string{"git add -A && git commit -qm %d", "git commit -qam %d", "git stash -q && git stash pop -q && git commit -qam %d", "git -c core.fileMode=true status --porcelain | grep -q plain && git commit -qam %d"} {
		text := fmt.Sprintf("change %d", i)
		c.put("plain", text)
		out, exit, _ := c.run("export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.com; " + fmt.Sprintf(try, i))
		if exit.Code != 0 || c.git("show", "HEAD:plain") != text || c.git("show", "HEAD:.env") != "old .env" || c.git("show", "HEAD:run.sh") != "old run.sh" {
			t.Errorf("%s: exit %d, %s", try, exit.Code, out)
		}
	}
	if now := c.git("ls-tree", "-r", "HEAD"); len(strings.Split(now, "\n")) != len(strings.Split(tracked, "\n")) {
		t.Errorf("tracked now:\n%s", now)
	}
	if out := c.git("status", "--porcelain"); out != "" {
		t.Errorf("outside git sees changes:\n%s", out)
	}
	// One that did change cannot be recorded, which git says and stops.
	c.put(".env", "new content of .env")
	tracked = c.git("ls-tree", "-r", "HEAD")
	for _, try := range []string{"git commit -qam x", "git add -A", "git stash"} {
		if out, exit, _ := c.run(try); exit.Code == 0 || !strings.Contains(out, ".env") || c.git("ls-tree", "-r", "HEAD") != tracked {
			t.Errorf("%s: exit %d, %s", try, exit.Code, out)
		}
	}
	if out, _, _ := c.run("git diff; git show :.env; git diff HEAD -- .env"); strings.Contains(out, "new content") {
		t.Errorf("read: %s", out)
	}
	c.put(".env", "old .env")
	c.cfg.DenyRead = append(c.cfg.DenyRead, folders...)
	for _, try := range []string{
		"cat secrets/key.txt", "cat .env", "cat secrets/deep/other.txt", "cat a/secrets/k", "cp .env copy && cat copy", "chmod 644 .env && cat .env", "chmod -R u+rwx secrets && cat secrets/key.txt",
		"tar cf out.tar secrets", "ln .env hard && cat hard", "mv .env other && cat other", "rm -f .env && cat .env", "cat /proc/self/cwd/.env",
	} {
		if out, exit, _ := c.run(try); exit.Code == 0 || strings.Contains(out, "old ") {
			t.Errorf("%s: exit %d, %s", try, exit.Code, out)
		}
	}
	if c.text(".env") != "old .env" || c.text("secrets/key.txt") != "old secrets/key.txt" {
		t.Error("the host's files changed")
	}
}
