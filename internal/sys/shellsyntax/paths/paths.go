// Package paths finds what in the text of a word could be a path, and says where a path leads from a directory: as text and as the kernel
// goes it. It touches no file.
//
// Begin with [Pieces] and [Guessed].
package paths

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// Joined is where a directory lies that is named from another one. Read as text ("/a/b/.." is "/a") it is where the
// shell says it stands; walked by the kernel, where files are looked for.
func Joined(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		dir = ""
	}
	full := dir + "/" + name
	if !hasDots(name) && !hasDots(dir) {
		return path.Clean(full)
	}
	return strings.TrimRight(full, "/")
}

// Walk is the way to a path when it holds a "..", else empty.
func Walk(dir, name string) string {
	relative := !strings.HasPrefix(name, "/")
	if !hasDots(name) && !(relative && hasDots(dir)) {
		return ""
	}
	if relative {
		name = dir + "/" + name
	}
	return name
}

// hasDots tells whether ".." is a component of a path.
func hasDots(p string) bool {
	for i := strings.Index(p, ".."); i >= 0; {
		if (i == 0 || p[i-1] == '/') && (i+2 == len(p) || p[i+2] == '/') {
			return true
		}
		next := strings.Index(p[i+1:], "..")
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// Defaults are the texts that stand for a variable which is not set: ${X:-text}.
func Defaults(source string) string {
	var out []string
	for rest := source; ; {
		_, after, ok := strings.Cut(rest, "${")
		if !ok {
			return strings.Join(out, " ")
		}
		rest = after
		n := 0
		for n < len(after) && expand.IsName(after[:n+1]) {
			n++
		}
		text, _, _ := strings.Cut(after[n:], "}")
		if text = strings.TrimPrefix(text, ":"); text != "" && strings.IndexByte("-=+", text[0]) >= 0 {
			out = append(out, text[1:])
		}
	}
}

// TakesPattern tells options of test programs whose value is the name or pattern of a test.
func TakesPattern(option string) bool {
	switch strings.TrimLeft(option, "-") {
	case "grep", "run", "testNamePattern", "test-name-pattern", "fgrep":
		return strings.HasPrefix(option, "-")
	}
	return false
}

// OptionValue returns where a value may begin in a word that is an option with a value joined to it: -I/usr/include.
func OptionValue(v string) int {
	if len(v) < 3 || v[0] != '-' {
		return 0
	}
	if i := strings.IndexByte(v, '='); i > 0 {
		if TakesPattern(v[:i]) {
			return len(v)
		}
		return 0
	}
	return max(strings.IndexAny(v, "/~."), 0)
}

// Mounted is the place outside of a container in the value of an option: place:place, src=place among other fields, or name=place.
func Mounted(v string) string {
	for field := range strings.SplitSeq(v, ",") {
		if key, val, _ := strings.Cut(field, "="); key == "src" || key == "source" {
			return val
		}
	}
	if name, place, ok := strings.Cut(v, "="); ok && !strings.ContainsAny(name, "/.~:,") {
		if strings.Contains(place, "=") {
			return "" // fields without a source
		}
		return place
	}
	from, _, _ := strings.Cut(v, ":")
	return from
}

// Pieces yields a value and its pieces, addresses with a scheme left out.
func Pieces(v string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if len(v) > 1<<14 {
			yield("/") // nothing that long is looked at: it could be anywhere
			return
		}
		v = withoutAddresses(v)
		if v == "" || !yield(v) {
			return
		}
		if !strings.ContainsAny(v, "=@:,;{}\"'()<>|&[] \t\n") {
			return
		}
		for piece := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("=@:,;{}\"'()<>|&[] \t\n", r) }) {
			if piece != v && !yield(piece) {
				return
			}
		}
	}
}

// withoutAddresses cuts addresses out of a text, but for those of files: what is left of them is the place.
func withoutAddresses(v string) string {
	for from := 0; ; {
		i := strings.Index(v[from:], ":/")
		if i < 0 {
			return v
		}
		i += from
		start := i
		for start > 0 && isSchemeByte(v[start-1]) {
			start--
		}
		scheme := strings.ToLower(v[start:i])
		switch {
		case strings.HasSuffix(scheme, "file"):
			rest := strings.TrimLeft(v[i+1:], "/")
			v = v[:start] + " /" + rest
			from = start + 2
		case len(scheme) > 1 && strings.HasPrefix(v[i:], "://"):
			end := strings.IndexAny(v[i:], " \t\n\"'{}")
			if end < 0 {
				return v[:start]
			}
			v = v[:start] + v[i+end:]
			from = start
		default:
			from = i + 2
		}
	}
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}

// Absolute makes a piece of a word absolute; empty when it is no place.
func Absolute(dir, v, home string) string {
	switch {
	case v == "" || v == "-" || InertDevice(v, false):
		return ""
	case v == "~" || strings.HasPrefix(v, "~/"):
		if home == "" {
			return "/"
		}
		return path.Clean(home + "/" + v[1:])
	case strings.HasPrefix(v, "~"):
		return "/" + v // somebody's home
	case strings.HasPrefix(v, "/"):
		return path.Clean(v)
	}
	return path.Clean(dir + "/" + v)
}

// Guessed appends what in a word could be a path.
func Guessed(out []string, v string) []string {
	if v[0] != '-' {
		out = append(out, v)
	}
	for _, sep := range [3]byte{'=', '@', ':'} {
		i := strings.IndexByte(v, sep)
		if i < 0 {
			continue
		}
		rest := strings.TrimPrefix(v[i+1:], "@")
		if rest == "" || strings.HasPrefix(rest, "//") {
			continue
		}
		out = append(out, rest)
		if from, _, mounted := strings.Cut(rest, ":"); mounted && sep == '=' {
			out = append(out, from)
		} else if sep == ':' && v[0] != '-' && i > 0 {
			out = append(out, v[:i])
		}
	}
	return out
}

// InertDevice tells the devices that keep nothing.
func InertDevice(p string, write bool) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr":
		return true
	case "/dev/stdin":
		return !write
	}
	return false
}

func IsDescriptor(s string) bool {
	s = strings.TrimSuffix(s, "-")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
