package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
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

func (p performance) perform(ctx context.Context) (o outcome) {
	defer func() {
		o.call, o.traits = p.call, p.traits
		if v := recover(); v != nil {
			o.word, o.result = "error", tool.Failed("The tool failed inside; its effect is unknown.")
			o.fault = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	verdict, err := p.cfg.Authorize(ctx, p.call)
	switch {
	case ctx.Err() != nil:
		return stopped(ctx, tool.Result{}, "not_run")
	case err != nil:
		return outcome{word: "refused", result: tool.Failed("Not permitted: " + err.Error()), fault: err}
	case verdict.Hold:
		return outcome{word: "not_run", result: tool.Failed("Deferred to the host."), end: verdict.End}
	case !verdict.Allow:
		return outcome{word: "refused", result: tool.Failed(orDenied(verdict.Message)), end: verdict.End, note: verdict.Note}
	}
	if verdict.Changed {
		if problem, again := p.change(verdict.Call); problem != "" {
			return outcome{word: "error", result: tool.Misuse(problem)}
		} else if again {
			return outcome{again: true}
		}
	}
	p.call.Confine = verdict.Confine
	o = p.execute(ctx)
	o.note = append(verdict.Note, o.note...)
	if o.end == nil {
		o.end = verdict.End
	}
	return o
}

// change takes over the input authorising decided on. The problem it returns is told to the model.
func (p *performance) change(changed tool.Call) (problem string, again bool) {
	p.call.Literal, p.call.Input = changed.Literal, changed.Literal
	call, err := p.tool.Normalise(p.call)
	if err != nil {
		return err.Error(), false
	}
	p.call, p.traits = call, p.tool.Traits(call)
	return "", p.beside && !p.traits.Beside
}

func (p *performance) execute(ctx context.Context) outcome {
	if p.cfg.Sync != nil && !p.traits.ReadOnly && !p.traits.NoEffect {
		if err := p.cfg.Sync(context.WithoutCancel(ctx)); err != nil {
			return outcome{word: "error", result: tool.Failed("Not run: the transcript cannot be written: " + err.Error()), fault: err}
		}
	}
	result, err := p.tool.Run(ctx, p.call)
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
