package transcript_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// tester is what both kinds of tests offer.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// talk makes messages with ids and times of their own.
type talk struct{ n int }

func (k *talk) next(m msg.Message) msg.Message {
	k.n++
	m.ID = fmt.Sprintf("id-%04d", k.n)
	m.Time = time.Date(2026, 11, 30, 12, 0, k.n, 0, time.UTC)
	return m
}

func (k *talk) user(s string) msg.Message {
	return k.next(msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: s}}})
}

func (k *talk) says(s string) msg.Message {
	return k.next(msg.Message{Role: msg.Assistant, Response: fmt.Sprint("msg-", k.n), Model: "script/m", Stop: msg.StopEndTurn, Usage: &msg.Usage{Input: k.n}, Content: []msg.Block{msg.Text{Text: s}}})
}

func (k *talk) call(response, id string) msg.Message {
	return k.next(msg.Message{Role: msg.Assistant, Response: response, Model: "script/m", Content: []msg.Block{msg.ToolCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}}})
}

func (k *talk) result(id, s string) msg.Message {
	return k.next(msg.Message{Role: msg.User, Origin: msg.FromTool, Structured: json.RawMessage(`{"stdout":"` + s + `"}`), Content: []msg.Block{msg.ToolResult{CallID: id, Content: []msg.Block{msg.Text{Text: s}}}}})
}

func (k *talk) summary(s string) msg.Message {
	return k.next(msg.Message{Role: msg.User, Origin: msg.FromSummary, Content: []msg.Block{msg.Text{Text: s}}})
}

func create(t tester, path string, opts transcript.Options) *transcript.Transcript {
	t.Helper()
	if opts.Session == "" {
		opts.Session = strings.TrimSuffix(filepath.Base(path), ".jsonl")
	}
	tr, err := transcript.Create(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func write(t tester, tr *transcript.Transcript, messages ...msg.Message) {
	t.Helper()
	for _, m := range messages {
		if err := tr.Append(m); err != nil {
			t.Fatal(err)
		}
	}
}

func shut(t tester, tr *transcript.Transcript) {
	t.Helper()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
}

func load(t tester, path string, opts transcript.LoadOptions) *transcript.Loaded {
	t.Helper()
	got, err := transcript.Load(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func open(t tester, path string) (*transcript.Transcript, *transcript.Loaded) {
	t.Helper()
	tr, got, err := transcript.Open(path, transcript.LoadOptions{}, transcript.Options{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return tr, got
}

func same(t tester, want, got []msg.Message) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// texts is what a conversation says, in short.
func texts(messages []msg.Message) string {
	var out []string
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case msg.Text:
				out = append(out, b.Text)
			case msg.ToolCall:
				out = append(out, "call "+b.ID)
			case msg.ToolResult:
				out = append(out, "result "+b.CallID+": "+msg.TextOf(b.Content))
			}
		}
	}
	return strings.Join(out, " | ")
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "projects", "-w", "s.jsonl") }

// TestWriteAndLoad: what was appended comes back, and the files are the user's alone.
func TestWriteAndLoad(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{Cwd: func() string { return "/w" }, Branch: func() string { return "main" }, Version: "1"})
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("nothing was said, yet there is a file")
	}
	all := []msg.Message{k.user("one"), k.call("r1", "c1"), k.call("r1", "c2"), k.result("c2", "b"), k.result("c1", "a"), k.says("done")}
	write(t, tr, all...)
	if err := tr.Note("mode", map[string]string{"to": "plan"}); err != nil {
		t.Fatal(err)
	}
	shut(t, tr)
	got := load(t, path, transcript.LoadOptions{})
	same(t, all, got.Messages)
	if got.LastID != all[5].ID || got.Notices != nil || len(got.Notes) != 1 || got.Notes[0].Kind != "mode" || string(got.Notes[0].Data) != `{"to":"plan"}` {
		t.Errorf("%+v", got)
	}
	for p, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", p, info.Mode(), err, want)
		}
	}
	if _, err := transcript.Create(path, transcript.Options{Session: "s"}); !errors.Is(err, transcript.ErrExists) {
		t.Errorf("a second Create: %v", err)
	}
	if err := tr.Append(k.user("late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("append after Close: %v", err)
	}
}

