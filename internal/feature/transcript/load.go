package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// ErrNoMessage is returned when a message is asked for that the transcript does not have.
var ErrNoMessage = errors.New("no such message")

// Loaded is what a transcript says: the conversation as the model shall see it again.
type Loaded struct {
	Path     string
	Messages []msg.Message // oldest first; behind the last compaction, with what it kept
	LastID   string        // the record the conversation goes on behind; empty: nothing was said yet
	Cwd      string        // the working directory of that record; empty: it does not say
	Notices  []Notice      // what could not be read and what was mended, for people
	Notes    []Note        // notes of the part that was read, oldest first
	Records  int64         // lines read, not of the whole file when it is long
	Bytes    int64         // size of the file
	Summary  bool          // the conversation begins with the summary of a compaction

	filled       []msg.Message // results put in at the end, not yet in the file
	beforeFilled string        // the record they come behind
	cleanEnd     bool          // the file is empty or ends with a line end
}

// Notice is one thing people should know about a transcript.
type Notice struct {
	Line int    // from 1
	Text string // a sentence, with the line in it
}

// LoadOptions say what of a transcript is wanted. The zero value asks for all that is in sight.
type LoadOptions struct {
	// At is the id of the last message wanted; what was said after it is left out.
	At string
}

// Load reads the transcript at path from its end, as far back as the conversation reaches that is
// in sight: to the last compaction, or to the beginning. It changes nothing.
//
// What cannot be read is left out with a notice and everything else is kept: a torn last record,
// fragments in the middle, parents that do not exist. A call without a result gets one that says
// that its outcome is unknown. A file that does not exist is an error ([os.ErrNotExist]), an
// unknown At [ErrNoMessage].
func Load(path string, opts LoadOptions) (*Loaded, error) { return loadPath(path, opts) }

func loadPath(path string, opts LoadOptions) (*Loaded, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	return load(file, path, opts)
}

func load(file *os.File, path string, opts LoadOptions) (*Loaded, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read transcript %s: it is no regular file", path)
	}
	x, err := newIndex(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", path, err)
	}
	w := &walk{index: x, visited: map[int]bool{}, opened: map[int]bool{}, side: strings.HasPrefix(filepath.Base(path), "agent-")}
	out, err := w.load(opts)
	if err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", path, err)
	}
	out.Path, out.Bytes, out.cleanEnd = path, info.Size(), !x.lines.torn
	return out, nil
}

// walk goes from the last message back to where the conversation in sight begins.
type walk struct {
	*index
	side    bool // the file is a sidechain
	visited map[int]bool
	opened  map[int]bool // boundaries that were patched
	notices []notice
}

type notice struct {
	at   int64
	text string // with %d for the line
}

func (w *walk) load(opts LoadOptions) (*Loaded, error) {
	leaf, err := w.leaf(opts.At)
	if err != nil {
		return nil, err
	}
	out := &Loaded{}
	if leaf >= 0 {
		order, _, err := w.order(leaf, "")
		if err != nil {
			return nil, err
		}
		if out.Messages, err = w.messages(order); err != nil {
			return nil, err
		}
		if err := w.opening(order); err != nil {
			return nil, err
		}
		out.LastID = w.entries[leaf].uuid
		if out.Cwd, err = w.cwd(leaf); err != nil {
			return nil, err
		}
		out.Summary = slices.ContainsFunc(order, func(i int) bool { return w.entries[i].summary })
		if err := w.pair(out); err != nil {
			return nil, err
		}
	}
	out.Records = int64(len(w.entries))
	out.Notes = slices.Clone(w.notes)
	slices.Reverse(out.Notes)
	out.Notices, err = w.tell()
	return out, err
}

// opening reads the notes in front of the first message: a conversation may begin with some. Behind a
// compaction they were written again.
func (w *walk) opening(order []int) error {
	if w.entries[order[len(order)-1]].boundary != nil {
		return nil
	}
	for {
		if more, err := w.extend(); err != nil || !more {
			return err
		}
	}
}

// ours reports whether a record belongs to this file's conversation.
func (w *walk) ours(e *entry) bool { return e.linked && (w.side || !e.side) }

// leaf finds the record the conversation ends with, -1 when nothing was said.
func (w *walk) leaf(at string) (int, error) {
	if at != "" {
		i, err := w.find(at)
		if err == nil && i < 0 {
			err = fmt.Errorf("%w: No message found with message.uuid of: %s", ErrNoMessage, at)
		}
		return i, err
	}
	i, err := w.from(0, func(e *entry) bool { return e.speaks && w.ours(e) })
	if err != nil || w.rewind == nil || (i >= 0 && i < w.rewind.before) {
		return i, err // what was said after a rewind counts
	}
	if w.rewind.to == "" {
		return -1, nil
	}
	if back, err := w.find(w.rewind.to); err != nil || back >= 0 {
		return back, err
	}
	return i, nil
}

