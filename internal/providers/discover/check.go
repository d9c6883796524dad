package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Checked is the outcome of one thing that was tried.
type Checked struct {
	Name   string // streaming, tool call, parallel tool calls, stop, window
	OK     bool
	Detail string // what was seen, or why it failed
	Usage  msg.Usage
	Took   time.Duration
}

// Check tries what a session needs of a model and tells each outcome as it is known: streaming, a
// tool call with its result, parallel tool calls, stopping (at a limit, and when the reader stops),
// and the real window. A remote service's window is found by one request it must refuse, which
// costs nothing; a local one's by asking for the beginning of ever longer prompts. An error means
// that the checks could not go on: the context ended, or the key is wrong.
func Check(ctx context.Context, m provider.Model, tell func(Checked)) error {
	checks := []struct {
		name string
		try  func(context.Context, provider.Model) (detail string, u msg.Usage, err error)
	}{
		{"streaming", tryStreaming},
		{"tool call", tryCall},
		{"parallel tool calls", tryParallel},
		{"stop", tryStop},
		{"window", tryWindow},
	}
	for _, c := range checks {
		began := time.Now()
		detail, usage, err := c.try(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		out := Checked{Name: c.name, OK: err == nil, Detail: detail, Usage: usage, Took: time.Since(began)}
		if err != nil {
			out.Detail = err.Error()
		}
		tell(out)
		if provider.KindOf(err) == provider.KindAuth {
			return err
		}
	}
	return nil
}

// heard is what came of one request.
type heard struct {
	deltas int
	text   string
	calls  []msg.ToolCall
	blocks []msg.Block
	done   provider.Done
	ended  bool
}

func hear(ctx context.Context, m provider.Model, req provider.Request) (h heard, err error) {
	for e, err := range m.Stream(ctx, req) {
		if err != nil {
			return h, err
		}
		switch e := e.(type) {
		case provider.Delta:
			if e.Kind == provider.TextDelta {
				h.deltas++
			}
		case provider.BlockDone:
			h.blocks = append(h.blocks, e.Block)
			switch b := e.Block.(type) {
			case msg.Text:
				h.text += b.Text
			case msg.ToolCall:
				h.calls = append(h.calls, b)
			}
		case provider.Done:
			h.done, h.ended = e, true
		}
	}
	if !h.ended {
		return h, errors.New("the stream ended without an end")
	}
	return h, nil
}

func user(text string) []msg.Message {
	return []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}}
}

// answerTokens bounds the answers of the checks; thinking models need room before they speak.
const answerTokens = 4000

func tryStreaming(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	h, err := hear(ctx, m, provider.Request{
		Messages: user("Count from 1 to 30 in words, separated by commas. Write nothing else."),
		Options:  provider.Options{MaxTokens: answerTokens},
	})
	switch {
	case err != nil:
		return "", h.done.Usage, err
	case strings.TrimSpace(h.text) == "":
		return "", h.done.Usage, errors.New("the answer has no text")
	case h.deltas < 2:
		return "", h.done.Usage, errors.New("the whole answer came in one piece")
	}
	return fmt.Sprintf("%d pieces, %d bytes", h.deltas, len(h.text)), h.done.Usage, nil
}

