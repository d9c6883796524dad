package read

import (
	"fmt"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// shorten cuts the first line of a page, which alone is too much, to what the cap of tokens allows.
func shorten(page textfile.Page, limit int) ([]string, []textfile.Long) {
	line := page.Lines[0]
	long := page.Long
	if len(long) == 0 || long[0].Number != page.First {
		long = []textfile.Long{{Number: page.First, Chars: utf8.RuneCountInString(line)}}
	}
	end, quarters := 0, 0 // of tokens, as estimate counts them
	for i, r := range line {
		if quarters++; r >= utf8.RuneSelf {
			quarters += 3
		}
		if quarters > 4*limit {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return []string{line[:end]}, long
}

// hidden is how many characters follow what is shown of the line at a place of the page.
func hidden(page textfile.Page, in Input, place int, shown string) int {
	for _, l := range page.Long {
		if l.Number == page.First+place {
			return max(0, l.Chars-lastColumn(in, shown))
		}
	}
	return 0
}

func lastColumn(in Input, shown string) int {
	return max(in.Column, 1) - 1 + utf8.RuneCountInString(shown)
}

// insideLines says how to read on inside the lines of which not all is shown.
func insideLines(page textfile.Page, in Input, lines []string) string {
	text, others := "", 0
	for _, l := range page.Long {
		place := l.Number - page.First
		if place >= len(lines) {
			break
		}
		first, last := max(in.Column, 1), lastColumn(in, lines[place])
		switch {
		case text != "":
			others++
		case first > l.Chars:
			text = fmt.Sprintf("line %d has only %d characters; column %d is behind its end", l.Number, l.Chars, first)
		default:
			text = fmt.Sprintf("line %d has %d characters, of which %d to %d are shown", l.Number, l.Chars, first, last)
			if last < l.Chars {
				text += fmt.Sprintf("; read on inside it with offset %d and column %d", l.Number, last+1)
			}
		}
	}
	switch {
	case text == "":
		return ""
	case others > 0:
		text += fmt.Sprintf("; %d more lines are cut", others)
	}
	return note(text) + "\n"
}
