package policy

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// formatMajor is the newest major version of the document this program reads.
const formatMajor = 1

// MaxBody is the most bytes a document may have.
const MaxBody = 1 << 20

// Parsed is a document that was read.
type Parsed struct {
	Limits Limits
	Signed bool     // it carried a signature that was checked
	Notes  []string // what was passed over: unknown fields, modes that cannot be disabled
}

// envelope is the signed form: the signature covers the bytes of document exactly as they stand in
// the body, so no canonical form is needed.
type envelope struct {
	Document  json.RawMessage `json:"document"`
	Signature *string         `json:"signature"` // Ed25519, base64
}

// Parse reads a body: a document, or {"document": {…}, "signature": "…"}. With a key the signed form
// is required and the signature must be right. Any wrong type makes the whole body worthless: half
// of a policy is none.
func Parse(body []byte, key ed25519.PublicKey) (Parsed, error) {
	if len(body) > MaxBody {
		return Parsed{}, fmt.Errorf("the document is bigger than %d bytes", MaxBody)
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return Parsed{}, fmt.Errorf("the document is not a JSON object: %w", err)
	}
	if fields == nil {
		return Parsed{}, errors.New("the document is null, expected an object")
	}
	var p Parsed
	if inner, ok := fields["document"]; ok || key != nil {
		var env envelope
		if err := json.Unmarshal(body, &env); err != nil {
			return Parsed{}, fmt.Errorf("the signed document cannot be read: %w", err)
		}
		if err := verify(env, key); err != nil {
			return Parsed{}, err
		}
		p.Signed = key != nil
		fields = nil
		if err := json.Unmarshal(inner, &fields); err != nil || fields == nil {
			return Parsed{}, errors.New("the signed document is not a JSON object")
		}
	}
	if err := p.read(fields); err != nil {
		return Parsed{}, err
	}
	return p, nil
}

func verify(env envelope, key ed25519.PublicKey) error {
	if key == nil {
		return nil
	}
	if env.Document == nil || env.Signature == nil {
		return errors.New(`the document is not signed; expected {"document": …, "signature": …}`)
	}
	sig, err := base64.StdEncoding.DecodeString(*env.Signature)
	if err != nil || !ed25519.Verify(key, env.Document, sig) {
		return errors.New("the signature of the document is wrong")
	}
	return nil
}

// read takes the known fields; null is like absent.
func (p *Parsed) read(fields map[string]json.RawMessage) error {
	var unknown []string
	for name, raw := range fields {
		if string(raw) == "null" {
			continue
		}
		known, err := p.field(name, raw)
		if err != nil {
			return fmt.Errorf("the document's %s: %w", name, err)
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	sort.Strings(unknown)
	for _, name := range unknown {
		p.Notes = append(p.Notes, fmt.Sprintf("the policy has a field %q this program does not know; it is not enforced", name))
	}
	switch v := p.Limits.Version; {
	case v < 1:
		return errors.New("the document has no version, expected a number from 1")
	case v > formatMajor:
		return fmt.Errorf("the document has version %d; this program reads up to %d", v, formatMajor)
	}
	if i := slices.Index(p.Limits.DisableModes, "default"); i >= 0 {
		p.Limits.DisableModes = slices.DeleteFunc(p.Limits.DisableModes, func(m string) bool { return m == "default" })
		p.Notes = append(p.Notes, "the policy disables the mode default, which is what others fall back to; it stays")
	}
	if _, ok := numbers(p.Limits.MinVersion); p.Limits.MinVersion != "" && !ok {
		p.Notes = append(p.Notes, fmt.Sprintf("the policy's minVersion %q is no version; it is not enforced", p.Limits.MinVersion))
		p.Limits.MinVersion = ""
	}
	return nil
}

func (p *Parsed) field(name string, raw json.RawMessage) (known bool, err error) {
	l := &p.Limits
	switch name {
	case "version":
		return true, decode(raw, &l.Version, "a whole number")
	case "expires":
		return true, decode(raw, &l.Expires, "a time like 2030-01-31T12:00:00Z")
	case "models":
		var list []string
		err := decode(raw, &list, "an array of strings")
		l.Models = &list
		return true, err
	case "deny":
		return true, decode(raw, &l.Deny, "an array of strings")
	case "disableModes":
		return true, decode(raw, &l.DisableModes, "an array of strings")
	case "maxBudgetUsd":
		return true, l.budget(raw)
	case "minVersion":
		return true, decode(raw, &l.MinVersion, "a string")
	}
	return false, nil
}

func decode(raw json.RawMessage, into any, expected string) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("is %s, expected %s", brief(raw), expected)
	}
	return nil
}

func brief(raw json.RawMessage) string {
	if len(raw) > 40 {
		return string(bytes.ToValidUTF8(raw[:40], nil)) + "…"
	}
	return string(raw)
}

// budget reads a number, which bounds the session, or {turn, session, day}.
func (l *Limits) budget(raw json.RawMessage) error {
	const expected = "a number, or an object of turn, session and day"
	var session float64
	if json.Unmarshal(raw, &session) == nil {
		l.Budget.Session = &session
	} else {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields() // a bound nobody enforces must not look like one
		if err := dec.Decode(&l.Budget); err != nil {
			return fmt.Errorf("is %s, expected %s", brief(raw), expected)
		}
	}
	for _, v := range []*float64{l.Budget.Turn, l.Budget.Session, l.Budget.Day} {
		if v != nil && *v < 0 {
			return fmt.Errorf("is %s, expected amounts from 0", brief(raw))
		}
	}
	return nil
}

// expires is when a document fetched at that time is worth nothing any more.
func (l Limits) expires(fetched time.Time) time.Time {
	if l.Expires.IsZero() {
		return fetched.Add(24 * time.Hour)
	}
	return l.Expires
}
