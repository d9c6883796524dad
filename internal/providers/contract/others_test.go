package contract_test

import (
	"errors"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func TestScriptedModels(t *testing.T) {
	contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
		s, err := script.Parse("test.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return script.New(s, script.Options{})
	})
}

// The suite itself must notice a model that breaks a promise.
func TestCheckNotices(t *testing.T) {
	start, done := provider.Start{ID: "1"}, provider.Done{Stop: msg.StopEndTurn}
	open := provider.BlockStart{Block: msg.Text{}}
	closed := provider.BlockDone{Block: msg.Text{Text: "x"}}
	delta := provider.Delta{Kind: provider.TextDelta, Text: "x"}
	call := provider.BlockStart{Block: msg.ToolCall{ID: "1", Name: "A"}}
	tests := map[string][]any{
		"nothing":                  {},
		"no start":                 {open, delta, closed, done},
		"two starts":               {start, start, done},
		"no id":                    {provider.Start{}, done},
		"no end":                   {start},
		"after the end":            {start, done, provider.Ping{}},
		"open block":               {start, open, done},
		"overlapping blocks":       {start, open, provider.BlockStart{Index: 1, Block: msg.Text{}}},
		"a block left out":         {start, provider.BlockStart{Index: 1, Block: msg.Text{}}},
		"delta outside":            {start, delta},
		"delta of another block":   {start, open, provider.Delta{Index: 1, Kind: provider.TextDelta, Text: "x"}},
		"delta of another kind":    {start, open, provider.Delta{Kind: provider.InputDelta, Text: "x"}},
		"empty delta":              {start, open, provider.Delta{Kind: provider.TextDelta}},
		"half a character":         {start, open, provider.Delta{Kind: provider.TextDelta, Text: "\xf0"}},
		"another text":             {start, open, delta, provider.BlockDone{Block: msg.Text{Text: "y"}}},
		"another kind of block":    {start, open, delta, provider.BlockDone{Block: msg.Thinking{Thinking: "x"}}},
		"empty text":               {start, open, provider.BlockDone{Block: msg.Text{}}},
		"text at once":             {start, provider.BlockStart{Block: msg.Text{Text: "x"}}},
		"call without a name":      {start, provider.BlockStart{Block: msg.ToolCall{ID: "1"}}},
		"call that changes":        {start, call, provider.BlockDone{Block: msg.ToolCall{ID: "2", Name: "A", Input: []byte("{}")}}},
		"call without input":       {start, call, provider.BlockDone{Block: msg.ToolCall{ID: "1", Name: "A"}}},
		"no stop reason":           {start, provider.Done{}},
		"error inside a block":     {start, open, delta, errors.New("x")},
		"something after an error": {start, errors.New("x"), done},
	}
	for name, events := range tests {
		_, err := contract.Check(func(yield func(provider.Event, error) bool) {
			for _, e := range events {
				ok := false
				if err, is := e.(error); is {
					ok = yield(nil, err)
				} else {
					ok = yield(e.(provider.Event), nil)
				}
				if !ok {
					return
				}
			}
		})
		if err == nil {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
	a, err := contract.Check(func(yield func(provider.Event, error) bool) {
		_ = yield(start, nil) && yield(open, nil) && yield(delta, nil) && yield(closed, nil) && yield(done, nil)
	})
	if err != nil || a.Text() != "x" {
		t.Errorf("a good stream: %v, %q", err, a.Text())
	}
}
