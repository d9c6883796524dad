package screen

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// keys types named keys (in angle brackets) and text.
func keys(e *Editor, script string) {
	for script != "" {
		if script[0] == '<' {
			name, rest, _ := strings.Cut(script[1:], ">")
			e.Key(Key{Name: name})
			script = rest
			continue
		}
		text, rest, more := strings.Cut(script, "<")
		e.Key(Key{Name: "text", Text: text})
		script = rest
		if more {
			script = "<" + rest
		}
	}
}

func TestEditing(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"typing":              {"abc", "abc|"},
		"insert in the midst": {"ac<left>b", "ab|c"},
		"backspace":           {"abc<backspace>", "ab|"},
		"backspace a family":  {"a👩‍👩‍👧‍👦<backspace>", "a|"},
		"backspace combining": {"ae\u0301<backspace>", "a|"},
		"left over a flag":    {"🇩🇪x<left><left>", "|🇩🇪x"},
		"combining joins":     {"e<left><right>\u0301x<left><left>", "|e\u0301x"},
		"delete":              {"abc<home><delete>", "|bc"},
		"ctrl-d":              {"abc<home><ctrl+d>", "|bc"},
		"words left":          {"one two-three<alt+b>", "one two-|three"},
		"words right":         {"one two<home><alt+f>", "one| two"},
		"line start":          {"a<ctrl+j>bc<ctrl+a>", "a\n|bc"},
		"line end":            {"a<ctrl+j>bc<up><ctrl+e>", "a\nbc|"},
		"all the way":         {"a<ctrl+j>bc<ctrl+home>", "|a\nbc"},
		"kill to end":         {"abcd<left><left><ctrl+k>", "ab|"},
		"kill a line end":     {"a<ctrl+j>b<ctrl+home><end><ctrl+k>", "a|b"},
		"kill to start":       {"abcd<left><ctrl+u>", "|d"},
		"kill word":           {"git commit -m<ctrl+w>", "git commit |"},
		"kill word right":     {"one two<home><alt+d>", "| two"},
		"kill word left":      {"one two.<alt+backspace>", "one |"},
		"yank":                {"abc<ctrl+u>x<ctrl+y>", "xabc|"},
		"kills join":          {"a b c<ctrl+w><ctrl+w><ctrl+y>", "a b c|"},
		"kills do not join":   {"a b<ctrl+w><left><right>c<ctrl+w><ctrl+y>", "a c|"},
		"yank older":          {"one<ctrl+u>two<ctrl+u><ctrl+y><alt+y>", "one|"},
		"yank older, round":   {"one<ctrl+u>two<ctrl+u><ctrl+y><alt+y><alt+y>", "two|"},
		"older without yank":  {"one<ctrl+u>x<alt+y>", "x|"},
		"undo":                {"abc<ctrl+w><ctrl+_>", "abc|"},
		"undo typing as one":  {"abc<left><right>def<ctrl+_>", "abc|"},
		"redo":                {"abc<ctrl+w><ctrl+_><alt+_>", "|"},
		"undo nothing":        {"<ctrl+_>", "|"},
		"at the edges":        {"<left><right><backspace><delete><alt+b><alt+f><ctrl+k><ctrl+u><ctrl+w><ctrl+y>x", "x|"},
	} {
		t.Run(name, func(t *testing.T) {
			var e Editor
			keys(&e, tc.script)
			text := e.Text()
			got := e.Before() + "|" + strings.TrimPrefix(text, e.Before())
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestVerticalMovesKeepTheirColumn(t *testing.T) {
	var e Editor
	keys(&e, "long line<ctrl+j>x<ctrl+j>another<home><right><right><right>")
	for _, step := range []struct {
		down bool
		want string
	}{{false, "long line\nx"}, {false, "lon"}, {true, "long line\nx"}, {true, "long line\nx\nano"}} {
		if !e.Vertical(step.down, 40) {
			t.Fatal("no row there")
		}
		if e.Before() != step.want {
			t.Errorf("before %q, want %q", e.Before(), step.want)
		}
	}
	if e.Vertical(true, 40) {
		t.Error("a row below the last")
	}
}

// model is a draft as simple as can be: runes and a cursor, over text without clusters.
type model struct {
	text []rune
	pos  int
}

func TestTheEditorEqualsASimpleModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		var m model
		n := rapid.IntRange(1, 60).Draw(t, "keys")
		for range n {
			switch k := rapid.SampledFrom([]string{"text", "left", "right", "backspace", "delete", "home", "end", "ctrl+j", "ctrl+k", "ctrl+u"}).Draw(t, "key"); k {
			case "text":
				s := rapid.StringMatching(`[a-c .漢]{1,4}`).Draw(t, "text")
				e.Key(Key{Name: "text", Text: s})
				m.insert(s)
			default:
				e.Key(Key{Name: k})
				m.key(k)
			}
			if e.Text() != string(m.text) || e.Before() != string(m.text[:m.pos]) {
				t.Fatalf("editor %q at %q, model %q at %q", e.Text(), e.Before(), string(m.text), string(m.text[:m.pos]))
			}
		}
	})
}

