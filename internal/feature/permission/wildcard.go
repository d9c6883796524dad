package permission

import "strings"

// wildcard is a text with "*" for any run of characters. The zero wildcard matches the empty text.
type wildcard struct {
	parts   []string // what stands between the stars
	trail   bool     // ended in " *": also matches without it
	literal bool     // no star: equality
}

// newWildcard takes the pieces of a text between its stars.
func newWildcard(parts []string) wildcard {
	w := wildcard{parts: parts, literal: len(parts) == 1}
	if n := len(parts); n > 1 && parts[n-1] == "" && strings.HasSuffix(parts[n-2], " ") {
		w.trail = true
	}
	return w
}

// match compares a whole text. Its cost is linear in the text for each part.
func (w wildcard) match(text string) bool {
	if w.literal {
		return text == w.parts[0]
	}
	if w.trail && w.matchParts(text+" ") {
		return true
	}
	return w.matchParts(text)
}

func (w wildcard) matchParts(text string) bool {
	parts := w.parts
	if len(parts) == 0 {
		return text == ""
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, last)
}

// matchStars compares text with a pattern in which "*" is any run of characters.
func matchStars(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	return wildcard{parts: strings.Split(pattern, "*")}.matchParts(text)
}
