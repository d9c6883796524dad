package textfile

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

func TestKF137_EastAsianFilesAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Encoding
	}{
		{"gbk", "中文编码的文件\n第二行，有标点。\n", GB18030},
		{"gbk", "// 注释: 打开文件\nfunc main() {}\n", GB18030},
		{"gb18030", "这是一个测试文件，用来检查编码。\n", GB18030},
		{"euc-kr", "한국어로 쓴 문서입니다.\n", EUCKR},
		{"euc-jp", "日本語のページです。これはテスト。\n", EUCJP},
		{"shift_jis", "日本語のページです。これはテスト。\n", ShiftJIS},
		{"big5", "這是一個測試文件，用來檢查編碼。\n許功蓋\n", Big5},
		{"windows-1252", "Überraschung: das Café hält “geöffnet” — naïve\n", Windows1252},
	} {
		e, err := htmlindex.Get(c.name)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := e.NewEncoder().Bytes([]byte(c.text))
		if err != nil {
			t.Fatal(c.name, err)
		}
		text, err := Decode(raw)
		if err != nil || text.Encoding() != c.want || text.View() != c.text || !text.Guessed() {
			t.Errorf("%s: %v (guessed %v): %q, want %q (%v)", c.name, text.Encoding(), text.Guessed(), text.View(), c.text, err)
		}
	}
}

// Western and Cyrillic text is not taken for East Asian.
func TestKF137_OtherTextIsNotEastAsian(t *testing.T) {
	for name, text := range map[string]string{
		"russian": "Привет, это обычный русский текст из нескольких слов.", "german": "Äpfel, Öl und Übermut für größere Bäume",
		"french": "L'été, où les élèves goûtèrent à la forêt", "greek": "Ελληνικά γράμματα σε ένα κείμενο",
	} {
		for _, m := range []*charmap.Charmap{charmap.Windows1251, charmap.KOI8R, charmap.Windows1252, charmap.ISO8859_7, charmap.CodePage866} {
			raw, err := m.NewEncoder().String(strings.Repeat(text+"\n", 3))
			if err != nil {
				continue
			}
			if got, err := Decode([]byte(raw)); err != nil || got.Encoding() != Windows1252 {
				t.Errorf("%s in %v: seen as %v, %v", name, m, got.Encoding(), err)
			}
		}
	}
}
