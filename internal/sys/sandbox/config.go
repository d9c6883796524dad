package sandbox

import (
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/hostproxy"
)

// Config says how a program is confined. All paths are absolute; a trailing slash or "/**" is
// ignored. It is a value and may be used for several programs.
type Config struct {
	Dir       string   // the directory the work belongs to: protected names are looked for in it and above it
	Write     []string // what may be written, with all below
	DenyWrite []string // cut out of Write
	DenyRead  []string // may not be read; may have wildcards
	Closed    []string // stores that may not be read: like DenyRead, but folders seem empty, which programs take for "not signed in"
	AllowRead []string // opened again inside DenyRead and Closed
	Watch     []string // protected paths that this program may write all the same: changes of a folder of hooks are for Keep, others are looked at
	Protect   []string // further paths that must never be written, whatever Write says
	Temp      string   // writable folder that also is $TMPDIR; empty: a private /tmp only
	Cache     string   // writable folder for the caches of build tools, to which Set leads them; empty: none
	Set       []string // NAME=value: variables to set whatever they were
	Show      []string // shown read-only although they lie in /tmp or /run, which are private otherwise
	ReadOnly  bool     // nothing may be written but Temp
	FilesFree bool     // files are not confined, only the network is

	Network     Network
	UnixSockets bool     // sockets of the local machine may be made
	DropEnv     []string // environment variables to take away; a "*" stands for any text

	AllowPartial bool    // the lesser level will do where there is no better
	Nested       bool    // inside a container: use its /proc, which shows its processes
	Bwrap        string  // absolute path of bubblewrap; empty: by PATH
	Container    *Engine // run in a container instead
	// Keep is asked, once the program has ended, which changes at places that are only watched may stay;
	// the others are put back. It may wait for a person. Nil: all are put back.
	Keep       func([]Change) (kept []Change)
	Quarantine string   // folder that takes what was put where it must not be; needed unless FilesFree or ReadOnly
	Ignore     []string // violations that name one of these paths or hosts are not reported
}

// Network says what a program may talk to. The zero Network lets nothing out.
type Network = hostproxy.Network

// Decision is the answer to one connection. The zero Decision refuses.
type Decision = hostproxy.Decision

// visible is what must be seen although it lies in a folder that is private.
func (c Config) visible() []string {
	return append(append([]string{}, c.Show...), c.Write...)
}

// fitsPartial reports what of the config the lesser level cannot keep.
func (c Config) fitsPartial() error {
	var missing []string
	if len(c.DenyRead) > 0 {
		missing = append(missing, "forbid reading "+strings.Join(c.DenyRead, ", "))
	}
	if len(c.DenyWrite) > 0 && !c.ReadOnly {
		missing = append(missing, "cut "+strings.Join(c.DenyWrite, ", ")+" out of what may be written")
	}
	if c.FilesFree {
		missing = append(missing, "confine the network alone")
	}
	if c.UnixSockets {
		missing = append(missing, "open local sockets alone")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the lesser level cannot %s", ErrUnavailable, strings.Join(missing, ", nor "))
}

// hidden are variables that lead to services of the user's session.
var hidden = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_*", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "GPG_AGENT_INFO",
	"DOCKER_HOST", "CONTAINER_HOST", "XAUTHORITY", "TMUX", "STY",
}

// Matches says whether a name is one of the patterns, in which "*" stands for any text.
func Matches(name string, patterns []string) bool {
	for _, p := range patterns {
		if matchStar(p, name) {
			return true
		}
	}
	return false
}

// matchStar matches a pattern in which "*" stands for any text.
func matchStar(pattern, s string) bool {
	head, rest, some := strings.Cut(pattern, "*")
	if !some {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for {
		if matchStar(rest, s) {
			return true
		}
		if s == "" {
			return false
		}
		s = s[1:]
	}
}

// The ports of the two proxies inside the sandbox's own network: outside the range from which the
// system gives ports to others.
const (
	httpPort  = 61128
	socksPort = 61080
)

// proxyVars are set for programs that may reach hosts, and never inherited.
var proxyVars = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"FTP_PROXY", "ftp_proxy", "npm_config_proxy", "npm_config_https_proxy", "npm_config_noproxy", "CARGO_HTTP_PROXY", "PIP_PROXY",
}

// proxyEnv are the variables that lead to the proxies. helper is the helper's path inside; empty: no
// tunnel for ssh.
func proxyEnv(http, socks int, helper string) []string {
	h, s := fmt.Sprintf("http://127.0.0.1:%d", http), fmt.Sprintf("socks5h://127.0.0.1:%d", socks)
	out := []string{
		"HTTP_PROXY=" + h, "HTTPS_PROXY=" + h, "http_proxy=" + h, "https_proxy=" + h,
		"ALL_PROXY=" + s, "all_proxy=" + s,
		"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1",
		"npm_config_proxy=" + h, "npm_config_https_proxy=" + h, "CARGO_HTTP_PROXY=" + h, "PIP_PROXY=" + h,
	}
	if helper != "" {
		out = append(out, fmt.Sprintf("GIT_SSH_COMMAND=ssh -o ProxyCommand='%s %s connect 127.0.0.1:%d %%h %%p'", helper, helperArg, http))
	}
	return out
}
