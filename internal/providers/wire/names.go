package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Names gives tools names a service accepts and finds the tool again by them.
type Names struct {
	most int
	sent map[string]string // original → sent
	back map[string]string // sent → original
}

// NewNames returns the table for the tools of one request, for a service that accepts 1 to most
// characters of a-z, A-Z, 0-9, _ and -, not beginning with a digit or -.
func NewNames(tools []provider.Tool, most int) *Names {
	n := &Names{most: most, sent: map[string]string{}, back: map[string]string{}}
	for _, t := range tools { // names that need no change keep theirs
		if n.valid(t.Name) {
			n.sent[t.Name], n.back[t.Name] = t.Name, t.Name
		}
	}
	for _, t := range tools {
		n.Of(t.Name)
	}
	return n
}

func (n *Names) valid(name string) bool {
	return WordID(name, n.most) && (name[0] < '0' || name[0] > '9') && name[0] != '-'
}

// Of returns the name to send for name.
func (n *Names) Of(name string) string {
	if out, ok := n.sent[name]; ok {
		return out
	}
	out := name
	if !n.valid(name) {
		out = n.make(name)
	}
	n.sent[name] = out
	if _, taken := n.back[out]; !taken {
		n.back[out] = name
	}
	return out
}

// make keeps the readable beginning and adds a digest, so that two long names stay two.
func (n *Names) make(name string) string {
	sum := sha256.Sum256([]byte(name))
	digest := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
	head := strings.Map(func(r rune) rune {
		if r < 0x80 && word(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if head == "" || head[0] >= '0' && head[0] <= '9' || head[0] == '-' {
		head = "_" + head
	}
	return head[:min(len(head), n.most-len(digest)-1)] + "_" + digest
}

// Back returns the tool's own name for the one that was sent; a name never sent is itself.
func (n *Names) Back(sent string) string {
	if name, ok := n.back[sent]; ok {
		return name
	}
	return sent
}
