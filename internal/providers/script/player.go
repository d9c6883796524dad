package script

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Player plays a script: it chooses the turn that answers a request, checks what the turn expects,
// fills in placeholders, ids, usage and stop. It is safe for concurrent use; requests that come at
// the same time get their turns in the order in which they ask.
type Player struct {
	script *Script

	mu      sync.Mutex        // guards all below
	used    map[string][]bool // which turns of a lane have been used
	made    int               // number of ids made up
	answers int               // number of answers of the in-process model
	failed  *provider.Error   // the first miss
}

// NewPlayer returns a player at the beginning of s.
func NewPlayer(s *Script) *Player {
	return &Player{script: s, used: map[string][]bool{}}
}

// Next returns the turn that answers a request made in lane. A missed expectation and turns that
// ran out are a *provider.Error of kind script; after one the player answers every request with
// it, so that a run cannot go on beside its script.
func (p *Player) Next(lane provider.Lane, f Facts) (Turn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed != nil {
		return Turn{}, p.failed
	}
	key, turns := p.turnsOf(lane)
	if turns == nil {
		return p.finish(unscripted(lane, f), f), nil
	}
	i := p.choose(key, turns, f)
	if i < 0 {
		p.failed = p.ranOut(lane, turns, f)
		return Turn{}, p.failed
	}
	t := turns[i]
	if missed := t.Expect.check(f); len(missed) > 0 {
		p.failed = p.missed(lane, i, t, missed, f)
		return Turn{}, p.failed
	}
	return p.finish(t, f), nil
}

// Err is the first missed expectation, or nil.
func (p *Player) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		return nil
	}
	return p.failed
}

// Unused is the number of turns of the main conversation that have not been played.
func (p *Player) Unused() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.script.Turns)
	for _, used := range p.used[string(provider.LaneMain)] {
		if used {
			n--
		}
	}
	return n
}

// countAnswer numbers the answers of the in-process model.
func (p *Player) countAnswer() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	return p.answers
}

// turnsOf finds the turns of a lane and the name they are counted under; nil: the script has none.
func (p *Player) turnsOf(lane provider.Lane) (string, []Turn) {
	name := string(lane)
	if lane == "" || lane == provider.LaneMain {
		return string(provider.LaneMain), p.script.Turns
	}
	if turns, ok := p.script.Lanes[name]; ok {
		return name, turns
	}
	if kind, _, ok := strings.Cut(name, ":"); ok {
		if turns, ok := p.script.Lanes[kind+":*"]; ok {
			return kind + ":*", turns
		}
	}
	return name, nil
}

// choose marks and returns the turn to play, -1 when there is none.
func (p *Player) choose(key string, turns []Turn, f Facts) int {
	if p.used[key] == nil {
		p.used[key] = make([]bool, len(turns))
	}
	i := pick(turns, p.used[key], f)
	if i < 0 && p.script.Loop {
		clear(p.used[key])
		i = pick(turns, p.used[key], f)
	}
	if i >= 0 {
		p.used[key][i] = true
	}
	return i
}

func pick(turns []Turn, used []bool, f Facts) int {
	next := -1
	for i, t := range turns {
		switch {
		case used[i]:
		case t.When != "" && strings.Contains(f.Messages, t.When):
			return i
		case t.When == "" && next < 0:
			next = i
		}
	}
	return next
}

// finish fills in what a turn leaves open.
func (p *Player) finish(t Turn, f Facts) Turn {
	content := make([]Block, len(t.Content))
	calls, size := false, 0
	for i, b := range t.Content {
		b.Text = f.fill(b.Text, false, b.Kind == TextBlock)
		if b.Kind == ToolBlock {
			calls = true
			b.Input = f.fill(b.Input, true, true)
			if b.ID == "" {
				b.ID = p.newID(f.Calls)
			}
		}
		content[i] = b
		size += len(b.Text) + len(b.Tool) + len(b.Input)
	}
	if t.Content != nil {
		t.Content = content
	}
	if t.Stop == "" {
		t.Stop = msg.StopEndTurn
		if calls {
			t.Stop = msg.StopToolUse
		}
	}
	if t.Usage == nil {
		t.Usage = &msg.Usage{Input: tokens(f.Bytes), Output: tokens(size)}
	}
	if t.Chunk == 0 {
		t.Chunk = DefaultChunk
	}
	return t
}

// bytesPerToken is the rough measure of the estimate.
const bytesPerToken = 4

func tokens(bytes int) int { return max((bytes+bytesPerToken-1)/bytesPerToken, 1) }

// newID makes an id no call of the conversation has, also when an earlier process played the same
// script into it.
func (p *Player) newID(taken []string) string {
	for {
		p.made++
		id := fmt.Sprintf("toolu_script_%04d", p.made)
		if !slices.Contains(taken, id) {
			return id
		}
	}
}

// fill replaces the placeholders in s. In JSON text they can only stand inside strings, so the
// value is written as the inside of one.
func (f Facts) fill(s string, inJSON, fillable bool) string {
	if !fillable || !strings.Contains(s, "{{") {
		return s
	}
	as := func(v string) string {
		if !inJSON {
			return v
		}
		q := quote(v)
		return q[1 : len(q)-1]
	}
	last, _ := f.lastResult("")
	pairs := []string{"{{prompt}}", as(f.Prompt), "{{last_result}}", as(last.Text), "{{cwd}}", as(f.Cwd)}
	seen := map[string]bool{}
	for i := len(f.Results) - 1; i >= 0; i-- { // the newest of two with one id
		if r := f.Results[i]; !seen[r.ID] {
			seen[r.ID] = true
			pairs = append(pairs, "{{result."+r.ID+"}}", as(r.Text))
		}
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

func (p *Player) ranOut(lane provider.Lane, turns []Turn, f Facts) *provider.Error {
	waiting := 0
	for i, t := range turns {
		if t.When != "" && !p.used[p.key(lane)][i] {
			waiting++
		}
	}
	text := fmt.Sprintf("script %s: the turns of %s ran out: all %d are used and one more request came",
		p.script.Name, laneTitle(lane), len(turns)-waiting)
	if waiting > 0 {
		text += fmt.Sprintf("; %d with \"when\" did not match it", waiting)
	}
	return scriptError(text + "\n" + newest(f))
}

func (p *Player) key(lane provider.Lane) string {
	key, _ := p.turnsOf(lane)
	return key
}

func (p *Player) missed(lane provider.Lane, i int, t Turn, missed []string, f Facts) *provider.Error {
	line := t.Line
	if t.Expect.Line > 0 {
		line = t.Expect.Line
	}
	return scriptError(fmt.Sprintf("script %s:%d: turn %d of %s expects another request:\n  %s\n%s",
		p.script.Name, line, i+1, laneTitle(lane), strings.Join(missed, "\n  "), newest(f)))
}

func laneTitle(lane provider.Lane) string {
	if lane == "" || lane == provider.LaneMain {
		return "the main conversation"
	}
	return fmt.Sprintf("lane %q", string(lane))
}

func scriptError(text string) *provider.Error {
	return &provider.Error{Kind: provider.KindScript, Provider: "script", Message: text}
}
