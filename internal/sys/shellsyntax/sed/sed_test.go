package sed

import (
	"strings"
	"testing"
)

func TestOnlyEdits(t *testing.T) {
	for _, s := range []string{
		"", "p", "5p", "1,5p", "$p", "$!d", "/a/p", "/a/,/b/p", `\,a,p`, "/a/I,+3d", "0~4p", "1~2!d", "2,~4p", "s/a/b/", "s/a/b/g;s/c/d/2p", "s|/usr|/opt|gI", `s/a\/b/c/`, "y/abc/xyz/",
		"/x/{p;d}", "/x/{\np\n}", "1{p};2{d}", "n;d", "N;N;s/\\n/,/g", ":a\ns/x//\nta", ":a;N;$!ba;s/\\n/ /g", "b", "/x/b end\np\n:end", "1q", "5q 3", "l", "l 5", "=", "a hello", "a\\\nhello\\\nmore\nd", "$a\\  text", "1i x\\\\\nd", "c x", "# comment ; e id\np", "#n\np", "/a/ , /b/ p", "s/[a-z]*/x/", "x;G;1!h;s/\\n//", "s/e id/w x/", "F", "z", "/e/d", "s/ä/ö/", "p # x", "1!G;h;$!d",
	} {
		if got := Read(s); got.Why != "" || len(got.Runs)+len(got.Reads)+len(got.Writes) > 0 {
			t.Errorf("%q: %+v", s, got)
		}
	}
}

func TestKF143_ScriptsThatRun(t *testing.T) {
	for _, s := range []string{
		"e", "e id", "1a\\  \ne id", "1e id", ":a e id", ":x\te id", "v 4.2 e id", "v", "s/a/b/e", "s/a/b/ge", "s/a/b/ e", "s/a/b/;e", "b x e id", "ta e id", "bx e id", "{e id\n}", "1{p;e\n}", "p;e", "a x\\\\\ne id", "1a x\\\\\\\\\n1e id", "i\\\nx\ne id", "c\\\nx\\\\\ne id", "# x\ne", "}e", "{p}e", "r x\ne id", "w x\ne id", "s/a/b/w x\ne id", "y/a/b/e", "pe", "p e", "q e", "l1 e", "1,2!e id", "/x/Ie", "$!e", "1 , 2 e", "/a\\/b/e", "s/[/]/e/e", "=e", "!e", "!!p", "1!!e", "a\\\\\ne id", "a", "a\\", "a\\\n", "s/a/b", "s,a,b", "sxaxbxe", "s\na\nb\ne", "s/a\nb/c/", "{p", "p}", "0p;1~p", "\\xaxe", "s/表\\/x/e id/", "\xff", "p\x00e", "p\re", "1,p", "+1p", ":", ": a}\ne id",
	} {
		if got := Read(s); got.Why == "" {
			t.Errorf("%q counts as editing alone", s)
		}
	}
}

func TestFilesAndPrograms(t *testing.T) {
	for script, want := range map[string]Script{
		"w out":                        {Writes: []string{"out"}},
		"1w a b;p\nr c":                {Writes: []string{"a b;p"}, Reads: []string{"c"}},
		"s/a/b/w o":                    {Writes: []string{"o"}},
		"s/a/b/gw o}\nR /etc/x":        {Writes: []string{"o}"}, Reads: []string{"/etc/x"}},
		":a w .git/hooks/x":            {Writes: []string{".git/hooks/x"}},
		":a r /etc/shadow":             {Reads: []string{"/etc/shadow"}},
		"1e rm x":                      {Runs: []string{"rm x"}, Why: "runs commands"},
		"/x/{W o\n}":                   {Writes: []string{"o"}},
		"a\\\n one\\\nw x\nw /dev/tty": {Writes: []string{"/dev/tty"}},
	} {
		got := Read(script)
		if strings.Join(got.Writes, "|") != strings.Join(want.Writes, "|") || strings.Join(got.Reads, "|") != strings.Join(want.Reads, "|") ||
			strings.Join(got.Runs, "|") != strings.Join(want.Runs, "|") || got.Why != want.Why {
			t.Errorf("%q: %+v, want %+v", script, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"1,5p", "s/a/b/w o", "a\\\nx\\\\\ne id", ":a;b a", "/x/{p;e\n}", "\\,a,!y/b/c/", "#n\n$!N", "1~2d;+3p"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Read(s)
		if got.Why == "" && len(got.Runs) > 0 {
			t.Errorf("%q runs something for no reason", s)
		}
		// A script that was understood stays so with a line more, and the line is seen.
		if got.Why == "" && got.Writes == nil && !strings.HasSuffix(s, `\`) && Read(s+"\ne id").Why == "" {
			t.Errorf("%q hides the next line", s)
		}
	})
}
