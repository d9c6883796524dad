package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Lines that end with CR alone have the numbers that a page of the file shows, whatever the size.
func TestKF140_LinesThatEndWithCR(t *testing.T) {
	for name, n := range map[string]int{"small": 3, "several reads": 20_000, "several windows": 900_000} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i := 1; i <= n; i++ {
				fmt.Fprintf(&b, "line %d of it\r", i)
			}
			for end, ends := range map[string]textfile.LineEnds{"": textfile.CR, "\nx": textfile.LF} {
				content := b.String() + "needle" + end
				text, err := textfile.Decode([]byte(content))
				if err != nil || text.LineEnds() != ends {
					t.Fatal(text.LineEnds(), err)
				}
				want := strings.Count(text.View()[:strings.Index(text.View(), "needle")], "\n") + 1
				dir := tree(t, map[string]string{"f": content})
				for _, multi := range []bool{false, true} {
					q := Query{Pattern: compile(t, "needle", Options{Multiline: multi}), Mode: Lines, Columns: 100}
					found := grepAll(t, Tree{Root: dir}, q)
					if len(found.Files) != 1 || len(found.Files[0].Lines) != 1 || found.Files[0].Lines[0].Number != want {
						t.Errorf("end %q, multiline %v: found %.300v, want line %d", end, multi, found.Files, want)
					}
				}
			}
		})
	}
}
