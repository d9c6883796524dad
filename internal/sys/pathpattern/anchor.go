package pathpattern

import "strings"

// Anchor says what an anchored pattern text starts from.
type Anchor uint8

// The anchors. A text without one, or with "./", starts from the directory one works in.
const (
	AtCwd    Anchor = iota // "path", "./path"
	AtSource               // "/path": the place the pattern comes from
	AtHome                 // "~/path"
	AtRoot                 // "//path": the root of the file system
)

// SplitAnchor takes the anchor off a pattern text. The rest is a gitignore pattern relative to the
// anchor; the empty rest means the anchor itself. A rest that was anchored by "/" or "./" keeps a
// leading "/" so that it does not match at any depth; "~/name" and "//name" name one place, too.
func SplitAnchor(text string) (Anchor, string) {
	switch {
	case strings.HasPrefix(text, "//"):
		return AtRoot, "/" + strings.TrimLeft(text, "/")
	case text == "~":
		return AtHome, "/"
	case strings.HasPrefix(text, "~/"):
		return AtHome, "/" + strings.TrimLeft(text[2:], "/")
	case strings.HasPrefix(text, "/"):
		return AtSource, text
	case text == ".":
		return AtCwd, "/"
	case strings.HasPrefix(text, "./"):
		return AtCwd, "/" + strings.TrimLeft(text[2:], "/")
	}
	return AtCwd, text
}

// Rel returns path relative to dir, both absolute and clean with forward slashes, and whether it
// lies in it. The directory itself is "".
func Rel(dir, path string) (string, bool) {
	if dir == path {
		return "", true
	}
	if dir == "/" {
		return strings.TrimPrefix(path, "/"), strings.HasPrefix(path, "/")
	}
	rest, ok := strings.CutPrefix(path, dir)
	if !ok || rest == "" || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}
