package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// noteKind is the type of records that only this program knows; other readers pass them over.
const noteKind = "myelin"

// Note is something a feature wants to find again when the conversation is resumed: no message, and
// no part of the chain.
type Note struct {
	Kind string
	Data json.RawMessage
	Time time.Time
}

const rewindNote = "rewind"

func (x *index) addNote(h *head) {
	n := Note{Time: h.time()}
	h.doc.fields(h.doc.lineSpan(), func(key string, v span) {
		switch key {
		case "kind":
			n.Kind = h.doc.text(v)
		case "data":
			n.Data = bytes.Clone(h.doc.at(v))
		}
	})
	if n.Kind != rewindNote {
		x.notes = append(x.notes, n)
		return
	}
	var to string
	if x.rewind == nil && json.Unmarshal(n.Data, &to) == nil { // one that cannot be read changes nothing
		x.rewind = &rewind{to: to, before: len(x.entries)}
	}
}

func encodeNote(out []byte, e envelope, kind string, data any, at time.Time) ([]byte, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("write note %s: %w", kind, err)
	}
	out = append(out, `{"type":"`+noteKind+`","kind":`...)
	out = quote(out, kind)
	out = append(out, `,"sessionId":`...)
	out = quote(out, e.session)
	out = append(out, `,"timestamp":`...)
	out = quote(out, stamp(at))
	out = fmt.Appendf(out, `,"v":%d,"data":`, Version)
	return append(oneLine(out, raw), '}'), nil
}
