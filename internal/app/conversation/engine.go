package conversation

import (
	"context"
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// engine is what the engine is given for one turn.
func (t *turn) engine() engine.Config {
	c := t.c
	return engine.Config{
		Model: c.given.Model.Now, System: c.given.Model.System, Tools: c.given.Model.Tools,
		Shape:     t.shape,
		Authorize: t.calls.Authorize, Amend: t.calls.Amend, Batch: t.calls.Batch,
		Before: func(context.Context, tool.Call, tool.Traits) error { return c.Durable() },
		Admit:  c.given.Budget.Admit,
		Record: c.record,
		Sync:   func(context.Context) error { return c.Durable() },
		Steer:  c.waits.steer,
		Stop:   t.stopping,
		Spent: func(x engine.Spending) {
			c.given.Budget.Spent(x)
			t.usage = t.usage.Add(x.Usage)
		},
		Late: func(d tool.Done) { // the model hears of a call that ended after it was given up
			c.Later(fmt.Sprintf("The interrupted call %s of %s has ended after all: %s", d.Call.ID, d.Call.Name, msg.Cut(msg.TextOf(d.Result.Content), 2000)))
		},
		Keep:    func(history []msg.Message) { c.history = history },
		Kept:    &c.kept,
		Agent:   c.given.Scope,
		Effects: c.given.Effects,
		Limits:  c.given.Limits(),
	}
}

// shape fits the history in, and sees to what a compaction changes elsewhere.
func (t *turn) shape(ctx context.Context, history []msg.Message, p engine.Pressure) (engine.View, error) {
	c := t.c
	v, err := c.shaper.Shape(ctx, history, p)
	if err == nil && v.History != nil {
		c.compacted(v)
	}
	c.remember(history)
	if err == nil {
		t.view = v.Messages
		v.Messages, err = c.given.Model.Front(ctx, v.Messages)
	}
	return v, err
}

// stopping asks for budgets after every answer, and for what is owed and the stop hooks when the turn is
// about to end.
func (t *turn) stopping(ctx context.Context, turn engine.Turn) (engine.Stopping, error) {
	c := t.c
	model, _ := c.given.Model.Now()
	if end := c.given.Budget.After(model.Info(), turn.Calls > 0); end != nil {
		return engine.Stopping{End: end}, nil
	}
	if turn.Calls > 0 {
		return engine.Stopping{}, nil
	}
	if owed := c.given.Turns.Owed; owed != nil && !t.reminded {
		if text := owed(); text != "" {
			t.reminded = true
			return engine.Stopping{Again: []msg.Message{{Role: msg.User, Origin: msg.FromHarness, Content: []msg.Block{msg.Text{Text: text}}}}}, nil
		}
	}
	if c.given.Turns.Stop == nil {
		return engine.Stopping{}, nil
	}
	return c.given.Turns.Stop(ctx, turn)
}
