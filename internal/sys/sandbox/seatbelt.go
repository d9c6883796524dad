package sandbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// seatbeltJob is what a profile for macOS's sandbox-exec is made of.
type seatbeltJob struct {
	plan        *plan
	http, socks int  // ports of the proxies on the host's loopback
	unixSockets bool // local sockets may be used
}

// lookups are services of the system that ordinary programs need.
var lookups = []string{
	"com.apple.system.logger", "com.apple.system.notification_center", "com.apple.system.opendirectoryd.libinfo",
	"com.apple.system.opendirectoryd.membership", "com.apple.logd", "com.apple.securityd.xpc", "com.apple.trustd.agent",
	"com.apple.bsd.dirhelper", "com.apple.coreservices.launchservicesd", "com.apple.SystemConfiguration.configd",
}

// profile is the profile in the language of sandbox-exec(1). Later rules win. Paths are in their real
// form; names that do not exist yet are protected like those that do, since a rule needs no file.
func (j seatbeltJob) profile() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("(version 1)")
	line("(deny default)")
	line("(allow process-exec process-fork process-info*)")
	line("(allow signal (target same-sandbox))")
	line("(allow sysctl-read)")
	line("(allow ipc-posix-sem ipc-posix-shm*)")
	line("(allow pseudo-tty)")
	line("(allow mach-lookup%s)", each("global-name", lookups))
	line("(allow file-ioctl (literal \"/dev/null\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))")
	line("(allow file-read*)")
	if len(j.plan.hide) > 0 {
		line("(deny file-read*%s)", each("subpath", j.plan.hide))
	}
	if len(j.plan.reopen) > 0 {
		line("(allow file-read*%s)", each("subpath", j.plan.reopen))
	}
	if j.plan.free {
		line("(allow file-write*)")
	} else {
		j.writes(line)
	}
	j.network(line)
	return b.String()
}

func (j seatbeltJob) writes(line func(string, ...any)) {
	line("(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))")
	if len(j.plan.write) > 0 {
		line("(allow file-write*%s)", each("subpath", j.plan.write))
	}
	var closed []string
	for _, g := range j.plan.inOrder() {
		if !g.watch && !(g.only && g.flat) && (!g.soft || filepath.Base(g.path) == "HEAD") {
			closed = append(closed, g.path)
		}
	}
	for _, w := range j.plan.write { // what is not there yet
		if j.plan.guardable(w) {
			for _, n := range protected.Names(protected.Mount) {
				closed = append(closed, filepath.Join(w, n))
			}
		}
	}
	slices.Sort(closed)
	closed = slices.Compact(closed)
	if len(closed) > 0 {
		line("(deny file-write*%s)", each("subpath", closed))
	}
	for _, w := range j.plan.write { // repositories that come into being inside
		if slices.Contains(j.plan.git, w) || slices.Contains(j.plan.temp, w) {
			continue
		}
		line("(deny file-write* (regex #\"^%s/(.*/)?\\.git/(hooks(/|$)|config$|config\\.worktree$|info/attributes$|commondir$)\"))", regexp.QuoteMeta(w))
		line("(deny file-write* (regex #\"^%s/(.*/)?(\\.myelin|\\.claude/(%s))(/|$)\"))", regexp.QuoteMeta(w), strings.ReplaceAll(strings.Join(projectNames, "|"), ".", "\\."))
	}
	var above []string
	for _, path := range closed {
		above = append(above, j.plan.between(path)...)
	}
	above = append(append(above, closed...), j.plan.hide...)
	slices.Sort(above)
	if above = slices.Compact(above); len(above) > 0 {
		line("(deny file-write-unlink%s)", each("literal", above))
	}
	line("(deny file-write-setugid)")
}

func (j seatbeltJob) network(line func(string, ...any)) {
	if j.http > 0 {
		line("(allow network-outbound (remote ip \"localhost:%d\") (remote ip \"localhost:%d\"))", j.http, j.socks)
	}
	if j.unixSockets {
		line("(allow network* (local unix-socket) (remote unix-socket))")
	}
}

// each writes one filter a value, on lines of their own.
func each(filter string, values []string) string {
	var b strings.Builder
	for _, v := range values {
		fmt.Fprintf(&b, "\n  (%s %s)", filter, seatbeltString(v))
	}
	return b.String()
}

func seatbeltString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
