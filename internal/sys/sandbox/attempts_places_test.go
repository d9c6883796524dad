//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// 36: what lies too deep, or too far down the list, for a mount.
func attempt36(p *prison) {
	p.git("init", "-q")
	p.put(p.dir+"/.git/modules/lib/a/config", "[core]\n\tbare = false\n")
	p.put(p.dir+"/.git/modules/lib/a/hooks/pre-commit", "# mine\n")
	for i := range 60 {
		p.put(fmt.Sprintf("%s/deep/er/r%d/.git/config", p.dir, i), "[core]\n\tbare = false\n")
		p.put(fmt.Sprintf("%s/deep/er/r%d/.git/HEAD", p.dir, i), "ref: refs/heads/x\n")
	}
	p.sh(`echo evil > .git/modules/lib/a/hooks/pre-commit; echo evil >> .git/modules/lib/a/config; mv .git/modules .git/m; mkdir -p .git/modules/lib/a/hooks; echo evil > .git/modules/lib/a/hooks/post-checkout
for r in deep/er/*; do mkdir -p $r/.git/hooks; echo evil > $r/.git/hooks/pre-commit; echo evil >> $r/.git/config; done; mkdir -p deep/new/.claude; echo evil > deep/new/.claude/settings.json; echo evil > deep/new/.mcp.json`)
	p.holds(p.dir+"/.git/modules/lib/a/config", "[core]\n\tbare = false\n")
	p.holds(p.dir+"/.git/modules/lib/a/hooks/pre-commit", "# mine\n")
	p.absent(p.dir+"/.git/modules/lib/a/hooks/post-checkout", p.dir+"/deep/new/.claude/settings.json", p.dir+"/deep/new/.mcp.json")
	for i := range 60 {
		p.holds(fmt.Sprintf("%s/deep/er/r%d/.git/config", p.dir, i), "[core]\n\tbare = false\n")
		p.absent(fmt.Sprintf("%s/deep/er/r%d/.git/hooks/pre-commit", p.dir, i))
	}
}

// 37: what rules forbid to write, before it is there, behind a wildcard, and behind a link.
func attempt37(p *prison) {
	p.put(p.dir+"/real/config", "mine\n")
	p.put(p.dir+"/old.lock", "mine\n")
	if err := os.Symlink("real", p.dir+"/link"); err != nil {
		p.t.Fatal(err)
	}
	p.cfg.DenyWrite = []string{p.dir + "/**/.env", p.dir + "/later/**", p.dir + "/link", p.dir + "/**/*.lock"}
	p.sh("echo evil > .env; mkdir -p a/b later/x; echo evil > a/b/.env; echo evil > later/x/y; echo evil > real/config; rm link; mkdir link; echo evil > link/config; echo evil > old.lock; mv old.lock o; echo evil > new.lock; ln -s /etc a/x.lock; mkdir dir.lock")
	p.absent(p.dir+"/.env", p.dir+"/a/b/.env", p.dir+"/later", p.dir+"/new.lock", p.dir+"/a/x.lock", p.dir+"/dir.lock")
	p.holds(p.dir+"/real/config", "mine\n")
	p.holds(p.dir+"/old.lock", "mine\n")
	if to, err := os.Readlink(p.dir + "/link"); err != nil || to != "real" {
		p.t.Errorf("the link is %q, %v", to, err)
	}
}

// 38: what shells, services and tools start in a home that is the working directory.
func attempt38(p *prison) {
	p.cfg.Dir, p.cfg.Write = p.home, []string{p.home}
	p.put(p.home+"/.config/fish/config.fish", "# mine\n")
	p.sh("cd " + p.home + `; for f in .bashrc .zshenv .config/fish/config.fish .config/systemd/user/x.service .config/autostart/x.desktop .config/environment.d/x.conf .local/bin/ls .ssh/authorized_keys .ssh/rc .npmrc .vimrc .pam_environment .xprofile .gnupg/gpg.conf .aws/config .claude.json .gitconfig .config/git/config .cargo/config.toml; do mkdir -p $(dirname $f); echo evil > $f; done; mv .ssh s; mv .config c; rm -rf .bashrc`)
	p.holds(p.home+"/.bashrc", "# mine\n")
	p.holds(p.home+"/.ssh/authorized_keys", "mine\n")
	p.holds(p.home+"/.config/fish/config.fish", "# mine\n")
	for _, f := range []string{
		".zshenv", ".config/systemd/user/x.service", ".config/autostart/x.desktop", ".config/environment.d/x.conf", ".local/bin/ls", ".ssh/rc", ".npmrc", ".vimrc", ".pam_environment",
		".xprofile", ".gnupg/gpg.conf", ".aws/config", ".claude.json", ".gitconfig", ".config/git/config", ".cargo/config.toml", "s", "c",
	} {
		p.absent(p.home + "/" + f)
	}
	p.works("cd " + p.home + " && mkdir -p notes && echo fine > notes/x")
}

