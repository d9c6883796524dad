package record

import (
	"bytes"
	"encoding/json"
	"regexp"
	"sort"
	"strings"
	"sync"
)

// SecretsOf returns the variables of an environment that look like secrets, by name: keys, tokens,
// passwords and the like. Values shorter than eight bytes are left out, since they would be found
// everywhere.
func SecretsOf(env map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range env {
		if len(value) >= 8 && secretName().MatchString(name) && !strings.HasPrefix(value, "/") {
			out[name] = value
		}
	}
	return out
}

var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(API_?)?(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH|COOKIE|DSN)(_|$)|APIKEY|ACCESS_KEY|PRIVATE_KEY`)
})

// redactor takes secrets out of texts. The zero redactor knows only their usual shapes.
type redactor struct {
	known *strings.Replacer
}

func newRedactor(secrets map[string]string) redactor {
	names := make([]string, 0, len(secrets))
	for name, value := range secrets {
		if value != "" {
			names = append(names, name)
		}
	}
	// Longer values first: one may be the beginning of another.
	sort.Slice(names, func(i, j int) bool {
		a, b := secrets[names[i]], secrets[names[j]]
		if len(a) != len(b) {
			return len(a) > len(b)
		}
		return names[i] < names[j]
	})
	var pairs []string
	for _, name := range names {
		mark := "[" + name + " taken out]"
		pairs = append(pairs, secrets[name], mark)
		for _, html := range []bool{false, true} { // encoders differ in what they escape
			if escaped := insideJSON(secrets[name], html); escaped != secrets[name] {
				pairs = append(pairs, escaped, mark)
			}
		}
	}
	if pairs == nil {
		return redactor{}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// insideJSON is s as it stands between the quotes of a JSON string.
func insideJSON(s string, html bool) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(s) // a string always encodes
	return strings.TrimSuffix(buf.String()[1:], "\"\n")
}

// text returns s without secrets; s itself when it holds none.
func (r redactor) text(s string) string {
	if r.known != nil {
		s = r.known.Replace(s)
	}
	if !hint(s) {
		return s
	}
	s = header().ReplaceAllString(s, "${1}[taken out]")
	return keyShape().ReplaceAllString(s, "[key taken out]")
}

// json returns a JSON text without secrets. The marks hold nothing that JSON would escape.
func (r redactor) json(raw []byte) []byte {
	if raw == nil {
		return nil
	}
	s := string(raw)
	if clean := r.text(s); clean != s {
		return []byte(clean)
	}
	return raw
}

// hint keeps the expressions away from texts that cannot match.
func hint(s string) bool {
	for _, part := range []string{"uthorization", "UTHORIZATION", "pi-key", "PI-KEY", "pi-Key", "sk-", "ghp_", "github_pat_", "AIza", "AKIA", "xox"} {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

var (
	// header finds the values of headers that carry credentials; it stops at what ends a JSON string.
	header = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)((?:authorization|x-api-key|api-key|x-goog-api-key)\\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic|token)\s+)?)[^\s"'\\,;}]{4,}`)
	})
	// keyShape finds keys of well-known services by their public prefixes.
	keyShape = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{20,}|ghp_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|AIza[A-Za-z0-9_-]{30,}|AKIA[A-Z0-9]{16}|xox[abprs]-[A-Za-z0-9-]{10,})`)
	})
)
