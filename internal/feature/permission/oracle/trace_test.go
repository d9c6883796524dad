//go:build linux

package oracle

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mark is the value of a variable that no reading command may print.
const mark = "value-of-the-environment"

// world is a project, a home folder and a place outside of both.
type world struct {
	root, project, home, outside string
}

func newWorld(t *testing.T) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	w := world{root: root, project: root + "/project", home: root + "/home", outside: root + "/outside"}
	for name, text := range map[string]string{
		"project/a.txt": "a one\nx two\ntouch PWN\n", "project/b.txt": "b\n", "project/sub/c.txt": "c a\n", "project/data.json": `{"a": 1, "b": [2]}`, "project/secrets/key": "key a\n", "home/x": "x\n",
		"outside/hosts": "touch PWN\na\n", "outside/data.json": "{}", "outside/m.jq": "def f: 1;",
	} {
		check(t, os.MkdirAll(filepath.Dir(root+"/"+name), 0o755))
		check(t, os.WriteFile(root+"/"+name, []byte(text), 0o644))
	}
	check(t, os.Symlink("../outside/hosts", w.project+"/l.txt"))
	check(t, os.Symlink("../outside", w.project+"/out"))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.project
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return w
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// deeds is what a command really did.
type deeds struct {
	ran     []string // programs that were started, without their folder
	changed []string // calls that would change something below the root
	opened  []string // what was opened below the root
	shown   []string // of these, what was opened by others than git, which reads all it tracks to see what changed
	by      string   // the program of the process that is being looked at
	output  string
}

const traced = "execve,execveat,open,openat,openat2,creat,truncate,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,chmod,fchmodat,mknod,mknodat"

// run has the real bash run a command under strace, confined so that nothing can be written.
func (w world) run(t *testing.T, command string) deeds {
	t.Helper()
	traces := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", w.root, w.root, "--bind", traces, traces,
		"--unshare-all", "--die-with-parent", "--new-session", "--chdir", w.project, "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", w.home, "--setenv", "LANG", "C.UTF-8", "--setenv", "MARK", mark,
		"strace", "-ff", "-qq", "-y", "-s", "4096", "--seccomp-bpf", "-e", "trace="+traced, "-e", "signal=none", "-o", traces+"/t", "bash", "--norc", "-c", command)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run() // most random commands fail; what they did before counts
	names, globErr := filepath.Glob(traces + "/t.*")
	check(t, globErr)
	if len(names) == 0 && ctx.Err() == nil {
		t.Fatalf("nothing was traced of %q: %v\n%s", command, err, out.String())
	}
	d := deeds{output: out.String()}
	for _, name := range names {
		data, err := os.ReadFile(name)
		check(t, err)
		d.by = "bash"
		for line := range strings.Lines(string(data)) {
			w.note(&d, line)
		}
	}
	return d
}

var (
	callLine = regexp.MustCompile(`^(\w+)\((.*)\)\s+= (-?\d+)(?:<([^>]*)>)?`)
	argText  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	dirText  = regexp.MustCompile(`^(?:AT_FDCWD|\d+)<([^>]*)>`)
)

// note reads one line of a trace.
func (w world) note(d *deeds, line string) {
	m := callLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	call, args, result, at := m[1], m[2], m[3], m[4]
	texts := argText.FindAllStringSubmatch(args, 2)
	if len(texts) == 0 {
		return
	}
	path := texts[0][1]
	if dir := dirText.FindStringSubmatch(args); dir != nil && !filepath.IsAbs(path) {
		path = dir[1] + "/" + path
	} else if !filepath.IsAbs(path) {
		path = w.project + "/" + path
	}
	if at == "" {
		at = filepath.Clean(path)
	}
	switch call {
	case "execve", "execveat":
		if result == "0" {
			d.by = filepath.Base(path)
			d.ran = append(d.ran, d.by)
		}
		return
	case "open", "openat", "openat2":
		if !strings.Contains(args, "O_WRONLY") && !strings.Contains(args, "O_RDWR") && !strings.Contains(args, "O_CREAT") {
			if result != "-1" && strings.HasPrefix(at, w.root) {
				d.opened = append(d.opened, at)
				if d.by != "git" {
					d.shown = append(d.shown, at)
				}
			}
			return
		}
	}
	if strings.HasPrefix(at, w.root) && !strings.HasPrefix(at, w.project+"/.git/") { // git refreshes its index
		d.changed = append(d.changed, call+" "+at)
	}
}
