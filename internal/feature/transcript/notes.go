package transcript

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// NotesOf yields the notes of one kind in a transcript, the oldest first, also those that a resume
// would not see. It steps over everything else without reading it. An error ends it.
func NotesOf(path, kind string) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(Note{}, fmt.Errorf("read notes: %w", err))
			return
		}
		defer file.Close() // it was only read
		start := append([]byte(`{"type":"`+noteKind+`","kind":`), quote.JSON(nil, kind)...)
		lines := bufio.NewReaderSize(file, 64<<10)
		for {
			line, err := lineThatStarts(lines, start)
			if len(line) > 0 {
				if n, ok := readNote(line); ok && !yield(n, nil) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Note{}, fmt.Errorf("read notes of %s: %w", path, err))
				return
			}
		}
	}
}

// lineThatStarts reads one line, and returns it when it starts with start. Of another line at most
// a buffer is held.
func lineThatStarts(r *bufio.Reader, start []byte) ([]byte, error) {
	piece, err := r.ReadSlice('\n')
	wanted := bytes.HasPrefix(piece, start)
	var line []byte
	for {
		if wanted {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		piece, err = r.ReadSlice('\n')
	}
}

func readNote(line []byte) (Note, bool) {
	h, ok := readHead(bytes.TrimSpace(line))
	if !ok || h.kind != noteKind {
		return Note{}, false // torn
	}
	return noteOf(&h), true
}
