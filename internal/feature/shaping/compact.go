package shaping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/engine"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// The triggers of a compaction, as events and hooks name them.
const (
	TriggerManual   = "manual"
	TriggerAuto     = "auto"
	TriggerReactive = "reactive"
)

// Errors of [Shaper.Compact] that callers tell apart.
var (
	ErrNothing   = errors.New("there is nothing to compact")
	ErrNoSaving  = errors.New("the summary would not make the conversation smaller")
	ErrForbidden = errors.New("it was forbidden") // by Config.Before
	ErrRunning   = errors.New("a compaction is running already")
	errStale     = errors.New("the conversation no longer holds what the summary stands for")
	errNoSummary = errors.New("the model gave no summary")
)

// Request asks for a compaction.
type Request struct {
	Trigger string        // one of the triggers
	Focus   string        // what the summary shall pay attention to, in the person's words
	Model   provider.Info // who writes it
	Options provider.Options
	Used    int // tokens of the last answer's usage; 0: estimated
	// Summary is the summary, when the person has it already; it stands for everything up to the
	// message with the id Upto. Empty: the model writes it.
	Summary, Upto string
}

// keptShare is the part of the window, in hundredths, that messages kept as they are may fill.
const keptShare = 25

// reactive compacts because a service found the prompt too long.
func (s *Shaper) reactive(ctx context.Context, history []msg.Message, p engine.Pressure) (engine.View, error) {
	var view engine.View
	err := errNoSummary
	if !s.failedWith(len(history)) {
		view, err = s.Compact(ctx, history, Request{Trigger: TriggerReactive, Model: p.Model, Options: p.Options, Used: p.Used})
	}
	if ctx.Err() != nil {
		return engine.View{}, ctx.Err()
	}
	if err != nil { // everything is as it was; the turn ends with the service's own refusal
		unchanged := s.view(history, p)
		unchanged.events = view.Events
		return unchanged.engine(), nil
	}
	return view, nil
}

// Compact replaces the older part of a conversation by a summary. The view it returns holds the
// new history, the messages to record and the events to tell, in this order: event, then records.
// With an error nothing has changed: the history stays as it is, and the view holds at most events
// that say so. The last message of a person whose turn is not finished is kept word for word.
func (s *Shaper) Compact(ctx context.Context, history []msg.Message, r Request) (engine.View, error) {
	if !s.begin() {
		return engine.View{}, ErrRunning
	}
	defer s.end()
	var events []proto.EventBody
	tell := func(e proto.EventBody) {
		if s.cfg.Tell != nil {
			s.cfg.Tell(e)
			return
		}
		events = append(events, e)
	}
	tell(proto.Compacting{Active: true})
	view, err := s.compact(ctx, history, r)
	if err != nil {
		err = fmt.Errorf("compact the conversation: %w", err)
		s.count(err)
		tell(proto.Compacting{Error: err.Error()})
		return engine.View{Events: events}, err
	}
	s.count(nil)
	tell(proto.Compacting{})
	view.Events = append(events, view.Events...)
	return view, nil
}

func (s *Shaper) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.working
	s.working = true
	return !was
}

func (s *Shaper) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working = false
}

// count keeps the score of compactions.
func (s *Shaper) count(err error) {
	if s.cfg.State == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrNothing) || errors.Is(err, ErrForbidden) || errors.Is(err, errStale) {
		return
	}
	s.cfg.State.Set(func(prev *State) *State {
		next := *prev
		if err == nil {
			next.Boundaries++
			next.FailuresInRow, next.AutoOff = 0, false
		} else {
			next.FailuresInRow++
			next.AutoOff = next.FailuresInRow >= 2
		}
		return &next
	})
}

func (s *Shaper) compact(ctx context.Context, history []msg.Message, r Request) (engine.View, error) {
	started := s.cfg.Now()
	text, cut, err := written(ctx, s, history, r)
	if err != nil {
		return engine.View{}, err
	}
	records := []msg.Message{s.summaryMessage(text, history, cut)}
	records = append(records, s.restored(ctx)...)
	kept := history[cut.at:]
	next := append(append([]msg.Message{records[0]}, kept...), records[1:]...)
	before, after := s.Tokens(r.Model, sizeOf(history)), s.Tokens(r.Model, sizeOf(next))
	if after >= before {
		return engine.View{}, ErrNoSaving
	}
	s.mu.Lock()
	s.tight = false // the next prompt that is too long may be tightened again
	s.hide = newHidden()
	clear(s.memos)
	clear(s.noticed)
	s.lastBytes, s.lastUsed, s.cutSilently = 0, 0, false
	overhead := s.overhead
	s.mu.Unlock()
	if r.Used > 0 {
		before = r.Used
	} else {
		before += overhead
	}
	if s.cfg.After != nil {
		s.cfg.After(ctx, r.Trigger, text)
	}
	boundary := proto.Compacted{
		Trigger: r.Trigger, PreTokens: before, PostTokens: after + overhead,
		DurationMS: s.cfg.Now().Sub(started).Milliseconds(),
		Head:       history[0].ID, Anchor: records[0].ID,
	}
	if len(kept) > 0 {
		boundary.Tail = kept[0].ID
	}
	events := []proto.EventBody{boundary}
	if text == lastSummary(history) {
		events = append(events, proto.Notice{Level: "warning", Key: "context", Text: "The summary repeats the last one word for word: what was said since may be missing in it. /compact --undo takes it back."})
	}
	shown := s.view(next, engine.Pressure{Model: r.Model, Options: r.Options})
	return engine.View{Messages: shown.messages, History: next, Records: records, Freed: true, Events: events}, nil
}

