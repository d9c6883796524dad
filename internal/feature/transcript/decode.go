package transcript

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// head is what a record says of itself outside its message.
type head struct {
	kind      string // user, assistant, system, or a kind of metadata
	subtype   string
	uuid      string
	parent    string // "": none
	logical   string // logicalParentUuid
	sidechain bool
	meta      bool
	summary   bool
	team      bool
	version   int
	boundary  *Boundary // of a compact_boundary

	// The line and values in it.
	doc                                   *doc
	message, structured, extra, timestamp span
}

// readHead takes a line apart. It reports false when the line is no whole JSON object with a type.
func readHead(line []byte) (head, bool) {
	d := &doc{data: line}
	h := head{doc: d}
	whole := d.lineSpan()
	ok := d.fields(whole, func(key string, v span) {
		switch key {
		case "type":
			h.kind = d.text(v)
		case "subtype":
			h.subtype = d.text(v)
		case "uuid":
			h.uuid = d.text(v)
		case "parentUuid":
			h.parent = d.text(v)
		case "logicalParentUuid":
			h.logical = d.text(v)
		case "isSidechain":
			h.sidechain = d.is(v, "true")
		case "isMeta":
			h.meta = d.is(v, "true")
		case "isCompactSummary":
			h.summary = d.is(v, "true")
		case "teamName", "team_name":
			h.team = d.text(v) != ""
		case "v":
			h.version, _ = strconv.Atoi(string(d.at(v))) // no number: not ours
		case "message":
			h.message = v
		case "toolUseResult":
			h.structured = v
		case "myelin":
			h.extra = v
		case "timestamp":
			h.timestamp = v
		case "compactMetadata", "compact_metadata":
			h.boundary = readBoundary(d, v)
		}
	})
	if !ok || h.kind == "" {
		return head{}, false
	}
	if h.isBoundary() && h.boundary == nil {
		h.boundary = readBoundary(d, whole) // the ids may stand beside the type
	}
	return h, true
}

// lineSpan is the doc without the blanks around it, looked at no further.
func (d *doc) lineSpan() span {
	from, to := d.skipBlanks(0), len(d.data)
	for to > from && (d.data[to-1] == ' ' || d.data[to-1] == '\t' || d.data[to-1] == '\r' || d.data[to-1] == '\n') {
		to--
	}
	return span{from, to}
}

// linked reports whether the record is a link of the chain: other records may name it as parent.
func (h *head) linked() bool { return h.uuid != "" }

// speaks reports whether the record is a message of the conversation.
func (h *head) speaks() bool {
	return h.uuid != "" && h.message.ok() && (h.kind == "user" || h.kind == "assistant")
}

func (h *head) isBoundary() bool { return h.kind == "system" && h.subtype == "compact_boundary" }

func (h *head) time() time.Time {
	at, err := time.Parse(time.RFC3339Nano, h.doc.text(h.timestamp))
	if err != nil {
		return time.Time{} // a record without a time is still a record
	}
	return at.UTC()
}

// decodeMessage makes a message of a record that speaks.
func decodeMessage(h *head) (msg.Message, error) {
	d := h.doc
	m := msg.Message{ID: h.uuid, Role: msg.Role(h.kind), Time: h.time()}
	var extra ours
	if h.extra.ok() {
		if err := json.Unmarshal(d.at(h.extra), &extra); err != nil {
			return m, fmt.Errorf("read record %s: myelin: %w", h.uuid, err)
		}
	}
	var content, usageAt, model span
	if !d.fields(h.message, func(key string, v span) {
		switch key {
		case "id":
			m.Response = d.text(v)
		case "content":
			content = v
		case "model":
			model = v
		case "stop_reason":
			m.Stop = msg.Stop(d.text(v))
		case "usage":
			usageAt = v
		}
	}) {
		return m, fmt.Errorf("read record %s: its message is no object", h.uuid)
	}
	var err error
	if m.Content, err = decodeContent(d, content); err != nil {
		return m, fmt.Errorf("read record %s: %w", h.uuid, err)
	}
	m.Partial = extra.Partial
	restoreProviders(m.Content, extra.Blocks)
	if m.Role != msg.Assistant {
		m.Response, m.Stop = "", ""
		m.Origin = looksLike(m.Role, h.meta, h.summary, m.Content)
		if extra.Origin != "" || extra.Human {
			m.Origin = extra.Origin
		}
		if h.structured.ok() && !d.is(h.structured, "null") && m.Origin == msg.FromTool {
			m.Structured = bytes.Clone(d.at(h.structured))
		}
		return m, nil
	}
	m.Model = d.text(model)
	if extra.Provider != "" {
		m.Model = extra.Provider + "/" + m.Model
	}
	if d.first(usageAt) == '{' {
		var u usage
		if err := json.Unmarshal(d.at(usageAt), &u); err != nil {
			return m, fmt.Errorf("read record %s: usage: %w", h.uuid, err)
		}
		m.Usage = u.in()
	}
	return m, nil
}

func restoreProviders(content []msg.Block, providers []string) {
	for i, p := range providers {
		if i >= len(content) {
			return
		}
		if u, ok := content[i].(msg.Unknown); ok {
			u.Provider = p
			content[i] = u
		}
	}
}

