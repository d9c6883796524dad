// Package cgroup has the kernel bound what a command takes, by control groups (cgroups(7)) of the first version
// or the second, where this user may make one. RLIMIT_NPROC would not do: it does not bind root. It decides
// no limits. Begin with [New].
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// groupPrefix begins the name of every group that is made here.
const groupPrefix = "myelin-"

// Limits are what one command may take.
type Limits struct {
	Processes int64 // threads count
	Memory    int64 // bytes; what lies in /tmp counts
}

// controls are the files of the two controllers in the two versions.
var controls = []struct {
	name, v1, v2   string
	events1, file1 string // what tells that the limit was met, and in which file
	events2, file2 string
	what           string
	value          func(Limits) int64
}{
	{"pids", "pids.max", "pids.max", "max", "pids.events", "max", "pids.events", "processes", func(l Limits) int64 { return l.Processes }},
	{"memory", "memory.limit_in_bytes", "memory.max", "oom_kill", "memory.oom_control", "oom_kill", "memory.events", "bytes of memory", func(l Limits) int64 { return l.Memory }},
}

// Group is what bounds one command: a folder in one hierarchy or in two.
type Group struct {
	dirs    []string
	watched []watchedLimit
}

type watchedLimit struct {
	file, word, what string
}

// New makes the groups of a command, with as many of the limits as can be had; lacks names the others.
func New(l Limits) (g *Group, lacks []string) {
	g = &Group{}
	name := groupPrefix + uuid.NewString()
	v2, v1 := hierarchies()
	for _, c := range controls {
		value := strconv.FormatInt(c.value(l), 10)
		if dir := g.second(v2, name, c.name); dir != "" && put(dir, c.v2, value) == nil {
			g.watched = append(g.watched, watchedLimit{filepath.Join(dir, c.file2), c.events2, fmt.Sprintf("%d %s", c.value(l), c.what)})
			continue
		}
		if at := v1[c.name]; at != "" {
			dir := filepath.Join(at, name)
			if os.Mkdir(dir, 0o755) == nil {
				g.dirs = append(g.dirs, dir)
				if put(dir, c.v1, value) == nil {
					g.watched = append(g.watched, watchedLimit{filepath.Join(dir, c.file1), c.events1, fmt.Sprintf("%d %s", c.value(l), c.what)})
					continue
				}
			}
		}
		lacks = append(lacks, c.what)
	}
	return g, lacks
}

// second makes the group of the second version, once, beside or below the one this process is in; empty: none
// there has the controller, or may be made.
func (g *Group) second(here, name, controller string) string {
	for _, at := range []string{here, filepath.Dir(here)} {
		has, err := os.ReadFile(filepath.Join(at, "cgroup.subtree_control"))
		if here == "" || err != nil || !bytes.Contains(append([]byte(" "), bytes.ReplaceAll(has, []byte("\n"), []byte(" "))...), []byte(" "+controller+" ")) {
			continue
		}
		dir := filepath.Join(at, name)
		if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
			return dir
		} else if err == nil {
			g.dirs = append(g.dirs, dir)
			return dir
		}
	}
	return ""
}

func put(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

// Join takes a process and all that come from it into the groups. None of them may start another meanwhile.
func (g *Group) Join(pid int) error {
	all := descendants(pid)
	for _, dir := range g.dirs {
		for _, p := range all {
			if err := put(dir, "cgroup.procs", strconv.Itoa(p)); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("bound what a command takes: %w", err)
			}
		}
	}
	return nil
}

// descendants lists a process and what it started, parents first.
func descendants(pid int) []int {
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", out[i])) // the pattern is right
		for _, file := range tasks {
			list, err := os.ReadFile(file)
			if err != nil {
				continue // gone meanwhile
			}
			for _, word := range strings.Fields(string(list)) {
				if child, err := strconv.Atoi(word); err == nil {
					out = append(out, child)
				}
			}
		}
	}
	return out
}

// Met names the limits that stopped something.
func (g *Group) Met() []string {
	var out []string
	for _, w := range g.watched {
		data, err := os.ReadFile(w.file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			word, n, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word == w.word && n != "0" {
				out = append(out, w.what)
			}
		}
	}
	return out
}

// dyingTime bounds how long the last processes of a command are waited for, which have been killed: hundreds
// of them take their time on a busy machine.
const dyingTime = 5 * time.Second

// Remove takes the groups away; their processes must have ended.
func (g *Group) Remove() {
	end := time.Now().Add(dyingTime)
	for _, dir := range g.dirs {
		for pause := time.Millisecond; errors.Is(os.Remove(dir), unix.EBUSY) && time.Now().Before(end); pause = min(2*pause, 50*time.Millisecond) {
			time.Sleep(pause)
		}
	}
}

// Tidy takes away what programs of ours that were killed have left, here and in the groups beside;
// what is in use stays.
func Tidy() {
	v2, v1 := hierarchies()
	for _, at := range []string{v2, v1["pids"], v1["memory"]} {
		if at == "" {
			continue
		}
		for _, pattern := range []string{at, filepath.Dir(at), filepath.Join(filepath.Dir(at), "*")} {
			left, _ := filepath.Glob(filepath.Join(pattern, groupPrefix+"*-*-*-*-*")) // the pattern is right
			for _, d := range left {
				_ = os.Remove(d) // in use: refused
			}
		}
	}
}

// hierarchies finds the group of this process in the second version, and in the first by controller.
func hierarchies() (v2 string, v1 map[string]string) {
	v1 = map[string]string{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", v1
	}
	mine, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", v1
	}
	for line := range strings.Lines(string(mine)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		if part[1] == "" {
			v2 = mountedGroup(string(mounts), "cgroup2", "", part[2])
			continue
		}
		for name := range strings.SplitSeq(part[1], ",") {
			if name == "pids" || name == "memory" {
				v1[name] = mountedGroup(string(mounts), "cgroup", name, part[2])
			}
		}
	}
	return v2, v1
}

// mountedGroup is where a group of a hierarchy is found in the file system; empty: nowhere.
func mountedGroup(mounts, kind, controller, path string) string {
	for line := range strings.Lines(mounts) {
		front, back, ok := strings.Cut(strings.TrimSpace(line), " - ")
		fields, super := strings.Fields(front), strings.Fields(back)
		if !ok || len(fields) < 5 || len(super) < 3 || super[0] != kind {
			continue
		}
		if controller != "" && !strings.Contains(","+super[2]+",", ","+controller+",") {
			continue
		}
		rel, below := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/"))
		if at := filepath.Join(fields[4], rel); below {
			if st, err := os.Stat(at); err == nil && st.IsDir() {
				return at
			}
		}
	}
	return ""
}
