package textfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/japanese"
)

func mustDecode(t *testing.T, raw []byte) Text {
	t.Helper()
	text, err := Decode(raw)
	if err != nil {
		t.Fatalf("Decode(%q): %v", raw, err)
	}
	return text
}

func utf16Bytes(s string, enc Encoding, bom bool) []byte {
	var out []byte
	c := enc.codec()
	if bom {
		out, _ = c.put(out, 0xFEFF)
	}
	for _, r := range s {
		out, _ = c.put(out, r)
	}
	return out
}

func shiftJISBytes(t *testing.T, s string) []byte {
	t.Helper()
	out, err := japanese.ShiftJIS.NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecodeFindsTheEncoding(t *testing.T) {
	const text = "Grüße, x = 1\nzweite Zeile\n"
	cases := []struct {
		name string
		raw  []byte
		enc  Encoding
		bom  bool
		ends LineEnds
		view string
	}{
		{"empty", nil, UTF8, false, NoLineEnds, ""},
		{"ascii", []byte("a"), UTF8, false, NoLineEnds, "a"},
		{"utf-8", []byte(text), UTF8, false, LF, text},
		{"utf-8 with mark", []byte("\xEF\xBB\xBF" + text), UTF8, true, LF, text},
		{"utf-16le with mark", utf16Bytes(text, UTF16LE, true), UTF16LE, true, LF, text},
		{"utf-16be with mark", utf16Bytes(text, UTF16BE, true), UTF16BE, true, LF, text},
		{"utf-16le", utf16Bytes(text, UTF16LE, false), UTF16LE, false, LF, text},
		{"utf-16be", utf16Bytes(text, UTF16BE, false), UTF16BE, false, LF, text},
		{"latin-1", []byte("// caf\xE9 note\n"), Windows1252, false, LF, "// café note\n"},
		{"windows-1252", []byte("\xA9 \x80 \x93x\x94 \x81\r\n"), Windows1252, false, CRLF, "© € “x” \u0081\n"},
		{"german latin-1", []byte("\xDCbergr\xF6\xDFe \xC4\xD6\xDC"), Windows1252, false, NoLineEnds, "Übergröße ÄÖÜ"},
		{"shift_jis", shiftJISBytes(t, "// これはテストです\n日本語\n"), ShiftJIS, false, LF, "// これはテストです\n日本語\n"},
		{"shift_jis kanji only", shiftJISBytes(t, "x 日本語 y\n"), ShiftJIS, false, LF, "x 日本語 y\n"},
		{"utf-8 with a stray byte", []byte("äöü 日本 \xE9 ok"), UTF8Stray, false, NoLineEnds, "äöü 日本 é ok"},
		{"cr", []byte("a\rb\r"), UTF8, false, CR, "a\nb\n"},
		{"mixed", []byte("a\r\nb\nc\rd"), UTF8, false, Mixed, "a\nb\nc\rd"},
		{"cr cr lf", []byte("a\r\r\nb\r\n"), UTF8, false, CRLF, "a\r\nb\n"},
		{"text that begins like a program", []byte("MZ caf\xE9"), Windows1252, false, NoLineEnds, "MZ café"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := mustDecode(t, c.raw)
			if got.Encoding() != c.enc || got.BOM() != c.bom || got.LineEnds() != c.ends || got.View() != c.view {
				t.Errorf("got %v bom=%v %v %q, want %v bom=%v %v %q", got.Encoding(), got.BOM(), got.LineEnds(), got.View(), c.enc, c.bom, c.ends, c.view)
			}
		})
	}
}

func TestDecodeRefusesWhatIsNoText(t *testing.T) {
	cases := map[string]string{
		"\x89PNG\r\n\x1a\n\x00\x00":                    "PNG image",
		"\x7fELF\x02\x01\x01\x00\x00":                  "ELF program or library",
		"\x1f\x8b\x08\xff\xfe":                         "gzip data",
		"%PDF-1.7\n%\xE2\xE3\xCF\xD3":                  "PDF document",
		"abc\x00def":                                   "binary data",
		"\x01\x02\x03\xff\x04\x05":                     "binary data",
		"\xFF\xFE\x00\x00a\x00\x00\x00":                "UTF-32 text",
		"RIFF\x00\x00\x00\x00WEBPVP8 ":                 "WebP image",
		"\x00\x00\x00\x18ftypmp42":                     "MP4 audio or video",
		strings.Repeat("\x00", 4096):                   "binary data",
		"SQLite format 3\x00" + strings.Repeat("x", 9): "SQLite database",
	}
	for raw, kind := range cases {
		_, err := Decode([]byte(raw))
		var b *BinaryError
		if !errors.As(err, &b) || b.Kind != kind {
			t.Errorf("Decode(%.20q) = %v, want %s", raw, err, kind)
		}
	}
}

// replaceOne replaces the only occurrence of old.
func replaceOne(t *testing.T, text Text, old, with string) (Text, error) {
	t.Helper()
	at, n := text.Find(old)
	if len(at) != 1 {
		t.Fatalf("found %q %d times in %q", old, len(at), text.View())
	}
	return text.Splice(Edit{at[0], at[0] + n, with})
}

