package sandbox

import (
	"fmt"
	"strings"
)

// Level is how much of what was asked this machine can keep.
type Level int

// The levels.
const (
	None      Level = iota
	Partial         // Landlock and the filter of system calls alone
	Full            // bubblewrap
	Seatbelt        // macOS
	Container       // a container engine
)

// Status says what the sandbox is here, for people and for machines.
type Status struct {
	Level   Level
	Backend string   // bubblewrap, landlock, seatbelt, docker, podman; empty: none
	Version string   // of the backend
	Mounts  bool     // the helper makes the mounts, which costs less than bubblewrap does
	Slow    string   // why bubblewrap has to make them
	ABI     int      // of Landlock; 0: none
	Reason  string   // why it is not the full level, one line
	Fix     string   // what to do about it
	Missing []string // what the level does not give
	Checks  []Check  // what was tried, in order
}

// Check is one thing that was tried in the full profile.
type Check struct {
	Name string
	OK   bool
	Got  string // what happened
}

// State is the status in the public words: "on (bubblewrap)", "partial (landlock)", "off
// (unavailable: reason)".
func (s Status) State() string {
	switch s.Level {
	case None:
		return fmt.Sprintf("off (unavailable: %s)", s.Reason)
	case Partial:
		return "partial (landlock)"
	}
	return fmt.Sprintf("on (%s)", s.Backend)
}

// MountedBy says who makes the mounts of the full level, which decides what a command costs.
func (s Status) MountedBy() string {
	if s.Mounts {
		return "made at once by the helper"
	}
	return "made one by one by bubblewrap, which takes longer with many writable folders: " + s.Slow
}

// Table is the status as lines of text: the state, every check, what is missing, what to do.
func (s Status) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s %s\n", "state", s.State())
	if s.Version != "" {
		fmt.Fprintf(&b, "%-36s %s\n", s.Backend, s.Version)
	}
	if s.Level == Full {
		fmt.Fprintf(&b, "%-36s %s\n", "mounts", s.MountedBy())
	}
	abi := "none"
	if s.ABI > 0 {
		abi = fmt.Sprintf("ABI %d", s.ABI)
	}
	fmt.Fprintf(&b, "%-36s %s\n", "landlock", abi)
	for _, c := range s.Checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
		}
		if c.Got != "" {
			mark += " (" + c.Got + ")"
		}
		fmt.Fprintf(&b, "%-36s %s\n", c.Name, mark)
	}
	for _, m := range s.Missing {
		fmt.Fprintf(&b, "%-36s %s\n", "not given", m)
	}
	if s.Fix != "" {
		fmt.Fprintf(&b, "%-36s %s\n", "to do", s.Fix)
	}
	return b.String()
}

// partialGaps is what the lesser level does not give.
var partialGaps = []string{
	"protected paths inside writable folders are only looked after, not locked",
	"nothing can be hidden from reading",
	"modes, owners and times of files outside can be changed where the user may",
	"/tmp and the list of processes are shared",
}
