package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// The kernel bounds what a command takes by control groups (cgroups(7)), of the first version or the
// second, where this user may make one. RLIMIT_NPROC would not do: it does not bind root.

// groupPrefix begins the name of every group that is made here.
const groupPrefix = "myelin-"

// limits are what one command may take.
type limits struct {
	processes int64 // threads count
	memory    int64 // bytes; what lies in /tmp counts
}

// theLimits leave room for builds that use every processor, and keep the machine usable.
func theLimits() limits {
	return limits{processes: int64(256 + 128*runtime.NumCPU()), memory: max(totalMemory()/4*3, 1<<30)}
}

// tmpSize bounds the private /tmp, in bytes: it lies in memory.
func tmpSize() int64 { return min(max(totalMemory()/4, 256<<20), 2<<30) }

// totalMemory is the machine's, in bytes.
func totalMemory() int64 {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 4 << 30
	}
	return int64(si.Totalram) * int64(si.Unit)
}

// controls are the files of the two controllers in the two versions.
var controls = []struct {
	name, v1, v2   string
	events1, file1 string // what tells that the limit was met, and in which file
	events2, file2 string
	what           string
	value          func(limits) int64
}{
	{"pids", "pids.max", "pids.max", "max", "pids.events", "max", "pids.events", "processes", func(l limits) int64 { return l.processes }},
	{"memory", "memory.limit_in_bytes", "memory.max", "oom_kill", "memory.oom_control", "oom_kill", "memory.events", "bytes of memory", func(l limits) int64 { return l.memory }},
}

// group is what bounds one command: a folder in one hierarchy or in two.
type group struct {
	dirs    []string
	watched []watchedLimit
}

type watchedLimit struct {
	file, word, what string
}

// newGroup makes the groups of a command, with as many of the limits as can be had; lacks names the others.
func newGroup(l limits) (g *group, lacks []string) {
	g = &group{}
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
func (g *group) second(here, name, controller string) string {
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

// bound bounds what the command takes, before it begins. What cannot be had is no reason not to run it: the
// status says what is missing.
func (c *Command) bound() {
	c.box.tidied.Do(tidyGroups)
	g, lacks := newGroup(theLimits())
	if err := g.join(c.Process.Identity().PID); err != nil {
		g.remove()
		g, lacks = nil, []string{"processes", "memory"}
	}
	c.limited = g
	if c.probing != nil && len(lacks) > 0 && len(c.probing.Missing) == 0 {
		c.probing.Missing = []string{"limits of " + strings.Join(lacks, " and ") + ": no control group can be made here"}
	}
}

// unbound ends bound, and tells which limits were met.
func (c *Command) unbound() []Violation {
	if c.limited == nil {
		return nil
	}
	defer c.limited.remove()
	return c.limited.met()
}

func put(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

// join takes a process and all that come from it into the groups.
func (g *group) join(pid int) error {
	for _, dir := range g.dirs {
		for _, p := range descendants(pid) {
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

// met names the limits that stopped something.
func (g *group) met() []Violation {
	var out []Violation
	for _, w := range g.watched {
		data, err := os.ReadFile(w.file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			word, n, _ := strings.Cut(strings.TrimSpace(line), " ")
			if word == w.word && n != "0" {
				out = append(out, Violation{Operation: "limit", Detail: "the command met its limit of " + w.what, Certain: true})
			}
		}
	}
	return out
}

// dyingTime bounds how long the last processes of a command are waited for, which have been killed: hundreds
// of them take their time on a busy machine.
const dyingTime = 5 * time.Second

// remove takes the groups away; their processes must have ended.
func (g *group) remove() {
	end := time.Now().Add(dyingTime)
	for _, dir := range g.dirs {
		for pause := time.Millisecond; errors.Is(os.Remove(dir), unix.EBUSY) && time.Now().Before(end); pause = min(2*pause, 50*time.Millisecond) {
			time.Sleep(pause)
		}
	}
}

// tidyGroups takes away what programs of ours that were killed have left, here and in the groups beside;
// what is in use stays.
func tidyGroups() {
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
		if at := filepath.Join(fields[4], rel); below && isDir(at) {
			return at
		}
	}
	return ""
}
