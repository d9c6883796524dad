package transcript_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("text=%d", size), func(b *testing.B) {
			tr := create(b, filepath.Join(b.TempDir(), "s.jsonl"), transcript.Options{})
			m := msg.Message{ID: "0b5e0b5e-0000-4000-8000-000000000000", Role: msg.User, Time: time.Unix(1, 0), Content: []msg.Block{msg.Text{Text: strings.Repeat("x", size)}}}
			b.ReportAllocs()
			for b.Loop() {
				if err := tr.Append(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad150MB(b *testing.B) {
	path := huge(b)
	b.SetBytes(150 << 20)
	b.ReportAllocs()
	for b.Loop() {
		load(b, path, transcript.LoadOptions{})
	}
}

func BenchmarkList1000(b *testing.B) {
	shelf := transcript.Shelf{Home: manyTranscripts(b, 1_000, 2<<20)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := shelf.List(""); err != nil {
			b.Fatal(err)
		}
	}
}
