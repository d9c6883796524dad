package permission

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// eval is one decision in the making.
type eval struct {
	foldAt map[string]bool // answers of foldsAt
	req    *Request
	pol    *Policy
	places map[string]*place
	work   []string
	acc    *shellsyntax.Account
	fields map[string]json.RawMessage // of the literal input, decoded on demand
}

func newEval(req *Request, pol *Policy) *eval { return &eval{req: req, pol: pol} }

func (e *eval) decide() Decision {
	switch {
	case e.isShell():
		return e.shellCall()
	case e.req.Tool == "Cd":
		return e.cdCommand()
	}
	return e.toolCall()
}

// isShell tells whether the call runs shell text.
func (e *eval) isShell() bool {
	return e.req.Traits.Command != "" || e.req.Tool == "Bash" || e.req.Tool == "PowerShell"
}

func (e *eval) denyBy(r *compiled, part, text string) Decision {
	return Decision{Behavior: Deny, Reason: Reason{Kind: ByRule, Text: text, Part: part}, Matched: []Match{r.rule.match(part)}, Firm: true}
}

func (e *eval) askBy(r *compiled, part, text string) Decision {
	return Decision{Behavior: Ask, Reason: Reason{Kind: ByRule, Text: text, Part: part}, Matched: []Match{r.rule.match(part)}, Firm: true, Once: true}
}

// toolRule finds a rule of the list about the whole tool, or about a field of its input.
func (e *eval) toolRule(list List) *compiled {
	if t := e.pol.Rules.byTool[e.req.Tool]; t != nil {
		for _, r := range t.bare {
			if r.rule.List == list && !(e.pol.Mode == Auto && list == AllowList && r.broad) {
				return r
			}
		}
		if list != AllowList {
			for _, r := range t.params {
				if r.rule.List == list && e.paramMatches(r) {
					return r
				}
			}
		}
	}
	for _, r := range e.pol.Rules.globs {
		if r.rule.List == list && r.covers(e.req.Tool) {
			return r
		}
	}
	return nil
}

// paramMatches compares a top-level scalar of the literal input; an absent field never matches.
func (e *eval) paramMatches(r *compiled) bool {
	v, ok := e.literal(r.param)
	return ok && ruletext.MatchStars(r.value, v)
}

// literal returns a scalar field of the literal input as text.
func (e *eval) literal(name string) (string, bool) {
	if e.fields == nil {
		e.fields = map[string]json.RawMessage{}
		if len(e.req.Literal) > 0 {
			// An input that is no object has no fields: it cannot match, and the tool refuses it.
			_ = json.Unmarshal(e.req.Literal, &e.fields)
		}
	}
	raw, ok := e.fields[name]
	if !ok {
		return "", false
	}
	return scalar(raw)
}

func scalar(raw json.RawMessage) (string, bool) {
	text := strings.TrimSpace(string(raw))
	if text == "" {
		return "", false
	}
	switch text[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return "", false
		}
		return s, true
	case '{', '[', 'n':
		return "", false
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) && strings.ContainsAny(text, ".eE") {
		return strconv.FormatInt(int64(f), 10), true
	}
	return text, true
}

// field returns a string field of the normalised input.
func (e *eval) field(name string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(e.req.Input, &all) != nil {
		return ""
	}
	s, _ := scalar(all[name])
	return s
}
