package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

func TestMarkdown(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"prose":        {"some *words* and **more** `code` ~~gone~~", "some *words* and **more** `code` ~~gone~~"},
		"soft break":   {"a\nb", "a b"},
		"hard break":   {"a  \nb", "a\nb"},
		"headings":     {"# One\n## Two", "# One\n\n## Two"},
		"list":         {"- a\n- b\n  - c\n- d", "- a\n- b\n  - c\n- d"},
		"loose list":   {"- a\n\n- b", "- a\n\n- b"},
		"ordered":      {"7. a\n8. b", "7. a\n8. b"},
		"tasks":        {"- [x] a\n- [ ] b", "- [x] a\n- [ ] b"},
		"quote":        {"> a\n> b", "> a b"},
		"rule":         {"a\n\n---\n\nb", "a\n\n---\n\nb"},
		"code":         {"```go\nx :=  1\n\n\ty\n```", "go\nx :=  1\n\n\ty"},
		"indented":     {"    x = 1\n      y", "x = 1\n  y"},
		"link":         {"[text](http://x.y) <http://z> [http://w](http://w)", "text (http://x.y) http://z http://w"},
		"image":        {"![a cat](c.png)", "[image: a cat] (c.png)"},
		"html":         {"<b>x</b>", "<b>x</b>"},
		"html block":   {"<div>\nx\n</div>", "<div>\nx\n</div>"},
		"table":        {"| a | b |\n|--:|:-:|\n| 1 | long |\n| 200 | x |", "  a |  b\n----+-----\n  1 | long\n200 |  x"},
		"escaped":      {`a \* b &amp; c`, "a * b & c"},
		"code in list": {"1. do\n   ```sh\n   ls\n   ```\n2. done", "1. do\n   sh\n   ls\n2. done"},
		"hostile":      {"a\x1b[2Jb\u202ec `\x07`", `a\x1B[2Jb\u202Ec ` + "`" + `\x07` + "`"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(markdown(tc.in, 60, Style{}), "\n"); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestMarkdownWrapsProseButNotCode(t *testing.T) {
	in := "A paragraph with words that go on and on for a while.\n\n```\na line of code that is longer than the window is wide\n```\n\n- an item that is long enough to be wrapped as well\n"
	want := "A paragraph with\nwords that go on and\non for a while.\n\na line of code that is longer than the window is wide\n\n• an item that is\n  long enough to be\n  wrapped as well"
	if got := strings.Join(markdown(in, 20, Style{Signs: true}), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestATableTooWideBecomesAList(t *testing.T) {
	in := "| name | what it does |\n|---|---|\n| a | something long to say |\n| b | more |"
	want := "name: a\nwhat it does:\nsomething long to\nsay\n\nname: b\nwhat it does: more"
	if got := strings.Join(markdown(in, 18, Style{}), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestStylesOpenAtABreakAreClosedAndOpenedAnew(t *testing.T) {
	for _, l := range markdown("**bold words that wrap** and `code that wraps too`", 12, Style{Attributes: true, Color: true}) {
		if strings.Contains(l, "\x1b") && !strings.HasSuffix(l, "m") {
			t.Errorf("%q does not end its styles", l)
		}
		if ansi.StringWidth(l) > 12 {
			t.Errorf("%q is too wide", l)
		}
	}
}

func TestABlockThatWouldHoldUpTheKeyboardIsShownAsWritten(t *testing.T) {
	in := strings.Repeat("![a](", 20000)
	began := time.Now()
	got := markdown(in, 100, Style{})
	if strings.Join(got, "") != in {
		t.Errorf("got %d lines, first %q", len(got), got[0])
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// genMarkdown draws text of the kinds of lines Markdown is made of.
func genMarkdown() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{
		"", "", "plain words", "# head", "- item", "  - inner", "1. one", "> quote", "```", "```go", "~~~", "    indented", "| a | b |", "|---|---|",
		"| 1 | 2 |", "---", "**bold", "end**", "`code`", "<div>", "[l](u)", "  more of the item", "\ttab", "漢字 🇩🇪 e\u0301", "* x", "text\\", "***", "\x1b[2J",
	})
	return rapid.Map(rapid.SliceOfN(line, 0, 30), func(l []string) string { return strings.Join(l, "\n") })
}

// streamed renders text that comes in the given pieces.
func streamedLines(pieces []string, cells int) []string {
	s := MarkdownStream{}
	var out []string
	for _, p := range pieces {
		out = append(out, s.Add(p, cells)...)
	}
	return append(out, s.End(cells)...)
}

func TestTheStreamDependsOnTheTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genMarkdown().Draw(t, "text")
		want := streamedLines([]string{text}, 30)
		rest, pieces := text, []string{}
		for rest != "" {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := streamedLines(pieces, 30); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("in pieces %q\ngot  %q\nwant %q", pieces, got, want)
		}
	})
}

func TestTheStreamLosesNoWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genMarkdown().Draw(t, "text")
		got := strings.Join(streamedLines([]string{text}, 40), " ")
		for _, word := range []string{"plain", "item", "inner", "indented", "head", "quote", "more", "of", "the"} {
			if strings.Count(text, word) > strings.Count(got, word) {
				t.Fatalf("%q is lost\ntext %q\ngot  %q", word, text, got)
			}
		}
	})
}

func TestTheStreamRendersAsTheWholeDoes(t *testing.T) {
	for _, text := range []string{
		"# Title\n\nA paragraph\nof two lines.\n\n- a\n- b\n- c\n\n1. x\n2. y\n\n> quoted\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n",
		"1. first\n\n   ```sh\n   ls\n\n   pwd\n   ```\n\n2. second\n\nafter\n",
		"text\n```go\ncode\n\nmore\n```\nafter\n",
	} {
		want := strings.Join(markdown(text, 60, Style{}), "\n")
		if got := strings.Join(streamedLines(strings.SplitAfter(text, ""), 60), "\n"); got != want {
			t.Errorf("streamed\n%s\nwhole\n%s", got, want)
		}
	}
}

