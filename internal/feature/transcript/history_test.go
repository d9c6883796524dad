package transcript_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

func prompts(t tester, h *transcript.History, f transcript.Filter, most int) []string {
	t.Helper()
	var out []string
	for p, err := range h.Prompts(f) {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, p.Text); len(out) == most {
			break
		}
	}
	return out
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home", "history.jsonl")
	h := transcript.OpenHistory(path)
	if got := prompts(t, h, transcript.Filter{}, -1); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	at := time.UnixMilli(1_764_500_000_123)
	full := transcript.Prompt{
		Text: "look at [Image #1] and [Pasted text #2]\u2028", Pastes: map[string]string{"2": "long\ntext"}, Images: map[string]string{"1": "/tmp/x.png"},
		Project: "/b", Session: "s", Time: at,
	}
	for _, p := range []transcript.Prompt{
		{Text: "Fix it", Project: "/a", Time: at},
		{Text: "ls -l", Shell: true, Project: "/a", Time: at},
		full,
		{Text: "  ", Project: "/a"},
		{Text: "fix it again", Project: "/a", Time: at},
		{Text: "Fix it", Project: "/b", Time: at},
	} {
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		filter transcript.Filter
		want   []string
	}{
		"all, each once":   {transcript.Filter{}, []string{"Fix it", "fix it again", full.Text}},
		"of a project":     {transcript.Filter{Project: "/a"}, []string{"fix it again", "Fix it"}},
		"shell":            {transcript.Filter{Shell: true}, []string{"ls -l"}},
		"search, any case": {transcript.Filter{Contains: "FIX"}, []string{"Fix it", "fix it again"}},
		"nothing found":    {transcript.Filter{Contains: "zzz"}, nil},
	} {
		if got := prompts(t, h, tc.filter, -1); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for p, err := range h.Prompts(transcript.Filter{Contains: "look"}) {
		if d := cmp.Diff(full, p, cmpopts.EquateEmpty()); d != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Add(transcript.Prompt{Text: "after Close"}); err != nil {
		t.Error(err)
	}
	if got := prompts(t, h, transcript.Filter{}, 1); !slices.Equal(got, []string{"after Close"}) {
		t.Errorf("%q", got)
	}
}

// TestHistoryOfOthers: what other programs wrote is read; what is torn is passed over, and the next
// prompt stands on a line of its own.
func TestHistoryOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	put(t, path, `{"display":"one","pastedContents":{"1":{"id":1,"type":"text","content":"pasted"}},"timestamp":1764500000123,"project":"/p"}`+"\n"+
		"\x00\x00{\"disp\n\n[]\n"+`{"display":"two","timestamp":"soon"}`+"\n"+`{"display":"torn`)
	h := transcript.OpenHistory(path)
	if err := h.Add(transcript.Prompt{Text: "three"}); err != nil {
		t.Fatal(err)
	}
	if got := prompts(t, h, transcript.Filter{}, -1); !slices.Equal(got, []string{"three", "two", "one"}) {
		t.Errorf("%q", got)
	}
	for p := range h.Prompts(transcript.Filter{Contains: "one"}) {
		if p.Pastes["1"] != "pasted" || p.Project != "/p" {
			t.Errorf("%+v", p)
		}
	}
}

// FuzzHistory: no file makes the reader fail, and what is added to it is read.
func FuzzHistory(f *testing.F) {
	f.Add([]byte(`{"display":"one","pastedContents":{"1":{"content":"x"}},"timestamp":1764500000123,"project":"/p"}` + "\n"))
	f.Add([]byte(`{"display":"torn`))
	f.Add([]byte("\x00\n[]\n{\"display\":7}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "h.jsonl")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		h := transcript.OpenHistory(path)
		before := prompts(t, h, transcript.Filter{}, -1)
		if err := h.Add(transcript.Prompt{Text: "newest of all"}); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		after := prompts(t, h, transcript.Filter{}, -1)
		if len(after) == 0 || after[0] != "newest of all" || !slices.Contains(before, after[0]) && len(after) != len(before)+1 {
			t.Fatalf("%q, then %q", before, after)
		}
	})
}

// TestHistoryIsShared: many writers, as processes would, lose nothing and glue nothing.
func TestHistoryIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	var wg sync.WaitGroup
	for w := range 8 {
		h := transcript.OpenHistory(path)
		wg.Go(func() {
			for i := range 50 {
				if err := h.Add(transcript.Prompt{Text: fmt.Sprint(w, "-", i, strings.Repeat("x", 5_000))}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := prompts(t, transcript.OpenHistory(path), transcript.Filter{}, -1); len(got) != 400 {
		t.Errorf("%d prompts, want 400", len(got))
	}
}

// million writes a history of a million prompts.
func million(t testing.TB) *transcript.History {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	var buf bytes.Buffer
	for i := range 1_000_000 {
		fmt.Fprintf(&buf, `{"display":"prompt number %d","pastedContents":{},"timestamp":%d,"project":"/p%d"}`+"\n", i, 1_764_500_000_000+i, i%100)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return transcript.OpenHistory(path)
}

// TestFirstPromptOfAMillion is there at once.
func TestFirstPromptOfAMillion(t *testing.T) {
	h := million(t)
	var got []string
	took := best(t, 5, func() { got = prompts(t, h, transcript.Filter{}, 1) })
	if !slices.Equal(got, []string{"prompt number 999999"}) || raceless && took > 5*time.Millisecond {
		t.Errorf("%q after %v", got, took)
	}
}

func BenchmarkHistory(b *testing.B) {
	h := million(b)
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			prompts(b, h, transcript.Filter{}, 1)
		}
	})
	b.Run("search", func(b *testing.B) {
		for b.Loop() {
			prompts(b, h, transcript.Filter{Contains: "number 500000"}, 1)
		}
	})
}
