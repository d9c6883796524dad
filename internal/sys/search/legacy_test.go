package search

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// A word is found in files of other encodings, small and large, at the line a page of the file shows.
func TestKF137_WordsInOtherEncodings(t *testing.T) {
	for name, text := range map[string][2]string{
		"gbk": {"这是一个文件的普通一行。\n", "编码"}, "big5": {"這是一個文件的普通一行。\n", "編碼"},
		"shift_jis": {"これは普通の行です。\n", "表示"}, "euc-jp": {"これは普通の行です。\n", "表示"}, "euc-kr": {"이것은 보통 줄입니다.\n", "문서"},
	} {
		e, err := htmlindex.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, lines := range []int{3, 20_000} {
			raw, err := e.NewEncoder().String(strings.Repeat(text[0], lines) + "x " + text[1] + "\n" + text[0])
			if err != nil {
				t.Fatal(name, err)
			}
			dir := tree(t, map[string]string{"f": raw})
			found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, text[1], Options{}), Mode: Lines, Columns: 100})
			if len(found.Files) != 1 || len(found.Files[0].Lines) != 1 || found.Files[0].Lines[0].Number != lines+1 || found.Files[0].Lines[0].Text != "x "+text[1] {
				t.Errorf("%s, %d lines: found %.200v", name, lines, found.Files)
			}
		}
	}
}
