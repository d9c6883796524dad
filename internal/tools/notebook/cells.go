package notebook

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// notebook is a parsed notebook whose values know where they stand in the text.
type notebook struct {
	text     string
	cells    *hujson.Array
	end      int // of the cells' array, behind its bracket
	ids      bool
	language string
	unit     string // indentation of one level; empty: everything stands on one line
}

// cell is one cell of it.
type cell struct {
	id, kind string
	value    *hujson.Value
	object   *hujson.Object
}

// outcome is what an edit did.
type outcome struct {
	id, kind, old string
	lost          string // what was left out with the old kind of the cell
}

func parse(text string) (*notebook, error) {
	root, err := hujson.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	if !root.IsStandard() {
		return nil, errors.New("comments and trailing commas are not allowed in it")
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, errors.New("expected an object")
	}
	value := member(object, "cells")
	if value == nil {
		return nil, errors.New("it has no cells (older than nbformat 4?)")
	}
	cells, ok := value.Value.(*hujson.Array)
	if !ok {
		return nil, errors.New("its cells are no array")
	}
	nb := &notebook{text: text, cells: cells, end: value.EndOffset}
	var meta struct {
		Major    int `json:"nbformat"`
		Minor    int `json:"nbformat_minor"`
		Metadata struct {
			Language struct {
				Name string `json:"name"`
			} `json:"language_info"`
			Kernel struct {
				Language string `json:"language"`
			} `json:"kernelspec"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(text), &meta); err != nil {
		return nil, err
	}
	nb.ids = meta.Major > 4 || (meta.Major == 4 && meta.Minor >= 5)
	if nb.language = meta.Metadata.Language.Name; nb.language == "" {
		nb.language = meta.Metadata.Kernel.Language
	}
	if len(object.Members) > 0 {
		nb.unit = indentOf(object.Members[0].Name.BeforeExtra)
	}
	return nb, nil
}

// indentOf is the indentation that blanks before a value end in; empty without a line end.
func indentOf(blanks []byte) string {
	i := bytes.LastIndexByte(blanks, '\n')
	if i < 0 {
		return ""
	}
	return string(blanks[i+1:])
}

func member(o *hujson.Object, name string) *hujson.Value {
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

func text(v *hujson.Value) string {
	if v == nil {
		return ""
	}
	switch v := v.Value.(type) {
	case hujson.Literal:
		if v.Kind() == '"' {
			return v.String()
		}
	case *hujson.Array:
		out := ""
		for i := range v.Elements {
			out += text(&v.Elements[i])
		}
		return out
	}
	return ""
}

// find returns a cell by its id, or by the "cell-N" and plain N that stand for its place, from 0.
func (nb *notebook) find(id string) (int, cell, bool) {
	place := -1
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "cell-")); err == nil {
		place = n
	}
	at := -1
	for i := range nb.cells.Elements {
		o, ok := nb.cells.Elements[i].Value.(*hujson.Object)
		if ok && text(member(o, "id")) == id {
			at = i
			break
		}
		if ok && i == place {
			at = i
		}
	}
	if at < 0 {
		return 0, cell{}, false
	}
	v := &nb.cells.Elements[at]
	o := v.Value.(*hujson.Object)
	c := cell{id: text(member(o, "id")), kind: text(member(o, "cell_type")), value: v, object: o}
	if c.id == "" {
		c.id = fmt.Sprintf("cell-%d", at)
	}
	return at, c, true
}

// edit returns what changes in the text.
func (nb *notebook) edit(in Input, newID func() string) (outcome, []textfile.Edit, string) {
	if in.Mode == "insert" && in.CellID == "" {
		return nb.insert(0, in, newID)
	}
	i, c, ok := nb.find(in.CellID)
	if !ok {
		return outcome{}, nil, fmt.Sprintf("Cell %q was not found in the notebook. Its cells are: %s.", in.CellID, nb.names())
	}
	switch in.Mode {
	case "insert":
		return nb.insert(i+1, in, newID)
	case "delete":
		return outcome{id: c.id, kind: c.kind, old: text(member(c.object, "source"))}, []textfile.Edit{nb.without(i)}, ""
	default:
		return nb.replace(c, in)
	}
}

func (nb *notebook) names() string {
	var out []string
	for i := range min(len(nb.cells.Elements), 50) {
		if _, c, ok := nb.find(fmt.Sprintf("cell-%d", i)); ok {
			out = append(out, c.id)
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// replace changes the source of a cell, and its kind if another is asked for. What a code cell has
// put out is cleared.
func (nb *notebook) replace(c cell, in Input) (outcome, []textfile.Edit, string) {
	source := member(c.object, "source")
	if source == nil {
		return outcome{}, nil, fmt.Sprintf("Cell %q has no source.", c.id)
	}
	done := outcome{id: c.id, kind: c.kind, old: text(source)}
	if in.Type != "" && in.Type != c.kind { // another kind has other members
		done.kind = in.Type
		fields := map[string]any{}
		for i := range c.object.Members {
			m := &c.object.Members[i]
			fields[m.Name.Value.(hujson.Literal).String()] = json.RawMessage(nb.text[m.Value.StartOffset:m.Value.EndOffset])
		}
		delete(fields, "outputs")
		delete(fields, "execution_count")
		if in.Type == "code" {
			fields["outputs"], fields["execution_count"] = []any{}, nil
			if _, ok := fields["attachments"]; ok { // the format allows them in texts alone
				delete(fields, "attachments")
				done.lost = "attachments"
			}
		}
		fields["cell_type"], fields["source"] = in.Type, lines(in.Source)
		indent := indentOf(c.value.BeforeExtra)
		return done, []textfile.Edit{{Start: c.value.StartOffset, End: c.value.EndOffset, New: nb.encode(fields, indent)}}, ""
	}
	edits := []textfile.Edit{{Start: source.StartOffset, End: source.EndOffset, New: nb.source(source, in.Source)}}
	if c.kind == "code" {
		for name, value := range map[string]string{"outputs": "[]", "execution_count": "null"} {
			if v := member(c.object, name); v != nil {
				edits = append(edits, textfile.Edit{Start: v.StartOffset, End: v.EndOffset, New: value})
			}
		}
	}
	return done, edits, ""
}

// source writes a source in the form the old one has: a string, or an array of lines.
func (nb *notebook) source(old *hujson.Value, source string) string {
	array, ok := old.Value.(*hujson.Array)
	if !ok {
		return encode(source, "", "")
	}
	// The lines of the array are indented by one level more than what closes it.
	indent := ""
	if nb.unit != "" {
		indent = strings.Repeat(nb.unit, 3)
		if len(array.Elements) > 0 {
			indent = strings.TrimSuffix(indentOf(array.Elements[0].BeforeExtra), nb.unit)
		}
	}
	return nb.encode(lines(source), indent)
}

// insert puts a new cell at a place.
func (nb *notebook) insert(place int, in Input, newID func() string) (outcome, []textfile.Edit, string) {
	fields := map[string]any{"cell_type": in.Type, "metadata": map[string]any{}, "source": lines(in.Source)}
	done := outcome{id: fmt.Sprintf("cell-%d", place), kind: in.Type}
	if nb.ids {
		done.id = newID()
		fields["id"] = done.id
	}
	if in.Type == "code" {
		fields["outputs"], fields["execution_count"] = []any{}, nil
	}
	indent := strings.Repeat(nb.unit, 2)
	if len(nb.cells.Elements) > 0 {
		indent = indentOf(nb.cells.Elements[0].BeforeExtra)
	}
	before, after := "", ""
	if nb.unit != "" {
		before, after = "\n"+indent, "\n"+strings.TrimSuffix(indent, nb.unit)
	}
	written := nb.encode(fields, indent)
	switch n := len(nb.cells.Elements); {
	case n == 0: // all there is between the brackets is blanks
		start := nb.end - 1 - len(nb.cells.AfterExtra)
		return done, []textfile.Edit{{Start: start, End: nb.end - 1, New: before + written + after}}, ""
	case place == 0:
		at := nb.cells.Elements[0].StartOffset
		return done, []textfile.Edit{{Start: at, End: at, New: written + "," + before}}, ""
	default:
		at := nb.cells.Elements[place-1].EndOffset
		return done, []textfile.Edit{{Start: at, End: at, New: "," + before + written}}, ""
	}
}

// without takes a cell out together with the comma that parts it from its neighbour.
func (nb *notebook) without(i int) textfile.Edit {
	e := nb.cells.Elements
	switch {
	case len(e) == 1:
		return textfile.Edit{Start: e[0].StartOffset - len(e[0].BeforeExtra), End: nb.end - 1}
	case i == 0:
		return textfile.Edit{Start: e[0].StartOffset, End: e[1].StartOffset}
	default:
		return textfile.Edit{Start: e[i-1].EndOffset, End: e[i].EndOffset}
	}
}

// lines parts a source as notebooks keep it: every line but the last with its end.
func lines(source string) []string {
	out := []string{}
	for line := range strings.Lines(source) {
		out = append(out, line)
	}
	return out
}

func (nb *notebook) encode(v any, indent string) string { return encode(v, indent, nb.unit) }

func encode(v any, indent, unit string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if unit != "" {
		enc.SetIndent(indent, unit)
	}
	if err := enc.Encode(v); err != nil { // maps, strings and nil always encode
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func randomID() string { return strings.ToLower(rand.Text()[:8]) }
