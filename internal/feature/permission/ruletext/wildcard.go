package ruletext

import (
	"strings"
)

// Wildcard is a text with "*" for any run of characters. The zero Wildcard matches the empty text.
type Wildcard struct {
	Parts   []string // what stands between the stars
	Trail   bool     // ended in " *": also matches without it
	Literal bool     // no star: equality
}

// NewWildcard takes the pieces of a text between its stars.
func NewWildcard(parts []string) Wildcard {
	w := Wildcard{Parts: parts, Literal: len(parts) == 1}
	if n := len(parts); n > 1 && parts[n-1] == "" && strings.HasSuffix(parts[n-2], " ") {
		w.Trail = true
	}
	return w
}

// Match compares a whole text. Its cost is linear in the text for each part.
func (w Wildcard) Match(text string) bool {
	if w.Literal {
		return text == w.Parts[0]
	}
	if w.Trail && w.MatchParts(text+" ") {
		return true
	}
	return w.MatchParts(text)
}

func (w Wildcard) MatchParts(text string) bool {
	parts := w.Parts
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

// MatchStars compares text with a pattern in which "*" is any run of characters.
func MatchStars(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return pattern == text
	}
	return Wildcard{Parts: strings.Split(pattern, "*")}.MatchParts(text)
}
