package twotier

import (
	"crypto/sha256"
	"encoding/hex"
)

// Key names a value. It is comparable. Session and Tool are kept so that prefixes can be forgotten
// and orphans found; they are part of the hash, so no two sessions and no two tools ever meet.
type Key struct {
	Session string // empty: session-free
	Tool    string // tool, or room of a session-free key
	hash    digest
}

type digest [sha256.Size]byte

// SessionKey names the answer of a tool to an input within a session. Equal inputs must be equal
// bytes: canonical JSON.
func SessionKey(session, tool string, input []byte) Key {
	return newKey("session", session, tool, input)
}

// FreeKey names a value that belongs to no session.
func FreeKey(room, name string) Key {
	return newKey("free", "", room, []byte(name))
}

func newKey(kind, session, tool string, input []byte) Key {
	h := sha256.New()
	for _, part := range []string{kind, session, tool} {
		// Each part with its length, so that no two splits of the same bytes are equal.
		var n [8]byte
		for i, l := 0, len(part); i < len(n); i, l = i+1, l>>8 {
			n[i] = byte(l)
		}
		h.Write(n[:])
		h.Write([]byte(part))
	}
	h.Write(input)
	k := Key{Session: session, Tool: tool}
	h.Sum(k.hash[:0])
	return k
}

// String is the hash in hexadecimal: the name of the file on disk.
func (k Key) String() string { return hex.EncodeToString(k.hash[:]) }
