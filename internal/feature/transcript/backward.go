package transcript

import (
	"bytes"
	"errors"
	"io"
)

// backward reads the lines of a file from its end, a block at a time, so that what was said last is
// there at once whatever the size of the file. Lines end at LF and at nothing else.
type backward struct {
	file io.ReaderAt
	buf  []byte // the file's bytes [off, off+len(buf)) that were not handed out yet
	off  int64
	size int // of the next block; grows with long lines, so that a line of n bytes costs n
	torn bool
	done bool
}

const firstBlock, largestBlock = 64 << 10, 8 << 20

// newBackward starts at end, the number of bytes of the file that count.
func newBackward(file io.ReaderAt, end int64) (*backward, error) {
	b := &backward{file: file, off: end, size: firstBlock}
	if end == 0 {
		b.done = true
		return b, nil
	}
	if err := b.fill(); err != nil {
		return nil, err
	}
	if last := len(b.buf) - 1; b.buf[last] == '\n' {
		b.buf = b.buf[:last]
	} else {
		b.torn = true // the last line has no end
	}
	return b, nil
}

// fill puts the block before the buffer in front of it.
func (b *backward) fill() error {
	n := int(min(int64(b.size), b.off))
	b.size = min(b.size*2, largestBlock)
	grown := make([]byte, n+len(b.buf))
	if got, err := b.file.ReadAt(grown[:n], b.off-int64(n)); got < n {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF // the file became shorter while it was read
		}
		return err
	}
	copy(grown[n:], b.buf)
	b.buf, b.off = grown, b.off-int64(n)
	return nil
}

// next returns the line before the one it returned last and the place of its first byte, io.EOF
// before the first line. The line stays valid.
func (b *backward) next() (line []byte, at int64, err error) {
	if b.done {
		return nil, 0, io.EOF
	}
	searched := 0 // bytes at the end of buf that hold no LF
	for {
		if i := bytes.LastIndexByte(b.buf[:len(b.buf)-searched], '\n'); i >= 0 {
			line, at = b.buf[i+1:], b.off+int64(i)+1
			b.buf = b.buf[:i:i]
			return line, at, nil
		}
		if b.off == 0 {
			b.done = true
			line, b.buf = b.buf, nil
			return line, 0, nil
		}
		searched = len(b.buf)
		if searched > int(b.size) {
			b.size = min(searched, 256<<20) // a line longer than any block: double what there is of it
		}
		if err := b.fill(); err != nil {
			return nil, 0, err
		}
	}
}
