package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// checker turns one parsed file into the nodes that may take effect, and collects what is wrong.
// One bad entry costs itself alone.
type checker struct {
	cat      *catalogue
	doc      *jsonc.Doc
	scope    origin.Scope
	guest    bool
	problems []Problem
}

// checked is a file after checking.
type checked struct {
	root     *Node
	problems []Problem
}

func check(cat *catalogue, doc *jsonc.Doc, scope origin.Scope, guest bool) checked {
	c := &checker{cat: cat, doc: doc, scope: scope, guest: guest}
	root := c.object("", doc.Root())
	return checked{root: root, problems: c.problems}
}

// report adds a problem at the place of a node or name.
func (c *checker) report(at origin.Origin, key string, p Problem) {
	p.Scope, p.File, p.Line, p.Column, p.Key = at.Scope, at.File, at.Line, at.Column, key
	if p.Level == "" {
		p.Level = LevelWarning
	}
	c.problems = append(c.problems, p)
}

// isRules reports whether a key, or a part of one, is about permission rules that forbid.
func isRules(key string) bool {
	return key == "permissions" || strings.HasPrefix(key, "permissions.deny") || strings.HasPrefix(key, "permissions.ask")
}

// object checks a namespace: an object whose members are known keys or namespaces. A namespace that
// stands there several times is one.
func (c *checker) object(prefix string, nodes ...*jsonc.Node) *Node {
	out := &Node{Kind: jsonc.Object, At: c.doc.At(nodes[0])}
	for _, same := range grouped(nodes...) {
		name := prefix + same[0].Name
		if len(same) > 1 {
			c.reportDouble(name, same)
		}
		same = slices.DeleteFunc(same, func(m jsonc.Member) bool { return m.Value.Kind == jsonc.Null }) // unset at this level
		if len(same) == 0 || name == "$schema" {
			continue
		}
		if v := c.member(name, same); v != nil {
			out.Members = append(out.Members, Member{Key: same[0].Name, Value: v})
		}
	}
	return out
}

// member checks what stands under one name of a namespace: once, or several times.
func (c *checker) member(name string, same []jsonc.Member) *Node {
	if k, ok := c.cat.keys[name]; ok {
		var values []*Node
		for _, m := range same {
			if v := c.value(k, m); v != nil {
				values = append(values, v)
			}
		}
		return strictestOf(k, values)
	}
	if !c.cat.spaces[name] {
		c.unknown(name, same[len(same)-1])
		return nil
	}
	var objects []*jsonc.Node
	for _, m := range same {
		if m.Value.Kind == jsonc.Object {
			objects = append(objects, m.Value)
			continue
		}
		c.report(c.doc.At(m.Value), name, Problem{
			Message: "is " + m.Value.Kind.String(), Expected: "an object", Lost: c.cat.restrictsBelow(name),
		})
	}
	if len(objects) == 0 {
		return nil
	}
	return c.object(name+".", objects...)
}

// unknown reports a name nobody knows. One that is a slip of the keyboard away from a key that
// restricts was meant to restrict: it counts as lost.
func (c *checker) unknown(name string, m jsonc.Member) {
	p := Problem{Level: LevelNotice, Message: "unknown key, kept and not used", Nearest: c.cat.nearest(name)}
	if near, ok := c.cat.meantLock(name); ok {
		p.Nearest, p.Lost = near, true
	}
	if !c.guest || p.Lost { // other programs' files may well know more keys
		p.Level = LevelWarning
	}
	c.report(c.doc.AtMember(m), name, p)
}

// value checks the value of a known key. It returns nil when nothing of it may take effect.
func (c *checker) value(k *Key, m jsonc.Member) *Node {
	if !c.mayStand(k, m) {
		return nil
	}
	if k.Name != hooksKey {
		c.doublesInside(k, k.Name, m.Value)
	}
	n := c.shape(k, m.Value)
	if n != nil && k.check != nil && c.faults(k, n) {
		n = nil
	}
	if n == nil {
		n = c.closed(k, m.Value)
	}
	c.unkept(k, m, n)
	return n
}

// mayStand reports whether the key has effect in this file.
func (c *checker) mayStand(k *Key, m jsonc.Member) bool {
	if k.Scopes&scopeBit(c.scope) != 0 && (!c.guest || k.Name != compatKey) {
		return true
	}
	p := Problem{Message: "has no effect in " + fileOf(c.scope), Expected: "it in " + k.Scopes.String()}
	if k.Need == 3 {
		p.Level = LevelNotice
	}
	c.report(c.doc.AtMember(m), k.Name, p)
	return false
}

func fileOf(scope origin.Scope) string {
	switch scope {
	case origin.Flag:
		return "--settings"
	case origin.Project:
		return "the shared project file"
	}
	return "the " + string(scope) + " file"
}

