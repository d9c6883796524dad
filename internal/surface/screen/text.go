package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of cells a text takes.
func Width(s string) int { return ansi.StringWidth(s) }

// graphemes calls yield with each grapheme cluster of s and its width in cells.
func graphemes(s string, yield func(cluster string, cells int)) {
	for s != "" {
		c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		if c == "" { // never, but a loop without progress would hang the keyboard
			return
		}
		yield(c, w)
		s = s[len(c):]
	}
}

// Clip cuts a text to a number of cells, with a mark.
func Clip(s string, cells int) string {
	if cells < 1 {
		return ""
	}
	return ansi.Truncate(s, cells, "…")
}

// Wrap breaks text into lines of at most so many cells. Styles open at a break are closed there
// and opened anew, so that each line stands for itself.
func Wrap(s string, cells int) []string {
	if cells < 1 {
		cells = 1
	}
	var out []string
	for line := range strings.SplitSeq(ansi.Wrap(s, cells, ""), "\n") {
		if Width(line) <= cells {
			out = append(out, line)
			continue
		}
		out = append(out, split(line, cells)...) // Wrap lets lines of wide characters grow
	}
	return seal(out)
}

// split cuts a line into pieces of at most so many cells, or one character where that is wider.
func split(line string, cells int) []string {
	var out []string
	var b strings.Builder
	used, state := 0, byte(0)
	for line != "" {
		seq, w, n, next := ansi.DecodeSequence(line, state, nil)
		if used+w > cells && used > 0 {
			out = append(out, b.String())
			b.Reset()
			used = 0
		}
		b.WriteString(seq)
		used += w
		line, state = line[n:], next
	}
	return append(out, b.String())
}

// seal makes each line carry its own styles.
func seal(lines []string) []string {
	var open []string
	for i, line := range lines {
		prefix := strings.Join(open, "")
		open = openStyles(open, line)
		suffix := ""
		if len(open) > 0 {
			suffix = "\x1b[m"
		}
		lines[i] = prefix + line + suffix
	}
	return lines
}

// openStyles are the style sequences still on after a line.
func openStyles(open []string, line string) []string {
	open = append([]string(nil), open...)
	for {
		i := strings.Index(line, "\x1b[")
		if i < 0 {
			return open
		}
		j := strings.IndexByte(line[i:], 'm')
		if j < 0 {
			return open
		}
		open = applyStyle(open, line[i:i+j+1])
		line = line[i+j+1:]
	}
}

// applyStyle adds a style sequence of ours, or takes out those it switches off.
func applyStyle(open []string, seq string) []string {
	var off func(string) bool
	switch seq {
	case "\x1b[m", "\x1b[0m":
		return nil
	case "\x1b[22m":
		off = func(s string) bool { return s == "\x1b[1m" || s == "\x1b[2m" }
	case "\x1b[39m":
		off = func(s string) bool { return len(s) == 5 && s[2] == '3' }
	case "\x1b[23m", "\x1b[24m", "\x1b[29m":
		off = func(s string) bool { return s == "\x1b["+seq[3:4]+"m" }
	default:
		return append(open, seq)
	}
	kept := open[:0]
	for _, s := range open {
		if !off(s) {
			kept = append(kept, s)
		}
	}
	return kept
}
