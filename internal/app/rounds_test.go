package app

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/testkit/rounds"
)

// spent is what the process allocated so far.
type spent struct{ count, bytes uint64 }

func (s spent) since(before spent, rounds uint64) spent {
	return spent{(s.count - before.count) / rounds, (s.bytes - before.bytes) / rounds}
}

// roundServer answers with calls, and tells what was allocated when some requests came in.
type roundServer struct {
	wire  rounds.Wire
	calls int // of one turn
	id    string
	at    map[int]spent // by number of the request

	n, turn int
}

func (s *roundServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	if err != nil || r.Method != http.MethodPost || strings.Contains(r.URL.Path, "count") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.n++
	if _, ok := s.at[s.n]; ok {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		s.at[s.n] = spent{m.Mallocs, m.TotalAlloc}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer := s.wire.Call(s.n, "Read", fmt.Sprintf(`{"file_path":"f.txt","limit":%d}`, s.n))
	if s.turn++; s.turn > s.calls {
		s.turn, answer = 0, s.wire.End
	}
	if s.id != "" {
		answer = regexp.MustCompile(`"(msg|c|resp|r)_?(\d+|end)"`).ReplaceAllString(answer, `"`+s.id+`"`)
	}
	_, _ = io.WriteString(w, answer) // who went away needs no answer
}

// play takes a session through turns.
func (s *roundServer) play(t *testing.T, turns int, record string) {
	t.Helper()
	h := httptest.NewServer(s)
	defer h.Close()
	dir, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(strings.Repeat("a line of text\n", 5)), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "PATH": "/usr/bin:/bin"}
	for name, value := range s.wire.Env {
		env[name] = strings.ReplaceAll(value, "URL", h.URL)
	}
	session, err := Open(t.Context(), Options{
		Cwd: dir, Version: "test", ModelChoice: ModelChoice{Model: s.wire.Model, Record: record}, Env: env,
		Sources: Sources{Settings: `{"sandbox":{"enabled":false},"autoCompactEnabled":false}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close(context.Background())
	next, stop := iter.Pull(session.Events(t.Context(), Reading{}))
	defer stop()
	for range turns {
		if err := session.Do(proto.O(proto.Prompt{Content: []msg.Block{msg.Text{Text: "go on"}}})); err != nil {
			t.Fatal(err)
		}
		for {
			e, ok := next()
			if !ok {
				t.Fatal("the session ended")
			}
			if r, is := e.Body.(proto.Result); is {
				if r.IsError || r.Text != "done" {
					t.Fatalf("%+v", r)
				}
				break
			}
		}
	}
}

// TestKF177_ARoundPaysForItself: late rounds of a turn, and late turns of a session, allocate no more than
// early ones: on every wire, recorded or not, and also when a service gives all its answers one id.
func TestKF177_ARoundPaysForItself(t *testing.T) {
	const window, late = 40, 440
	for _, w := range rounds.Wires() {
		for _, how := range []struct {
			name         string
			calls, turns int
			id           string
			record       bool
		}{
			{"one turn", late + window, 1, "", false},
			{"one turn, recorded", late + window, 1, "", true},
			{"many turns", 1, (late + window) / 2, "", false},
			{"one id", late + window, 1, "msg_same", false},
		} {
			t.Run(w.Name+"/"+how.name, func(t *testing.T) {
				record := ""
				if how.record {
					record = filepath.Join(t.TempDir(), "recording.jsonl")
				}
				s := roundServer{wire: w, calls: how.calls, id: how.id, at: map[int]spent{20: {}, 20 + window: {}, late: {}, late + window: {}}}
				s.play(t, how.turns, record)
				first, last := s.at[20+window].since(s.at[20], window), s.at[late+window].since(s.at[late], window)
				t.Logf("a round: %d allocations of %d bytes, then %d of %d", first.count, first.bytes, last.count, last.bytes)
				if last.count > first.count*12/10 || last.bytes > first.bytes*14/10 {
					t.Errorf("a round allocates %d times %d bytes, %d requests later %d times %d", first.count, first.bytes, late, last.count, last.bytes)
				}
			})
		}
	}
}
