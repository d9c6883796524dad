package expand

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiC decodes the inside of $'…'. A NUL ends the text, as in bash.
func ansiC(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c := strings.IndexByte(`abeEfnrtv\'"?`, s[i]); c >= 0 {
			b.WriteByte("\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[c])
			continue
		}
		r, n, bytewise := numericEscape(s[i:])
		switch {
		case n == 0:
			b.WriteByte('\\')
			b.WriteByte(s[i])
			continue
		case r == 0:
			return b.String()
		case bytewise:
			b.WriteByte(byte(r))
		default:
			b.WriteRune(r)
		}
		i += n - 1
	}
	return b.String()
}

// numericEscape reads what follows the backslash in \nnn, \xHH, \uHHHH, \UHHHHHHHH and \cX. It
// returns how many bytes it took, 0 for none of these.
func numericEscape(s string) (r rune, n int, bytewise bool) {
	digits := func(from, most, base int) (rune, int, bool) {
		end := from
		for end < len(s) && end-from < most && isDigit(s[end], base) {
			end++
		}
		if end == from {
			return 0, 0, false
		}
		v, err := strconv.ParseUint(s[from:end], base, 32)
		if err != nil {
			return utf8.RuneError, end, false
		}
		return rune(v), end, false
	}
	switch s[0] {
	case '0', '1', '2', '3', '4', '5', '6', '7':
		r, n, _ = digits(0, 3, 8)
		return r & 0xff, n, true
	case 'x':
		if len(s) > 1 && s[1] == '{' {
			return bracedHex(s)
		}
		r, n, _ = digits(1, 2, 16)
		return r, n, true
	case 'u':
		return digits(1, 4, 16)
	case 'U':
		return digits(1, 8, 16)
	case 'c':
		switch {
		case len(s) > 2 && s[1] == '\\' && s[2] == '\\':
			return 0x1c, 3, true
		case len(s) > 1 && s[1] == '?':
			return 0x7f, 2, true
		case len(s) > 1:
			return rune(s[1] & 0x1f), 2, true
		}
	}
	return 0, 0, false
}

// bracedHex reads \x{…}: any number of digits, of which the last two count, and a closing brace that
// may be missing.
func bracedHex(s string) (r rune, n int, bytewise bool) {
	end := 2
	for end < len(s) && isDigit(s[end], 16) {
		v, _ := strconv.ParseUint(s[end:end+1], 16, 8) // a digit, as just seen
		r = (r<<4 | rune(v)) & 0xff
		end++
	}
	if end < len(s) && s[end] == '}' {
		end++
	}
	return r, end, true
}

func isDigit(c byte, base int) bool {
	switch {
	case '0' <= c && c <= '9':
		return int(c-'0') < base
	case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		return base == 16
	}
	return false
}
