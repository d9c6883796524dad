package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// HookRun is one hook that ran.
type HookRun struct {
	Hook     string        `json:"hook"`
	Place    string        `json:"place"` // file and line
	Outcome  string        `json:"outcome"`
	ExitCode *int          `json:"exit_code,omitempty"`
	Took     time.Duration `json:"-"`
	MS       int64         `json:"ms"`
	Stdout   string        `json:"stdout,omitempty"`
	Stderr   string        `json:"stderr,omitempty"`
	Failure  string        `json:"failure,omitempty"`
}

// HookReport is what the hooks of an event want together.
type HookReport struct {
	Event      string          `json:"event"`
	Disabled   string          `json:"disabled,omitempty"` // why hooks are off
	Configured int             `json:"configured"`         // hooks of this event, whether they match or not
	Runs       []HookRun       `json:"runs"`
	Decision   string          `json:"decision,omitempty"` // allow, ask, defer, deny; empty: none
	Reason     string          `json:"reason,omitempty"`
	Guard      bool            `json:"guard_failed,omitempty"`
	Block      string          `json:"block,omitempty"`
	Stop       string          `json:"stop,omitempty"`
	Context    []string        `json:"context,omitempty"`
	Messages   []string        `json:"messages,omitempty"`
	Notices    []string        `json:"notices,omitempty"`
	Input      json.RawMessage `json:"updated_input,omitempty"`
	Problems   []string        `json:"problems,omitempty"` // of the configuration
}

// TestHooks fires the hooks of an event on an input and tells what each did. They really run. input holds
// the event's own fields; match is what matchers compare, for tool events the tool's name.
func (s *Subject) TestHooks(ctx context.Context, event, match string, input json.RawMessage) (r HookReport, err error) {
	spec, ok := hook.SpecOf(hook.Name(event))
	if !ok {
		if near := nearest.Name(event, eventNames(), len(event)/3); near != "" {
			return r, usage("unknown event %q (did you mean %s?)", event, near)
		}
		return r, usage("unknown event %q: expected one of %s", event, strings.Join(eventNames(), ", "))
	}
	fields := map[string]any{}
	if len(input) > 0 {
		if err := json.Unmarshal(input, &fields); err != nil {
			return r, usage("the input: expected a JSON object: %w", err)
		}
	}
	e := hook.Event{Name: spec.Name, Match: match, Fields: fields}
	if spec.Tool {
		e.Tool, e.Input = toolFields(fields, &e.Match)
	}
	r = HookReport{Event: event, Disabled: s.HooksOff, Runs: []HookRun{}}
	for _, h := range s.Handlers() {
		if h.Event == spec.Name {
			r.Configured++
		}
	}
	for _, p := range s.Reload() {
		r.Problems = append(r.Problems, p.String())
	}
	r.fill(s.Fire(ctx, e))
	return r, nil
}

// toolFields completes the fields of an event about a tool call.
func toolFields(fields map[string]any, match *string) (tool string, input json.RawMessage) {
	if name, ok := fields["tool_name"].(string); ok && *match == "" {
		*match = name
	}
	fields["tool_name"] = *match
	if fields["tool_input"] == nil {
		fields["tool_input"] = map[string]any{}
	}
	raw, err := json.Marshal(fields["tool_input"])
	if err != nil { // it was decoded from JSON a moment ago
		raw = json.RawMessage("{}")
	}
	return *match, raw
}

func (r *HookReport) fill(o hook.Outcome) {
	for _, x := range o.Runs {
		r.Runs = append(r.Runs, HookRun{
			Hook: x.Handler.Title(), Place: x.Handler.At.Place(), Outcome: x.Outcome, ExitCode: x.ExitCode, Took: x.Took,
			MS: x.Took.Milliseconds(), Stdout: x.Stdout, Stderr: x.Stderr, Failure: x.Failure,
		})
	}
	r.Decision, r.Reason, r.Guard = o.Decision, o.Reason, o.Guard
	r.Context, r.Messages, r.Notices, r.Input = o.Context, o.Messages, o.Notices, o.Input
	if o.Block {
		r.Block = cmp.Or(o.BlockReason, "blocked")
	}
	if o.Stop {
		r.Stop = cmp.Or(o.StopReason, "stopped")
	}
}

func eventNames() []string {
	var out []string
	for _, s := range hook.Specs() {
		out = append(out, string(s.Name))
	}
	return out
}
