package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// Limits is a document. The zero Limits restrict nothing. Nothing in it can allow, unlock or run
// anything.
type Limits struct {
	Version      int       `json:"version"`
	Expires      time.Time `json:"expires,omitzero"` // zero: 24 hours after fetching
	Models       *[]string `json:"models,omitempty"` // only these: ids, aliases, globs; nil: all, empty: none
	Deny         []string  `json:"deny,omitempty"`   // permission rules
	DisableModes []string  `json:"disableModes,omitempty"`
	Budget       Budget    `json:"budget,omitzero"`
	MinVersion   string    `json:"minVersion,omitempty"`
	Host         string    `json:"host,omitempty"` // who served it, for refusals
}

// Budget bounds money in US dollars; nil is no bound.
type Budget struct {
	Turn    *float64 `json:"turn,omitempty"`
	Session *float64 `json:"session,omitempty"`
	Day     *float64 `json:"day,omitempty"`
}

// AllowsModel reports whether a model may be used, and the sentence to refuse it with. names are its
// id, its provider/id and its aliases. available is the settings key availableModels, nil for all;
// both lists must let the model through.
func (l Limits) AllowsModel(available []string, names ...string) (ok bool, why string) {
	if available != nil && !anyMatches(available, names) {
		return false, fmt.Sprintf("model %s is not among availableModels", first(names))
	}
	if l.Models != nil && !anyMatches(*l.Models, names) {
		return false, fmt.Sprintf("model %s is not allowed by the policy of %s (models)", first(names), l.Host)
	}
	return true, ""
}

func first(names []string) string {
	if len(names) == 0 {
		return "without a name"
	}
	return names[0]
}

func anyMatches(patterns, names []string) bool {
	for _, p := range patterns {
		for _, n := range names {
			if glob(strings.ToLower(p), strings.ToLower(n)) {
				return true
			}
		}
	}
	return false
}

// glob matches a pattern in which * stands for any text; everything else is literal. It takes time
// linear in pattern times name.
func glob(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// Rule is a permission rule of the document.
type Rule struct {
	Text string
	At   origin.Origin
}

// DenyRules are the document's rules, to be enforced like managed deny rules.
func (l Limits) DenyRules() []Rule {
	var out []Rule
	for _, text := range l.Deny {
		out = append(out, Rule{Text: text, At: origin.Origin{Scope: origin.Policy, File: l.Host}})
	}
	return out
}

// AllowsMode reports whether a permission mode may be entered, and the sentence to refuse it with.
// A session in a mode that is not allowed falls back to default.
func (l Limits) AllowsMode(mode string) (ok bool, why string) {
	if slices.Contains(l.DisableModes, mode) {
		return false, fmt.Sprintf("mode %s is not allowed by the policy of %s (disableModes)", mode, l.Host)
	}
	return true, ""
}

// Budgets are the smaller of the person's and the document's bounds, each for itself.
func (l Limits) Budgets(own Budget) Budget {
	return Budget{
		Turn:    smaller(own.Turn, l.Budget.Turn),
		Session: smaller(own.Session, l.Budget.Session),
		Day:     smaller(own.Day, l.Budget.Day),
	}
}

func smaller(a, b *float64) *float64 {
	switch {
	case a == nil:
		return b
	case b == nil || *a <= *b:
		return a
	}
	return b
}

// AllowsVersion reports whether a program of that version may start new sessions, and the sentence
// to refuse with. Versions that cannot be compared (a development build) are let through.
func (l Limits) AllowsVersion(version string) (ok bool, why string) {
	if l.MinVersion == "" {
		return true, ""
	}
	if order, ok := CompareVersions(version, l.MinVersion); !ok || order >= 0 {
		return true, ""
	}
	return false, fmt.Sprintf("version %s is older than %s, which the policy of %s asks for (minVersion)", version, l.MinVersion, l.Host)
}

// CompareVersions tells which of two versions is older: -1 for the first, 0 for neither, 1 for the
// second. ok is false when one of them is none (a development build).
func CompareVersions(a, b string) (order int, ok bool) {
	x, ok1 := numbers(a)
	y, ok2 := numbers(b)
	return slices.Compare(x, y), ok1 && ok2
}

// numbers takes the dotted numbers a version begins with.
func numbers(version string) ([]int, bool) {
	version = strings.TrimPrefix(strings.TrimSpace(version), "v")
	version, _, _ = strings.Cut(version, "-")
	version, _, _ = strings.Cut(version, "+")
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil, false
		}
		out = append(out, n)
	}
	for len(out) < 3 {
		out = append(out, 0)
	}
	return out, true
}
