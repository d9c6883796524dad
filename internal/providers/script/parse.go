package script

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Parse reads a script file, YAML or JSON. name is the file's name for messages. All mistakes that
// can be told apart are in the one error that comes back, each as "file:line: where: what was
// expected".
func Parse(name string, data []byte) (*Script, error) {
	root, err := parseTree(data)
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	p := &parser{name: name}
	s := &Script{
		Name:  name,
		Model: provider.Info{Provider: "script", ID: "scripted", ContextWindow: 200_000, MaxOutput: 32_000, Images: true, Documents: true, Thinking: true},
		Lanes: map[string][]Turn{},
	}
	p.object(root, "the script", fields{
		"model":  func(n *yaml.Node) { p.model(n, &s.Model) },
		"turns":  func(n *yaml.Node) { s.Turns = p.turns(n, "turns") },
		"lanes":  func(n *yaml.Node) { p.lanes(n, s.Lanes) },
		"quirks": func(n *yaml.Node) { s.Quirks = p.quirks(n) },
		"loop":   func(n *yaml.Node) { s.Loop = p.boolean(n, "loop") },
	})
	if len(s.Turns) == 0 && len(p.errs) == 0 {
		p.fail(root, "the script", "expected \"turns\" with at least one turn")
	}
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return s, nil
}

// maxErrors bounds what one error tells; after so many a file is better read than mended.
const maxErrors = 20

type parser struct {
	name string
	errs []error
}

// fields are the keys an object may have, each with the function that reads its value.
type fields map[string]func(*yaml.Node)

func (p *parser) fail(n *yaml.Node, where, format string, args ...any) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, fmt.Errorf("%s:%d: %s: %s", p.name, n.Line, where, fmt.Sprintf(format, args...)))
	}
}

// object reads a mapping and reports whether it was one.
func (p *parser) object(n *yaml.Node, where string, known fields) bool {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		p.fail(n, where, "expected an object with %s", listing(known))
		return false
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		read, ok := known[key.Value]
		switch {
		case !ok:
			p.fail(key, where, "unknown key %q; expected one of %s", key.Value, listing(known))
		case seen[key.Value]:
			p.fail(key, where, "the key %q stands twice", key.Value)
		default:
			seen[key.Value] = true
			read(value)
		}
	}
	return true
}

func listing(known fields) string {
	keys := make([]string, 0, len(known))
	for k := range known {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, ", ")
}

// list calls f for each item; a single value where a list may stand is a list of one.
func (p *parser) list(n *yaml.Node, where string, f func(n *yaml.Node, where string)) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, where, "expected a list")
		return
	}
	for i, item := range n.Content {
		f(follow(item), fmt.Sprintf("%s[%d]", where, i))
	}
}

func (p *parser) model(n *yaml.Node, m *provider.Info) {
	const where = "model"
	p.object(n, where, fields{
		"id":             func(n *yaml.Node) { m.ID = p.word(n, "model.id") },
		"context_window": func(n *yaml.Node) { m.ContextWindow = p.count(n, "model.context_window", 1) },
		"max_output":     func(n *yaml.Node) { m.MaxOutput = p.count(n, "model.max_output", 1) },
		"price": func(n *yaml.Node) {
			p.object(n, "model.price", fields{
				"input":       func(n *yaml.Node) { m.Price.Input = p.amount(n, "model.price.input") },
				"output":      func(n *yaml.Node) { m.Price.Output = p.amount(n, "model.price.output") },
				"cache_read":  func(n *yaml.Node) { m.Price.CacheRead = p.amount(n, "model.price.cache_read") },
				"cache_write": func(n *yaml.Node) { m.Price.CacheWrite = p.amount(n, "model.price.cache_write") },
			})
		},
	})
}

func (p *parser) lanes(n *yaml.Node, into map[string][]Turn) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "lanes", "expected an object of lists of turns")
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		where := fmt.Sprintf("lanes[%q]", key.Value)
		if !laneName().MatchString(key.Value) {
			p.fail(key, where, "unknown lane; expected title, classifier, compact, fetch, hook, memory, suggest, speculate, \"agent:NAME\", \"agent:*\" or \"workflow:STEP\"")
			continue
		}
		if _, twice := into[key.Value]; twice {
			p.fail(key, where, "the lane stands twice")
			continue
		}
		into[key.Value] = p.turns(value, where)
	}
}

