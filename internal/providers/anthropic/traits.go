package anthropic

import (
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// traits are how a model differs from the others in what it accepts. They follow the migration
// guides at https://platform.claude.com/docs/en/about-claude/models; an id that is not recognised
// is taken for a new model.
type traits struct {
	adaptive bool // takes thinking {"type":"adaptive"}
	budget   bool // takes thinking {"type":"enabled","budget_tokens":n}
	thinks   bool // thinks when nothing is said of it
	off      string
	forced   bool // a call can be forced
	efforts  []string
	between  bool // thinks between calls when a beta header asks for it
	binding  bool // thinking blocks are bound to what stood before them
	format   bool // takes a schema for the answer
	defers   bool // keeps tools back until a result refers to them
}

// The ways to turn thinking off.
const (
	offDisabled  = "disabled"
	offBetween   = "between_tools"
	offNever     = ""              // always thinks
	offBelowHigh = "disabled≤high" // {"type":"disabled"}, but not with more effort than high
)

func traitsOf(id string, info provider.Info) traits {
	line, v := parseID(id)
	always := line == "fable" || line == "mythos"
	t := traits{
		adaptive: v >= 4.6 || always,
		budget:   v <= 4.65 && !always,
		thinks:   v >= 5 || always,
		off:      offDisabled,
		between:  v >= 4 && v <= 4.65 && !always,
		forced:   v < 5.05,
		binding:  v >= 5.05,
		format:   v >= 4.5,
		defers:   v >= 4.5 && strings.Contains(strings.ToLower(id), "claude"),
		efforts:  info.Efforts,
	}
	switch {
	case always, line == "opus" && v >= 5.5:
		t.off = offNever
	case line == "opus" && v >= 5:
		t.off = offBelowHigh
	case line == "sonnet" && v >= 5.5:
		t.off = offBetween
	}
	if len(t.efforts) == 0 && (v >= 4.6 || always) {
		t.efforts = []string{"low", "medium", "high"}
	}
	return t
}

// newest is assumed for ids without a version.
const newest = 5.5

// parseID finds line and version in claude-opus-4-5-20251101, claude-3-7-sonnet-20250219,
// us.anthropic.claude-sonnet-4-20250514-v1:0, claude-opus-5-5@20260922 and the like.
func parseID(id string) (line string, version float64) {
	id = strings.ToLower(id)
	at := strings.Index(id, "claude")
	if at < 0 {
		return "", newest // a name of one's own, or another model behind the same API
	}
	var numbers []int
	for _, part := range strings.FieldsFunc(id[at+len("claude"):], func(r rune) bool {
		return strings.ContainsRune("-@:._/[", r)
	}) {
		n, err := strconv.Atoi(part)
		switch {
		case err != nil && line == "" && len(part) > 2:
			line = part
		case err == nil && n < 100 && len(numbers) < 2:
			numbers = append(numbers, n)
		}
	}
	switch len(numbers) {
	case 0:
		return line, newest
	case 1:
		return line, float64(numbers[0])
	}
	return line, float64(numbers[0]) + float64(numbers[1])/10
}

// effort returns the level to send for a wished one: itself, else the next weaker the model has,
// else none.
func (t traits) effort(want string) string {
	order := []string{"low", "medium", "high", "xhigh", "max"}
	at := -1
	for i, level := range order {
		if level == want {
			at = i
		}
	}
	for ; at >= 0; at-- {
		for _, have := range t.efforts {
			if have == order[at] {
				return have
			}
		}
	}
	return ""
}
