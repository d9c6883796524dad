package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// doubled returns a key that stands twice in an object, whatever its case; empty when none does.
func doubled(raw []byte) string {
	doc, err := jsonc.Parse("", "", raw)
	if err != nil {
		return ""
	}
	members := doc.Root().Members
	for i, m := range members {
		if slices.ContainsFunc(members[:i], func(x jsonc.Member) bool { return strings.EqualFold(x.Name, m.Name) }) {
			return m.Name
		}
	}
	return ""
}

// strictest returns an answer in which a key that stands there several times, in whatever case, has
// the strictest of its values. Text that is no JSON object is returned as it is.
func strictest(text []byte) []byte {
	if !json.Valid(text) {
		return text
	}
	doc, err := jsonc.Parse("", "", text)
	if err != nil || doc.Root().Kind != jsonc.Object {
		return text
	}
	return oneOfEach(doc.Root().Members)
}

// oneOfEach writes members with one value for each name.
func oneOfEach(members []jsonc.Member) []byte {
	var names []string
	values := map[string][]*jsonc.Node{}
	for _, m := range members {
		i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, m.Name) })
		if i < 0 {
			i, names = len(names), append(names, m.Name)
		}
		values[names[i]] = append(values[names[i]], m.Value)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote.JSON(nil, name))
		b.WriteByte(':')
		b.Write(strictestValue(strings.ToLower(name), values[name]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// strictestValue is the strictest of the values of one key, of those that are alike the last.
func strictestValue(name string, values []*jsonc.Node) []byte {
	if name == "hookspecificoutput" && !slices.ContainsFunc(values, func(v *jsonc.Node) bool { return v.Kind != jsonc.Object }) {
		var members []jsonc.Member
		for _, v := range values {
			members = append(members, v.Members...)
		}
		return oneOfEach(members)
	}
	best := values[0]
	for _, v := range values[1:] {
		if severity(name, v) >= severity(name, best) {
			best = v
		}
	}
	if name == "decision" && best.Kind == jsonc.Object {
		return oneOfEach(best.Members)
	}
	return best.JSON()
}

// severity orders the values of the keys that decide. A word nobody knows is a broken answer, and
// stands right below the one that refuses.
func severity(name string, v *jsonc.Node) int {
	order := map[string][]string{
		"permissiondecision": {"", "allow", "ask", "defer", "deny"},
		"decision":           {"", "approve", "block"},
		"behavior":           {"", "allow", "deny"},
		"action":             {"", "accept", "cancel", "decline"},
	}[name]
	switch {
	case name == "continue" || name == "ok" || name == "async":
		if v.Kind == jsonc.Bool && v.Text() == "true" {
			return 0
		}
		return 1
	case order == nil || v.Kind == jsonc.Null:
		return 0
	case name == "decision" && v.Kind == jsonc.Object:
		worst := 0
		for _, m := range v.Members {
			if strings.EqualFold(m.Name, "behavior") {
				worst = max(worst, severity("behavior", m.Value))
			}
		}
		return worst
	}
	i := slices.Index(order, v.Text())
	if v.Kind != jsonc.String || i < 0 {
		return 2*len(order) - 3
	}
	return 2 * i
}

// handlerKeys are the members of a handler, as they are written.
func handlerKeys() []string {
	return []string{
		"type", "if", "timeout", "statusMessage", "once", "onFailure", "command", "args", "shell", "async", "asyncRewake", "rewakeMessage", "rewakeSummary",
		"confine", "url", "headers", "allowedEnvVars", "server", "tool", "input", "prompt", "model", "continueOnBlock",
	}
}

// misspelt names a member of a handler that is nearly a known one: what it says would be lost. Others belong to somebody else.
func misspelt(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	plain := func(name string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.ContainsFunc(handlerKeys(), func(known string) bool { return strings.EqualFold(known, name) }) {
			continue
		}
		for _, known := range handlerKeys() {
			if plain(known) == plain(name) || len(name) > 4 && nearest.Distance(name, known) <= 2 {
				return fmt.Sprintf("%q is no member of a handler; did you mean %s?", name, known)
			}
		}
	}
	return ""
}