// Draft is the summary that Compact would put into effect, and the id of the last message that it
// stands for. Nothing changes.
func (s *Shaper) Draft(ctx context.Context, history []msg.Message, r Request) (text, upto string, err error) {
	if !s.begin() {
		return "", "", ErrRunning
	}
	defer s.end()
	text, cut, err := written(ctx, s, history, r)
	if err != nil {
		return "", "", fmt.Errorf("summarise the conversation: %w", err)
	}
	return text, history[cut.at-1].ID, nil
}

// written is the summary, by the model or as it was given, and what it stands for.
func written(ctx context.Context, s *Shaper, history []msg.Message, r Request) (string, division, error) {
	if r.Summary != "" {
		at := slices.IndexFunc(history, func(m msg.Message) bool { return m.ID == r.Upto })
		if at < 0 {
			return "", division{}, errStale
		}
		return r.Summary, division{at + 1, -1}, nil
	}
	cut := s.divide(history, r)
	if cut.at == 0 {
		return "", cut, ErrNothing
	}
	extra := ""
	if s.cfg.Before != nil {
		var err error
		if extra, err = s.cfg.Before(ctx, r.Trigger, r.Focus); err != nil {
			return "", cut, fmt.Errorf("%w: %w", ErrForbidden, err)
		}
	}
	if s.cfg.Ask == nil {
		return "", cut, errors.New("no model can be asked for a summary")
	}
	text, err := s.summary(ctx, history[:cut.at], r, extra)
	return text, cut, err
}

// division says where a conversation is cut: messages before at are summarised, the rest is kept.
type division struct {
	at     int
	prompt int // index of a prompt that is summarised but must be kept word for word; -1: none
}

// divide chooses the cut. What is kept is a suffix that begins with a person's message or with an
// answer, so that no call is parted from its result.
func (s *Shaper) divide(history []msg.Message, r Request) division {
	prompt := lastPrompt(history)
	if finished(history) {
		if r.Trigger == TriggerManual || prompt < 0 {
			return division{len(history), -1}
		}
	}
	if prompt == len(history)-1 && prompt >= 0 { // it has just come and is not answered yet
		for prompt > 0 && isPrompt(history[prompt-1]) { // several came together
			prompt--
		}
		return division{prompt, -1}
	}
	s.mu.Lock()
	budget := s.bytes(r.Model, r.Model.Window()*keptShare/100)
	s.mu.Unlock()
	at := len(history)
	size := 0
	for i := len(history) - 1; i > 0; i-- {
		if size += msg.Size(history[i].Content); size > budget {
			break
		}
		if i == prompt || i > prompt && startsAnswer(history, i) {
			at = i
		}
		if i == prompt {
			break
		}
	}
	if at <= prompt {
		return division{at, -1}
	}
	return division{at, prompt}
}

// finished tells whether the last answer of the conversation left nothing to do.
func finished(history []msg.Message) bool {
	n := len(history)
	return n > 0 && history[n-1].Role == msg.Assistant && len(msg.Calls(history[n-1])) == 0
}

// startsAnswer tells whether message i is the first block of an answer.
func startsAnswer(history []msg.Message, i int) bool {
	return history[i].Role == msg.Assistant && !belongsTo(history, i)
}

const continued = `This conversation goes on from an earlier part that did not fit any more. The summary below stands for it; the person can still see everything, you cannot. Go on from where it stopped, without speaking of the summary.

`

// summaryMessage makes the message that stands for what was summarised.
func (s *Shaper) summaryMessage(text string, history []msg.Message, cut division) msg.Message {
	m := msg.Message{
		ID: s.cfg.NewID(), Role: msg.User, Origin: msg.FromSummary, Time: s.cfg.Now(),
		Content: []msg.Block{msg.Text{Text: continued + text}},
	}
	if cut.prompt >= 0 {
		m.Content = append(m.Content, msg.Text{Text: "The person's last message, word for word; the summary tells what was done about it so far:"})
		m.Content = append(m.Content, history[cut.prompt].Content...)
	}
	return m
}

