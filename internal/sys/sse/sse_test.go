package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func all(r *Reader) (events []Event, err error) {
	for {
		e, err := r.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		e.Data = bytes.Clone(e.Data)
		if e.Data == nil {
			e.Data = []byte{}
		}
		events = append(events, e)
	}
}

func TestReaderFollowsTheStandard(t *testing.T) {
	d := func(name, data string) Event { return Event{Name: name, Data: []byte(data)} }
	tests := []struct {
		name, in string
		want     []Event
	}{
		{"one event", "event: a\ndata: x\n\n", []Event{d("a", "x")}},
		{"no space after the colon", "data:x\n\n", []Event{d("", "x")}},
		{"only one space is taken", "data:  x\n\n", []Event{d("", " x")}},
		{"several data lines", "data: a\ndata\ndata: b\n\n", []Event{d("", "a\n\nb")}},
		{"CRLF", "event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []Event{d("a", "x"), d("", "y")}},
		{"CR", "data: x\r\rdata: y\r\r", []Event{d("", "x"), d("", "y")}},
		{"byte order mark", "\xef\xbb\xbfdata: x\n\n", []Event{d("", "x")}},
		{"event without data is dropped", "event: a\n\ndata: x\n\n", []Event{d("", "x")}},
		{"unknown fields, id and retry", "id: 1\nretry: 5\nfoo: bar\ndata: x\n\n", []Event{d("", "x")}},
		{"comment", ": alive\n\ndata: x\n\n", []Event{{Data: []byte("alive"), Comment: true}, d("", "x")}},
		{"comment inside an event", "data: x\n: c\ndata: y\n\n", []Event{d("", "x\ny")}},
		{"last empty line missing", "data: x\n", []Event{d("", "x")}},
		{"last line end missing", "data: [DONE]", []Event{d("", "[DONE]")}},
		{"nothing", "", nil},
		{"half a character", "data: \xf0\x9f\n\n", []Event{d("", "\xf0\x9f")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":       func(r io.Reader) io.Reader { return r },
				"byte a time": iotest.OneByteReader,
				"data+EOF":    iotest.DataErrReader,
			} {
				got, err := all(NewReader(wrap(strings.NewReader(tt.in)), 0))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: events differ (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestReaderReportsABrokenStream(t *testing.T) {
	broken := errors.New("connection reset")
	in := io.MultiReader(strings.NewReader("data: x\n\ndata: half"), iotest.ErrReader(broken))
	got, err := all(NewReader(in, 0))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Fatalf("got %d events and error %v, want one event and %v", len(got), err, broken)
	}
}

func TestReaderBoundsAnEvent(t *testing.T) {
	for _, in := range []string{
		"data: " + strings.Repeat("x", 5000),
		strings.Repeat("data: x\n", 5000),
	} {
		if _, err := NewReader(strings.NewReader(in), 1000).Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("got %v, want ErrTooLong", err)
		}
	}
}

func TestReaderTakesALongLine(t *testing.T) {
	long := strings.Repeat("äx", 100_000)
	got, err := all(NewReader(strings.NewReader("data: "+long+"\n\n"), 0))
	if err != nil || len(got) != 1 || string(got[0].Data) != long {
		t.Fatalf("a line of %d bytes was not read back whole (error %v)", len(long), err)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: x\n\n", "event: a\r\ndata: {}\r\n\r\n", ": c\rdata\r\r", "\xef\xbb\xbfdata:\n\n", "\r\n\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err1 := all(NewReader(bytes.NewReader(in), 1<<16))
		bytewise, err2 := all(NewReader(iotest.OneByteReader(bytes.NewReader(in)), 1<<16))
		if fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("errors differ by how the bytes arrive: %v, %v", err1, err2)
		}
		if diff := cmp.Diff(whole, bytewise); diff != "" {
			t.Fatalf("events differ by how the bytes arrive:\n%s", diff)
		}
		for _, e := range whole {
			if bytes.ContainsRune(e.Data, '\r') || strings.ContainsAny(e.Name, "\r\n") {
				t.Fatalf("a line end is inside %q of event %q", e.Data, e.Name)
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	one := `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello world"}}` + "\n\n"
	in := strings.Repeat("event: content_block_delta\n"+one, 20_000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(in), 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
