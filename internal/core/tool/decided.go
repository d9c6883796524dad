package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Decided is one call as it was decided: its input, the traits of that input, the directory, how it must
// be confined, who decided and why. [Decide] alone makes one and its Run alone runs a call, so what was
// decided is what runs. The zero Decided runs nothing.
type Decided struct {
	tool   Tool
	call   Call
	traits Traits
	by     string
	reason string
}

// Valid says whether there is a call to run.
func (d Decided) Valid() bool { return d.tool != nil }

// Call is the call that runs: normalised, with its confinement and its directory.
func (d Decided) Call() Call { return d.call }

// Traits are those of the input that runs.
func (d Decided) Traits() Traits { return d.traits }

// By says who decided: user, host, hook, classifier, rule, mode, …
func (d Decided) By() string { return d.by }

// Reason is the sentence that says why the call may run.
func (d Decided) Reason() string { return d.reason }

// Run runs the call as it was decided.
func (d Decided) Run(ctx context.Context) (Result, error) {
	if d.tool == nil {
		return Result{}, errUndecided
	}
	return d.tool.Run(ctx, d.call)
}

var errUndecided = errors.New("run a call: nobody decided that it may run")

// Ruling is what was found about a call as it stands. The zero Ruling refuses.
type Ruling struct {
	Allow   bool
	Input   json.RawMessage // the input to run instead, as somebody wrote it; nil: unchanged
	Confine Confinement
	Paths   []PathUse // those of the traits, with where each led when it was decided about; nil: as they are
	By      string
	Reason  string
}

// maxChanges bounds how often the input of one call may be changed.
const maxChanges = 8

// ErrChanges refuses a call whose input was changed again and again.
var ErrChanges = fmt.Errorf("its input was changed more than %d times", maxChanges)

// InputError says that an input somebody put in place of the model's does not fit the tool.
type InputError struct{ Err error }

func (e *InputError) Error() string { return "the changed input does not fit: " + e.Err.Error() }

// Unwrap returns what is wrong with the input.
func (e *InputError) Unwrap() error { return e.Err }

// Decide puts a call through rule. An input that rule changes begins anew: it is normalised, its traits
// are taken in the directory where the agent stands then, and rule sees it like any other call; what rule
// found about the input before counts for nothing. The call that comes back is one that rule allowed
// exactly as it stands; when rule refuses, it is the zero Decided. The call must come from [Prepare].
func Decide(t Tool, call Call, traits Traits, rule func(Call, Traits) (Ruling, error)) (Decided, error) {
	for range maxChanges + 1 {
		r, err := rule(call, traits)
		switch {
		case err != nil:
			return Decided{}, err
		case r.Input != nil && !call.Holds(r.Input):
			call.Literal = r.Input
			if call, traits, err = Prepare(t, call); err != nil {
				return Decided{}, &InputError{err}
			}
			continue
		case !r.Allow:
			return Decided{}, nil
		}
		if r.Paths != nil {
			traits.Paths = r.Paths
		}
		call.Confine, call.Paths = r.Confine, traits.Paths
		return Decided{tool: t, call: call, traits: traits, by: r.By, reason: r.Reason}, nil
	}
	return Decided{}, ErrChanges
}

// Prepare normalises the literal input of a call in the directory where its agent stands now, and takes
// the traits. The error is the mistake of whoever wrote the input.
func Prepare(t Tool, call Call) (Call, Traits, error) {
	call.Input, call.Where = call.Literal, Where{Cwd: call.Scope.Cwd()}
	call, err := t.Normalise(call)
	if err != nil {
		return call, Traits{}, err
	}
	return call, t.Traits(call), nil
}

// Holds says whether input is the call's own, as it was written or as it was normalised: whoever
// answers a question gives back what was shown.
func (c Call) Holds(input json.RawMessage) bool {
	return sameJSON(input, c.Literal) || sameJSON(input, c.Input)
}

func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, err := json.Marshal(x)
	if err != nil {
		return false
	}
	other, err := json.Marshal(y)
	return err == nil && bytes.Equal(one, other)
}
