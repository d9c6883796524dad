package term

import (
	"strings"
	"testing"
)

func TestGrid(t *testing.T) {
	for name, tc := range map[string]struct {
		w, h   int
		in     string
		screen string
		back   string
	}{
		"lines":        {5, 3, "a\r\nb", "a|b|", ""},
		"scrolls":      {5, 2, "a\r\nb\r\nc", "b|c", "a"},
		"wraps":        {3, 3, "abcd", "abc|d|", ""},
		"full row":     {3, 3, "abc\r\nd", "abc|d|", ""},
		"wide":         {3, 3, "漢字x", "漢|字x|", ""},
		"moves":        {9, 3, "abc\x1b[2Dx\r\ny\x1b[Az", "azc|y|", ""},
		"erases":       {9, 3, "abc\r\ndef\r\nghi\x1b[2A\r\x1b[J", "||", ""},
		"erases right": {9, 2, "abcdef\r\x1b[2C\x1b[K", "ab|", ""},
		"saves":        {9, 2, "ab\x1b7cd\x1b8X", "abXd|", ""},
		"flag":         {9, 1, "🇩🇪x", "🇩🇪x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(tc.w, tc.h, true)
			mustWrite(t, g, tc.in)
			if got := strings.Join(g.Screen(), "|"); got != tc.screen {
				t.Errorf("screen %q, want %q", got, tc.screen)
			}
			if got := strings.Join(g.Scrollback(), "|"); got != tc.back {
				t.Errorf("scrollback %q, want %q", got, tc.back)
			}
		})
	}
}

func TestBytesMayBeCutAnywhere(t *testing.T) {
	in := "é漢\x1b[1mb\x1b[m\x1b]0;title\x07c"
	g := New(9, 1, true)
	for i := range len(in) {
		mustWrite(t, g, in[i:i+1])
	}
	if got := g.Screen()[0]; got != "é漢bc" {
		t.Errorf("screen %q", got)
	}
}

func mustWrite(t *testing.T, g *Grid, s string) {
	t.Helper()
	if _, err := g.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
}

func TestReflowKeepsLinesAndCursor(t *testing.T) {
	g := New(10, 4, true)
	mustWrite(t, g, "0123456789abc\r\nxy")
	for _, w := range []int{4, 7, 3, 20, 10} {
		g.Resize(w, 4)
		if got := strings.Join(g.Lines(), "|"); got != "0123456789abc|xy" {
			t.Fatalf("width %d: %q", w, got)
		}
		y, x := g.Cursor()
		if g.Screen()[y][:x] != "xy"[:x] {
			t.Fatalf("width %d: cursor %d,%d in %q", w, y, x, g.Screen())
		}
	}
}

func TestHeightMovesRowsIntoTheScrollbackAndBack(t *testing.T) {
	g := New(10, 5, true)
	mustWrite(t, g, "a\r\nb\r\nc\r\nd")
	g.Resize(10, 2)
	if got := strings.Join(g.Screen(), "|"); got != "c|d" {
		t.Errorf("screen %q", got)
	}
	g.Resize(10, 5)
	if got := strings.Join(g.Screen(), "|"); got != "a|b|c|d|" {
		t.Errorf("screen %q", got)
	}
}