// decodeContent reads the content of a message or result, on a short way where much text may be.
// Empty texts are left out: no provider takes them.
func decodeContent(d *doc, v span) ([]msg.Block, error) {
	if d.first(v) == '"' {
		if s := d.text(v); s != "" {
			return []msg.Block{msg.Text{Text: s}}, nil
		}
		return nil, nil
	}
	items := d.elements(v)
	if items == nil {
		return msg.UnmarshalBlocks(d.at(v))
	}
	out := make([]msg.Block, 0, len(items))
	for _, item := range items {
		b, err := decodeBlock(d, item)
		if err != nil {
			return nil, err
		}
		if b != msg.Block(msg.Text{}) {
			out = append(out, b)
		}
	}
	return out, nil
}

// decodeBlock reads the three kinds that hold nearly all bytes of a transcript; msg reads the rest.
func decodeBlock(d *doc, v span) (msg.Block, error) {
	var kind, words, call, content, source span
	isError, others := false, 0
	ok := d.fields(v, func(key string, v span) {
		switch key {
		case "type":
			kind = v
		case "text":
			words = v
		case "tool_use_id":
			call = v
		case "content":
			content = v
		case "is_error":
			isError = d.is(v, "true")
		case "source":
			source = v
		default:
			others++
		}
	})
	switch {
	case !ok:
	case d.is(kind, `"text"`) && d.first(words) == '"':
		return msg.Text{Text: d.text(words)}, nil
	case d.is(kind, `"tool_result"`) && d.first(call) == '"':
		inner, err := decodeContent(d, content)
		return msg.ToolResult{CallID: d.text(call), Content: inner, IsError: isError}, err
	case d.is(kind, `"image"`) && others == 0:
		if b, ok := decodeImage(d, source); ok {
			return b, nil
		}
	}
	return msg.UnmarshalBlock(d.at(v))
}

func decodeImage(d *doc, source span) (msg.Block, bool) {
	var kind, media, content span
	ok := d.fields(source, func(key string, v span) {
		switch key {
		case "type":
			kind = v
		case "media_type":
			media = v
		case "data":
			content = v
		}
	})
	if !ok || !d.is(kind, `"base64"`) || d.first(content) != '"' {
		return nil, false
	}
	data := d.data[content.from+1 : content.to-1]
	out := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Decode(out, data)
	if err != nil { // escapes, or no base64 at all
		return nil, false
	}
	return msg.Image{MediaType: d.text(media), Data: out[:n]}, true
}

// Boundary is the place where a compaction replaced what came before by a summary.
type Boundary struct {
	Trigger    string // auto, manual, reactive
	PreTokens  int
	PostTokens int
	// FirstKept is the id of the first message that stays in sight behind the summary, up to the
	// last one before the boundary; empty: nothing is kept but the summary.
	FirstKept string
	LastKept  string // set by the writer
	Anchor    string // id of the summary; set by the writer
}

// readBoundary reads the metadata of a boundary in its several spellings.
func readBoundary(d *doc, v span) *Boundary {
	b := &Boundary{}
	d.fields(v, func(key string, v span) {
		switch key {
		case "trigger":
			b.Trigger = d.text(v)
		case "preTokens", "pre_tokens":
			b.PreTokens, _ = strconv.Atoi(string(d.at(v))) // only shown
		case "postTokens", "post_tokens":
			b.PostTokens, _ = strconv.Atoi(string(d.at(v)))
		case "preservedSegment", "preserved_segment":
			segment := readBoundary(d, v)
			b.FirstKept, b.Anchor, b.LastKept = segment.FirstKept, segment.Anchor, segment.LastKept
		case "head", "headUuid", "head_uuid":
			b.FirstKept = d.text(v)
		case "anchor", "anchorUuid", "anchor_uuid":
			b.Anchor = d.text(v)
		case "tail", "tailUuid", "tail_uuid":
			b.LastKept = d.text(v)
		}
	})
	return b
}

// encodeBoundary appends the record of a boundary. before is the record it follows.
func encodeBoundary(out []byte, e envelope, b Boundary, id, before string, at time.Time) []byte {
	out = e.header(out, "system", id, "", at)
	out = append(out, `,"subtype":"compact_boundary","content":"Conversation compacted","level":"info","logicalParentUuid":`...)
	out = quote.JSON(out, before)
	out = append(out, `,"compactMetadata":{"trigger":`...)
	out = quote.JSON(out, b.Trigger)
	out = append(append(out, `,"preTokens":`...), strconv.Itoa(b.PreTokens)...)
	out = append(append(out, `,"postTokens":`...), strconv.Itoa(b.PostTokens)...)
	if b.FirstKept != "" {
		out = append(out, `,"preservedSegment":{"headUuid":`...)
		out = quote.JSON(out, b.FirstKept)
		out = append(out, `,"anchorUuid":`...)
		out = quote.JSON(out, b.Anchor)
		out = append(out, `,"tailUuid":`...)
		out = append(quote.JSON(out, b.LastKept), '}')
	}
	return append(out, '}', '}')
}
