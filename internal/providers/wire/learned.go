package wire

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Learned is what servers showed of their dialects while this process asked them, by base URL. It is
// safe for concurrent use; a nil one knows nothing and keeps nothing.
type Learned struct {
	mu    sync.Mutex // guards facts
	facts map[string][]string
}

// Add keeps a fact about a server and reports whether it was new.
func (l *Learned) Add(server, fact string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.facts[server], fact) {
		return false
	}
	if l.facts == nil {
		l.facts = map[string][]string{}
	}
	l.facts[server] = append(slices.Clip(l.facts[server]), fact)
	return true
}

// Has reports whether a fact about a server is known.
func (l *Learned) Has(server, fact string) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.facts[server], fact)
}

// Optional are the members of a body that a request can do without, and where it is remembered that a
// server refuses one of them.
type Optional struct {
	Fields  []string // in the body's top level
	Without []string // left out from the start: the user's settings say so
	Server  string
	Learned *Learned // nil: nothing is remembered, and every request learns anew
}

// withoutFact is how it is remembered that a server refuses a field.
func withoutFact(field string) string { return "without " + field }

// Encode writes a body: the struct, the members of extra over it, and the lists behind them, without what
// the server is known to refuse. A list that extra has a member for is left out.
func (o Optional) Encode(head any, extra json.RawMessage, lists ...List) (Body, error) {
	raw, err := MarshalWith(head, extra)
	if err != nil {
		return nil, err
	}
	gone := slices.Clone(o.Without)
	for _, f := range o.Fields {
		if o.Learned.Has(o.Server, withoutFact(f)) {
			gone = append(gone, f)
		}
	}
	raw = without(raw, gone...)
	if len(extra) > 0 { // it was read above
		var over map[string]json.RawMessage
		if err := json.Unmarshal(extra, &over); err != nil {
			return nil, err
		}
		gone = slices.AppendSeq(gone, maps.Keys(over))
	}
	return withLists(raw, slices.DeleteFunc(slices.Clone(lists), func(l List) bool { return slices.Contains(gone, l.Name) })), nil
}

// refused is the optional field of the body that a refusal names; empty: none.
func (o Optional) refused(e *provider.Error, reply, body []byte) string {
	if e.Kind != provider.KindInvalid && e.Kind != provider.KindUnknown || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return ""
	}
	var sent map[string]json.RawMessage
	if json.Unmarshal(body, &sent) != nil {
		return ""
	}
	for _, f := range o.Fields {
		if _, ok := sent[f]; ok && About(e.Message, reply, f) {
			return f
		}
	}
	return ""
}

// About reports whether a refusal is about the field: by its param, by the place it names, or by its
// words. A word that is also plain English counts only as a name: in quotes, or in front of a colon.
func About(message string, reply []byte, field string) bool {
	var in struct {
		Error struct {
			Param string `json:"param"`
		} `json:"error"`
		Param  string `json:"param"`
		Detail []struct {
			Loc []any `json:"loc"`
		} `json:"detail"`
	}
	// A shape that is none of these leaves what could be read.
	_ = json.Unmarshal(reply, &in)
	for _, param := range []string{in.Error.Param, in.Param} {
		if first, _, _ := strings.Cut(param, "."); first == field {
			return true
		}
	}
	for _, d := range in.Detail {
		if len(d.Loc) > 1 && d.Loc[1] == any(field) || len(d.Loc) == 1 && d.Loc[0] == any(field) {
			return true
		}
	}
	if len(in.Detail) > 0 {
		return false // such a reply repeats the request
	}
	return named(message, field)
}

func named(text, field string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], field)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(field)
		before, after := byte(' '), byte(' ')
		if at > 0 {
			before = text[at-1]
		}
		if from < len(text) {
			after = text[from]
		}
		quoted := strings.IndexByte("'\"`", before) >= 0 || after == ':'
		if !wordByte(before) && !wordByte(after) && (quoted || strings.Contains(field, "_")) {
			return true
		}
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// without is the object without these members; the others keep their order and bytes.
func without(body []byte, fields ...string) []byte {
	if len(fields) == 0 {
		return body
	}
	out := []byte{'{'}
	err := eachMember(body, func(name string, member []byte) {
		if slices.Contains(fields, name) {
			return
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, member...)
	})
	if err != nil { // no object: the service says so
		return body
	}
	return append(out, '}')
}

// eachMember walks the members of an object in order; member is `"name":value`, as written.
func eachMember(object []byte, f func(name string, member []byte)) error {
	d := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		start := d.InputOffset()
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		text, ok := name.(string)
		if !ok {
			return errors.New("expected an object")
		}
		f(text, []byte(strings.TrimLeft(string(object[start:d.InputOffset()]), ", \t\r\n")))
	}
	_, err := d.Token() // its end
	return err
}