func (m *model) insert(s string) {
	r := []rune(s)
	m.text = append(m.text[:m.pos:m.pos], append(r, m.text[m.pos:]...)...)
	m.pos += len(r)
}

func (m *model) remove(from, to int) {
	m.text = append(m.text[:from:from], m.text[to:]...)
	m.pos = from
}

func (m *model) key(k string) {
	start, end := m.pos, m.pos
	for start > 0 && m.text[start-1] != '\n' {
		start--
	}
	for end < len(m.text) && m.text[end] != '\n' {
		end++
	}
	switch k {
	case "left":
		m.pos = max(0, m.pos-1)
	case "right":
		m.pos = min(len(m.text), m.pos+1)
	case "home":
		m.pos = start
	case "end":
		m.pos = end
	case "ctrl+j":
		m.insert("\n")
	case "backspace":
		if m.pos > 0 {
			m.remove(m.pos-1, m.pos)
		}
	case "delete":
		if m.pos < len(m.text) {
			m.remove(m.pos, m.pos+1)
		}
	case "ctrl+u":
		m.remove(start, m.pos)
	case "ctrl+k":
		if end == m.pos && end < len(m.text) {
			end++
		}
		m.remove(m.pos, end)
	}
}

func TestUndoReturnsEveryEarlierText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Editor
		seen := []string{""}
		for range rapid.IntRange(1, 40).Draw(t, "keys") {
			before := len(e.undo)
			if k := rapid.SampledFrom([]string{"text", "backspace", "ctrl+w", "ctrl+y", "paste", "left"}).Draw(t, "key"); k == "text" || k == "paste" {
				e.Key(Key{Name: k, Text: rapid.StringMatching(`[a-c ]{1,5}`).Draw(t, "text")})
			} else {
				e.Key(Key{Name: k})
			}
			if len(e.undo) > before {
				seen = append(seen, e.Text())
			} else {
				seen[len(seen)-1] = e.Text()
			}
		}
		for i := len(seen) - 2; i >= 0; i-- {
			e.Key(Key{Name: "ctrl+_"})
			if e.Text() != seen[i] {
				t.Fatalf("step %d: got %q, want %q", i, e.Text(), seen[i])
			}
		}
		for i := 1; i < len(seen); i++ {
			e.Key(Key{Name: "alt+_"})
			if e.Text() != seen[i] {
				t.Fatalf("redo %d: got %q, want %q", i, e.Text(), seen[i])
			}
		}
	})
}

func TestLongPastesFold(t *testing.T) {
	var e Editor
	e.Insert("see: ")
	e.Paste(strings.Repeat("line\n", 40), false)
	e.Insert(" ok?")
	rows, _ := e.layout(60)
	if got := rows[0]; got != "see: [paste 1 · 40 lines · 200 B] ok?" {
		t.Errorf("shown as %q", got)
	}
	if want := "see: " + strings.Repeat("line\n", 40) + " ok?"; e.Text() != want {
		t.Errorf("sent as %q", e.Text())
	}
	keys(&e, "<left><left><left><left><backspace>")
	if e.Text() != "see:  ok?" {
		t.Errorf("after delete %q", e.Text())
	}
}

func BenchmarkPaste10MB(b *testing.B) {
	text := []byte("\x1b[200~" + strings.Repeat("0123456789abcde\n", 10<<20/16) + "\x1b[201~")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var p KeyParser
		var e Editor
		for rest := text; len(rest) > 0; {
			n := min(len(rest), 4096)
			for _, k := range p.Feed(rest[:n], time.Unix(1, 0)) {
				e.Key(k)
			}
			rest = rest[n:]
		}
		if len(e.Text()) != 10<<20 {
			b.Fatal("lost text")
		}
	}
}

func BenchmarkKey(b *testing.B) {
	var e Editor
	e.Insert(strings.Repeat("words of a draft ", 60))
	for b.Loop() {
		e.Key(Key{Name: "text", Text: "x"})
		e.layout(78)
		e.Key(Key{Name: "backspace"})
	}
}