func weatherTool() []provider.Tool {
	return []provider.Tool{{
		Name: "get_weather", Description: "Get the weather of one city.",
		Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}`),
	}}
}

func tryCall(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	req := provider.Request{
		Messages: user("What is the weather in Oslo? Use the tool get_weather."),
		Tools:    weatherTool(), Options: provider.Options{MaxTokens: answerTokens},
	}
	h, err := hear(ctx, m, req)
	if err != nil {
		return "", h.done.Usage, err
	}
	if len(h.calls) == 0 {
		return "", h.done.Usage, fmt.Errorf("it called no tool but said: %.100q", h.text)
	}
	var in struct {
		City string `json:"city"`
	}
	if c := h.calls[0]; c.Name != "get_weather" || c.Malformed != "" || json.Unmarshal(c.Input, &in) != nil || in.City == "" {
		return "", h.done.Usage, fmt.Errorf("it called %s with %s%s", c.Name, c.Input, c.Malformed)
	}
	reply := msg.Message{Role: msg.User}
	for _, c := range h.calls {
		reply.Content = append(reply.Content, msg.ToolResult{CallID: c.ID, Content: []msg.Block{msg.Text{Text: "17 degrees, light rain"}}})
	}
	req.Messages = append(req.Messages, msg.Message{Role: msg.Assistant, Model: m.Info().Ref(), Content: h.blocks}, reply)
	after, err := hear(ctx, m, req)
	usage := h.done.Usage.Add(after.done.Usage)
	if err != nil {
		return "", usage, fmt.Errorf("the result was refused: %w", err)
	}
	if !strings.Contains(after.text, "17") {
		return "", usage, fmt.Errorf("it did not use the result: %.100q", after.text)
	}
	return "called, and used the result", usage, nil
}

func tryParallel(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	h, err := hear(ctx, m, provider.Request{
		Messages: user("What is the weather in Oslo and in Lima? Call get_weather for both cities at once, in one answer."),
		Tools:    weatherTool(), Options: provider.Options{MaxTokens: answerTokens},
	})
	if err != nil {
		return "", h.done.Usage, err
	}
	ids := map[string]bool{}
	for _, c := range h.calls {
		ids[c.ID] = true
	}
	if len(h.calls) < 2 || len(ids) < len(h.calls) {
		return "", h.done.Usage, fmt.Errorf("it made %d calls with %d ids in one answer", len(h.calls), len(ids))
	}
	return fmt.Sprintf("%d calls in one answer", len(h.calls)), h.done.Usage, nil
}

// breakTime is how long giving up a request may take.
const breakTime = 2 * time.Second

func tryStop(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	ask := user("Write a poem of 400 lines about the sea.")
	h, err := hear(ctx, m, provider.Request{Messages: ask, Options: provider.Options{MaxTokens: 50, Thinking: -1, UserSetMaximum: true}})
	if err != nil {
		return "", h.done.Usage, err
	}
	if h.done.Stop != msg.StopMaxTokens {
		return "", h.done.Usage, fmt.Errorf("a limit of 50 tokens ended with %q", h.done.Stop)
	}
	var began time.Time
	for e, err := range m.Stream(ctx, provider.Request{Messages: ask, Options: provider.Options{MaxTokens: answerTokens}}) {
		if err != nil {
			return "", h.done.Usage, err
		}
		if _, ok := e.(provider.Delta); ok {
			began = time.Now()
			break
		}
	}
	if took := time.Since(began); !began.IsZero() && took > breakTime {
		return "", h.done.Usage, fmt.Errorf("giving up a request took %v", took)
	}
	return "stops at its limit, and when told to", h.done.Usage, nil
}

func tryWindow(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	if m.Info().Local {
		return localWindow(ctx, m)
	}
	window := m.Info().Window()
	h, err := hear(ctx, m, provider.Request{
		Messages: user(strings.Repeat("a ", window+window/10)),
		Options:  provider.Options{MaxTokens: 16, Thinking: -1, NoCache: true, UserSetMaximum: true},
	})
	var e *provider.Error
	switch {
	case err == nil:
		return fmt.Sprintf("more than %d tokens were accepted", h.done.Usage.Input), h.done.Usage, nil
	case errors.As(err, &e) && (e.Kind == provider.KindTooLong || e.Kind == provider.KindMaxTokens):
		if e.Max > 0 {
			return fmt.Sprintf("%d tokens, as the service says", e.Max), msg.Usage{}, nil
		}
		return fmt.Sprintf("a prompt above %d tokens is refused", window), msg.Usage{}, nil
	}
	return "", h.done.Usage, err
}

// localWindow finds how long a prompt may be before its beginning is lost: many local servers cut
// it without a word.
func localWindow(ctx context.Context, m provider.Model) (string, msg.Usage, error) {
	const word = "MARIGOLD"
	most := min(m.Info().Window(), 131_072)
	kept := 0
	var all msg.Usage
	for size := 2048; ; size = min(size*2, most) {
		text := "The secret word is " + word + ". Remember it.\n" + strings.Repeat("a ", size-200) + "\nWhat is the secret word? Answer with the word alone."
		h, err := hear(ctx, m, provider.Request{Messages: user(text), Options: provider.Options{MaxTokens: 1000}})
		all = all.Add(h.done.Usage)
		if err != nil && provider.KindOf(err) != provider.KindTooLong && provider.KindOf(err) != provider.KindMaxTokens {
			return "", all, err
		}
		if err != nil || !strings.Contains(strings.ToUpper(h.text), word) {
			break
		}
		if kept = size; size == most {
			break
		}
	}
	if kept == 0 {
		return "", all, errors.New("it does not see the beginning of a prompt of 2,000 tokens")
	}
	if kept < most {
		return "", all, fmt.Errorf("it sees about %d tokens, not the %d it should: raise the server's context length", kept, most)
	}
	return fmt.Sprintf("at least %d tokens", kept), all, nil
}
