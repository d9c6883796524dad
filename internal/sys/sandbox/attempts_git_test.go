//go:build linux

package sandbox_test

import (
	"os"
	"strings"
	"testing"
)

// 54: submodules that would make git run something, in new repositories and in the one that is there.
func attempt54(p *prison) {
	p.t.Setenv("GIT_ALLOW_PROTOCOL", "file")
	p.git("init", "-q")
	p.git("init", "-q", p.out+"/sub")
	p.git("-C", p.out+"/sub", "-c", "user.name=x", "-c", "user.email=x@y.z", "commit", "-q", "--allow-empty", "-m", "one")
	p.git("init", "-q", p.out+"/top")
	p.git("-C", p.out+"/top", "submodule", "--quiet", "add", p.out+"/sub", "mod")
	p.git("-C", p.out+"/top", "-c", "user.name=x", "-c", "user.email=x@y.z", "commit", "-q", "-m", "one")
	clone := "git clone -q --recurse-submodules " + p.out + "/top "
	p.works(clone + "fine && git -C fine/mod log && git -C fine submodule status")
	p.works("git -C fine/mod log && git -C fine status")
	p.sh(clone + "a && git -C a config core.fsmonitor evil; " + clone + "b && git -C b/mod config core.hooksPath evil; " + clone + "c && echo evil > c/.git/modules/mod/hooks/post-checkout; " +
		clone + "d && git -C d/mod config core.worktree ../../../..; " + clone + "h && git -C h/mod config core.worktree ../../../../elsewhere; " + clone + "e && git -C e config submodule.mod.update '!evil'; " + clone + "f && git -C f config remote.origin.url 'ext::sh -c evil'; " +
		clone + "g && git init -q --bare g2 && git -C g2 config core.fsmonitor evil && echo gitdir: ../../g2 > g/mod/.git; git -C fine/mod config core.fsmonitor evil; echo evil > fine/.git/modules/mod/hooks/post-merge")
	for _, path := range []string{
		"a/.git/config", "b/.git/modules/mod/config", "c/.git/modules/mod/hooks/post-checkout", "d/.git/modules/mod/config", "h/.git/modules/mod/config", "e/.git/config", "f/.git/config", "g/mod/.git",
		"fine/.git/modules/mod/hooks/post-merge",
	} {
		p.absent(p.dir + "/" + path)
	}
	if text, err := os.ReadFile(p.dir + "/fine/.git/modules/mod/config"); err != nil || strings.Contains(string(text), "evil") {
		p.t.Errorf("fine: %v %s", err, text)
	}
	p.sh("cp -r fine/.git/modules/mod x; rm -rf fine; mkdir -p fine/mod fine/.git/modules; cp -r x fine/.git/modules/mod; git -C fine/.git/modules/mod config core.fsmonitor evil; git -C fine/.git/modules/mod config --unset core.worktree")
	if text, err := os.ReadFile(p.dir + "/fine/.git/modules/mod/config"); err == nil && strings.Contains(string(text), "evil") {
		p.t.Errorf("made again: %s", text)
	}
}

// 55: what is open for git's own commands is used for something else.
func attempt55(p *prison) {
	p.git("init", "-q")
	p.git("-c", "user.name=x", "-c", "user.email=x@y.z", "commit", "-q", "--allow-empty", "-m", "one")
	p.git("worktree", "add", "-q", p.dir+"/linked")
	config := p.dir + "/.git/config"
	before, err := os.ReadFile(config)
	if err != nil {
		p.t.Fatal(err)
	}
	p.cfg.Watch = []string{config, p.dir + "/.git/worktrees/linked", p.dir + "/linked"}
	p.sh("git config core.fsmonitor evil; echo " + p.base + "/tmp > .git/worktrees/linked/commondir; echo gitdir: " + p.base + "/tmp > linked/.git; mkdir -p linked/.claude; echo evil > linked/.claude/settings.json; echo evil > .git/hooks/post-checkout")
	p.holds(config, string(before))
	p.holds(p.dir+"/.git/worktrees/linked/commondir", "../..\n")
	p.holds(p.dir+"/linked/.git", "gitdir: "+p.dir+"/.git/worktrees/linked\n")
	p.absent(p.dir+"/linked/.claude/settings.json", p.dir+"/.git/hooks/post-checkout")
	p.sh("git config remote.x.url 'ext::sh -c evil'")
	p.sh("git config remote.x.url -- --upload-pack=evil")
	p.sh("git config remote.x.uploadpack evil")
	p.sh("git config submodule.x.update '!evil'")
	p.sh("git config include.path ../evil")
	p.holds(config, string(before))
	p.works("git remote add fine https://example.com/x.git && git worktree remove linked")
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), "example.com") {
		p.t.Errorf("what git writes does not stay: %v %s", err, text)
	}
	p.absent(p.dir+"/linked", p.dir+"/.git/worktrees/linked")
}

func TestKF119_SubmodulesStay(t *testing.T)               { attempt54(newPrison(t)) }
func TestKF119_GitWritesItsOwnConfiguration(t *testing.T) { attempt55(newPrison(t)) }
