package webfetch

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// A page in any encoding of the web is read by the name in its header and by the one in itself.
func TestKF137_EncodingsOfTheWeb(t *testing.T) {
	for name, want := range map[string]string{
		"gbk": "中文编码", "gb2312": "中文编码", "gb18030": "中文编码€", "big5": "中文編碼", "shift_jis": "日本語のページ",
		"euc-jp": "日本語のページ", "iso-2022-jp": "日本語のページ", "euc-kr": "한국어", "windows-1250": "žluťoučký", "windows-1251": "Привет",
		"koi8-r": "Привет", "koi8-u": "Їжак", "iso-8859-2": "žluť", "iso-8859-7": "Ελληνικά", "windows-1255": "שלום", "windows-1256": "مرحبا",
		"windows-874": "ไทย", "ibm866": "Привет", "macintosh": "café", "x-sjis": "表示", "latin1": "café", "utf-8": "日本 é",
		"iso-8859-15": "€uro", "windows-1258": "đ", "x-mac-cyrillic": "Привет",
	} {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(name, err)
		}
		body, err := e.NewEncoder().String(want)
		if err != nil {
			t.Fatal(name, err)
		}
		for how, tc := range map[string][2]string{
			"header":     {"text/html; charset=" + strings.ToUpper(name), "<p>" + body + "</p>"},
			"text":       {"text/plain;charset=\"" + name + "\"", body},
			"meta":       {"text/html", "<html><head><meta charset=\"" + name + "\"></head><p>" + body + "</p>"},
			"http-equiv": {"text/html", "<meta http-equiv=Content-Type content='text/html; charset=" + name + "'><p>" + body + "</p>"},
			"xml":        {"application/xhtml+xml", "<?xml version='1.0' encoding='" + name + "'?><html><p>" + body + "</p></html>"},
		} {
			address, w := site(t, answering(tc[0], tc[1]))
			if text, _ := get(t, w, address); strings.TrimSpace(text) != want {
				t.Errorf("%s by %s: %q, want %q", name, how, text, want)
			}
		}
	}
}

// What is guessed and what is lost is said.
func TestKF137_GuessesAndLossesAreSaid(t *testing.T) {
	for name, tc := range map[string]struct{ kind, body, want, said string }{
		"no name":              {"text/plain", "caf\xe9", "café", "read as windows-1252, which is a guess"},
		"unknown name":         {"text/plain; charset=klingon", "caf\xe9", "café", `the encoding "klingon", which is not known; it was read as windows-1252`},
		"unknown meta":         {"text/html", "<meta charset=klingon><p>é</p>", "é", `"klingon", which is not known; it reads as utf-8`},
		"lost":                 {"text/plain; charset=shift_jis", "\x93\xfa\xff\x93\xfa", "日", "at 1 places its bytes mean nothing in shift_jis"},
		"not that encoding":    {"text/plain; charset=utf-8", "caf\xe9 \xe9", "caf", "at 2 places its bytes mean nothing in utf-8"},
		"never safely decoded": {"text/plain; charset=iso-2022-kr", "abc", "", "mean nothing in replacement"},
	} {
		address, w := site(t, answering(tc.kind, tc.body))
		if text, _ := get(t, w, address); !strings.Contains(text, tc.want) || !strings.Contains(text, tc.said) {
			t.Errorf("%s: %q, want %q and %q", name, text, tc.want, tc.said)
		}
	}
	for name, tc := range map[string][2]string{
		"plain":              {"text/plain; charset=utf-8", "é"},
		"a real replacement": {"text/plain; charset=utf-8", "\uFFFD"},
		"meta of two bytes":  {"text/html", "<meta charset=utf-16><p>é</p>"},
	} {
		address, w := site(t, answering(tc[0], tc[1]))
		if text, _ := get(t, w, address); strings.Contains(text, "Of its encoding") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