var laneName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(title|classifier|compact|fetch|hook|memory|suggest|speculate|agent:.+|workflow:.+)$`)
})

func (p *parser) turns(n *yaml.Node, where string) []Turn {
	out := []Turn{}
	p.list(n, where, func(n *yaml.Node, where string) { out = append(out, p.turn(n, where)) })
	return out
}

func (p *parser) turn(n *yaml.Node, where string) Turn {
	t := Turn{Line: n.Line, Chunk: DefaultChunk}
	var kinds []string
	is := func(kind string) { kinds = append(kinds, kind) }
	if !p.object(n, where, fields{
		"when":    func(n *yaml.Node) { t.When = p.when(n, where+".when") },
		"expect":  func(n *yaml.Node) { t.Expect = p.expect(n, where+".expect") },
		"content": func(n *yaml.Node) { is("content"); t.Content = p.content(n, where+".content") },
		"raw":     func(n *yaml.Node) { is("raw"); t.Raw = p.bytes(n, where+".raw") },
		"error":   func(n *yaml.Node) { is("error"); t.Error = p.fault(n, where+".error") },
		"usage":   func(n *yaml.Node) { t.Usage = p.usage(n, where+".usage") },
		"stop":    func(n *yaml.Node) { t.Stop = msg.Stop(p.oneOf(n, where+".stop", stops())) },
		"then":    func(n *yaml.Node) { t.Then = Then(p.oneOf(n, where+".then", []string{"drop", "hang"})) },
		"chunk":   func(n *yaml.Node) { t.Chunk = p.count(n, where+".chunk", 1) },
		"delay":   func(n *yaml.Node) { t.Delay = p.duration(n, where+".delay") },
	}) {
		return t
	}
	if len(kinds) != 1 {
		p.fail(n, where, "expected exactly one of content, raw and error, found %s", orNone(kinds))
	}
	if t.Error != nil && t.Then != ThenEnd {
		p.fail(n, where, "an error has ended already; \"then\" goes with content or raw")
	}
	if t.Raw != nil && (t.Usage != nil || t.Stop != "") {
		p.fail(n, where, "raw bytes say usage and stop themselves")
	}
	return t
}

func orNone(kinds []string) string {
	if len(kinds) == 0 {
		return "none"
	}
	slices.Sort(kinds)
	return strings.Join(kinds, " and ")
}

func stops() []string {
	return []string{
		string(msg.StopEndTurn), string(msg.StopToolUse), string(msg.StopMaxTokens),
		string(msg.StopSequence), string(msg.StopRefusal), string(msg.StopPause),
	}
}

func (p *parser) when(n *yaml.Node, where string) string {
	out := ""
	if p.object(n, where, fields{"contains": func(n *yaml.Node) { out = p.text(n, where+".contains") }}) && out == "" {
		p.fail(n, where, "expected {contains: \"text\"}")
	}
	return out
}

func (p *parser) expect(n *yaml.Node, where string) *Expect {
	e := &Expect{Line: n.Line}
	p.object(n, where, fields{
		"contains":    func(n *yaml.Node) { e.Contains = p.texts(n, where+".contains") },
		"absent":      func(n *yaml.Node) { e.Absent = p.texts(n, where+".absent") },
		"tools":       func(n *yaml.Node) { e.Tools = p.texts(n, where+".tools") },
		"last_result": func(n *yaml.Node) { e.LastResult = p.lastResult(n, where+".last_result") },
	})
	return e
}

func (p *parser) lastResult(n *yaml.Node, where string) *LastResult {
	l := &LastResult{}
	p.object(n, where, fields{
		"tool":     func(n *yaml.Node) { l.Tool = p.word(n, where+".tool") },
		"error":    func(n *yaml.Node) { b := p.boolean(n, where+".error"); l.Error = &b },
		"contains": func(n *yaml.Node) { l.Contains = p.text(n, where+".contains") },
	})
	return l
}

func (p *parser) content(n *yaml.Node, where string) []Block {
	out := []Block{}
	p.list(n, where, func(n *yaml.Node, where string) { out = append(out, p.block(n, where)) })
	return out
}

func (p *parser) block(n *yaml.Node, where string) Block {
	b := Block{Input: "{}"}
	var kinds []string
	is := func(k BlockKind) { b.Kind = k; kinds = append(kinds, string(k)) }
	var extra *yaml.Node
	ok := p.object(n, where, fields{
		"text":     func(n *yaml.Node) { is(TextBlock); b.Text = p.text(n, where+".text") },
		"thinking": func(n *yaml.Node) { is(ThinkingBlock); b.Text = p.text(n, where+".thinking") },
		"tool":     func(n *yaml.Node) { is(ToolBlock); b.Tool = p.word(n, where+".tool") },
		"id":       func(n *yaml.Node) { extra = n; b.ID = p.word(n, where+".id") },
		"input":    func(n *yaml.Node) { extra = n; b.Input = p.input(n, where+".input") },
	})
	switch {
	case !ok:
	case len(kinds) != 1:
		p.fail(n, where, "expected exactly one of text, thinking and tool, found %s", orNone(kinds))
	case extra != nil && b.Kind != ToolBlock:
		p.fail(extra, where, "\"id\" and \"input\" go with \"tool\"")
	}
	if b.Kind != ToolBlock {
		b.Input = ""
	}
	return b
}

func (p *parser) input(n *yaml.Node, where string) string {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		return n.Value
	}
	if n.Kind != yaml.MappingNode {
		p.fail(n, where, "expected an object, or a string with the text the model shall write")
		return "{}"
	}
	out, err := jsonOf(n)
	if err != nil {
		p.fail(n, where, "%v", err)
	}
	return out
}

func (p *parser) usage(n *yaml.Node, where string) *msg.Usage {
	u := &msg.Usage{}
	p.object(n, where, fields{
		"input":       func(n *yaml.Node) { u.Input = p.count(n, where+".input", 0) },
		"output":      func(n *yaml.Node) { u.Output = p.count(n, where+".output", 0) },
		"cache_read":  func(n *yaml.Node) { u.CacheRead = p.count(n, where+".cache_read", 0) },
		"cache_write": func(n *yaml.Node) { u.CacheWrite = p.count(n, where+".cache_write", 0) },
	})
	return u
}

func (p *parser) fault(n *yaml.Node, where string) *Fault {
	f := &Fault{}
	p.object(n, where, fields{
		"status":  func(n *yaml.Node) { f.Status = p.count(n, where+".status", 0) },
		"type":    func(n *yaml.Node) { f.Type = p.text(n, where+".type") },
		"message": func(n *yaml.Node) { f.Message = p.text(n, where+".message") },
		"retry_after": func(n *yaml.Node) {
			f.RetryAfter = time.Duration(p.amount(n, where+".retry_after") * float64(time.Second))
		},
	})
	if f.Status != 0 && (f.Status < 400 || f.Status > 599) {
		p.fail(n, where, "expected a status from 400 to 599, or 0 for no answer at all, found %d", f.Status)
	}
	return f
}

func (p *parser) text(n *yaml.Node, where string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" || n.ShortTag() == "!!binary" {
		p.fail(n, where, "expected text")
		return ""
	}
	return n.Value
}

func (p *parser) word(n *yaml.Node, where string) string {
	s := p.text(n, where)
	if s == "" {
		p.fail(n, where, "expected a name")
	}
	return s
}

func (p *parser) texts(n *yaml.Node, where string) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{p.text(n, where)}
	}
	out := []string{}
	p.list(n, where, func(n *yaml.Node, where string) { out = append(out, p.text(n, where)) })
	return out
}

func (p *parser) bytes(n *yaml.Node, where string) []byte {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!binary" {
		out, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(n.Value), ""))
		if err != nil {
			p.fail(n, where, "expected base64: %v", err)
		}
		return append([]byte{}, out...)
	}
	return []byte(p.text(n, where))
}

func (p *parser) oneOf(n *yaml.Node, where string, allowed []string) string {
	s := p.text(n, where)
	if !slices.Contains(allowed, s) {
		p.fail(n, where, "expected one of %s, found %q", strings.Join(allowed, ", "), s)
	}
	return s
}

func (p *parser) boolean(n *yaml.Node, where string) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.fail(n, where, "expected true or false")
		return false
	}
	var b bool
	if err := n.Decode(&b); err != nil {
		p.fail(n, where, "expected true or false")
	}
	return b
}

func (p *parser) count(n *yaml.Node, where string, least int) int {
	v, err := strconv.Atoi(strings.ReplaceAll(n.Value, "_", ""))
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil || v < least || v > 1_000_000_000 {
		p.fail(n, where, "expected a whole number from %d to 1000000000", least)
		return least
	}
	return v
}

func (p *parser) amount(n *yaml.Node, where string) float64 {
	v, err := strconv.ParseFloat(n.Value, 64)
	if n.Kind != yaml.ScalarNode || err != nil || math.IsNaN(v) || v < 0 || v > 1e9 {
		p.fail(n, where, "expected a number from 0 to 1e9")
		return 0
	}
	return v
}

func (p *parser) duration(n *yaml.Node, where string) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < 0 {
		p.fail(n, where, "expected a duration such as 5ms or 2s")
		return 0
	}
	return d
}

// follow resolves an alias. The walkers descend into known shapes only, so an alias inside its own
// anchor ends at the first unexpected kind.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}
