//go:build linux

package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// 43: to read what signs its owner in, by name, through a link, through /proc, through a hard link (KF-159).
func attempt43(p *prison) {
	p.put(p.home+"/.ssh/id_rsa", "the KEY\n")
	p.put(p.home+"/.ssh/id_rsa.pub", "open\n")
	p.put(p.home+"/.aws/credentials", "the KEY\n")
	p.put(p.home+"/.netrc", "the KEY\n")
	p.cfg.Closed = []string{p.home + "/.ssh", p.home + "/.aws", p.home + "/.netrc"}
	p.cfg.AllowRead = []string{p.home + "/.ssh/id_rsa.pub"}
	p.cfg.DropEnv = append(p.cfg.DropEnv, "AWS_*")
	p.t.Setenv("AWS_SECRET_ACCESS_KEY", "the KEY")
	for _, c := range []string{
		"cat ~/.ssh/id_rsa ~/.aws/* ~/.netrc", "cat /proc/self/root" + p.home + "/.ssh/id_rsa", "ln -s ~/.ssh/id_rsa l; cat l", "ln ~/.ssh/id_rsa h; cat h",
		"ln -s ~/.aws d; cat d/credentials", "cp -r ~/.ssh here; cat here/id_rsa", "tar c ~/.ssh | tar xO", "chmod 777 ~/.netrc; cat ~/.netrc", "env",
		"mv ~/.ssh ~/.ssh2; cat ~/.ssh2/id_rsa", "rm -rf ~/.aws; cat ~/.aws/credentials",
	} {
		if out := p.sh(c + "; true"); strings.Contains(out, "the KEY") {
			p.t.Errorf("%s: %s", c, out)
		}
	}
	if got := p.works("cat ~/.ssh/id_rsa.pub; ls ~/.aws"); got != "open" {
		p.t.Errorf("what is open, and a store that seems empty: %q", got)
	}
	p.holds(p.home+"/.ssh/id_rsa", "the KEY\n")
}

// 44: to make the harness wait, or fill its memory, by the metadata it reads (KF-156).
func attempt44(p *prison) {
	p.works("mkdir sub && cd sub && mkdir -p .git/objects .git/refs && mkfifo .git/HEAD .git/commondir; mkdir ../two; mkfifo ../two/.git; mkdir ../three; truncate -s 40G ../three/.git; mkdir ../four; ln -s /dev/zero ../four/.git")
	for _, dir := range []string{"sub", "two", "three", "four"} {
		repo, err := gitrepo.Find(filepath.Join(p.dir, dir))
		if err == nil && dir != "sub" && repo.Root == filepath.Join(p.dir, dir) {
			p.t.Errorf("%s counts as a repository", dir)
		}
		if _, _, err := repo.Branch(); err == nil {
			p.t.Errorf("%s has a branch", dir)
		}
	}
	p.works("echo on") // the next command looks at all of it
}

// 45: to lead the harness's next note elsewhere by links that were planted in the shared temporary folder (KF-157).
func attempt45(p *prison) {
	p.works(`for i in $(seq 20); do ln -sf ` + p.home + `/.bashrc "$TMPDIR/cwd-c$i"; ln -sf ` + p.home + `/.bashrc "$TMPDIR/cwd-c$i.sh"; done`)
	p.how = tool.Confinement{}
	p.works("cd /")
	p.works("cd " + p.dir + "; : " + strings.Repeat("x", 130<<10))
	p.how = tool.Confinement{Level: tool.Sandboxed}
	p.works("mkdir s; cd s")
	p.holds(p.home+"/.bashrc", "# mine\n")
}

// 46: to leave a note of the working directory that nobody can read to its end (KF-156).
func attempt46(p *prison) {
	const note = `note=$(tr '\0' '\n' </proc/$$/cmdline | grep -o "[^']*/cwd-[^']*" | head -n 1); trap - EXIT; `
	for _, leave := range []string{`mkfifo "$note"`, `ln -s /dev/zero "$note"`, `truncate -s 40G "$note"`, `ln -s /etc/hostname "$note"`} {
		r := p.result(p.t.Context(), map[string]any{"command": note + leave})
		if r.IsError || r.Cwd != "" {
			p.t.Errorf("%s: now in %q: %v", leave, r.Cwd, r.Content)
		}
	}
}

// 47: to exchange a folder and a link to another while the harness writes into it (KF-146).
func attempt47(p *prison) {
	p.put(p.dir+"/d/f", "ours\n")
	p.works("ln -s " + p.out + " l")
	ctx, stop := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() { // ends with the command
		defer close(done)
		p.result(ctx, map[string]any{"command": attacker + "exchange d l"})
	}()
	made := 0
	for i := 0; made < 100; i++ {
		dir, err := nolink.OpenDir(p.dir + "/d")
		if err != nil {
			continue
		}
		f, err := nolink.Entry(dir, "n"+strconv.Itoa(i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			made++
			f.Close()
		}
		dir.Close()
	}
	stop()
	<-done
	entries, err := os.ReadDir(p.out)
	if err != nil || len(entries) != 1 {
		p.t.Errorf("outside holds %v, %v", entries, err)
	}
}

// 48: to take all processes and all memory of the machine (KF-158).
func attempt48(p *prison) {
	limits := strings.Join(p.box.Probe(p.t.Context(), p.cfg).Missing, " ")
	bounded := !strings.Contains(limits, "limits of")
	out := p.works("df -k /tmp /dev/shm /run | awk 'NR > 1 && $2 > 2200000'")
	if out != "" && out != "(no output)" {
		p.t.Errorf("not bounded: %s", out)
	}
	if out := p.sh("echo x > /dev/x"); !strings.Contains(out, "Read-only") {
		p.t.Errorf("devices: %s", out)
	}
	if !bounded {
		return // and the status says so
	}
	out = p.sh("cat /proc/self/cgroup; " + attacker + "crowd")
	if !strings.Contains(out, "refused:") || !strings.Contains(out, "met its limit of") {
		p.t.Errorf("processes: %s", out)
	}
	p.works("true")
	group := regexp.MustCompile(`myelin-[-0-9a-f]+`).FindString(out) // others on this machine have groups of theirs
	if group == "" {
		p.t.Errorf("no group: %s", out)
	}
	for at := "/sys/fs/cgroup/*/"; strings.Count(at, "*") < 5; at += "*/" {
		if left, err := filepath.Glob(at + group); err != nil || len(left) > 0 {
			p.t.Errorf("groups are left: %v, %v", left, err)
		}
	}
}

// TestKF158_LimitsAreSaid: the status says what cannot be bounded here, or nothing is missing.
func TestKF158_LimitsAreSaid(t *testing.T) {
	p := newPrison(t)
	missing := strings.Join(p.box.Probe(t.Context(), p.cfg).Missing, "\n")
	group := strings.Contains(p.sh("cat /proc/self/cgroup"), "/myelin-")
	if group == strings.Contains(missing, "limits of processes and") {
		t.Errorf("in a group: %v; missing: %q", group, missing)
	}
}
