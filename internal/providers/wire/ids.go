package wire

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// IDs gives the calls of one request ids that a service accepts, the same for a call and its
// result, the same in every request, and no two calls the same one.
type IDs struct {
	prefix string
	most   int
	given  map[string]string // original → given
	taken  map[string]bool
}

// NewIDs returns a table for a service that accepts ids of 1 to most characters of a-z, A-Z, 0-9, _
// and -. Others become a digest behind prefix, as far as there is room.
func NewIDs(prefix string, most int) *IDs {
	return &IDs{prefix: prefix, most: most, given: map[string]string{}, taken: map[string]bool{}}
}

func (t *IDs) make(id string) string {
	sum := sha256.Sum256([]byte(id))
	digest := strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:15]))
	if len(t.prefix)+len(digest) > t.most {
		return digest[:min(len(digest), t.most)]
	}
	return t.prefix + digest
}

// Of returns the id to send for id.
func (t *IDs) Of(id string) string {
	if out, ok := t.given[id]; ok {
		return out
	}
	out := id
	if !WordID(id, t.most) {
		out = t.make(id)
	}
	for n := 2; t.taken[out]; n++ { // an id made up met one that was there
		out = t.make(id + "#" + strconv.Itoa(n))
	}
	t.given[id], t.taken[out] = out, true
	return out
}

// WordID reports whether id is 1 to most characters of a-z, A-Z, 0-9, _ and -.
func WordID(id string, most int) bool {
	if id == "" || len(id) > most {
		return false
	}
	for _, c := range []byte(id) {
		if !word(c) {
			return false
		}
	}
	return true
}

func word(c byte) bool {
	return c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// ModelOf is the service's id of the model that said m, empty when it is not recorded.
func ModelOf(m msg.Message) string {
	if _, id, ok := strings.Cut(m.Model, "/"); ok {
		return id
	}
	return m.Model
}

// SameModel reports whether two ids mean the same model: a date, a version or a region added to
// the name makes no other model of it.
func SameModel(a, b string) bool { return bareModel(a) == bareModel(b) }

func bareModel(id string) string {
	id = strings.ToLower(id)
	if at := strings.LastIndexByte(id, '/'); at >= 0 {
		id = id[at+1:]
	}
	if at := strings.LastIndex(id, "anthropic."); at >= 0 { // us.anthropic.claude-…
		id = id[at+len("anthropic."):]
	}
	id, _, _ = strings.Cut(id, "[") // [1m]
	id, _, _ = strings.Cut(id, ":")
	id, _, _ = strings.Cut(id, "@")
	for {
		at := strings.LastIndexByte(id, '-')
		if at < 0 || !addition(id[at+1:]) {
			return id
		}
		id = id[:at]
	}
}

// addition reports whether the last part of an id is a date (20251001) or a version (v1, latest).
func addition(s string) bool {
	if s == "latest" || s == "v1" || s == "v2" {
		return true
	}
	if len(s) != 8 {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