// restored is what stands behind the summary, read afresh. What cannot be read is left out with a
// note: the summary must not be lost over it.
func (s *Shaper) restored(ctx context.Context) []msg.Message {
	if s.cfg.Restore == nil {
		return nil
	}
	content, err := s.cfg.Restore(ctx)
	if err != nil {
		content = append(content, msg.Text{Text: "<system-reminder>Some background could not be read again after the compaction: " + err.Error() + "</system-reminder>"})
	}
	if len(content) == 0 {
		return nil
	}
	return []msg.Message{{ID: s.cfg.NewID(), Role: msg.User, Origin: msg.FromHarness, Time: s.cfg.Now(), Content: content}}
}

// summary asks for the summary. The first request is the conversation as it was sent, with the same
// options, so that the provider's cache of it is read; one that does not fit, or is answered with a
// call, is made once more, smaller and without tools.
func (s *Shaper) summary(ctx context.Context, old []msg.Message, r Request, extra string) (string, error) {
	budget := s.summaryBudget(r)
	options := r.Options
	options.MaxTokens = summaryTokens(options.MaxTokens)
	part := old
	if shown := s.view(old, engine.Pressure{Model: r.Model, Options: r.Options}).messages; sizeOf(shown) <= budget && !hasMedia(shown) {
		part = shown
	} else {
		part, options = fit(old, budget), bareOptions(options)
	}
	var last error
	for try := range 2 {
		if try > 0 {
			part, options = fit(old, budget), bareOptions(options)
		}
		blocks, err := s.cfg.Ask(ctx, provider.Request{
			Lane: provider.LaneCompact, Options: options,
			Messages: msg.Sendable(append(
				part[:len(part):len(part)], msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: instructions(r.Focus, extra)}}},
			), msg.Bounds{}),
		})
		if err == nil {
			text, err := summaryText(blocks)
			if err == nil || !hasCalls(blocks) {
				return text, err
			}
			last = err
			continue
		}
		last = err
		if k := provider.KindOf(err); k != provider.KindTooLong && k != provider.KindMaxTokens {
			return "", err
		}
		budget /= 2
	}
	return "", last
}

func hasMedia(history []msg.Message) bool {
	for _, m := range history {
		for _, b := range m.Content {
			r, _ := b.(msg.ToolResult)
			if isMedia(b) || slices.ContainsFunc(r.Content, isMedia) {
				return true
			}
		}
	}
	return false
}

func hasCalls(blocks []msg.Block) bool {
	return len(msg.Calls(msg.Message{Role: msg.Assistant, Content: blocks})) > 0
}

// maxSummary bounds a summary, in tokens.
const maxSummary = 16_000

func summaryTokens(configured int) int {
	if configured == 0 || configured > maxSummary {
		return maxSummary
	}
	return configured
}

// bareOptions are those of a request that shares no cache with the conversation.
func bareOptions(o provider.Options) provider.Options {
	o.ToolChoice, o.Schema, o.WebSearch, o.StopSequences = "none", nil, nil, nil
	o.Thinking, o.Effort = -1, ""
	return o
}

// summaryBudget is how many bytes of conversation fit beside system prompt, instructions and
// answer.
func (s *Shaper) summaryBudget(r Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := r.Model.Window() - min(maxSummary, r.Model.OutputLimit()) - s.overhead - 1500
	free = min(free, r.Model.Window()*9/10) // the estimate may be off
	return max(s.bytes(r.Model, free), 4000)
}

// lastSummary is the text of the summary that a conversation begins with; empty: it has none.
func lastSummary(history []msg.Message) string {
	if len(history) == 0 || history[0].Origin != msg.FromSummary || len(history[0].Content) == 0 {
		return ""
	}
	return strings.TrimPrefix(msg.TextOf(history[0].Content[:1]), continued)
}

// repeats reports whether a text of some length says a few lines, or a few words, again and again.
func repeats(text string) bool {
	for _, pieces := range [][]string{strings.Split(text, "\n"), strings.Fields(text)} {
		said, distinct := 0, map[string]bool{}
		for _, p := range pieces {
			if p = strings.TrimSpace(p); p != "" {
				said++
				distinct[p] = true
			}
		}
		if said >= 60 && len(distinct)*20 < said {
			return true
		}
	}
	return false
}

// summaryText takes the summary out of an answer.
func summaryText(blocks []msg.Block) (string, error) {
	for _, b := range blocks {
		if _, ok := b.(msg.ToolCall); ok {
			return "", fmt.Errorf("%w: it called a tool instead", errNoSummary)
		}
	}
	text := strings.TrimSpace(msg.TextOf(blocks))
	switch {
	case text == "":
		return "", fmt.Errorf("%w: its answer was empty", errNoSummary)
	case repeats(text):
		return "", fmt.Errorf("%w: its answer repeats itself over and over", errNoSummary)
	}
	return text, nil
}
