package script

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Quirk is one way in which a served script differs from the service it stands for, as servers do that
// speak the same interface.
type Quirk string

// The quirks. The first group is of Chat Completions alone, the second of every interface.
const (
	ReasoningBack  Quirk = "reasoning_content" // tells reasoning_content in every answer, and wants it back beside calls, also empty
	ExtraBack      Quirk = "extra_content"     // adds extra_content to each call, and wants it back
	AlternateRoles Quirk = "alternate_roles"   // refuses a user message directly behind results
	RepeatCalls    Quirk = "repeat_calls"      // tells each call whole once more at the end of a stream
	SplitNames     Quirk = "split_names"       // tells the names of calls in pieces
	NullArguments  Quirk = "null_arguments"    // tells an empty input as null

	SameID Quirk = "same_id" // the id of an answer never changes
	Empty  Quirk = "empty"   // every answer is empty

	RefusePrefix = "refuse:" // "refuse:FIELD": a request with that field is refused with 422, by its name
	EndPrefix    = "end:"    // "end:WORD": every answer ends with that word
)

// ChatQuirks are those that only Chat Completions can have.
func ChatQuirks() []Quirk {
	return []Quirk{ReasoningBack, ExtraBack, AlternateRoles, RepeatCalls, SplitNames, NullArguments}
}

// Argument is what stands behind a prefix; ok: the quirk has it.
func (q Quirk) Argument(prefix string) (argument string, ok bool) {
	return strings.CutPrefix(string(q), prefix)
}

func (p *parser) quirks(n *yaml.Node) []Quirk {
	var out []Quirk
	known := append(ChatQuirks(), SameID, Empty)
	p.list(n, "quirks", func(n *yaml.Node, where string) {
		q := Quirk(p.text(n, where))
		_, refuses := q.Argument(RefusePrefix)
		_, ends := q.Argument(EndPrefix)
		if !slices.Contains(known, q) && (!refuses && !ends || strings.HasSuffix(string(q), ":")) {
			p.fail(n, where, "unknown quirk %q; expected one of %v, refuse:FIELD or end:WORD", q, known)
		}
		out = append(out, q)
	})
	return out
}
