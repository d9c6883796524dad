package transcript

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Newest yields every message in the transcript at path, the one written last first, whatever
// branch it is on and whether a compaction replaced it: for viewers and searches. It reads no more
// of the file than it needs; what cannot be read is passed over. An error comes last.
func Newest(path string) iter.Seq2[msg.Message, error] {
	return func(yield func(msg.Message, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(msg.Message{}, fmt.Errorf("read transcript: %w", err))
			return
		}
		defer file.Close()
		if err := newest(file, yield); err != nil {
			yield(msg.Message{}, fmt.Errorf("read transcript %s: %w", path, err))
		}
	}
}

func newest(file *os.File, yield func(msg.Message, error) bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	lines, err := newBackward(file, info.Size())
	if err != nil {
		return err
	}
	for {
		line, _, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, m := range messagesOf(line) {
			if !yield(m, nil) {
				return nil
			}
		}
	}
}

// messagesOf returns the messages in a line, the last first: one, unless records were glued.
func messagesOf(line []byte) (out []msg.Message) {
	pieces := []span{{0, len(line)}}
	if _, ok := readHead(line); !ok {
		pieces, _ = salvage(line)
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		h, ok := readHead(line[pieces[i].from:pieces[i].to])
		if !ok || !h.speaks() {
			continue
		}
		if m, err := decodeMessage(&h); err == nil && len(m.Content) > 0 {
			out = append(out, m)
		}
	}
	return out
}
