//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// 49: the check afterwards is led elsewhere by a link above a protected place that is not there.
func attempt49(p *prison) {
	p.put(p.out+"/.env", "mine\n")
	p.put(p.out+"/systemd/unit", "mine\n")
	p.put(p.out+"/other/.env", "mine\n")
	if err := os.Symlink(p.out+"/other", p.dir+"/users"); err != nil {
		p.t.Fatal(err)
	}
	p.put(p.dir+"/sub/x", "")
	home, dir := p.home, p.dir
	p.cfg.DenyWrite = []string{dir + "/sub/.env", dir + "/users/.env", dir + "/here/deep/.env"}
	p.cfg.Dir, p.cfg.Write = home, []string{home}
	out := p.sh("cd " + dir + "; mv sub sub2; ln -s " + p.out + " sub; mkdir evil; echo evil > evil/.env; mkdir here; ln -s ../evil here/deep; rm users; ln -s evil users; cd " + home + "; mv .config c; ln -s " + p.out + " .config")
	p.holds(p.out+"/.env", "mine\n")
	p.holds(p.out+"/systemd/unit", "mine\n")
	p.holds(p.out+"/other/.env", "mine\n")
	for _, link := range []string{dir + "/sub", dir + "/here/deep"} {
		p.absent(link)
	}
	if st, err := os.Lstat(home + "/.config"); err != nil || !st.IsDir() {
		p.t.Errorf(".config: %v %v\n%s", st, err, out)
	}
	if to, err := os.Readlink(dir + "/users"); err != nil || to != p.out+"/other" {
		p.t.Errorf("the user's link leads to %q (%v)\n%s", to, err, out)
	}
}

// 50: a folder above one that may not be read is renamed, so that the rule does not match any more.
func attempt50(p *prison) {
	p.put(p.dir+"/conf/prod/key", "secret-one\n")
	p.put(p.dir+"/a/b/vault/key", "secret-two\n")
	p.cfg.DenyRead = []string{p.dir + "/conf/prod/key", p.dir + "/a/b/vault/**"}
	p.sh("mv conf/prod conf/p2; mv conf c2; mv a/b a/b2; mv a a2; python3 -c 'import os; os.rename(\"conf\", \"c3\")'")
	out := p.sh("cat c*/p*/key a*/b*/vault/key conf/*/key")
	if strings.Contains(out, "secret-") {
		p.t.Errorf("read: %s", out)
	}
	p.holds(p.dir+"/conf/prod/key", "secret-one\n")
	p.holds(p.dir+"/a/b/vault/key", "secret-two\n")
}

// 51: more files that a rule forbids than are mounted, larger than what is kept of them.
func attempt51(p *prison) {
	large := strings.Repeat("mine", 100_000)
	for i := range 50 {
		p.put(fmt.Sprintf("%s/d%d/x.bin", p.dir, i), large)
	}
	p.cfg.DenyWrite = []string{p.dir + "/**/*.bin"}
	p.sh("for f in d*; do echo evil > $f/x.bin; rm -f $f/x.bin; mv $f e$f; done")
	for i := range 50 {
		if text, err := os.ReadFile(fmt.Sprintf("%s/d%d/x.bin", p.dir, i)); err != nil || string(text) != large {
			p.t.Fatalf("file %d is lost or changed: %v", i, err)
		}
	}
}

// 52: linked worktrees of the repository, and what the user's own configuration of git leads to.
func attempt52(p *prison) {
	p.git("init", "-q")
	p.git("-c", "user.name=x", "-c", "user.email=x@y.z", "commit", "-q", "--allow-empty", "-m", "one")
	p.git("worktree", "add", "-q", p.out+"/linked")
	p.put(p.home+"/.gitconfig", "[core]\n\thooksPath = .githooks\n[user]\n\tname = x\n\temail = x@y.z\n[safe]\n\tdirectory = "+p.dir+"\n")
	p.put(p.dir+"/.githooks/pre-push", "# mine\n")
	kept := p.dir + "/.git/worktrees/linked"
	p.sh("echo " + p.base + "/tmp/evil > " + kept + "/commondir; printf '[core]\\n\\tfsmonitor = evil\\n' > " + kept + "/config.worktree; echo evil > .githooks/pre-push; echo evil > .githooks/pre-commit")
	p.holds(kept+"/commondir", "../..\n")
	p.holds(p.dir+"/.githooks/pre-push", "# mine\n")
	p.absent(kept+"/config.worktree", p.dir+"/.githooks/pre-commit")
	p.works("git worktree add -q more && git -C more commit -q --allow-empty -m two")
	p.holds(p.dir+"/.git/worktrees/more/commondir", "../..\n")
	p.works("git worktree add -q other && git worktree remove other && echo fine > file")
	p.absent(p.dir + "/.git/worktrees/other")
}

// 53: a bare repository that runs something; one that runs nothing stays.
func attempt53(p *prison) {
	p.works("git init -q --bare fine.git && git init -q --bare a.git && git init -q --bare b.git && git clone -q --mirror fine.git c.git")
	for _, name := range []string{"fine", "a", "b", "c"} {
		if _, err := os.Stat(p.dir + "/" + name + ".git/config"); err != nil {
			p.t.Errorf("a bare repository does not stay: %v", err)
		}
	}
	p.sh("for r in d e f; do git init -q --bare $r.git; done; git -C d.git config core.fsmonitor evil; echo evil > e.git/hooks/pre-receive; echo ../d.git > f.git/commondir; git init -q --bare . ; git config core.fsmonitor evil; git -C fine.git config core.fsmonitor evil; echo evil > a.git/hooks/post-update")
	p.absent(p.dir+"/d.git/config", p.dir+"/e.git/hooks", p.dir+"/HEAD", p.dir+"/a.git/hooks/post-update")
	if text, err := os.ReadFile(p.dir + "/fine.git/config"); err != nil || strings.Contains(string(text), "evil") {
		p.t.Errorf("fine.git: %v %s", err, text)
	}
}

func TestKF119_BareRepositoriesStay(t *testing.T) { attempt53(newPrison(t)) }

func TestKF153_LinkedWorktreesAndTheUsersGit(t *testing.T) { attempt52(newPrison(t)) }

func TestKF157_TheCheckIsNotLedElsewhere(t *testing.T) { attempt49(newPrison(t)) }
func TestKF118_FoldersAboveHiddenOnes(t *testing.T)    { attempt50(newPrison(t)) }
func TestKF112_MoreThanCanBeBroughtBack(t *testing.T)  { attempt51(newPrison(t)) }