func TestKF015_BytesThatAreNotUTF8(t *testing.T) {
	cases := []struct{ name, raw, old, with, want string }{
		{"latin-1", "const x = 1;\n// caf\xE9 note\n", "x = 1", "x = 2", "const x = 2;\n// caf\xE9 note\n"},
		{"latin-1, span over the byte", "a caf\xE9 b\n", "a café b", "a café c", "a caf\xE9 c\n"},
		{"cp1252", "\xA9 2020 \x96 x = 1\n", "x = 1", "x = 2", "\xA9 2020 \x96 x = 2\n"},
		{"cp1252, new text it has", "x \x80\n", "x", "©", "\xA9 \x80\n"},
		{"stray byte in utf-8", "é日本 \xE9 x\n", "x", "é", "é日本 \xE9 é\n"},
		{"truncated utf-8", "日本語 x\xE6\x97", "x", "y", "日本語 y\xE6\x97"},
		{"utf-16le", string(utf16Bytes("é x = 1\r\n", UTF16LE, true)), "x = 1", "x = 𝄞", string(utf16Bytes("é x = 𝄞\r\n", UTF16LE, true))},
		{"utf-16be, bare", string(utf16Bytes("a é x = 1\n", UTF16BE, false)), "x = 1", "x = 2", string(utf16Bytes("a é x = 2\n", UTF16BE, false))},
		{"utf-16 with half a surrogate", "\xFF\xFEx\x00\x00\xD8y\x00", "x", "z", "\xFF\xFEz\x00\x00\xD8y\x00"},
		{"utf-16 with an odd byte", "\xFF\xFEx\x00y", "x", "z", "\xFF\xFEz\x00y"},
		{"shift_jis", string(shiftJISBytes(t, "これはx = 1です\n")), "x = 1", "x = 表", string(shiftJISBytes(t, "これはx = 表です\n"))},
		{"shift_jis, backslash as second byte", string(shiftJISBytes(t, "ソース表\\n\n")), "\\n", "\\t", string(shiftJISBytes(t, "ソース表\\t\n"))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := replaceOne(t, mustDecode(t, []byte(c.raw)), c.old, c.with)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Raw()) != c.want {
				t.Errorf("got  %q\nwant %q", got.Raw(), c.want)
			}
		})
	}
}

func TestKF015_RefusesWhatTheEncodingCannotHold(t *testing.T) {
	for name, c := range map[string]struct{ raw, with string }{
		"latin-1":          {"caf\xE9 x\n", "日"},
		"shift_jis":        {string(shiftJISBytes(t, "これはx\n")), "é"},
		"shift_jis, emoji": {string(shiftJISBytes(t, "これはx\n")), "🙂"},
	} {
		_, err := replaceOne(t, mustDecode(t, []byte(c.raw)), "x", c.with)
		var e *CharError
		if !errors.As(err, &e) || string(e.Char) != c.with {
			t.Errorf("%s: got %v, want a CharError of %s", name, err, c.with)
		}
	}
	_, err := replaceOne(t, mustDecode(t, []byte("abc")), "b", "\uFFFD")
	if !errors.Is(err, ErrReplacement) {
		t.Errorf("U+FFFD: got %v", err)
	}
	if _, err := FromString("a\xff"); !errors.Is(err, ErrReplacement) {
		t.Errorf("invalid UTF-8 in a new file: got %v", err)
	}
	kept, err := replaceOne(t, mustDecode(t, []byte("a \uFFFD b")), "a \uFFFD b", "a \uFFFD c")
	if err != nil || string(kept.Raw()) != "a \uFFFD c" {
		t.Errorf("a U+FFFD that was in the file: got %q, %v", kept.Raw(), err)
	}
}

func TestKF016_BOMStaysWhereItWas(t *testing.T) {
	for name, raw := range map[string][]byte{
		"utf-8":    []byte("\xEF\xBB\xBFä x\n"),
		"utf-16le": utf16Bytes("ä x\n", UTF16LE, true),
		"utf-16be": utf16Bytes("ä x\n", UTF16BE, true),
		"no mark":  []byte("ä x\n"),
	} {
		text := mustDecode(t, raw)
		edited, err := replaceOne(t, text, "ä", "ö")
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"neu ü\n", "\uFEFFneu ü\n", ""} {
			whole, err := edited.Rewrite(content)
			if err != nil {
				t.Fatal(err)
			}
			head := text.Raw()[:text.bomLen()]
			if !bytes.HasPrefix(whole.Raw(), head) || strings.ContainsRune(whole.View(), 0xFEFF) {
				t.Errorf("%s: Rewrite(%q) = %q", name, content, whole.Raw())
			}
			if want := strings.TrimPrefix(content, "\uFEFF"); whole.View() != want {
				t.Errorf("%s: view %q, want %q", name, whole.View(), want)
			}
		}
	}
}

