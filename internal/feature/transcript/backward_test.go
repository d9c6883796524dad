package transcript

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func readBackward(t interface{ Fatal(...any) }, data string, block int) (lines []string, torn bool) {
	b, err := newBackward(strings.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if block > 0 {
		b.size = block
	}
	for {
		line, at, err := b.next()
		if errors.Is(err, io.EOF) {
			return lines, b.torn
		}
		if err != nil {
			t.Fatal(err)
		}
		if data[at:at+int64(len(line))] != string(line) {
			t.Fatal("the place of a line is wrong")
		}
		lines = append(lines, string(line))
	}
}

// TestBackward: the lines are those of the file from the end, at any size of block.
func TestBackward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.Map(rapid.SliceOf(rapid.SampledFrom([]string{"\n", "a", "\u2028", "\r", "bcdefgh", "\n\n", "\x00"})), func(p []string) string { return strings.Join(p, "") }).Draw(t, "data")
		// The file is long enough to need several blocks.
		data = strings.Repeat("x", rapid.SampledFrom([]int{0, firstBlock - 1, firstBlock, 3*firstBlock + 7}).Draw(t, "padding")) + data
		got, torn := readBackward(t, data, rapid.IntRange(1, 9).Draw(t, "block")*1000)
		var want []string
		if data != "" {
			want = strings.Split(strings.TrimSuffix(data, "\n"), "\n")
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) || torn != (data != "" && !strings.HasSuffix(data, "\n")) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
	})
}

// TestBackwardShrunk: a file that became shorter is an error, not an endless loop.
func TestBackwardShrunk(t *testing.T) {
	if _, err := newBackward(strings.NewReader("abc\n"), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkBackwardLongLine reads one line of 64 MB: its cost must grow with its length, not faster.
func BenchmarkBackwardLongLine(b *testing.B) {
	data := append(bytes.Repeat([]byte("x"), 64<<20), '\n')
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := newBackward(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			b.Fatal(err)
		}
		if line, _, err := r.next(); err != nil || len(line) != len(data)-1 {
			b.Fatal(err)
		}
	}
}
