package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

func search(t *testing.T, s tool.Tool, in string) (tool.Result, error) {
	t.Helper()
	call, err := s.Normalise(tool.Call{Literal: json.RawMessage(in)})
	if err != nil {
		return tool.Result{}, err
	}
	return s.Run(t.Context(), call)
}

func TestResultsAreShown(t *testing.T) {
	var asked Query
	now := time.Unix(0, 0)
	s := New(World{
		Search: func(_ context.Context, q Query) (Found, error) {
			asked = q
			now = now.Add(1500 * time.Millisecond)
			return Found{Results: []Hit{{"A \n title", "https://a.example/", "some  text"}, {"B", "https://b.example/", ""}}, Text: "In short.", Searches: 2}, nil
		},
		Now: func() time.Time { return now },
	})
	r, err := search(t, s, `{"query":" go 1.26 ","allowed_domains":["a.example"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := msg.TextOf(r.Content), "In short.\n\n- A title\n  https://a.example/\n  some text\n- B\n  https://b.example/"; got != want {
		t.Errorf("got\n%s", got)
	}
	if got, want := string(r.Structured), `{"query":"go 1.26","results":["In short.",{"title":"A \n title","url":"https://a.example/","snippet":"some  text"},{"title":"B","url":"https://b.example/"}],"durationSeconds":1.5,"searchCount":2}`; got != want {
		t.Errorf("got\n%s", got)
	}
	if diff := cmp.Diff(Query{Text: "go 1.26", AllowedDomains: []string{"a.example"}, MaxUses: 8}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestInputsAreChecked(t *testing.T) {
	s := New(World{})
	for in, want := range map[string]string{
		`{"query":"a"}`:    "query",
		`{"query":"  a "}`: "at least 2 characters",
		`{"query":"ab","allowed_domains":["a"],"blocked_domains":["b"]}`: "not both",
		`{}`: "required parameter `query`",
	} {
		if _, err := search(t, s, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
	if _, err := search(t, s, `{"query":"ab"}`); err != nil {
		t.Errorf("two characters: %v", err)
	}
}

func TestWhatIsNotAvailableIsSaid(t *testing.T) {
	for _, w := range []World{{}, {Search: func(context.Context, Query) (Found, error) { return Found{}, fmt.Errorf("%w (x/y)", ErrUnsupported) }}} {
		r, err := search(t, New(w), `{"query":"anything"}`)
		if err != nil || !r.IsError || !strings.Contains(msg.TextOf(r.Content), "not available") {
			t.Errorf("%+v, %v", r, err)
		}
	}
	r, err := search(t, New(World{Search: func(context.Context, Query) (Found, error) { return Found{}, errors.New("503") }}), `{"query":"anything"}`)
	if err != nil || !r.IsError || msg.TextOf(r.Content) != "The search failed: 503" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = search(t, New(World{Search: func(context.Context, Query) (Found, error) { return Found{}, nil }}), `{"query":"anything"}`)
	if err != nil || r.IsError || !strings.Contains(msg.TextOf(r.Content), "Nothing was found") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTheSessionsSearchesAreBoundedWithANotice(t *testing.T) {
	made := 0
	s := New(World{MaxCalls: 2, Search: func(context.Context, Query) (Found, error) { made++; return Found{Text: "x"}, nil }})
	for i := 1; i <= 3; i++ {
		r, err := search(t, s, `{"query":"anything"}`)
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		if notice := strings.Contains(msg.TextOf(r.Content), "used its 2 web searches"); notice != (i == 3) {
			t.Errorf("call %d: %q", i, msg.TextOf(r.Content))
		}
	}
	if made != 2 {
		t.Errorf("%d searches", made)
	}
}

func TestAnInterruptEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	s := New(World{Search: func(ctx context.Context, _ Query) (Found, error) { cancel(why); return Found{}, ctx.Err() }})
	call, err := s.Normalise(tool.Call{Literal: json.RawMessage(`{"query":"anything"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, call); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
