package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// noteKind is the type of records that only this program knows; other readers pass them over.
const noteKind = "myelin"

// Note is something a feature wants to find again when the conversation is resumed: no message, and
// no part of the chain.
type Note struct {
	Kind string
	Key  string // of a kept one (see [Transcript.Keep]); empty otherwise
	Data json.RawMessage
	Time time.Time
}

const rewindNote = "rewind"

func noteOf(h *head) Note {
	n := Note{Time: h.time()}
	h.doc.fields(h.doc.lineSpan(), func(key string, v span) {
		switch key {
		case "kind":
			n.Kind = h.doc.text(v)
		case "key":
			n.Key = h.doc.text(v)
		case "data":
			n.Data = bytes.Clone(h.doc.at(v))
		}
	})
	return n
}

func (x *index) addNote(h *head) {
	n := noteOf(h)
	if n.Kind != rewindNote {
		x.notes = append(x.notes, n)
		return
	}
	var to string
	if x.rewind == nil && json.Unmarshal(n.Data, &to) == nil { // one that cannot be read changes nothing
		x.rewind = &rewind{to: to, before: len(x.entries)}
	}
}

// Keep keeps the newest value under a kind and key in sight: unlike that of a [Transcript.Note] it is
// written again behind every compaction, since a reader goes no further back than that. The value
// null drops the key; an empty key stands for the kind. It comes back in [Loaded.Notes], where of several with one key the last counts.
func (t *Transcript) Keep(kind, key string, data any) error {
	if t == nil {
		return nil
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write note %s: %w", kind, err)
	}
	n := Note{Kind: kind, Key: cmp.Or(key, kind), Data: raw, Time: t.opts.Now()}
	err = t.line(func(out []byte) ([]byte, error) { return encodeNote(out, t.envelope(), n), nil })
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.put(n)
	return nil
}

// Note keeps something that is no message: data, encoded as JSON, comes back in [Loaded.Notes] as
// long as the conversation in sight reaches back to it.
func (t *Transcript) Note(kind string, data any) error {
	if t == nil {
		return nil
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write note %s: %w", kind, err)
	}
	n := Note{Kind: kind, Data: raw, Time: t.opts.Now()}
	return t.line(func(out []byte) ([]byte, error) { return encodeNote(out, t.envelope(), n), nil })
}

// keptNotes are the newest values under their keys, in order of their first appearance.
type keptNotes []Note

func (k *keptNotes) put(n Note) {
	at := slices.IndexFunc(*k, func(o Note) bool { return o.Kind == n.Kind && o.Key == n.Key })
	gone := string(n.Data) == "null"
	switch {
	case at < 0 && !gone:
		*k = append(*k, n)
	case at >= 0 && gone:
		*k = slices.Delete(*k, at, at+1)
	case at >= 0:
		(*k)[at] = n
	}
}

func encodeNote(out []byte, e envelope, n Note) []byte {
	out = append(out, `{"type":"`+noteKind+`","kind":`...)
	out = quote.JSON(out, n.Kind)
	if n.Key != "" {
		out = append(out, `,"key":`...)
		out = quote.JSON(out, n.Key)
	}
	out = append(out, `,"sessionId":`...)
	out = quote.JSON(out, e.session)
	out = append(out, `,"timestamp":`...)
	out = quote.JSON(out, stamp(n.Time))
	out = fmt.Appendf(out, `,"v":%d,"data":`, Version)
	return append(oneLine(out, n.Data), '}')
}
