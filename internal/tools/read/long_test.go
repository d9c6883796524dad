package read_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/tools/read"
)

// giant is one line in which every position tells itself.
func giant(size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "<é%d>", b.Len())
	}
	return b.String()
}

func TestKF140_OneGiantLine(t *testing.T) {
	line := giant(3 << 20)
	chars := len([]rune(line))
	for name, input := range map[string]in{
		"plain":           {},
		"limit":           {"limit": 1},
		"allow_large":     {"allow_large": true},
		"limit and large": {"limit": 1, "allow_large": true},
		"offset":          {"offset": 1, "limit": 5},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, read.World{})
			input["file_path"] = b.put("one.json", line)
			b.wants(input, false, "1\t"+string([]rune(line)[:1500]), fmt.Sprintf("line 1 has %d characters, of which 1 to ", chars), "read on inside it with offset 1 and column ")
		})
	}
}

// Reading on as the results say gives the whole line, nothing twice and nothing left out, in files that
// are held and in those that are streamed.
func TestKF140_ReadingOnInsideALine(t *testing.T) {
	next := regexp.MustCompile(`read on inside it with offset 2 and column (\d+)`)
	for name, size := range map[string]int{"held": 1 << 20, "streamed": 33 << 20} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, read.World{Env: func(string) string { return "100000" }})
			line := giant(size)
			path := b.put("big", "first\n"+line+"\nlast\n")
			want := []rune(line)
			for column, rounds := 1, 0; rounds < 2; rounds++ {
				got := b.wants(in{"file_path": path, "offset": 2, "column": column}, false)
				text, _, _ := strings.Cut(strings.TrimPrefix(got, "2\t"), "… [")
				text, _, _ = strings.Cut(text, "\n")
				shown := []rune(text)
				if string(shown) != string(want[column-1:column-1+len(shown)]) || len(shown) < 1000 {
					t.Fatalf("column %d shows %d characters: %.60s", column, len(shown), text)
				}
				m := next.FindStringSubmatch(got)
				if m == nil {
					if column-1+len(shown) != len(want) {
						t.Errorf("nothing says how to read on behind %d of %d characters", column-1+len(shown), len(want))
					}
					break
				}
				at, err := strconv.Atoi(m[1])
				if err != nil || at != column+len(shown) {
					t.Fatalf("column %d with %d characters is continued at %s", column, len(shown), m[1])
				}
				column = at
			}
			b.wants(in{"file_path": path, "offset": 2, "column": len(want) - 2}, false, "2\t"+string(want[len(want)-3:])+"\n", "are shown]")
			b.wants(in{"file_path": path, "offset": 2, "column": len(want) + 9}, false, "behind its end")
		})
	}
}

// A part of a line does not count as having read the file.
func TestKF140_APartOfALineIsNotTheFile(t *testing.T) {
	b := newBench(t, read.World{})
	path := b.put("f", giant(9000))
	b.wants(in{"file_path": path, "column": 4}, false)
	if rec, ok := b.scope.Reads.Get(path); ok {
		t.Errorf("the record says %+v", rec)
	}
}