// order returns the records of the conversation in sight at leaf, the newest first: the chain back
// to where it begins; behind the summary of a boundary what that kept in sight. With stop it goes
// no further than the record with that id, and found says whether that was there.
func (w *walk) order(leaf int, stop string) (out []int, found bool, err error) {
	out, err = w.chain(leaf, stop)
	if err != nil {
		return nil, false, err
	}
	end := out[len(out)-1]
	if b := w.entries[end].boundary; b != nil && b.FirstKept != "" && !w.opened[end] {
		w.opened[end] = true
		if out, err = w.patch(out, end, b); err != nil {
			return nil, false, err
		}
	}
	if i := slices.IndexFunc(out, func(i int) bool { return w.entries[i].uuid == stop }); i >= 0 && stop != "" {
		return out[:i+1], true, nil
	}
	return out, false, nil
}

// patch puts what the boundary at the end of a chain kept in sight behind its summary.
func (w *walk) patch(chain []int, boundary int, b *Boundary) ([]int, error) {
	cut := len(chain) - 1
	for cut > 0 && w.entries[chain[cut-1]].summary {
		cut--
	}
	if i := slices.IndexFunc(chain, func(i int) bool { return w.entries[i].uuid == b.Anchor }); i >= 0 {
		cut = i
	}
	tail := b.LastKept
	if tail == "" {
		tail = w.entries[boundary].logical
	}
	from, err := w.find(tail)
	if err == nil && from < 0 {
		from, err = w.before(boundary)
	}
	if err != nil || from < 0 {
		return chain, err
	}
	kept, found, err := w.order(from, b.FirstKept)
	if err != nil {
		return nil, err
	}
	if !found {
		w.note(w.entries[boundary].at, "line %d: the messages that a compaction kept cannot all be found; everything before it is shown instead")
	}
	return slices.Concat(chain[:cut], kept, chain[cut:]), nil
}

// chain follows parents from a record to where the chain begins, or to the one with the id stop
// unless that is a summary, behind which more may have been kept. It returns the records, the
// newest first. A parent that does not exist is replaced by the record before in the file.
func (w *walk) chain(i int, stop string) (out []int, err error) {
	for {
		w.visited[i] = true
		out = append(out, i)
		e := w.entries[i]
		if e.parent == "" || e.uuid == stop && !e.summary {
			return out, nil
		}
		next, err := w.find(e.parent)
		if err != nil {
			return nil, err
		}
		if next < 0 || w.visited[next] {
			if next, err = w.before(i); err != nil {
				return nil, err
			}
			if next < 0 {
				return out, nil
			}
			w.note(e.at, "line %d: the record names a parent that does not exist; it was put behind the record before it")
		}
		i = next
	}
}

// before returns the record of the conversation that stands before i in the file and was not
// visited, -1 when there is none.
func (w *walk) before(i int) (int, error) {
	return w.from(i+1, func(e *entry) bool {
		return w.ours(e) && (e.speaks || e.boundary != nil) && !w.visited[w.byID[e.uuid]]
	})
}

// messages decodes records, given the newest first, to messages, the oldest first.
func (w *walk) messages(order []int) ([]msg.Message, error) {
	out := make([]msg.Message, 0, len(order))
	for _, i := range slices.Backward(order) {
		if !w.entries[i].speaks {
			continue
		}
		m, ok, err := w.message(i)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, m)
		}
	}
	usageOnLast(out)
	return out, nil
}

// message decodes one record. One that cannot be understood is told of and left out.
func (w *walk) message(i int) (m msg.Message, ok bool, err error) {
	h, err := w.head(i)
	if err != nil {
		return m, false, err
	}
	m, err = decodeMessage(h)
	if err != nil {
		w.note(w.entries[i].at, "line %d: "+strings.ReplaceAll(err.Error(), "%", "%%")+"; it is left out")
		return m, false, nil
	}
	return m, len(m.Content) > 0, nil
}

// cwd is the working directory that one record tells.
func (w *walk) cwd(i int) (dir string, err error) {
	h, err := w.head(i)
	if err != nil {
		return "", err
	}
	h.doc.fields(h.doc.lineSpan(), func(key string, v span) {
		if key == "cwd" {
			dir = h.doc.text(v)
		}
	})
	return dir, nil
}

