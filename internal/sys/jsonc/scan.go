package jsonc

import "bytes"

// scan goes over the text once, without recursion. It returns the offset of the innermost bracket
// that is still open at the end, and the offset of the first bracket beyond [MaxDepth]; -1 for
// none.
func scan(text []byte) (open, tooDeep int) {
	var stack []int
	for i := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
			continue
		case '/':
			if next := skipComment(text, i); next > i {
				i = next
				continue
			}
		case '{', '[':
			if len(stack) == MaxDepth {
				return -1, i
			}
			stack = append(stack, i)
		case '}', ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
		}
		i++
	}
	if len(stack) == 0 {
		return -1, -1
	}
	return stack[len(stack)-1], -1
}

// skipString returns the offset behind the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// skipComment returns the offset behind the comment that begins at i (a line comment's line break
// excluded), or i where none begins.
func skipComment(text []byte, i int) int {
	rest := text[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexByte(rest, '\n'); n >= 0 {
			return i + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2
		}
		return len(text)
	}
	return i
}

// skipExtra returns the offset of the first byte at or behind i that is neither blank nor comment.
func skipExtra(text []byte, i int) int {
	for i < len(text) {
		switch text[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '/':
			next := skipComment(text, i)
			if next == i {
				return i
			}
			i = next
		default:
			return i
		}
	}
	return i
}

// endOfLine returns where the line that i is on ends for the purpose of adding below it: behind
// blanks and comments that begin on it, before its line break. When something else follows on the
// line, it returns i itself.
func endOfLine(text []byte, i int) int {
	for j := i; j < len(text); {
		switch text[j] {
		case ' ', '\t', '\r':
			j++
		case '\n':
			if j > i && text[j-1] == '\r' {
				j--
			}
			return j
		case '/':
			next := skipComment(text, j)
			if next == j {
				return i
			}
			j = next
		default:
			return i
		}
	}
	return len(text)
}