const (
	startMode = "permissions.defaultMode"
	compatKey = "compat"
	hooksKey  = "hooks"
)

// shape checks type, list of values and range, and returns the node without what is wrong; nil when
// nothing is left of it.
func (c *checker) shape(k *Key, n *jsonc.Node) *Node {
	if k.Name == hooksKey { // whoever runs them knows what a wrong shape costs
		return c.hooks(n)
	}
	if !k.Type.takes(n.Kind) {
		return c.wrong(k, n, "is "+n.Kind.String(), k.Type.describe(), "")
	}
	switch n.Kind {
	case jsonc.String:
		if len(k.Enum) > 0 && !slices.Contains(k.Enum, n.Text()) {
			return c.wrong(k, n, quoted(n)+" is not one of its values", strings.Join(k.Enum, ", "), slip(n.Text(), k.Enum))
		}
	case jsonc.Number:
		if why := outOfRange(k, n); why != "" {
			return c.wrong(k, n, why, rangeOf(k), "")
		}
	case jsonc.Array:
		return c.array(k, n)
	case jsonc.Object:
		if k.Type&TAny == 0 && k.Type&TObject == 0 {
			return c.mapOf(k, n)
		}
	}
	out := convert(c.doc, n)
	if k.Name == startMode && (c.scope == origin.Project || c.scope == origin.Local) && n.Text() == "auto" {
		c.report(out.At, k.Name, Problem{
			Message: "auto is not taken from project and local files; the session starts in default",
		})
		// Not the value of a lower level either: it was overruled for this folder.
		out.Scalar = json.RawMessage(`"default"`)
	}
	return out
}

func (c *checker) wrong(k *Key, n *jsonc.Node, message, expected, near string) *Node {
	c.report(c.doc.At(n), k.Name, Problem{
		Message: message, Expected: expected, Nearest: near,
		Lost: k.Forbids && (n.Kind != jsonc.Array || len(n.Elems) > 0),
	})
	return nil
}

func quoted(n *jsonc.Node) string {
	text := n.Text()
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	return strconv.Quote(text)
}

func outOfRange(k *Key, n *jsonc.Node) string {
	f, err := strconv.ParseFloat(n.Text(), 64)
	switch {
	case err != nil:
		return n.Text() + " is no usable number"
	case k.Type&TNumber == 0 && f != math.Trunc(f):
		return n.Text() + " is not a whole number"
	case k.Max != 0 && (f < k.Min || f > k.Max):
		return n.Text() + " is out of range"
	}
	return ""
}

