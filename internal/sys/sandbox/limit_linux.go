package sandbox

import (
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/cgroup"
)

// group is what bounds one command.
type group = cgroup.Group

// theLimits leave room for builds that use every processor, and keep the machine usable.
func theLimits() cgroup.Limits {
	return cgroup.Limits{Processes: int64(256 + 128*runtime.NumCPU()), Memory: max(totalMemory()/4*3, 1<<30)}
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

// bound bounds what the command takes, before it begins. What cannot be had is no reason not to run it: the
// status says what is missing.
func (c *Command) bound() {
	c.box.tidied.Do(cgroup.Tidy)
	g, lacks := cgroup.New(theLimits())
	if err := g.Join(c.Process.Identity().PID); err != nil {
		g.Remove()
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
	defer c.limited.Remove()
	var out []Violation
	for _, what := range c.limited.Met() {
		out = append(out, Violation{Operation: "limit", Detail: "the command met its limit of " + what, Certain: true})
	}
	return out
}
