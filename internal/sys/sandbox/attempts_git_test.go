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

// 56: what programs keep in home, of which a part is open: other conversations, what was typed.
func attempt56(p *prison) {
	own := p.home + "/.myelin"
	p.put(own+"/projects/other/s.jsonl", "secret-one\n")
	p.put(own+"/projects/mine/s.jsonl", "mine\n")
	p.put(own+"/projects/mine/old.jsonl", "secret-two\n")
	p.put(own+"/settings.json", "secret-three\n")
	p.put(p.home+"/.bash_history", "secret-four\n")
	p.cfg.Closed = []string{own + "/projects", own + "/settings.json", p.home + "/.bash_history"}
	p.cfg.AllowRead = []string{own + "/projects/mine/s.jsonl"}
	if out := p.works("cat " + own + "/projects/mine/s.jsonl"); out != "mine" && out != "mine\n" {
		p.t.Errorf("what is open cannot be read: %q", out)
	}
	out := p.sh("cd " + own + "; cat projects/*/* projects/other/s.jsonl projects/mine/old.jsonl settings.json ../.bash_history; cat projects/mine/../other/s.jsonl /proc/self/root" + own + "/settings.json; ls -a projects projects/*; mv projects p2; cat p2/other/s.jsonl; umount projects; ln settings.json " + p.dir + "/h; cat " + p.dir + "/h; ln -s " + own + "/projects/other " + p.dir + "/l; cat " + p.dir + "/l/s.jsonl; python3 -c 'import os; os.chdir(\"" + own + "/projects/other\"); print(open(\"s.jsonl\").read())'; tar cf - . ; grep -r secret . ; echo evil >> projects/mine/s.jsonl; exec 3< projects/mine; cat /proc/self/fd/3/../other/s.jsonl; HISTFILE=" + p.home + "/.bash_history bash -ic history")
	if strings.Contains(out, "secret-") {
		p.t.Errorf("read: %s", out)
	}
	p.holds(own+"/projects/mine/s.jsonl", "mine\n")
	p.holds(own+"/projects/other/s.jsonl", "secret-one\n")
}

// 57: a cache of the project with links to the machine's own.
func attempt57(p *prison) {
	machine, cache := p.home+"/.cache/browsers", p.base+"/cache"
	p.put(machine+"/chrome", "mine\n")
	p.put(p.home+"/.cargo/credentials.toml", "secret-one\n")
	p.put(cache+"/keep", "")
	for at, to := range map[string]string{"chrome": machine + "/chrome", "token": p.home + "/.cargo/credentials.toml", "folder": machine} {
		if err := os.Symlink(to, cache+"/"+at); err != nil {
			p.t.Fatal(err)
		}
	}
	p.cfg.Cache, p.cfg.Closed = cache, []string{p.home + "/.cargo/credentials.toml"}
	out := p.sh("cd " + cache + "; cat chrome; echo evil > chrome; echo evil >> folder/chrome; cp /bin/sh folder/chrome; rm folder/chrome; chmod 777 chrome; touch folder/new; mv folder/chrome folder/other; ln chrome hard && echo evil > hard; python3 -c 'open(\"chrome\", \"r+\").write(\"evil\")'; truncate -s 0 chrome; cat token; rm chrome && echo ours > chrome; cat chrome")
	if strings.Contains(out, "secret-") || !strings.Contains(out, "ours") || !strings.Contains(out, "mine") {
		p.t.Errorf("%s", out)
	}
	p.holds(machine+"/chrome", "mine\n")
	p.absent(machine+"/new", machine+"/other")
	if st, err := os.Stat(machine + "/chrome"); err != nil || st.Mode().Perm() != 0o644 {
		p.t.Errorf("%v %v", st, err)
	}
}

func TestKF159_WhatIsOpenInAClosedFolder(t *testing.T) { attempt56(newPrison(t)) }
func TestKF172_LinksToTheMachinesCaches(t *testing.T)  { attempt57(newPrison(t)) }
