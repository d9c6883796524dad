// Package policy keeps the limits an organisation serves as one JSON document. A document can only
// restrict: which models, modes and tools may be used, and how much may be spent. It is fetched
// beside the start, kept in two tiers, and never delays more than the very first model request of a
// machine that has no copy yet.
//
// It enforces nothing itself: it hands out what is in force, and functions that intersect it with
// what managed and user settings say. Begin with [Open]; [Parse] reads a document, limits.go is
// what follows from one.
package policy

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// State is the slice policy.
type State struct {
	Limits    Limits    `json:"limits"`
	Source    Source    `json:"source"`
	FetchedAt time.Time `json:"fetchedAt,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	ETag      string    `json:"etag,omitempty"`
	Error     string    `json:"error,omitempty"` // last failure, while a stale copy or none is in force
}

// Source says where the value in force came from.
type Source string

// The sources.
const (
	None   Source = "none"
	Memory Source = "memory"
	Disk   Source = "disk"
	Origin Source = "origin"
)

// Setting is the value of the settings key policyLimits. The zero Setting is no policy.
type Setting struct {
	URL       string `json:"url"`
	PublicKey string `json:"publicKey,omitempty"` // Ed25519, 32 bytes in base64 or hexadecimal
	OnMissing string `json:"onMissing,omitempty"` // allow, lastGood (also when empty) or deny
}

// What happens when there is no document that is worth anything.
const (
	OnMissingAllow    = "allow"
	OnMissingLastGood = "lastGood"
	OnMissingDeny     = "deny"
)

// CheckSetting says what is wrong with the JSON of a setting. A member nobody knows is a mistake: what it
// was meant to demand would not be kept.
func CheckSetting(raw json.RawMessage) error {
	var s Setting
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return s.Check()
}

// Check says what is wrong with a setting; nil for the zero one.
func (s Setting) Check() error {
	if s == (Setting{}) {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("policyLimits.url %q: expected an http or https address", s.URL)
	}
	switch s.OnMissing {
	case "", OnMissingAllow, OnMissingLastGood, OnMissingDeny:
	default:
		return fmt.Errorf("policyLimits.onMissing %q: expected allow, lastGood or deny", s.OnMissing)
	}
	_, err = s.key()
	return err
}

// key decodes the public key; nil when none is set.
func (s Setting) key() (ed25519.PublicKey, error) {
	if s.PublicKey == "" {
		return nil, nil
	}
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(s.PublicKey); err == nil && len(key) == ed25519.PublicKeySize {
			return key, nil
		}
	}
	return nil, errors.New("policyLimits.publicKey: expected the 32 bytes of an Ed25519 key in base64 or hexadecimal")
}

// host is what refusals name.
func (s Setting) host() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	return u.Host
}

func (s Setting) onMissing() string {
	if s.OnMissing == "" {
		return OnMissingLastGood
	}
	return s.OnMissing
}