func rangeOf(k *Key) string {
	if k.Max == 0 {
		return k.Type.describe()
	}
	return fmt.Sprintf("%s from %s to %s", k.Type.describe(), number(k.Min), number(k.Max))
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// array keeps the elements that fit.
func (c *checker) array(k *Key, n *jsonc.Node) *Node {
	want := jsonc.Kind(0)
	switch {
	case k.Type&(TAny|TArray) != 0:
	case k.Type&TStrings != 0:
		want = jsonc.String
	default:
		want = jsonc.Object
	}
	out := &Node{Kind: jsonc.Array, At: c.doc.At(n)}
	for i, e := range n.Elems {
		if want != 0 && e.Kind != want {
			c.report(c.doc.At(e), fmt.Sprintf("%s[%d]", k.Name, i), Problem{
				Message: "is " + e.Kind.String(), Expected: want.String(), Lost: k.Forbids,
			})
			if k.Closed == "true" { // a list of what is locked, one of which is not known
				return nil
			}
			continue
		}
		if len(k.Enum) > 0 && e.Kind == jsonc.String && !slices.Contains(k.Enum, e.Text()) {
			return c.wrong(k, e, quoted(e)+" is not one of its values", strings.Join(k.Enum, ", "), slip(e.Text(), k.Enum))
		}
		out.Elems = append(out.Elems, convert(c.doc, e))
	}
	if strings.HasPrefix(k.Name, "sandbox.credentials.") {
		c.credentials(k, out)
	}
	return out
}

// mapOf keeps the members of an object of strings or booleans that fit.
func (c *checker) mapOf(k *Key, n *jsonc.Node) *Node {
	want := jsonc.String
	if k.Type&TBoolMap != 0 {
		want = jsonc.Bool
	}
	out := &Node{Kind: jsonc.Object, At: c.doc.At(n)}
	for _, m := range jsonc.Unique(n.Members) {
		switch {
		case m.Value.Kind == jsonc.Null:
		case m.Value.Kind == want:
			out.Members = append(out.Members, Member{Key: m.Name, Value: convert(c.doc, m.Value)})
		case k.Name == "env" && (m.Value.Kind == jsonc.Number || m.Value.Kind == jsonc.Bool):
			// A number that was not quoted means what it says.
			v := convert(c.doc, m.Value)
			v.Kind, v.Scalar = jsonc.String, quote.JSON(nil, m.Value.Text())
			out.Members = append(out.Members, Member{Key: m.Name, Value: v})
		default:
			c.report(c.doc.At(m.Value), k.Name+"."+m.Name, Problem{Message: "is " + m.Value.Kind.String(), Expected: want.String()})
		}
	}
	return out
}

// credentials applies the rules for entries {path or name, mode}: masking is not for a folder's own
// files, and a wrong managed entry denies.
func (c *checker) credentials(k *Key, list *Node) {
	kept := list.Elems[:0]
	for i, e := range list.Elems {
		key := fmt.Sprintf("%s[%d]", k.Name, i)
		mode := e.Get("mode")
		switch text := mode.Text(); {
		case text == "deny":
			kept = append(kept, e)
		case text == "mask" && (c.scope == origin.Project || c.scope == origin.Local):
			c.report(e.At, key, Problem{Message: "mask has no effect in " + fileOf(c.scope), Expected: `"deny" here, or the entry in ` + UserManaged.String()})
		case text == "mask":
			kept = append(kept, e)
		default:
			p := Problem{Message: "mode is missing or unknown", Expected: `"deny" or "mask"`}
			if c.scope == origin.Managed {
				p.Message += "; deny is in force instead"
				e.set("mode", &Node{Kind: jsonc.String, At: e.At, Scalar: json.RawMessage(`"deny"`)})
				kept = append(kept, e)
			}
			c.report(e.At, key, p)
		}
	}
	list.Elems = kept
}

// set gives a node that is still being built a member.
func (n *Node) set(key string, value *Node) {
	for i := range n.Members {
		if n.Members[i].Key == key {
			n.Members[i].Value = value
			return
		}
	}
	n.Members = append(n.Members, Member{Key: key, Value: value})
}

// convert copies a parsed value with its places. Null members of objects are unset; of double ones the
// last counts.
func convert(doc *jsonc.Doc, n *jsonc.Node) *Node { return copied(doc, n, jsonc.Unique) }

// convertAll is convert with double members kept.
func convertAll(doc *jsonc.Doc, n *jsonc.Node) *Node {
	return copied(doc, n, func(all []jsonc.Member) []jsonc.Member { return all })
}

func copied(doc *jsonc.Doc, n *jsonc.Node, members func([]jsonc.Member) []jsonc.Member) *Node {
	out := &Node{Kind: n.Kind, At: doc.At(n)}
	switch n.Kind {
	case jsonc.Object:
		for _, m := range members(n.Members) {
			if m.Value.Kind != jsonc.Null {
				out.Members = append(out.Members, Member{Key: m.Name, Value: copied(doc, m.Value, members)})
			}
		}
	case jsonc.Array:
		for _, e := range n.Elems {
			out.Elems = append(out.Elems, copied(doc, e, members))
		}
	default:
		out.Scalar = n.JSON()
	}
	return out
}

// faults asks the section what is wrong in the value, reports it, and drops those parts. It reports
// whether the whole value is wrong.
func (c *checker) faults(k *Key, n *Node) (whole bool) {
	type drop struct{ parent, child *Node }
	var drops []drop
	for _, f := range k.check(n.JSON()) {
		parent, at := n.follow(f.At)
		key := k.Name
		for _, step := range f.At {
			if _, err := strconv.Atoi(step); err == nil {
				key += "[" + step + "]"
			} else {
				key += "." + step
			}
		}
		c.report(at.At, key, Problem{
			Message: f.Message, Expected: f.Expected, Nearest: f.Nearest,
			Lost: k.Forbids && !f.Keep && !f.Grants,
		})
		switch {
		case f.Keep:
		case parent == nil:
			whole = true
		default:
			drops = append(drops, drop{parent, at})
		}
	}
	// Only now: a step is an index into the value that was checked.
	for _, d := range drops {
		d.parent.drop(d.child)
	}
	return whole
}

// follow goes down the steps as far as they lead and returns the last value and its parent; no
// parent means the steps lead nowhere.
func (n *Node) follow(steps []string) (parent, at *Node) {
	at = n
	for _, step := range steps {
		next := at.step(step)
		if next == nil {
			break
		}
		parent, at = at, next
	}
	return parent, at
}

func (n *Node) step(name string) *Node {
	if n.Kind == jsonc.Array {
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(n.Elems) {
			return n.Elems[i]
		}
		return nil
	}
	return n.Get(name)
}

// drop takes a child out of a node that is still being built.
func (n *Node) drop(child *Node) {
	n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.Value == child })
	n.Elems = slices.DeleteFunc(n.Elems, func(e *Node) bool { return e == child })
}