func TestKF017_LineEndsStay(t *testing.T) {
	cases := []struct{ name, raw, old, with, want string }{
		{"two lines", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n"},
		{"search text with CRLF", "a\r\nb\r\n", "a\r\nb", "a\r\ny", "a\r\ny\r\n"},
		{"search text with CRLF in an LF file", "a\nb\n", "a\r\nb", "a\nc", "a\nc\n"},
		{"mixed: the neighbours decide, crlf", "a\r\nb\nc\n", "a", "a\nx", "a\r\nx\r\nb\nc\n"},
		{"mixed: the neighbours decide, lf", "a\r\nb\nc\n", "b", "b\nx", "a\r\nb\nx\nc\n"},
		{"mixed: unchanged lines keep theirs", "a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "A\nb\nc\nD", "A\r\nb\nc\r\nD\n"},
		{"cr", "a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc"},
		{"cr before crlf is text", "a\r\r\nb\r\n", "b", "c", "a\r\r\nc\r\n"},
		{"utf-16", string(utf16Bytes("a\r\nb\r\n", UTF16LE, true)), "a\nb", "a\nx\nb", string(utf16Bytes("a\r\nx\r\nb\r\n", UTF16LE, true))},
		{"literal CRLF in an LF file", "a\nb\n", "b", "\"\r\n\"", "a\n\"\r\n\"\n"},
		{"latin-1", "\xE9\r\nb\r\n", "é\nb", "é\n\nb", "\xE9\r\n\r\nb\r\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := replaceOne(t, mustDecode(t, []byte(c.raw)), c.old, c.with)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Raw()) != c.want {
				t.Errorf("got  %q\nwant %q", got.Raw(), c.want)
			}
		})
	}
	t.Run("whole file", func(t *testing.T) {
		got, err := mustDecode(t, []byte("a\r\nb\r\nc\r\n")).Rewrite("a\nB\nB2\nc\n")
		if err != nil || string(got.Raw()) != "a\r\nB\r\nB2\r\nc\r\n" {
			t.Errorf("got %q, %v", got.Raw(), err)
		}
		want := []Hunk{{1, 3, 1, 4, []string{" a", "-b", "+B", "+B2", " c"}}}
		if d := cmp.Diff(want, Diff("a\nb\nc\n", got.View()).Hunks); d != "" {
			t.Error(d)
		}
	})
}

func TestSpliceRefusesBadSpans(t *testing.T) {
	text := mustDecode(t, []byte("aé日\r\n"))
	for _, edits := range [][]Edit{{{2, 3, "x"}}, {{-1, 0, "x"}}, {{3, 1, ""}}, {{0, 99, ""}}, {{0, 3, "x"}, {1, 3, "y"}}} {
		if got, err := text.Splice(edits...); err == nil {
			t.Errorf("Splice(%v) = %q, want an error", edits, got.Raw())
		}
	}
}

func TestFind(t *testing.T) {
	text := mustDecode(t, []byte("ab ab abab\r\nab"))
	at, n := text.Find("ab")
	if d := cmp.Diff([]int{0, 3, 6, 8, 11}, at); d != "" || n != 2 {
		t.Errorf("%s (length %d)", d, n)
	}
	if at, _ := text.Find(""); at != nil {
		t.Errorf("the empty text is found at %v", at)
	}
}

func TestDiff(t *testing.T) {
	cases := []struct {
		name, old, new string
		want           []Hunk
	}{
		{"same", "a\n", "a\n", []Hunk{}},
		{"new file", "", "a\nb\n", []Hunk{{0, 0, 1, 2, []string{"+a", "+b"}}}},
		{"emptied", "a\n", "", []Hunk{{1, 1, 0, 0, []string{"-a"}}}},
		{"no end of line", "a\nb", "a\nc", []Hunk{{1, 2, 1, 2, []string{" a", "-b", `\ No newline at end of file`, "+c", `\ No newline at end of file`}}}},
		{"two places", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\n4\n5\n6\n7\n8\ny\n", []Hunk{
			{1, 4, 1, 4, []string{"-1", "+x", " 2", " 3", " 4"}},
			{6, 4, 6, 4, []string{" 6", " 7", " 8", "-9", "+y"}},
		}},
	}
	for _, c := range cases {
		if d := cmp.Diff(c.want, Diff(c.old, c.new).Hunks); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if p := Diff("a\nb\nc\n", "a\nx\ny\nc\n"); p.Added != 2 || p.Removed != 1 || p.LeftOut != 0 {
		t.Errorf("Diff = %+v, want +2 -1", p)
	}
}

func TestNumberedAndChanges(t *testing.T) {
	if got, want := Numbered("a\nb\nc\nd", 2, 3), "2\tb\n3\tc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := Changes("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "1\nX\n3\n4\n5\n6\n7\n8\n9\nY\n", 100)
	want := "1\t1\n2\tX\n3\t3\n4\t4\n5\t5\n...\n7\t7\n8\t8\n9\t9\n10\tY"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLines(t *testing.T) {
	for view, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2} {
		if got := CountLines(view); got != want {
			t.Errorf("CountLines(%q) = %d, want %d", view, got, want)
		}
	}
}