// TestThePublicShape looks at the file as other programs do: keys, chain, and the plain prompt.
func TestThePublicShape(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{Cwd: func() string { return "/w" }, Branch: func() string { return "main" }, Version: "9.9"})
	write(t, tr, k.user("one"), k.says("two"))
	shut(t, tr)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	var first, second map[string]any
	for i, into := range []*map[string]any{&first, &second} {
		if err := json.Unmarshal([]byte(lines[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]any{
		"type": "user", "uuid": "id-0001", "parentUuid": nil, "sessionId": "s", "timestamp": "2026-11-30T12:00:01.000Z", "cwd": "/w",
		"gitBranch": "main", "version": "9.9", "isSidechain": false, "v": float64(1), "message": map[string]any{"role": "user", "content": "one"},
	} {
		if d := cmp.Diff(want, first[key]); d != "" {
			t.Errorf("%s (-want +got)\n%s", key, d)
		}
	}
	if second["parentUuid"] != "id-0001" || second["type"] != "assistant" || second["uuid"] != "id-0002" {
		t.Errorf("%s", lines[1])
	}
	if lines[2] != `{"type":"last-prompt","lastPrompt":"one","sessionId":"s"}` {
		t.Errorf("%s", lines[2])
	}
}

// TestAgainstAModel does anything a session does and loads: what comes back is what was in sight.
func TestAgainstAModel(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", n))
		k := &talk{}
		tr := create(t, path, transcript.Options{Session: "s"})
		var history []msg.Message
		at := map[string][]msg.Message{} // the history as it was when a message had just been said
		var ids []string
		say := func(m msg.Message) {
			write(t, tr, m)
			history = append(slices.Clip(history), m)
			at[m.ID] = history
			if len(msg.Calls(m)) == 0 { // cut behind a call, its result is still found
				ids = append(ids, m.ID)
			}
		}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0, 1:
				say(k.user("prompt"))
			case 2:
				say(k.says("answer"))
			case 3:
				say(k.call("r", fmt.Sprint("c", k.n)))
				say(k.result(fmt.Sprint("c", k.n-1), "x"))
			case 4:
				compact(t, tr, k, &history, at, &ids)
			case 5:
				if len(ids) > 0 {
					to := rapid.SampledFrom(ids).Draw(t, "rewind")
					if err := tr.Rewind(to); err != nil {
						t.Fatal(err)
					}
					history = at[to]
				}
			case 6: // another process goes on
				if len(ids) == 0 {
					continue
				}
				shut(t, tr)
				var got *transcript.Loaded
				tr, got = open(t, path)
				same(t, complete(history), complete(got.Messages))
				history = got.Messages
				if n := len(history); n > 0 && at[history[n-1].ID] == nil { // a result put in
					at[history[n-1].ID] = history
				}
			case 7:
				if err := tr.SetAITitle(fmt.Sprint("title ", k.n)); err != nil {
					t.Fatal(err)
				}
			}
		}
		shut(t, tr)
		if len(ids) == 0 {
			return
		}
		got := load(t, path, transcript.LoadOptions{})
		same(t, complete(history), complete(got.Messages))
		if got.Notices != nil {
			t.Fatalf("notices: %v", got.Notices)
		}
		id := rapid.SampledFrom(ids).Draw(t, "at")
		same(t, complete(at[id]), complete(load(t, path, transcript.LoadOptions{At: id}).Messages))
	})
}

