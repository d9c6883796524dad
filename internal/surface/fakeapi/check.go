package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// refusal is an error as a service words it.
type refusal struct {
	status     int
	typ        string
	code       string
	param      string
	message    string
	retryAfter time.Duration
}

// check collects the first thing a service would refuse. Reading goes on with zero values after
// it, so that the code that reads has no error branches.
type check struct {
	first   *refusal
	unknown func(path, key string) refusal  // an unknown field
	wrong   func(path, want string) refusal // a value of the wrong type
}

func (c *check) refuse(r refusal) {
	if c.first == nil {
		if r.status == 0 {
			r.status = 400
		}
		c.first = &r
	}
}

// bad refuses with a plain message.
func (c *check) bad(format string, args ...any) {
	c.refuse(refusal{typ: "invalid_request_error", message: fmt.Sprintf(format, args...)})
}

// node is a JSON object that is being read.
type node struct {
	c    *check
	path string
	m    map[string]json.RawMessage
}

// object reads raw as an object with no other fields than known.
func (c *check) object(raw json.RawMessage, path string, known ...string) node {
	n := node{c: c, path: path}
	if n.m = fields(raw); n.m == nil {
		c.refuse(c.wrong(path, "object"))
		n.m = map[string]json.RawMessage{}
		return n
	}
	n.only(known...)
	return n
}

// only refuses fields that are not known; none given: any field may stand here.
func (n node) only(known ...string) {
	if len(known) == 0 {
		return
	}
	var others []string
	for key := range n.m {
		if !slices.Contains(known, key) {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	for _, key := range others {
		n.c.refuse(n.c.unknown(n.path, key))
	}
}

func (n node) at(key string) string {
	if n.path == "" {
		return key
	}
	return n.path + "." + key
}

func (n node) has(key string) bool {
	raw, ok := n.m[key]
	return ok && string(raw) != "null"
}

func (n node) raw(key string) json.RawMessage { return n.m[key] }

// into reads a field into v, when it is there.
func (n node) into(key, want string, v any) {
	if n.has(key) && json.Unmarshal(n.m[key], v) != nil {
		n.c.refuse(n.c.wrong(n.at(key), want))
	}
}

func (n node) str(key string) (s string) {
	if raw := n.m[key]; len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	n.into(key, "string", &s)
	return s
}

func (n node) num(key string) (i int) { n.into(key, "integer", &i); return i }

func (n node) flag(key string) (b bool) { n.into(key, "boolean", &b); return b }

func (n node) list(key string) []json.RawMessage {
	if !n.has(key) {
		return nil
	}
	l, ok := elements(n.m[key])
	if !ok {
		n.c.refuse(n.c.wrong(n.at(key), "array"))
	}
	return l
}

func (n node) strs(key string) (l []string) { n.into(key, "array of strings", &l); return l }

// need refuses a missing field.
func (n node) need(keys ...string) {
	for _, key := range keys {
		if !n.has(key) {
			n.c.bad("%s: Field required", n.at(key))
		}
	}
}

// isString reports whether raw is a JSON string.
func isString(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '"'
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{'
}

// notJSON says why a body is no JSON a service reads, empty when it is.
func (in incoming) notJSON() string {
	body := in.body
	if !utf8.Valid(body) {
		return "invalid UTF-8 in the request body"
	}
	if !in.valid {
		return "invalid JSON"
	}
	if !bytes.Contains(body, []byte(`\u`)) {
		return ""
	}
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		i++
		if body[i] != 'u' {
			continue
		}
		first := unit(body[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		if i+6 < len(body) && body[i+1] == '\\' && body[i+2] == 'u' && utf16.DecodeRune(first, unit(body[i+3:])) != utf8.RuneError {
			i += 6
			continue
		}
		return fmt.Sprintf("no low surrogate in string: line 1 column %d (char %d)", i+2, i+1)
	}
	return ""
}

func unit(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return 0 // the text was found to be valid JSON before
	}
	return rune(n)
}

// fields takes an object apart, nil for any other value. Like elements it relies on the body having
// been found valid as a whole, so that no part of it is read again at each depth.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	out := map[string]json.RawMessage{}
	for i := space(raw, 1); raw[i] != '}'; {
		key := raw[i:valueEnd(raw, i)]
		i = space(raw, space(raw, i+len(key))+1) // past the colon
		end := valueEnd(raw, i)
		name := string(key[1 : len(key)-1])
		if strings.Contains(name, `\`) {
			_ = json.Unmarshal(key, &name) // it is valid
		}
		out[name] = raw[i:end:end]
		if i = space(raw, end); raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return out
}

// elements takes an array apart; it reports false for any other value.
func elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	var out []json.RawMessage
	for i := space(raw, 1); raw[i] != ']'; {
		end := valueEnd(raw, i)
		out = append(out, raw[i:end:end])
		if i = space(raw, end); raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return out, true
}

// space skips blanks from i on.
func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// valueEnd is where the value ends that begins at i.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 && (i+1 == len(raw) || strings.IndexByte(",]} \n\t\r", raw[i+1]) >= 0) {
				return i + 1 // of a number or a word
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// pattern compiles an expression once.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// word reports whether s has from one to most characters, all of them letters, digits, "_" and "-".
func word(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) < 0
}

// emptyText refuses text that says nothing, as the strictest of the services does.
func (c *check) emptyText(path, text string) {
	switch {
	case text == "":
		c.bad("%s: text content blocks must be non-empty", path)
	case strings.TrimSpace(text) == "":
		c.bad("%s: text content blocks must contain non-whitespace text", path)
	}
}

// schema refuses a tool's input schema that is no object's.
func (c *check) schema(path string, raw json.RawMessage) {
	n := c.object(raw, path)
	if n.str("type") != "object" {
		c.bad("%s.type: Input should be 'object'", path)
	}
}
