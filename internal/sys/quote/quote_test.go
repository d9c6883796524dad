package quote_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// What is quoted is JSON of one line for every program, and comes back the same.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"\u2028\u2029\u0085\r\x00\x7f\"\\\n\t", "𝄞\xff\xf0\x9d\x84", "<&>"})).Draw(t, "s")
		q := quote.JSON([]byte("before"), s)
		if !bytes.HasPrefix(q, []byte(`before"`)) || bytes.ContainsAny(q, "\n\r\u2028\u2029\u0085") {
			t.Fatalf("%q", q)
		}
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, want string
		if json.Unmarshal(q[len("before"):], &got) != nil || json.Unmarshal(plain, &want) != nil || got != want {
			t.Fatalf("%q came back as %q, want %q", s, got, want)
		}
		if strings.ContainsAny(s, "<>&") && bytes.Contains(q, []byte(`\u003`)) {
			t.Fatalf("%q: what people read is escaped: %s", s, q)
		}
	})
}
