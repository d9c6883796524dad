package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Options are what a [Model] takes of the world. The zero value is usable.
type Options struct {
	Sleep func(ctx context.Context, d time.Duration) error // returns early with the context's error; nil: the real one
	Cwd   func() string                                    // for {{cwd}} where the request names no working directory; nil: empty
}

// Model plays a script in process. It is safe for concurrent use.
type Model struct {
	player *Player
	info   provider.Info
	opts   Options
}

// New returns a model at the beginning of s.
func New(s *Script, opts Options) *Model {
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	return &Model{player: NewPlayer(s), info: s.Model, opts: opts}
}

// Info implements provider.Model.
func (m *Model) Info() provider.Info { return m.info }

// Player is the player behind the model, for who wants to know how far it came.
func (m *Model) Player() *Player { return m.player }

// Stream implements provider.Model.
func (m *Model) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		facts := FactsOf(req)
		if facts.Cwd == "" && m.opts.Cwd != nil {
			facts.Cwd = m.opts.Cwd()
		}
		turn, err := m.player.Next(req.Lane, facts)
		if err != nil {
			yield(nil, err)
			return
		}
		s := &stage{ctx: ctx, yield: yield, turn: turn, sleep: m.opts.Sleep}
		s.play(m.info.ID, m.answerID(facts))
	}
}

// answerID names an answer. It follows from the conversation and the count of answers, so that a
// run is the same twice and an answer after a resume is called unlike those before it.
func (m *Model) answerID(f Facts) string {
	n := m.player.countAnswer()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d\n%s", n, f.Messages))
	return "msg_script_" + hex.EncodeToString(sum[:12])
}

// stage plays one turn to one listener. Its methods report false when the listener has gone or the
// stream has ended.
type stage struct {
	ctx   context.Context
	yield func(provider.Event, error) bool
	turn  Turn
	sleep func(context.Context, time.Duration) error

	spoken bool // a delta was sent
}

func (s *stage) play(model, id string) {
	t := s.turn
	switch {
	case t.Error != nil:
		s.yield(nil, t.Error.Err())
		return
	case t.Raw != nil:
		s.raw(model, id)
		return
	}
	before := *t.Usage
	before.Output = 0
	if !s.yield(provider.Start{ID: id, Model: model, Usage: before}, nil) {
		return
	}
	for i, b := range t.Content {
		if !s.block(i, b, t.Then != ThenEnd && i == len(t.Content)-1) {
			return
		}
	}
	if t.Then != ThenEnd {
		s.breakOff()
		return
	}
	s.yield(provider.Done{Stop: t.Stop, Usage: *t.Usage}, nil)
}

// block plays one block; cut leaves it open.
func (s *stage) block(index int, b Block, cut bool) bool {
	opening, kind, text := blockParts(b)
	if !s.yield(provider.BlockStart{Index: index, Block: opening}, nil) {
		return false
	}
	for _, piece := range Pieces(text, s.turn.Chunk) {
		if s.spoken && s.turn.Delay > 0 {
			if err := s.sleep(s.ctx, s.turn.Delay); err != nil {
				s.yield(nil, err)
				return false
			}
		}
		s.spoken = true
		if !s.yield(provider.Delta{Index: index, Kind: kind, Text: piece}, nil) {
			return false
		}
	}
	return s.yield(provider.BlockDone{Index: index, Block: wholeBlock(b), Partial: cut}, nil)
}

// breakOff ends the stream the way the turn says.
func (s *stage) breakOff() {
	if s.turn.Then == ThenHang {
		<-s.ctx.Done()
		s.yield(nil, s.ctx.Err())
		return
	}
	s.yield(nil, &provider.Error{Kind: provider.KindStream, Provider: "script", Message: "the connection was cut"})
}

// Pieces cuts text into deltas of chunk characters.
func Pieces(text string, chunk int) []string {
	var out []string
	count, from := 0, 0
	for at := range text {
		if count == chunk {
			out = append(out, text[from:at])
			count, from = 0, at
		}
		count++
	}
	if from < len(text) {
		out = append(out, text[from:])
	}
	return out
}

func blockParts(b Block) (opening msg.Block, kind provider.DeltaKind, text string) {
	switch b.Kind {
	case ThinkingBlock:
		return msg.Thinking{}, provider.ThinkingDelta, b.Text
	case ToolBlock:
		return msg.ToolCall{ID: b.ID, Name: b.Tool}, provider.InputDelta, b.Input
	default:
		return msg.Text{}, provider.TextDelta, b.Text
	}
}

func wholeBlock(b Block) msg.Block {
	switch b.Kind {
	case ThinkingBlock:
		return msg.Thinking{Thinking: b.Text}
	case ToolBlock:
		return toolCall(b.ID, b.Tool, b.Input)
	default:
		return msg.Text{Text: b.Text}
	}
}

// toolCall makes a call of the text a model wrote as its input.
func toolCall(id, name, input string) msg.ToolCall {
	trimmed := strings.TrimSpace(input)
	switch {
	case trimmed == "":
		return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage("{}")}
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage(trimmed)}
	default:
		return msg.ToolCall{ID: id, Name: name, Input: json.RawMessage("{}"), Malformed: input}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
