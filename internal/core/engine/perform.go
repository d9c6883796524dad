package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// errSibling cancels the calls beside a shell command that failed.
var errSibling = errors.New("another command of the same answer failed")

// performance is one call in its own goroutine: permission gate, execution, amendment. It touches
// nothing of the run; what came of it is its outcome.
type performance struct {
	cfg    *Config
	tool   tool.Tool
	call   tool.Call
	traits tool.Traits
	beside bool // it was started beside others
}

// outcome is what a performance hands back.
type outcome struct {
	slot   *slot
	call   tool.Call
	traits tool.Traits
	result tool.Result
	word   string // ok, error, refused, interrupted, not_run
	end    *tool.End
	note   []msg.Block
	fault  error
	again  bool // lost its right to run beside others: start it again alone
}

func (o outcome) done(seconds float64) tool.Done {
	return tool.Done{Call: o.call, Traits: o.traits, Result: o.result, Refused: o.word == "refused", Seconds: seconds}
}

// maxMoved bounds how often a call is decided anew because a path of it came to lead elsewhere between its
// decision and its start.
const maxMoved = 3

func (p *performance) perform(ctx context.Context) (o outcome) {
	defer func() {
		o.call, o.traits = p.call, p.traits
		if v := recover(); v != nil {
			o.word, o.result = "error", tool.Failed("The tool failed inside; its effect is unknown.")
			o.fault = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	moved := p.call.Scope.Cwd() != p.call.Cwd // an earlier call moved the agent after this one was announced
	for range maxMoved {
		o = p.attempt(ctx, moved)
		if moved = errors.Is(o.fault, nolink.ErrLink) && !p.traits.Shell; !moved {
			return o
		}
	}
	o.fault = nil // not ours: somebody keeps exchanging what is there
	o.result = tool.Failed("Nothing was done: the path came to lead elsewhere each time after it had been decided about. Another program exchanges a folder or file on it with a symbolic link.")
	return o
}

// attempt decides the call and runs it. moved says that it must be prepared anew.
func (p *performance) attempt(ctx context.Context, moved bool) outcome {
	if moved {
		call, traits, err := tool.Prepare(p.tool, p.call)
		if err != nil {
			return outcome{word: "error", result: tool.Misuse(err.Error())}
		}
		if p.call, p.traits = call, traits; p.beside && !traits.Beside {
			return outcome{again: true}
		}
	}
	verdict, err := p.cfg.Authorize(ctx, p.call, p.traits)
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, tool.Result{}, "not_run")
	case err != nil:
		return outcome{word: "refused", result: tool.Failed("Not permitted: " + err.Error()), fault: err}
	case verdict.Hold:
		return outcome{word: "not_run", result: tool.Failed("Deferred to the host."), end: verdict.End}
	case !verdict.Run.Valid():
		return outcome{word: "refused", result: tool.Failed(orDenied(verdict.Message)), end: verdict.End, note: verdict.Note}
	}
	decided := verdict.Run
	if got := decided.Call(); got.ID != p.call.ID || got.Name != p.call.Name || got.Scope != p.call.Scope {
		fault := fmt.Errorf("the call %s of %s was decided in place of the call %s of %s", got.ID, got.Name, p.call.ID, p.call.Name)
		return outcome{word: "refused", result: tool.Failed("Not run: " + fault.Error() + "."), fault: fault}
	}
	p.call, p.traits = decided.Call(), decided.Traits()
	if p.beside && !p.traits.Beside {
		return outcome{again: true}
	}
	o := p.execute(ctx, decided)
	o.note = append(verdict.Note, o.note...)
	if o.end == nil {
		o.end = verdict.End
	}
	return o
}

func (p *performance) execute(ctx context.Context, decided tool.Decided) outcome {
	if p.cfg.Before != nil && !p.traits.ReadOnly && !p.traits.NoEffect {
		if err := p.cfg.Before(context.WithoutCancel(ctx), p.call, p.traits); err != nil {
			return outcome{word: "error", result: tool.Failed("Not run: " + err.Error()), fault: err}
		}
	}
	result, err := decided.Run(ctx)
	if ctx.Err() != nil && (err != nil || result.IsError) {
		return stopped(ctx, result, "interrupted")
	}
	if err != nil {
		return outcome{word: "error", result: tool.Failed("Error: " + err.Error()), fault: err}
	}
	o := outcome{word: "ok", result: result, end: result.End}
	if result.IsError {
		o.word = "error"
	}
	if p.cfg.Amend == nil {
		return o
	}
	amended, end, err := p.cfg.Amend(ctx, p.call, result)
	if err != nil {
		o.fault = err
		return o
	}
	o.result = amended
	if end != nil {
		o.end = end
	}
	return o
}

// stopped is the outcome of a call that was cancelled, with what it had brought so far.
func stopped(ctx context.Context, result tool.Result, word string) outcome {
	why := "Interrupted: " + context.Cause(ctx).Error() + "."
	if word == "not_run" {
		why = "Not run: " + context.Cause(ctx).Error() + "."
	}
	result.IsError = true
	result.Content = append(result.Content[:len(result.Content):len(result.Content)], msg.Text{Text: why})
	result.Structured = nil
	return outcome{word: word, result: result}
}

func orDenied(message string) string {
	if message == "" {
		return "Permission denied."
	}
	return message
}
