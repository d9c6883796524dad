package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// metadata is what lists show of a session. Lists of other programs look only at the first and last
// 64 KiB of a file, so it is written again when much was written since.
type metadata struct {
	custom, ai, tag, prompt string
	dirty                   bool  // the prompt was not written yet
	since                   int   // bytes written since metadata was written last
	seen                    int64 // size of the file up to which lines of others were looked for
}

const refreshAfter = 32 << 10

// promptLength is how much of a prompt lists need.
const promptLength = 200

func (m *metadata) setPrompt(s string) {
	s = shorten(s, 4*promptLength) // blanks may go, but a long paste need not be looked at
	s = shorten(strings.Join(strings.Fields(s), " "), promptLength)
	if s != "" && s != m.prompt {
		m.prompt, m.dirty = s, true
	}
}

// shorten cuts a text to so many characters, marking the cut.
func shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i] + "…"
		}
	}
	return s
}

// refresh writes the last prompt when it is new, and everything when it is far from the end.
func (m *metadata) refresh(t *Transcript) error {
	all := m.since > refreshAfter
	if all {
		if err := m.catchUp(t.path); err != nil {
			return err
		}
	}
	for _, line := range []struct {
		value string
		write bool
		kind  string
	}{
		{m.prompt, m.dirty || all, "last-prompt"},
		{m.custom, all, "custom-title"},
		{m.ai, all, "ai-title"},
		{m.tag, all, "tag"},
	} {
		if line.value == "" || !line.write {
			continue
		}
		if err := t.writeLine(t.metadataLine(line.kind, line.value)); err != nil {
			return err
		}
	}
	m.dirty = false
	if all {
		m.since = 0
	}
	return nil
}

// catchUp reads what was written since it was called last and takes over titles and tags that other
// programs appended meanwhile: they rename sessions in this way.
func (m *metadata) catchUp(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed; Sync will say so
	}
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(m.seen, io.SeekStart); err != nil {
		return fmt.Errorf("read transcript %s: %w", path, err)
	}
	lines := bufio.NewReaderSize(file, window)
	info := Info{CustomTitle: m.custom, AITitle: m.ai, Tag: m.tag}
	begins := true
	for {
		line, err := lines.ReadSlice('\n')
		if begins && err == nil { // metadata fits the buffer, whatever fills it is something else
			info.readMetadata(bytes.TrimSuffix(line, []byte("\n")), false)
		}
		begins = err == nil
		m.seen += int64(len(line))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read transcript %s: %w", path, err)
		}
	}
	m.custom, m.ai, m.tag = info.CustomTitle, info.AITitle, info.Tag
	return nil
}

// metadataLine encodes one line of metadata; its type comes first, as other readers expect.
func (t *Transcript) metadataLine(kind, value string) func([]byte) ([]byte, error) {
	key := map[string]string{"last-prompt": "lastPrompt", "custom-title": "customTitle", "ai-title": "aiTitle", "tag": "tag"}[kind]
	return func(out []byte) ([]byte, error) {
		out = append(out, `{"type":"`+kind+`","`+key+`":`...)
		out = quote.JSON(out, value)
		out = append(out, `,"sessionId":`...)
		return append(quote.JSON(out, t.opts.Session), '}'), nil
	}
}

// SetTitle keeps the user's name for the session; empty takes it away.
func (t *Transcript) SetTitle(title string) error {
	return t.setMetadata("custom-title", title, func(m *metadata) *string { return &m.custom })
}

// SetAITitle keeps a title made from the conversation.
func (t *Transcript) SetAITitle(title string) error {
	return t.setMetadata("ai-title", title, func(m *metadata) *string { return &m.ai })
}

// SetTag keeps the session's tag; empty takes it away.
func (t *Transcript) SetTag(tag string) error {
	return t.setMetadata("tag", tag, func(m *metadata) *string { return &m.tag })
}

func (t *Transcript) setMetadata(kind, value string, field func(*metadata) *string) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	at := field(&t.meta)
	if *at == value {
		t.mu.Unlock()
		return nil
	}
	err := t.writeLine(t.metadataLine(kind, value))
	if err == nil {
		*at = value
	}
	state := t.state
	t.mu.Unlock()
	t.publish(state)
	return err
}
