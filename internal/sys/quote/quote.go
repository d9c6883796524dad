// Package quote writes texts as strings of other notations.
package quote

import "unicode/utf8"

// JSON appends s as a JSON string. <, > and & stay, which people do not expect to be escaped in
// their files. Besides what JSON asks for, the separators that some programs take for line ends are
// escaped, so that a record is one line for everybody. Bytes that are not UTF-8 become U+FFFD.
func JSON(out []byte, s string) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			out = escape(append(out, s[from:i]...), rune(c))
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0x85 || r == 0x2028 || r == 0x2029 || r == utf8.RuneError && n == 1 {
			out = escape(append(out, s[from:i]...), r)
			from = i + n
		}
		i += n
	}
	return append(append(out, s[from:]...), '"')
}

func escape(out []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(out, '\\', byte(r))
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
