package textfile

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However small the windows, the changes turn the old view into the new one, and a whole patch tells
// both of them.
func TestKF176_PropertyPatchTurnsOldIntoNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "dd", ""}), 0, 30)
		text := func(name string) string {
			return strings.Join(lines.Draw(t, name), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(t, name+" end")
		}
		old, new := text("old"), text("new")
		var got strings.Builder
		done := 0
		size := rapid.IntRange(1, 8).Draw(t, "window")
		for c := range changes(old, new, size, 1<<20) {
			if c.from < done || c.from == c.to && c.newFrom == c.newTo {
				t.Fatalf("change %+v after %d", c, done)
			}
			got.WriteString(old[done:c.from] + new[c.newFrom:c.newTo])
			done = c.to
		}
		if got.WriteString(old[done:]); got.String() != new {
			t.Fatalf("%q to %q gave %q", old, new, got.String())
		}
		p := Diff(old, new)
		added, removed := 0, 0
		for _, h := range p.Hunks {
			before, after := []string{}, []string{}
			for _, l := range h.Lines {
				switch l[0] {
				case '+':
					added, after = added+1, append(after, l[1:])
				case '-':
					removed, before = removed+1, append(before, l[1:])
				case ' ':
					before, after = append(before, l[1:]), append(after, l[1:])
				}
			}
			isAt(t, old, h.OldStart, h.OldLines, before)
			isAt(t, new, h.NewStart, h.NewLines, after)
		}
		if added != p.Added || removed != p.Removed || p.LeftOut != 0 {
			t.Fatalf("%+v counts +%d -%d", p, added, removed)
		}
	})
}

func isAt(t *rapid.T, view string, start, count int, want []string) {
	if count == 0 {
		start++ // a unified diff names the line before
	}
	all := strings.Split(view, "\n")
	if got := all[start-1 : start-1+count]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("lines %d+%d of %q are %q, the hunk has %q", start, count, view, got, want)
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestKF176_PatchIsBounded(t *testing.T) {
	old, new := numbered(50_000, "old line %d\n"), numbered(60_000, "new line %d\n")
	long := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct {
		old, new               string
		added, removed, lines  int
		leftOut, before, after int
	}{
		"every line":          {old, new, 60_000, 50_000, 1000, 109_000, 500, 500},
		"new file":            {"", new, 60_000, 0, 1000, 59_000, 0, 1000},
		"emptied":             {old, "", 0, 50_000, 1000, 49_000, 1000, 0},
		"one place":           {old + old, old + "x\n" + old, 1, 0, 7, 0, 0, 1},
		"two places far away": {"a\n" + old + "b\n", "c\n" + old + "d\n", 2, 2, 10, 0, 2, 2},
		"giant line":          {long, "y" + long, 1, 1, 2, 0, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := Diff(c.old, c.new)
			lines, bytes, before, after := 0, 0, 0, 0
			for _, h := range p.Hunks {
				for _, l := range h.Lines {
					bytes += len(l)
					switch l[0] {
					case '\\':
						continue
					case '-':
						before++
					case '+':
						after++
					}
					lines++
				}
			}
			got := fmt.Sprint(p.Added, p.Removed, lines, p.LeftOut, before, after)
			if want := fmt.Sprint(c.added, c.removed, c.lines, c.leftOut, c.before, c.after); got != want {
				t.Errorf("added, removed, lines, left out, before, after: %s, want %s", got, want)
			}
			if bytes > maxPatchBytes {
				t.Errorf("%d bytes", bytes)
			}
		})
	}
}

// What an edit of a large file allocates, beside the file itself: the new content once, and little more
// for the patch and what the model is shown.
func TestKF176_MemoryOfALargeEdit(t *testing.T) {
	raw := []byte(numbered(500_000, "a line of a large file %d\n"))
	for name, edit := range map[string]func(Text) (Text, error){
		"every line": func(t Text) (Text, error) { next, _, err := t.Replace("line", "new line"); return next, err },
		"one place":  func(t Text) (Text, error) { return t.Splice(Edit{1 << 20, 1<<20 + 1, "x\ny"}) },
	} {
		t.Run(name, func(t *testing.T) {
			got := testing.Benchmark(func(b *testing.B) {
				for b.Loop() {
					text, err := Decode(raw)
					if err != nil {
						b.Fatal(err)
					}
					next, err := edit(text)
					if err != nil {
						b.Fatal(err)
					}
					if p := Diff(text.View(), next.View()); p.Added == 0 || Changes(text.View(), next.View(), 40) == "" {
						b.Fatal("nothing changed")
					}
				}
			})
			if ratio := float64(got.AllocedBytesPerOp()) / float64(len(raw)); ratio > 2 {
				t.Errorf("an edit allocates %.2f times the file beside it", ratio)
			} else {
				t.Logf("%.2f times the file, %v a MB", ratio, got.T/1/10)
			}
		})
	}
}