func TestFinishedBlocksComeAtOnce(t *testing.T) {
	s := MarkdownStream{}
	for _, step := range []struct{ add, want string }{
		{"para", ""},
		{"graph\n", ""},
		{"\n", "paragraph"},
		{"```go\n", "|go"},
		{"a\nb", "a"},
		{"\n", "b"},
		{"```\n", ""},
		{"- x\n", ""},
		{"\n", ""},
		{"next\n", "|- x"},
		{"\n", "|next"},
	} {
		if got := strings.Join(s.Add(step.add, 60), "|"); got != step.want {
			t.Errorf("after %q: got %q, want %q", step.add, got, step.want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n\n- b\n  - c\n\n```go\nx\n```\n| a |\n|---|\n| 1 |\n", 20)
	f.Add("> > - [x] **a\x1b[31m**\n", 1)
	f.Fuzz(func(t *testing.T, text string, cells int) {
		cells = 1 + (cells&0x7fffffff)%200
		for _, l := range streamedLines([]string{text}, cells) {
			if strings.ContainsAny(l, "\x1b\r\x07\u202e") || !utf8.ValidString(l) || strings.Contains(l, "\n") {
				t.Errorf("unsafe line %q", l)
			}
		}
	})
}

func TestKF099_WidthsAndScripts(t *testing.T) {
	text := "漢字かな交じり文 e\u0301e\u0301 👩‍👩‍👧‍👦 🇩🇪🇫🇷 a\u202fb שלום\tx \xff end"
	for cells := 1; cells <= 200; cells++ {
		for _, l := range Wrap(visible.Text(text), cells) {
			if w := ansi.StringWidth(l); w > max(cells, 2) {
				t.Fatalf("width %d: %q takes %d", cells, l, w)
			}
		}
		_ = markdown("| "+text+" | b |\n|---|---|\n| 1 | "+text+" |", cells, Style{Signs: true, Attributes: true, Color: true})
		var e Editor
		e.Insert(text)
		rows, places := e.layout(cells)
		for i, r := range rows {
			if w := Width(r); w > max(cells, 1) {
				t.Fatalf("width %d: row %d %q takes %d", cells, i, r, w)
			}
		}
		for i, p := range places {
			if p.col < 0 || p.row >= len(rows) || p.col > max(cells, 1) {
				t.Fatalf("width %d: cell %d at %+v", cells, i, p)
			}
		}
	}
}

func TestOutputOfCommands(t *testing.T) {
	in := "\x1b[32mgreen\x1b[0m\r\n10%\r50%\r100%\nbad \x1b[2J\n\n"
	want := "green|100%|bad \\x1B[2J"
	if got := strings.Join(OutputLines(in), "|"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkMarkdown8kB(b *testing.B) {
	para := "Some *words* of an answer with `code` and **more** words, as they come. "
	text := strings.Repeat(strings.Repeat(para, 6)+"\n\n- item one\n- item two\n\n", 16)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		markdown(text, 80, Style{Attributes: true, Color: true, Signs: true})
	}
}

// An item comes when the next one begins, whatever list it is in, and its number is that of its place.
func TestKF168_ItemsComeOneByOne(t *testing.T) {
	s := MarkdownStream{}
	for i := 1; i <= 40; i++ {
		var got []string
		for _, piece := range []string{"1. ", "item ", fmt.Sprint(i), "\n"} {
			got = append(got, s.Add(piece, 60)...)
		}
		if want := fmt.Sprintf("%d. item %d", i-1, i-1); i > 1 && strings.Join(got, "|") != want {
			t.Fatalf("at item %d: %q, want %q", i, got, want)
		}
	}
	if got := strings.Join(s.End(60), "|"); got != "40. item 40" {
		t.Errorf("at the end %q", got)
	}
	for _, text := range []string{
		"- a\n  - b\n    more\n- c\n\n  text\n\n- d\n", "* a\n+ b\n", "- a\n\n  ```\n  - x\n  ```\n- b\n", "- a\nlazy\n- b\n", "- a\n---\n- b\n", "9. a\n9. b\n9. c\n",
	} {
		want := streamedLines([]string{text}, 60)
		if got := streamedLines(strings.SplitAfter(text, ""), 60); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q: by letters %q, at once %q", text, got, want)
		}
	}
}

// What a piece of an answer costs does not grow with the line it is in.
func TestKF178_APieceCostsTheSameInALongLine(t *testing.T) {
	cost := func(words int) float64 {
		s := MarkdownStream{}
		s.Add(strings.Repeat("words and words ", words), 80)
		s.begun = slices.Grow(s.begun, 1<<20) // what is measured is not the growing
		return testing.AllocsPerRun(200, func() {
			s.Add("word ", 80)
			_ = s.Tail(400)
		})
	}
	if short, long := cost(10), cost(20_000); long > short+1 {
		t.Errorf("%.1f allocations a piece in a short line, %.1f in a long one", short, long)
	}
	s := MarkdownStream{}
	s.Add(strings.Repeat("words and words ", 20_000), 80)
	if s.rest != "" {
		t.Error("a line without an end is looked through at every piece")
	}
}

func BenchmarkStreamDelta(b *testing.B) {
	s := MarkdownStream{}
	s.Add(strings.Repeat("words and words ", 6000), 80) // an open paragraph of 100 kB
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s.Add(fmt.Sprint("word ", n%10, " "), 80)
		_ = s.Tail(400)
		n++
	}
}