// usageOnLast takes the usage off all blocks of an answer but the last: other programs write it on
// each, and it would be counted several times.
func usageOnLast(messages []msg.Message) {
	for i := range messages[:max(0, len(messages)-1)] {
		if m, next := &messages[i], messages[i+1]; m.Response != "" && m.Response == next.Response {
			m.Usage = nil
		}
	}
}

// pair gives each call a result: one that stands elsewhere in the file, since other programs hang
// the results of calls made side by side on different branches, or one that says that the outcome
// is unknown.
func (w *walk) pair(out *Loaded) error {
	missing := missingResults(out.Messages)
	if len(missing) == 0 {
		return nil
	}
	found := map[string]msg.Message{}
	for i := range w.entries {
		if e := &w.entries[i]; w.visited[i] || !e.speaks || !e.user || !w.ours(e) {
			continue
		}
		m, ok, err := w.message(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, b := range m.Content {
			if r, is := b.(msg.ToolResult); is && missing[r.CallID] {
				found[r.CallID] = m
			}
		}
	}
	out.Messages, out.filled = insertResults(out.Messages, missing, found)
	if n := len(out.filled); n > 0 {
		out.beforeFilled = out.LastID
		out.LastID = out.filled[n-1].ID
	}
	return nil
}

func missingResults(messages []msg.Message) map[string]bool {
	missing := map[string]bool{}
	for _, c := range msg.Calls(messages...) {
		missing[c.ID] = true
	}
	for _, m := range messages {
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				delete(missing, r.CallID)
			}
		}
	}
	return missing
}

// insertResults puts the missing results behind the answer and the results that are there. filled
// are those made up for calls of the last answer, which stand at the end.
func insertResults(messages []msg.Message, missing map[string]bool, found map[string]msg.Message) (out, filled []msg.Message) {
	var open []msg.Message
	for i, m := range messages {
		if len(open) > 0 && m.Origin != msg.FromTool && m.Role == msg.User || len(open) > 0 && m.Role == msg.Assistant && m.Response != messages[i-1].Response {
			out, open = append(out, open...), nil
		}
		out = append(out, m)
		for _, c := range msg.Calls(m) {
			if !missing[c.ID] {
				continue
			}
			if r, ok := found[c.ID]; ok {
				open = append(open, r)
				continue
			}
			open = append(open, unknownOutcome(c, m))
		}
	}
	for _, m := range open {
		out = append(out, m)
		if _, ok := found[m.Content[0].(msg.ToolResult).CallID]; !ok {
			filled = append(filled, m)
		}
	}
	return out, filled
}

// unknownOutcome is the result of a call whose end nobody saw.
func unknownOutcome(c msg.ToolCall, in msg.Message) msg.Message {
	return msg.Message{
		ID: uuid.NewString(), Role: msg.User, Origin: msg.FromTool, Time: in.Time,
		Content: []msg.Block{msg.ToolResult{CallID: c.ID, IsError: true, Content: []msg.Block{msg.Text{Text: "The call was interrupted, its outcome is unknown: the program ended while it ran. Look at the state of things before you do it again."}}}},
	}
}

func (w *walk) note(at int64, text string) { w.notices = append(w.notices, notice{at, text}) }

// tell makes the notices, with the numbers of their lines.
func (w *walk) tell() ([]Notice, error) {
	for _, f := range w.broken {
		text := fmt.Sprintf("line %%d: %d bytes cannot be read and are left out", f.size)
		if f.torn {
			text = fmt.Sprintf("line %%d: the last record was cut off after %d bytes and is left out", f.size)
		}
		w.note(f.at, text)
	}
	if len(w.notices) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(w.notices, func(a, b notice) int { return int(a.at - b.at) })
	out := make([]Notice, len(w.notices))
	counter := lineCounter{file: w.file}
	for i, n := range w.notices {
		line, err := counter.count(n.at)
		if err != nil {
			return nil, err
		}
		out[i] = Notice{Line: line, Text: fmt.Sprintf(n.text, line)}
	}
	return out, nil
}

// lineCounter counts line ends before growing places of a file.
type lineCounter struct {
	file  io.ReaderAt
	at    int64
	lines int
}

func (c *lineCounter) count(at int64) (int, error) {
	buf := make([]byte, min(1<<20, max(0, at-c.at)))
	for c.at < at {
		n, err := c.file.ReadAt(buf[:min(int64(len(buf)), at-c.at)], c.at)
		if n == 0 {
			return 0, err
		}
		c.lines += bytes.Count(buf[:n], []byte("\n"))
		c.at += int64(n)
	}
	return c.lines + 1, nil
}

// exists reports whether there is something at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