// compact replaces the history by a summary and its last messages.
func compact(t *rapid.T, tr *transcript.Transcript, k *talk, history *[]msg.Message, at map[string][]msg.Message, ids *[]string) {
	keep := rapid.IntRange(0, len(*history)).Draw(t, "keep")
	kept := (*history)[len(*history)-keep:]
	b := transcript.Boundary{Trigger: "auto", PreTokens: 100}
	if keep > 0 {
		b.FirstKept = kept[0].ID
	}
	tr.Boundary(b)
	s := k.summary("summary")
	write(t, tr, s)
	*history = append([]msg.Message{s}, kept...)
	at[s.ID] = *history
	*ids = append(*ids, s.ID)
}

// complete drops results that were put in, whose ids are new each time, and calls without result.
func complete(messages []msg.Message) []msg.Message {
	calls, results := map[string]bool{}, map[string]bool{}
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case msg.ToolCall:
				calls[b.ID] = true
			case msg.ToolResult:
				results[b.CallID] = !b.IsError
			}
		}
	}
	var out []msg.Message
	for _, m := range messages {
		switch b := m.Content[0].(type) {
		case msg.ToolCall:
			if !results[b.ID] {
				continue
			}
		case msg.ToolResult:
			if b.IsError || !calls[b.CallID] {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// TestOneWriter: a second session cannot write the same file, not even in the same process.
func TestOneWriter(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("one"))
	if _, _, err := transcript.Open(path, transcript.LoadOptions{}, transcript.Options{Session: "s"}); !errors.Is(err, transcript.ErrBusy) {
		t.Fatalf("a second writer: %v", err)
	}
	if got := load(t, path, transcript.LoadOptions{}); texts(got.Messages) != "one" {
		t.Errorf("read beside the writer: %s", texts(got.Messages))
	}
	shut(t, tr)
	second, _ := open(t, path)
	shut(t, second)
	if _, _, err := transcript.Open(path+"x", transcript.LoadOptions{}, transcript.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open what is not there: %v", err)
	}
}

// TestSideBySide appends from many goroutines; the race detector judges, and the chain is whole.
func TestSideBySide(t *testing.T) {
	path := file(t)
	tr := create(t, path, transcript.Options{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 25 {
				m := msg.Message{ID: fmt.Sprintf("%d-%d", w, i), Role: msg.User, Time: time.Unix(1, 0), Content: []msg.Block{msg.Text{Text: "x"}}}
				if err := tr.Append(m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	shut(t, tr)
	if got := load(t, path, transcript.LoadOptions{}); len(got.Messages) != 200 || got.Notices != nil {
		t.Errorf("%d messages, notices %v", len(got.Messages), got.Notices)
	}
}

// TestState: the slice follows what is written.
func TestState(t *testing.T) {
	type root struct{ T *transcript.State }
	s := store.New(root{&transcript.State{}}, nil, nil)
	slice := store.Focus(s, func(r *root) *transcript.State { return r.T }, func(_ *root, n *transcript.State) *root { return &root{n} })
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{State: slice})
	if got := slice.Get(); got.Path != path || got.Records != 0 {
		t.Errorf("%+v", got)
	}
	write(t, tr, k.user("one"), k.says("two"))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&transcript.State{Path: path, LastID: "id-0002", Records: 2, Bytes: info.Size()}, slice.Get()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	shut(t, tr)
	if err := tr.Append(k.user("late")); err == nil {
		t.Error("append after Close")
	}
}

// TestMirror: a host that keeps a copy gets the very records that are in the file.
func TestMirror(t *testing.T) {
	path := file(t)
	k := &talk{}
	var copied strings.Builder
	tr := create(t, path, transcript.Options{Mirror: func(p string, entry json.RawMessage) {
		if p != path {
			t.Errorf("path %s", p)
		}
		copied.Write(append(entry, '\n'))
	}})
	write(t, tr, k.user("one"), k.says("two"))
	tr.Boundary(transcript.Boundary{Trigger: "manual"})
	write(t, tr, k.summary("sum"))
	if err := tr.SetTitle("mine"); err != nil {
		t.Fatal(err)
	}
	shut(t, tr)
	raw, err := os.ReadFile(path)
	if d := cmp.Diff(string(raw), copied.String()); d != "" || err != nil {
		t.Errorf("%v (-file +mirror)\n%s", err, d)
	}
}

// TestKeptNotes: a kept note is in sight however many compactions follow, in the same process or
// another; a plain one is until the first.
func TestKeptNotes(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("one"))
	for _, err := range []error{tr.Keep("task", "1", "running"), tr.Keep("task", "2", "running"), tr.Keep("mode", "", nil), tr.Note("once", 1), tr.Keep("task", "1", "done"), tr.Keep("task", "2", nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		write(t, tr, k.summary("sum"))
		write(t, tr, k.user("more"))
		shut(t, tr)
		var got *transcript.Loaded
		tr, got = open(t, path)
		var notes []string
		for _, n := range got.Notes {
			notes = append(notes, n.Kind+n.Key+string(n.Data))
		}
		if texts(got.Messages) != "sum | more" || strings.Join(notes, " ") != `task1"done"` {
			t.Errorf("%s, notes %v", texts(got.Messages), notes)
		}
	}
	shut(t, tr)
}

// TestNotesInFrontOfTheFirstMessage: what a conversation begins with is in sight at every resume.
func TestNotesInFrontOfTheFirstMessage(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	if err := tr.Keep("mode", "mode", "plan"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		write(t, tr, k.user("more"))
		shut(t, tr)
		var got *transcript.Loaded
		if tr, got = open(t, path); len(got.Notes) != 1 || string(got.Notes[0].Data) != `"plan"` {
			t.Errorf("notes %v", got.Notes)
		}
	}
	shut(t, tr)
}

// TestNothingKept: a nil transcript takes everything and writes nothing.
func TestNothingKept(t *testing.T) {
	var tr *transcript.Transcript
	k := &talk{}
	write(t, tr, k.user("one"))
	tr.Boundary(transcript.Boundary{})
	for _, err := range []error{tr.Note("x", 1), tr.Keep("x", "y", 1), tr.Rewind(""), tr.SetTitle("x"), tr.SetAITitle("x"), tr.SetTag("x"), tr.Sync(), tr.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if tr.Path() != "" || tr.LastID() != "" {
		t.Error("it is somewhere")
	}
}

// TestRemovedWhileWritten: the next sync says that nobody will find what was written.
func TestRemovedWhileWritten(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("one"))
	if err := tr.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, tr, k.user("two"))
	if err := tr.Sync(); !errors.Is(err, transcript.ErrRemoved) {
		t.Errorf("sync: %v", err)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	tr := create(t, file(t), transcript.Options{})
	for name, m := range map[string]msg.Message{
		"no id":        {Role: msg.User, Content: []msg.Block{msg.Text{Text: "x"}}},
		"no role":      {ID: "x", Content: []msg.Block{msg.Text{Text: "x"}}},
		"torn unknown": {ID: "x", Role: msg.Assistant, Content: []msg.Block{msg.Unknown{Kind: "k", Raw: json.RawMessage(`{`)}}},
	} {
		if err := tr.Append(m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if tr.LastID() != "" {
		t.Error("what was refused is a link of the chain")
	}
	blocked := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &talk{}
	if err := create(t, filepath.Join(blocked, "s.jsonl"), transcript.Options{}).Append(k.user("x")); err == nil {
		t.Error("a folder that cannot be made: no error")
	}
}

// TestNewerVersion: a file of a newer major version is refused with a sentence.
func TestNewerVersion(t *testing.T) {
	path := file(t)
	put(t, path, `{"type":"user","uuid":"a","parentUuid":null,"v":2,"message":{"role":"user","content":"x"}}`+"\n")
	if _, err := transcript.Load(path, transcript.LoadOptions{}); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("error %v", err)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
