package sandbox

import (
	"os"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/mount"
)

// helperArg is the argument by which [HelperMain] knows that it is meant.
const helperArg = "__sandbox"

// helperVersion is the protocol between this program and its helper. They differ when the program
// was replaced on disk while it runs.
const helperVersion = 2

// HelperMain answers when this process was started as a helper: inside a sandbox, or as the watcher
// of package proc. It then does that work, which mostly means becoming another program, and returns
// true: main must exit at once with the code. It must be called before anything else in main, and
// in TestMain of packages that start sandboxes.
func HelperMain() (handled bool, code int) {
	if proc.HelperMain() {
		return true, 0
	}
	if len(os.Args) < 3 || os.Args[1] != helperArg {
		return false, 0
	}
	return true, helper(os.Args[2], os.Args[3:])
}

// orders is what the helper is told, as JSON.
type orders struct {
	Version int      `json:"v"`
	Socket  int      `json:"socket"`           // descriptor of the line to the program outside
	Listen  bool     `json:"listen,omitempty"` // make the proxies' sockets here and hand them out
	HTTP    int      `json:"http,omitempty"`   // ports of the proxies
	SOCKS   int      `json:"socks,omitempty"`
	Write   []string `json:"write,omitempty"` // Landlock: what may be written
	Free    bool     `json:"free,omitempty"`  // no Landlock
	Name    string   `json:"name,omitempty"`  // what the program is called by; empty: its path
	Alone   bool     `json:"alone,omitempty"` // nothing but Landlock and our own filter confines

	Mounts      []mount.Step `json:"mounts,omitempty"`      // the file system, to be made before anything else; empty: it is made
	Shared      int64        `json:"shared,omitempty"`      // bytes of memory that programs may share
	Dir         string       `json:"dir,omitempty"`         // the working directory in it
	Nested      bool         `json:"nested,omitempty"`      // /proc is that of a container
	UnixSockets bool         `json:"unixSockets,omitempty"` // local sockets may be made
}

// trials is what the probe is told, as JSON.
type trials struct {
	Outside string `json:"outside"` // a file that must not be written
	Inside  string `json:"inside"`  // a file that can be
	Address string `json:"address"` // a listener of the host that must not be reached
}
