package screen

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Key is one thing typed: a named key, or text, or a paste.
type Key struct {
	Name string // "text", "paste", "enter", "ctrl+c", "alt+b", "shift+tab", "up", …
	Text string // of text and paste
	More bool   // the paste goes on with the one before
}

// The longest escape sequence that is waited for; anything longer is no sequence.
const maxSequence = 256

// burst is what a terminal without bracketed paste sends in one read when text is pasted.
const (
	burstBytes = 32
	burstGap   = 3 * time.Millisecond
)

// KeyParser turns the bytes of a terminal into keys. The bytes may be cut anywhere: inside a
// character, an escape sequence, or the end marker of a paste. It reads no clock; it is told when
// bytes came.
type KeyParser struct {
	rest    []byte    // begun character or sequence
	paste   []byte    // bracketed paste so far
	pasting bool      // inside a bracketed paste
	scanned int       // bytes of paste already searched for the end marker
	burstAt time.Time // when the last part of an unmarked paste came
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// Feed takes bytes that came together.
func (k *KeyParser) Feed(data []byte, at time.Time) []Key {
	if !k.pasting && len(k.rest) == 0 && k.unmarked(data, at) {
		more := k.bursting(at)
		k.burstAt = at
		return []Key{{Name: "paste", Text: pasted(data), More: more}}
	}
	if k.pasting {
		k.paste = append(k.paste, data...)
	} else {
		k.rest = append(k.rest, data...)
	}
	var out []Key
	for {
		key, more := k.next()
		if key.Name != "" {
			out = addKey(out, key)
		}
		if !more {
			return out
		}
	}
}

// addKey joins neighbouring text.
func addKey(out []Key, key Key) []Key {
	if n := len(out); n > 0 && key.Name == "text" && out[n-1].Name == "text" {
		out[n-1].Text += key.Text
		return out
	}
	return append(out, key)
}

// unmarked reports whether bytes are a paste without markers: many at once with a line end in
// their midst, or close behind such. A long line typed by a program and sent with its Enter is
// none.
func (k *KeyParser) unmarked(data []byte, at time.Time) bool {
	if bytes.IndexByte(data, 0x1b) >= 0 {
		return false
	}
	if k.bursting(at) {
		return true
	}
	body := bytes.TrimRight(data, "\r\n")
	return len(data) >= burstBytes && bytes.ContainsAny(body, "\r\n")
}

// bursting reports whether bytes come so close behind an unmarked paste that they belong to it.
func (k *KeyParser) bursting(at time.Time) bool {
	return !k.burstAt.IsZero() && at.Sub(k.burstAt) < burstGap
}

// Waiting reports whether a lone escape or a begun sequence waits for more bytes.
func (k *KeyParser) Waiting() bool { return !k.pasting && len(k.rest) > 0 && k.rest[0] == 0x1b }

// Flush tells that no more bytes came in time: a lone escape is the key.
func (k *KeyParser) Flush() []Key {
	if !k.Waiting() {
		return nil
	}
	rest := k.rest
	k.rest = nil
	if len(rest) == 1 {
		return []Key{{Name: "esc"}}
	}
	if len(rest) == 2 && rest[1] >= 0x20 {
		return []Key{{Name: "alt+" + string(rest[1])}}
	}
	return nil // a sequence that never ended
}

// next takes one key from the bytes. more is false when they do not suffice.
func (k *KeyParser) next() (key Key, more bool) {
	if k.pasting {
		return k.nextPaste()
	}
	if len(k.rest) == 0 {
		return Key{}, false
	}
	if k.rest[0] == 0x1b {
		return k.nextEscape()
	}
	if name, ok := control(k.rest[0]); ok {
		k.rest = k.rest[1:]
		return Key{Name: name}, true
	}
	n := 0
	for n < len(k.rest) && k.rest[n] >= 0x20 && k.rest[n] != 0x7f {
		n++
	}
	n = wholeRunes(k.rest[:n])
	if n == 0 {
		return Key{}, false
	}
	text := string(k.rest[:n])
	k.rest = k.rest[n:]
	return Key{Name: "text", Text: text}, true
}

// wholeRunes is the length of the bytes without a character begun at their end.
func wholeRunes(b []byte) int {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

func control(c byte) (string, bool) {
	switch {
	case c == '\r':
		return "enter", true
	case c == '\n':
		return "ctrl+j", true
	case c == '\t':
		return "tab", true
	case c == 0x7f, c == 0x08:
		return "backspace", true
	case c == 0:
		return "ctrl+space", true
	case c == 0x1f:
		return "ctrl+_", true
	case c < 0x1b:
		return "ctrl+" + string('a'+c-1), true
	case c < 0x20:
		return "ctrl+" + string(c+0x40), true
	}
	return "", false
}

func (k *KeyParser) nextPaste() (Key, bool) {
	from := max(0, k.scanned-len(pasteEnd)+1)
	i := bytes.Index(k.paste[from:], pasteEnd)
	if i < 0 {
		k.scanned = len(k.paste)
		return Key{}, false
	}
	i += from
	text := pasted(k.paste[:i])
	k.rest = append([]byte(nil), k.paste[i+len(pasteEnd):]...)
	k.paste, k.pasting, k.scanned = nil, false, 0
	return Key{Name: "paste", Text: text}, true
}

// pasted is pasted text with the line ends of this system.
func pasted(b []byte) string {
	s := strings.ReplaceAll(string(b), "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// nextEscape reads what begins with an escape.
func (k *KeyParser) nextEscape() (Key, bool) {
	b := k.rest
	if len(b) == 1 {
		return Key{}, false
	}
	switch b[1] {
	case '[':
		return k.nextCSI(2, "")
	case 'O':
		if len(b) < 3 {
			return Key{}, false
		}
		k.rest = b[3:]
		return Key{Name: ss3(b[2])}, true
	case ']', 'P', '_', '^', 'X':
		return k.skipString()
	case 0x1b:
		if len(b) > 2 && b[2] == '[' {
			return k.nextCSI(3, "alt+")
		}
		k.rest = b[1:]
		return Key{Name: "esc"}, true
	}
	if name, ok := control(b[1]); ok {
		k.rest = b[2:]
		return Key{Name: "alt+" + name}, true
	}
	r, size := utf8.DecodeRune(b[1:])
	if r == utf8.RuneError && !utf8.FullRune(b[1:]) {
		return Key{}, false
	}
	k.rest = b[1+size:]
	return Key{Name: "alt+" + string(r)}, true
}

// skipString skips a reply that ends in ST or BEL, so that it never becomes text.
func (k *KeyParser) skipString() (Key, bool) {
	for i := 2; i < len(k.rest); i++ {
		if k.rest[i] == 0x07 {
			k.rest = k.rest[i+1:]
			return Key{}, true
		}
		if k.rest[i] == 0x1b && i+1 < len(k.rest) && k.rest[i+1] == '\\' {
			k.rest = k.rest[i+2:]
			return Key{}, true
		}
	}
	if len(k.rest) > 16*maxSequence { // no reply is that long
		k.rest = nil
	}
	return Key{}, false
}

// nextCSI reads a control sequence whose parameters begin at the given place.
func (k *KeyParser) nextCSI(start int, prefix string) (Key, bool) {
	b := k.rest
	if bytes.HasPrefix(b[start-2:], pasteBegin) {
		k.pasting, k.paste, k.rest = true, append([]byte(nil), b[start-2+len(pasteBegin):]...), nil
		return Key{}, true
	}
	for i := start; i < len(b); i++ {
		if c := b[i]; c >= 0x40 && c <= 0x7e {
			k.rest = b[i+1:]
			if c == 'M' && i == start { // an old mouse report: three bytes follow
				k.rest = k.rest[min(3, len(k.rest)):]
				return Key{}, true
			}
			name := csiKey(string(b[start:i]), c)
			if name == "" {
				return Key{}, true
			}
			if text, ok := strings.CutPrefix(name, "text:"); ok {
				return Key{Name: "text", Text: text}, true
			}
			return Key{Name: prefix + name}, true
		} else if c < 0x20 || i-start > maxSequence { // no sequence after all
			k.rest = b[i:]
			return Key{}, true
		}
	}
	return Key{}, false
}

func ss3(c byte) string {
	if name := cursorKey(c); name != "" {
		return name
	}
	if c == 'M' {
		return "enter"
	}
	return ""
}

func cursorKey(c byte) string {
	switch c {
	case 'A':
		return "up"
	case 'B':
		return "down"
	case 'C':
		return "right"
	case 'D':
		return "left"
	case 'H':
		return "home"
	case 'F':
		return "end"
	}
	return ""
}

// csiKey names a control sequence; empty for replies and what has no meaning here. Parameters are
// those of xterm (modifyOtherKeys) and kitty.
func csiKey(params string, final byte) string {
	if strings.HasPrefix(params, "?") || strings.HasPrefix(params, ">") || strings.HasPrefix(params, "<") {
		return ""
	}
	nums := numbers(params)
	mod := modifiers(at(nums, 1))
	if name := cursorKey(final); name != "" {
		return mod + name
	}
	switch final {
	case 'Z':
		return "shift+tab"
	case 'u':
		return keyOf(at(nums, 0), mod)
	case '~':
		if at(nums, 0) == 27 {
			return keyOf(at(nums, 2), mod)
		}
		return named(mod, at(nums, 0))
	}
	return ""
}

func named(mod string, n int) string {
	switch n {
	case 1, 7:
		return mod + "home"
	case 4, 8:
		return mod + "end"
	case 2:
		return mod + "insert"
	case 3:
		return mod + "delete"
	case 5:
		return mod + "pgup"
	case 6:
		return mod + "pgdown"
	}
	return ""
}

func numbers(params string) []int {
	var out []int
	for p := range strings.SplitSeq(params, ";") {
		p, _, _ = strings.Cut(p, ":")
		n, _ := strconv.Atoi(p) // missing is 0
		out = append(out, n)
	}
	return out
}

func at(nums []int, i int) int {
	if i < len(nums) {
		return nums[i]
	}
	return 0
}

// modifiers are those of a parameter, in a fixed order.
func modifiers(n int) string {
	if n < 2 {
		return ""
	}
	n--
	out := ""
	if n&4 != 0 {
		out += "ctrl+"
	}
	if n&(2|8|32) != 0 { // alt, super and meta alike
		out += "alt+"
	}
	if n&1 != 0 {
		out += "shift+"
	}
	return out
}

// keyOf is the key of a code point with modifiers.
func keyOf(code int, mod string) string {
	switch code {
	case 13, 57414:
		return mod + "enter"
	case 9:
		return mod + "tab"
	case 27:
		return mod + "esc"
	case 127, 8:
		return mod + "backspace"
	case 32:
		if mod == "" || mod == "shift+" {
			return "text: "
		}
		return mod + "space"
	}
	if code < 32 || code > utf8.MaxRune || code >= 57344 && code <= 63743 {
		return ""
	}
	r := string(rune(code))
	switch mod {
	case "":
		return "text:" + r
	case "shift+":
		return "text:" + strings.ToUpper(r)
	}
	return mod + strings.ToLower(r)
}