// 39: what the configuration of the repository leads git to.
func attempt39(p *prison) {
	p.git("init", "-q")
	for key, value := range map[string]string{
		"core.hooksPath": ".githooks", "include.path": "../team.gitconfig", "core.fsmonitor": "tools/monitor", "filter.x.clean": "./bin/clean %f", "alias.go": "!scripts/go.sh",
	} {
		p.git("config", key, value)
	}
	p.put(p.dir+"/.githooks/pre-push", "# mine\n")
	p.put(p.dir+"/tools/monitor", "# mine\n")
	p.sh("echo evil > .githooks/pre-push; echo evil > .githooks/pre-commit; mv .githooks g; echo evil > team.gitconfig; echo evil > tools/monitor; mkdir -p bin scripts; echo evil > bin/clean; echo evil > scripts/go.sh")
	p.holds(p.dir+"/.githooks/pre-push", "# mine\n")
	p.holds(p.dir+"/tools/monitor", "# mine\n")
	p.absent(p.dir+"/.githooks/pre-commit", p.dir+"/g", p.dir+"/team.gitconfig", p.dir+"/bin/clean", p.dir+"/scripts/go.sh")
}

// 40: the right to mount, which the helper had.
func attempt40(p *prison) {
	out := p.works("grep -h '^Cap' /proc/self/status /proc/1/status")
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[0] != "CapBnd:" && strings.Trim(f[1], "0") != "" {
			p.t.Errorf("a capability is left: %s", line)
		}
	}
	if out := p.works("grep CapBnd /proc/self/status"); strings.Trim(strings.TrimSpace(strings.TrimPrefix(out, "CapBnd:")), "0") != "" {
		p.t.Errorf("a capability can be had back: %s", out)
	}
	for _, try := range []string{"remount", "newmount", "opentree", "setattr", "unshare"} {
		p.attack(try)
	}
	p.sh("echo 100 > /proc/sys/user/max_user_namespaces; unshare -Ur true && echo x > inside-another")
	p.absent(p.dir + "/inside-another")
}

// 41: what stands in for hidden files, and what lies behind it.
func attempt41(p *prison) {
	p.put(p.dir+"/vault/key", "secret-one\n")
	p.put(p.dir+"/vault/deep/key", "secret-two\n")
	p.put(p.dir+"/.env", "secret-three\n")
	p.cfg.DenyRead = []string{p.dir + "/vault/**", p.dir + "/**/.env"}
	hidden := stateDir(p.t) + "/hidden"
	out := p.sh("umount vault; umount -l .env; mv vault v; rmdir vault; rm -rf vault .env; chmod -R 777 vault .env; cat .env vault/key vault/deep/key v/key; cat /proc/self/root" + p.dir + "/.env; find / -name key -path '" + p.base + "/*vault*' -exec cat {} + ; tar cf - vault .env; cp -r vault copy; cat copy/key; ls vault; chmod -R 777 " + hidden + "; for f in " + hidden + "/file*; do echo evil > $f; done; ln .env h; cat h; exec 3<.env; cat <&3")
	if strings.Contains(out, "secret-") {
		p.t.Errorf("read: %s", out)
	}
	if !strings.Contains(out, "\nkey\n") {
		p.t.Errorf("the name is not seen: %s", out)
	}
	p.holds(p.dir+"/.env", "secret-three\n")
	p.holds(p.dir+"/vault/key", "secret-one\n")
	st, err := os.Stat(p.dir + "/.env")
	if err != nil {
		p.t.Fatal(err)
	}
	file := fmt.Sprintf("%s/file-%d-%d-0", hidden, st.Size(), st.ModTime().UnixNano())
	if in, err := os.Stat(file); err != nil || in.Size() != st.Size() || in.Mode().Perm() != 0 {
		p.t.Errorf("what stands in changed: %v %v", in, err)
	}
}

