package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Violation is one thing the sandbox refused or found.
type Violation struct {
	Path      string // a file; or
	Host      string // a host with port
	Operation string // write, read, connect
	Detail    string
	Certain   bool // false: read out of the program's messages
}

// maxGuesses bounds what is read out of messages.
const maxGuesses = 5

var refused = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^.*(Read-only file system|Permission denied|Operation not permitted|EROFS|EACCES|EPERM).*$`)
})

var pathIn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s'"‘“(=:])((?:/|~/|\./|\.\./)[^\s'"’”:,;()]+)`)
})

// guess finds refused files in the messages of a program: bubblewrap reports none.
func (p *plan) guess(output string) []Violation {
	if p.free {
		return nil
	}
	var out []Violation
	for _, line := range refused().FindAllString(output, 50) {
		for _, m := range pathIn().FindAllStringSubmatch(line, 4) {
			path := expandHome(m[1])
			if !filepath.IsAbs(path) {
				continue
			}
			v, ok := p.judge(filepath.Clean(path))
			if ok && !slices.Contains(out, v) && len(out) < maxGuesses {
				out = append(out, v)
			}
		}
	}
	return out
}

func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// judge says which limit a refusal at path most likely came from.
func (p *plan) judge(path string) (Violation, bool) {
	if slices.ContainsFunc(p.hide, func(h string) bool { return within(path, h) }) {
		return Violation{Path: path, Operation: "read", Detail: "reading it is forbidden"}, true
	}
	if slices.ContainsFunc(p.inOrder(), func(g guard) bool { return !g.soft && !g.watch && within(path, g.path) }) {
		return Violation{Path: path, Operation: "write", Detail: "it is protected"}, true
	}
	if forbidden(path) || p.writable(path) {
		return Violation{}, false
	}
	return Violation{Path: path, Operation: "write", Detail: "it lies outside of what may be written"}, true
}

func (c Config) withoutIgnored(list []Violation) []Violation {
	return slices.DeleteFunc(list, func(v Violation) bool {
		return slices.ContainsFunc(c.Ignore, func(i string) bool {
			if v.Host != "" {
				return i == v.Host || strings.HasPrefix(v.Host, i+":")
			}
			return within(v.Path, clean(i))
		})
	})
}

// Text tells violations in words, one a line, with the setting that would allow each. It is empty
// when there are none.
func (r Report) Text() string {
	var b strings.Builder
	for _, v := range r.Violations {
		sure := ""
		if !v.Certain {
			sure = " (as its message says)"
		}
		switch {
		case v.Operation == "limit":
			fmt.Fprintf(&b, "limit: %s\n", v.Detail)
		case v.Host != "":
			fmt.Fprintf(&b, "connect to %s: %s. To allow it: sandbox.network.allowedDomains\n", v.Host, v.Detail)
		case v.Operation == "read":
			fmt.Fprintf(&b, "read %s: %s%s. To allow it: sandbox.filesystem.allowRead\n", v.Path, v.Detail, sure)
		case v.Detail == "it lies outside of what may be written":
			fmt.Fprintf(&b, "write %s: %s%s. To allow it: sandbox.filesystem.allowWrite\n", v.Path, v.Detail, sure)
		default:
			fmt.Fprintf(&b, "write %s: %s%s. Protected paths cannot be allowed\n", v.Path, v.Detail, sure)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return strings.TrimRight(b.String(), "\n")
}
