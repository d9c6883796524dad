package textfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// kinds are the encodings with characters they have.
var kinds = []struct {
	enc   Encoding
	bom   bool
	chars []rune
}{
	{UTF8, false, []rune("ab \t$éß日🙂\u0301")},
	{UTF8, true, []rune("ab \t$éß日🙂\u0301")},
	{UTF16LE, true, []rune("ab \t$éß日🙂\u0301")},
	{UTF16BE, true, []rune("ab \t$éß日🙂\u0301")},
	{UTF16LE, false, []rune("ab \t$é日")},
	{Windows1252, false, []rune("ab \t$éß©€“\u0081ÿ")},
	{ShiftJIS, false, []rune("ab \t\\表ソ日本かな。ｱ")},
	{GB18030, false, []rune("ab \t中文编码€，é🙂")},
	{EUCKR, false, []rune("ab \t한국어")},
	{EUCJP, false, []rune("ab \t日本かなｱ")},
	{Big5, false, []rune("ab \t中文編碼許功蓋")},
}

// sample draws a file of one kind: its bytes, and its characters with their place in the bytes.
func sample(t *rapid.T) (Text, []rune) {
	k := rapid.SampledFrom(kinds).Draw(t, "kind")
	ends := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n"}}).Draw(t, "ends")
	var raw []byte
	c := k.enc.codec()
	if k.bom {
		switch k.enc {
		case UTF8:
			raw = bytes.Clone(bomUTF8)
		default:
			raw, _ = c.put(raw, 0xFEFF)
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "characters") {
		if rapid.IntRange(0, 4).Draw(t, "end?") == 0 {
			for _, r := range rapid.SampledFrom(ends).Draw(t, "end") {
				raw, _ = c.put(raw, r)
			}
			continue
		}
		raw, _ = c.put(raw, rapid.SampledFrom(k.chars).Draw(t, "character"))
	}
	return decodeAs(raw, k.enc, k.bom), k.chars
}

// boundaries are the offsets between characters of a view.
func boundaries(view string) []int {
	var out []int
	for i := range view {
		out = append(out, i)
	}
	return append(out, len(view))
}

// rawOffsets are the places in the bytes of ascending places in the view.
func rawOffsets(text Text, view ...int) ([]int, error) {
	at := cursor{raw: text.bomLen()}
	var out []int
	for _, v := range view {
		if err := text.move(text.enc.codec(), &at, v); err != nil {
			return nil, err
		}
		out = append(out, at.raw)
	}
	return out, nil
}

func TestPropertyOnlyTheSpanChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, chars := sample(t)
		view := text.View()
		at := boundaries(view)
		i := rapid.IntRange(0, len(at)-1).Draw(t, "start")
		j := rapid.IntRange(i, len(at)-1).Draw(t, "end")
		with := rapid.StringOfN(rapid.SampledFrom(append(chars, '\n')), 0, 10, -1).Draw(t, "new")
		got, err := text.Splice(Edit{at[i], at[j], with})
		if err != nil {
			t.Fatal(err)
		}
		span, err := rawOffsets(text, at[i], at[j])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(got.Raw(), text.Raw()[:span[0]]) || !bytes.HasSuffix(got.Raw(), text.Raw()[span[1]:]) {
			t.Fatalf("bytes outside [%d, %d) changed:\n%q\n%q", span[0], span[1], text.Raw(), got.Raw())
		}
		if want := view[:at[i]] + with + view[at[j]:]; got.View() != want {
			t.Fatalf("view %q, want %q (bytes %q)", got.View(), want, got.Raw())
		}
		if text.LineEnds() == CRLF && strings.Count(string(got.Raw()), "\n") > 0 && got.LineEnds() != CRLF {
			t.Fatalf("a CRLF file became %v: %q", got.LineEnds(), got.Raw())
		}
	})
}

func TestPropertyRewriteKeepsWhatIsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, chars := sample(t)
		same, err := text.Rewrite(text.View())
		if err != nil || !bytes.Equal(same.Raw(), text.Raw()) {
			t.Fatalf("Rewrite with the same text: %q became %q, %v", text.Raw(), same.Raw(), err)
		}
		view := rapid.StringOfN(rapid.SampledFrom(append(chars, '\n')), 0, 40, -1).Draw(t, "view")
		got, err := text.Rewrite(view)
		if err != nil {
			t.Fatal(err)
		}
		if got.View() != view || got.Encoding() != text.Encoding() || got.BOM() != text.BOM() {
			t.Fatalf("got %q in %v, want %q in %v", got.View(), got.Encoding(), view, text.Encoding())
		}
	})
}

func TestPropertySeveralEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _ := sample(t)
		at := boundaries(text.View())
		want, from := "", 0
		var edits []Edit
		for k := 0; k < len(at); k += rapid.IntRange(1, 6).Draw(t, "gap") {
			end := rapid.IntRange(k, min(k+3, len(at)-1)).Draw(t, "end")
			edits = append(edits, Edit{at[k], at[end], "<$1>"})
			want += text.View()[from:at[k]] + "<$1>"
			from, k = at[end], end
		}
		want += text.View()[from:]
		got, err := text.Splice(edits...)
		if err != nil || got.View() != want {
			t.Fatalf("got %q, want %q (%v)", got.View(), want, err)
		}
	})
}

// Replacing every occurrence at once is the same as an edit at each.
func TestPropertyReplaceIsSplice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, chars := sample(t)
		at := boundaries(text.View())
		i := rapid.IntRange(0, len(at)-1).Draw(t, "start")
		j := rapid.IntRange(i, min(i+3, len(at)-1)).Draw(t, "end")
		old := text.View()[at[i]:at[j]]
		with := rapid.StringOfN(rapid.SampledFrom(append(chars, '\n')), 0, 6, -1).Draw(t, "new")
		var edits []Edit
		places, length := text.Find(old)
		for _, p := range places {
			edits = append(edits, Edit{p, p + length, with})
		}
		want, err := text.Splice(edits...)
		if err != nil {
			t.Fatal(err)
		}
		got, n, err := text.Replace(old, with)
		if err != nil || n != len(places) || !bytes.Equal(got.Raw(), want.Raw()) {
			t.Fatalf("%d places, %v: got %q, want %q", n, err, got.Raw(), want.Raw())
		}
	})
}

// The reader of pages must show of any file what the whole text has.
func TestPropertyPagesAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, _ := sample(t)
		if text.LineEnds() == CR && (text.enc == UTF16LE || text.enc == UTF16BE) {
			return // judged from the whole file alone
		}
		want := Want{
			First: rapid.IntRange(1, 5).Draw(t, "first"), Count: rapid.IntRange(1, 5).Draw(t, "count"), Width: 4,
			Column: rapid.IntRange(1, 6).Draw(t, "column"),
		}.withDefaults()
		whole := PageOf(text, want)
		p := &pager{want: want, cr: text.LineEnds() == CR}
		p.page = Page{First: want.First, Encoding: text.enc, Guessed: text.Guessed()}
		c := text.enc.codec()
		rest := text.raw[text.bomLen():]
		var data []byte
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			data = append(data, rest[:n]...)
			rest = rest[n:]
			data = data[p.feed(c, text.enc, data):]
		}
		p.finish(c, data)
		if fmt.Sprint(p.page) != fmt.Sprint(whole) {
			t.Fatalf("streamed %+v\nwhole    %+v\nof %q", p.page, whole, text.raw)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "caf\xE9", "\xFF\xFEa\x00", "\xEF\xBB\xBFx\xC3", "\x83\x5C\x82\xA0\n", "a\x00b\x00", "\r\r\n\r", "日本\xE9"} {
		f.Add([]byte(s), 1, 3, "n\nü")
	}
	f.Fuzz(func(t *testing.T, raw []byte, from, to int, with string) {
		text, err := Decode(raw)
		if err != nil {
			return
		}
		if !utf8.ValidString(text.View()) {
			t.Fatalf("view is not UTF-8: %q", text.View())
		}
		same, err := text.Rewrite(text.View())
		if err == nil && !bytes.Equal(same.Raw(), raw) && !strings.HasPrefix(text.View(), "\uFEFF") {
			t.Fatalf("rewriting with the same text changed %q to %q", raw, same.Raw())
		}
		if from < 0 || to < from || to > len(text.View()) {
			return
		}
		span, err := rawOffsets(text, from, to)
		if err != nil {
			return
		}
		got, err := text.Splice(Edit{from, to, with})
		if err != nil {
			return
		}
		if !bytes.HasPrefix(got.Raw(), raw[:span[0]]) || !bytes.HasSuffix(got.Raw(), raw[span[1]:]) {
			t.Fatalf("bytes outside the span changed: %q to %q", raw, got.Raw())
		}
		if text.Encoding() == UTF8 && !utf8.Valid(got.Raw()) {
			t.Fatalf("a UTF-8 file became invalid: %q", got.Raw())
		}
	})
}
