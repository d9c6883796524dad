//go:build linux

package proc_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// victimMain is a process that starts a tree and waits to be killed; started by the tests below.
func victimMain() bool {
	dir := os.Getenv("PROC_TEST_VICTIM")
	if dir == "" {
		return false
	}
	opts := proc.Options{RunDir: dir, Grace: 100 * time.Millisecond}
	if os.Getenv("PROC_TEST_WATCHER") != "" {
		opts.Watcher = []string{"/proc/self/exe"}
	}
	h := proc.NewHost(opts)
	spec := sh(tree+"while :; do sleep 1; done", os.Stdout)
	spec.Label = "the tree"
	if _, err := h.Owner("victim").Start(spec); err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
	}
	select {} // until killed
}

// killVictim runs a victim, waits for its tree, kills it with the last signal and returns the tree.
func killVictim(t *testing.T, dir string, extra ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(extra, "PROC_TEST_VICTIM="+dir)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var pids []string
	for n := 0; n < 6 && lines.Scan(); n++ {
		pids = append(pids, strings.Fields(lines.Text())...)
	}
	if len(pids) != 5 {
		t.Fatalf("the victim said %q", pids)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = cmd.Process.Wait() }()
	return pids
}

func TestKF028_LeftoversOfAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	pids := killVictim(t, dir)
	var found []proc.Leftover
	for deadline := time.Now().Add(5 * time.Second); len(found) == 0; {
		var err error
		if found, err = proc.Leftovers(dir); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing found")
		}
	}
	if len(found) != 1 || len(found[0].Procs) < 4 || len(found[0].Labels) != 1 || found[0].Labels[0] != "the tree" {
		t.Errorf("found %+v", found)
	}
	if ended := found[0].End(100 * time.Millisecond); len(ended) < 4 {
		t.Errorf("ended %v", ended)
	}
	mustBeGone(t, pids)
	if again, err := proc.Leftovers(dir); err != nil || len(again) != 0 {
		t.Errorf("again: %v, %v", again, err)
	}
}

func TestKF028_WatcherEndsWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	pids := killVictim(t, dir, "PROC_TEST_WATCHER=1")
	deadline := time.Now().Add(8 * time.Second)
	var found []proc.Leftover
	for len(found) == 0 || len(found[0].Procs) > 0 {
		var err error
		if found, err = proc.Leftovers(dir); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %+v", found)
		}
	}
	mustBeGone(t, pids)
	if len(found[0].Ended) < 4 {
		t.Errorf("the watcher says it ended %v", found[0].Ended)
	}
	found[0].End(0)
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("left in the run folder: %v", names)
	}
}

func TestRecordGoesWithAnOrderlyEnd(t *testing.T) {
	dir := t.TempDir()
	h := proc.NewHost(proc.Options{RunDir: dir, Watcher: []string{"/proc/self/exe"}, Report: func(err error) { t.Error(err) }})
	o := h.Owner("x")
	if _, err := o.Start(sh("sleep 310", nil)); err != nil {
		t.Fatal(err)
	}
	if found, err := proc.Leftovers(dir); err != nil || len(found) != 0 {
		t.Errorf("what a living process runs counts as left over: %v, %v", found, err)
	}
	h.Close()
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 0 {
		t.Errorf("left in the run folder: %v", names)
	}
}

func TestLeftoversOfOddRecords(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	write("empty.jsonl", "")
	write("torn.jsonl", `{"op":"host","v":1,"boot":"`+strings.TrimSpace(string(boot))+`","mark":"zz"}`+"\n"+`{"op":"job","pi`)
	write("old.jsonl", `{"op":"host","v":1,"boot":"another","mark":"zz"}`+"\n"+`{"op":"job","pid":1,"start":1}`+"\n")
	write("newer.jsonl", `{"op":"host","v":99,"boot":"x"}`+"\n")
	write("note.txt", "not ours")
	found, err := proc.Leftovers(dir)
	if err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 2 || filepath.Base(names[0]) != "newer.jsonl" || filepath.Base(names[1]) != "note.txt" {
		t.Errorf("left: %v", names)
	}
	if found, err := proc.Leftovers(filepath.Join(dir, "none")); err != nil || len(found) != 0 {
		t.Errorf("of no folder: %v, %v", found, err)
	}
}
