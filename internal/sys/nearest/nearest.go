// Package nearest finds the name somebody may have meant.
package nearest

import "strings"

// longest is the length in bytes beyond which nothing is taken for a slip of the keyboard; the cost
// of a comparison grows with the square of it.
const longest = 256

// Name returns the candidate most like name, whatever its case, when no more than most letters are
// changed; empty when none is. Of those equally like the first in the alphabet wins.
func Name(name string, candidates []string, most int) string {
	best := ""
	for _, c := range candidates {
		d := Distance(strings.ToLower(name), strings.ToLower(c))
		if d < most || d == most && (best == "" || c < best) {
			best, most = c, d
		}
	}
	return best
}

// Distance counts inserted, deleted, changed and swapped letters (optimal string alignment). Names
// that are too long to be mistyped are as far apart as the longer one is long.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d := min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
