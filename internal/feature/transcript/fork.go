package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// Fork makes a transcript of its own for a new session at path to, which must not exist, out of the
// one at from, which stays as it is. With at, only what stands up to that message is copied. Titles
// and tags stay with the old session. What cannot be read is not copied. Keys nobody here knows are
// kept, byte for byte. Open the new one with [Open].
func Fork(from, to, session, at string) error {
	return copyTranscript(from, to, session, at, false)
}

// Adopt copies the transcript of a guest to path to, under the same session id and with its titles,
// so that it can be written without touching the guest's file.
func Adopt(from, to, session string) error { return copyTranscript(from, to, session, "", true) }

func copyTranscript(from, to, session, at string, titles bool) (err error) {
	if exists(to) {
		return fmt.Errorf("fork to %s: %w", to, ErrExists)
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	out, err := os.CreateTemp(filepath.Dir(to), ".fork-*")
	if err != nil {
		return fmt.Errorf("fork: %w", err)
	}
	defer func() { // the rename took it away, unless something went wrong before
		if err != nil {
			err = errors.Join(err, out.Close(), os.Remove(out.Name()))
		}
	}()
	c := &copier{out: bufio.NewWriterSize(out, 1<<20), session: session, at: at, titles: titles}
	if err := c.copy(in); err != nil {
		return fmt.Errorf("fork %s: %w", from, err)
	}
	if err := errors.Join(c.out.Flush(), out.Sync()); err != nil {
		return fmt.Errorf("fork to %s: %w", to, err)
	}
	if err := os.Link(out.Name(), to); err != nil { // unlike a rename it never replaces a file
		return fmt.Errorf("fork to %s: %w", to, err)
	}
	return errors.Join(out.Close(), os.Remove(out.Name()))
}

type copier struct {
	out     *bufio.Writer
	session string
	at      string
	titles  bool
}

func (c *copier) copy(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		done, err := c.line(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil || done {
			return err
		}
		if last {
			break
		}
	}
	if c.at != "" {
		return fmt.Errorf("%w: No message found with message.uuid of: %s", ErrNoMessage, c.at)
	}
	return nil
}

// line copies what can be read of a line. It reports whether the last message wanted was copied.
func (c *copier) line(line []byte) (done bool, err error) {
	if h, ok := readHead(line); ok {
		return c.record(line, &h)
	}
	good, _ := salvage(line)
	for _, s := range good {
		h, _ := readHead(line[s.from:s.to]) // salvage has read it
		if done, err := c.record(line[s.from:s.to], &h); done || err != nil {
			return done, err
		}
	}
	return false, nil
}

func (c *copier) record(line []byte, h *head) (done bool, err error) {
	switch h.kind {
	case "custom-title", "ai-title", "tag":
		if !c.titles {
			return false, nil
		}
	}
	session := span{}
	h.doc.fields(h.doc.lineSpan(), func(key string, v span) {
		if key == "sessionId" {
			session = v
		}
	})
	if session.ok() {
		line = bytes.Join([][]byte{line[:session.from], quote.JSON(nil, c.session), line[session.to:]}, nil)
	}
	_, err = c.out.Write(append(line, '\n'))
	return c.at != "" && h.uuid == c.at, err
}
