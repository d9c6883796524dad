package fakeapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/myelin-agent/myelin/internal/providers/script"
)

// reply plays one turn.
func (s *Server) reply(w http.ResponseWriter, r *http.Request, rec *Recorded, a asked, t script.Turn) {
	switch {
	case t.Error != nil && t.Error.Status == 0:
		s.record(*rec)
		cut(w)
	case t.Error != nil:
		s.refuse(w, rec, refusal{status: t.Error.Status, typ: t.Error.Type, message: t.Error.Message, retryAfter: t.Error.RetryAfter})
	case t.Raw != nil:
		s.raw(w, r, rec, t)
	case a.stream:
		s.streamed(w, r, rec, a, t)
	default:
		s.plain(w, r, rec, a, t)
	}
}

func (s *Server) raw(w http.ResponseWriter, r *http.Request, rec *Recorded, t script.Turn) {
	rec.Status = http.StatusOK
	s.record(*rec)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(t.Raw)
	flush(w)
	end(w, r.Context(), t.Then)
}

func (s *Server) plain(w http.ResponseWriter, r *http.Request, rec *Recorded, a asked, t script.Turn) {
	rec.Status = http.StatusOK
	body := s.dialect.whole(t, a, s.newID(""))
	if t.Then != script.ThenEnd {
		s.record(*rec)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body[:len(body)/2])
		flush(w)
		end(w, r.Context(), t.Then)
		return
	}
	rec.Usage = t.Usage
	s.record(*rec)
	s.send(w, http.StatusOK, body)
}

func (s *Server) streamed(w http.ResponseWriter, r *http.Request, rec *Recorded, a asked, t script.Turn) {
	rec.Status = http.StatusOK
	frames := s.render(a, t)
	if t.Then == script.ThenEnd {
		rec.Usage = t.Usage
	} else {
		frames = frames[:lastDelta(frames)+1]
		told := s.dialect.told(*t.Usage)
		rec.Usage = &told
	}
	s.record(*rec)
	w.Header().Set("Content-Type", "text/event-stream")
	if s.cfg.Fast {
		for _, f := range frames {
			_, _ = w.Write(f.data)
		}
	} else if !paced(w, r.Context(), frames, t.Delay) {
		return
	}
	flush(w)
	end(w, r.Context(), t.Then)
}

// render renders a turn. A fast server keeps what it rendered as one piece, under the same id.
func (s *Server) render(a asked, t script.Turn) []frame {
	if !s.cfg.Fast || t.Then != script.ThenEnd {
		return s.dialect.stream(t, a, s.newID(""))
	}
	key := fmt.Sprintf("%s %d %d %v %v", a.model, t.Line, t.Chunk, t.Content, *t.Usage)
	s.mu.Lock()
	kept := s.rendered[key]
	s.mu.Unlock()
	if kept != nil {
		return kept
	}
	var all []byte
	for _, f := range s.dialect.stream(t, a, s.newID("")) {
		all = append(all, f.data...)
	}
	kept = []frame{{data: all}}
	s.mu.Lock()
	s.rendered[key] = kept
	s.mu.Unlock()
	return kept
}

// paced writes the frames with their delays; false: the client went away.
func paced(w http.ResponseWriter, ctx context.Context, frames []frame, delay time.Duration) bool {
	for _, f := range frames {
		if f.delta && delay > 0 {
			select {
			case <-time.After(delay):
			case <-ctx.Done():
				return false
			}
		}
		if _, err := w.Write(f.data); err != nil {
			return false
		}
		flush(w)
	}
	return true
}

func lastDelta(frames []frame) int {
	last := len(frames) - 1
	for i, f := range frames {
		if f.delta {
			last = i
		}
	}
	return last
}

// end ends a response as the turn wants it.
func end(w http.ResponseWriter, ctx context.Context, then script.Then) {
	switch then {
	case script.ThenDrop:
		cut(w)
	case script.ThenHang:
		<-ctx.Done()
	}
}

// cut breaks the connection off; the client sees neither an error nor a proper end.
func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// Sign is the signature the server gives thinking, and the only one it accepts for it.
func Sign(thinking string) string {
	sum := sha256.Sum256([]byte("fake signature of " + thinking))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// pieces cuts text into pieces of n characters.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > 0 {
		at, count := len(text), 0
		for i := range text {
			if count == n {
				at = i
				break
			}
			count++
		}
		out = append(out, text[:at])
		text = text[at:]
	}
	return out
}

// event renders one server-sent event; an empty name leaves the field out.
func event(name string, v any) []byte {
	var out []byte
	if name != "" {
		out = append(append(out, "event: "...), name...)
		out = append(out, '\n')
	}
	out = append(append(out, "data: "...), encode(v)...)
	return append(out, "\n\n"...)
}

// encode is json.Marshal of what always can be encoded: maps, slices and strings made here.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fake API: encode %T: %v", v, err))
	}
	return raw
}

// object is shorthand for JSON objects.
type object = map[string]any

// argument is a call's input for places that hold JSON: what is no object is wrapped.
func argument(input string) json.RawMessage {
	if json.Valid([]byte(input)) && len(input) > 0 && input[0] == '{' {
		return json.RawMessage(input)
	}
	if input == "" {
		return json.RawMessage("{}")
	}
	return encode(object{"INVALID_JSON": input})
}