// 42: what is put somewhere for a moment while a long command runs.
func attempt42(p *prison) {
	p.put(p.dir+"/sub/x", "")
	done := make(chan string, 1)
	go func() {
		done <- p.sh("echo evil > .mcp.json; mkdir -p sub/.git/hooks; echo evil > sub/.git/hooks/pre-commit; printf '[core]\\n\\tfsmonitor = evil\\n' > sub/.git/config; echo ready > ready; while [ ! -e go ]; do sleep 0.05; done")
	}()
	waitFor(p.t, func() bool { _, err := os.Stat(p.dir + "/ready"); return err == nil })
	waitFor(p.t, func() bool {
		_, one := os.Lstat(p.dir + "/.mcp.json")
		_, two := os.Lstat(p.dir + "/sub/.git/hooks/pre-commit")
		_, three := os.Lstat(p.dir + "/sub/.git/config")
		return one != nil && two != nil && three != nil
	})
	p.put(p.dir+"/go", "")
	if out := <-done; !strings.Contains(out, ".mcp.json") || !strings.Contains(out, "sandbox_violations") {
		p.t.Errorf("nobody is told: %s", out)
	}
}

// Some of the attempts by their numbers in the list of known faults.
func TestKF112_DenyRulesHoldInside(t *testing.T)        { attempt37(newPrison(t)) }
func TestKF152_HomeAsTheWorkingFolder(t *testing.T)     { attempt38(newPrison(t)) }
func TestKF153_WhatGitIsLedTo(t *testing.T)             { attempt39(newPrison(t)) }
func TestKF118_WhatStandsInCannotBeLifted(t *testing.T) { attempt41(newPrison(t)) }

// What was put somewhere does not stay until the end of a long command.
func TestSweptWhileItRuns(t *testing.T) { attempt42(newPrison(t)) }

// The helper's right to mount is gone in the program.
func TestNoCapabilityIsLeft(t *testing.T) { attempt40(newPrison(t)) }

// What is only watched is put back unless somebody keeps it, and only that.
func TestKF153_WatchedPlacesAreKeptOrPutBack(t *testing.T) {
	c := newCell(t)
	c.put(".npmrc", "old")
	c.put(".vscode/settings.json", "old")
	const change = "echo new > .npmrc; rm .vscode/settings.json; echo new > .yarnrc.yml; mkdir .husky; echo new > .husky/pre-push; echo new > plain"
	_, _, report := c.run(change)
	if c.text(".npmrc") != "old" || c.text(".vscode/settings.json") != "old" || c.text("plain") != "new\n" || len(report.Violations) != 4 {
		t.Errorf("%q %q %+v", c.text(".npmrc"), c.text(".vscode/settings.json"), report)
	}
	for _, f := range []string{".yarnrc.yml", ".husky"} {
		if _, err := os.Lstat(c.dir + "/" + f); err == nil {
			t.Errorf("%s is there", f)
		}
	}
	var asked []string
	c.cfg.Keep = func(changes []sandbox.Change) (kept []sandbox.Change) {
		for _, change := range changes {
			asked = append(asked, strings.TrimPrefix(change.Path, c.dir+"/")+" "+change.What())
			if strings.HasSuffix(change.Path, ".yarnrc.yml") {
				kept = append(kept, change)
			}
		}
		return kept
	}
	_, _, report = c.run(change)
	if c.text(".yarnrc.yml") != "new\n" || c.text(".npmrc") != "old" || len(report.Notes) != 1 {
		t.Errorf("%q %q %+v", c.text(".yarnrc.yml"), c.text(".npmrc"), report)
	}
	if want := ".husky created, .husky/pre-push created, .npmrc changed, .vscode/settings.json removed, .yarnrc.yml created"; strings.Join(asked, ", ") != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
	// What was put aside can be had back.
	for _, a := range c.box.Aside() {
		if a.Path == c.dir+"/.npmrc" {
			if err := c.box.BringBack(a); err != nil || c.text(".npmrc") != "new\n" {
				t.Errorf("%v, %q", err, c.text(".npmrc"))
			}
			break
		}
	}
}
