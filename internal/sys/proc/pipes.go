package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// fileSet is the descriptors of one start: those of the child, and our ends of its pipes.
type fileSet struct {
	all    []*os.File // as the child sees them
	theirs []*os.File // to be closed here once the child has them
	pumps  []*pump
	stdin  *os.File
}

func (s *fileSet) closeTheirs() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	s.theirs = nil
}

func (s *fileSet) closeOurs() {
	for _, u := range s.pumps {
		_ = u.from.Close()
	}
	if s.stdin != nil {
		_ = s.stdin.Close()
	}
}

func (p *Process) open() (*fileSet, error) {
	s := &fileSet{}
	in, err := s.input(p.spec.Stdin)
	if err == nil {
		s.all = append(s.all, in)
		err = s.outputs(p.spec.Stdout, p.spec.Stderr)
	}
	if err != nil {
		s.closeTheirs()
		s.closeOurs()
		return nil, fmt.Errorf("start %s: %w", p.spec.Path, err)
	}
	s.all = append(s.all, p.spec.Files...)
	return s, nil
}

func (s *fileSet) input(r io.Reader) (*os.File, error) {
	switch r := r.(type) {
	case nil:
		return s.null(os.O_RDONLY)
	case *os.File:
		return r, nil
	default:
		theirs, ours, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.theirs, s.stdin = append(s.theirs, theirs), ours
		return theirs, nil
	}
}

func (s *fileSet) outputs(stdout, stderr io.Writer) error {
	out, err := s.output(stdout)
	if err != nil {
		return err
	}
	same := out
	if !equal(stdout, stderr) {
		if same, err = s.output(stderr); err != nil {
			return err
		}
	}
	s.all = append(s.all, out, same)
	return nil
}

func (s *fileSet) output(w io.Writer) (*os.File, error) {
	switch w := w.(type) {
	case nil:
		return s.null(os.O_WRONLY)
	case *os.File:
		return w, nil
	default:
		ours, theirs, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.theirs = append(s.theirs, theirs)
		s.pumps = append(s.pumps, &pump{from: ours, to: w, settled: make(chan struct{}), eof: make(chan struct{})})
		return theirs, nil
	}
}

func (s *fileSet) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		s.theirs = append(s.theirs, f)
	}
	return f, err
}

// equal compares two writers; types that cannot be compared differ.
func equal(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

// pump moves one stream of output from a program to its sink. It ends when nobody holds the other
// end any more, which may be long after the program itself has ended.
type pump struct {
	from    *os.File
	to      io.Writer
	settled chan struct{} // closed when all that the program itself wrote has been taken
	eof     chan struct{} // closed at the end of run

	once sync.Once
	mu   sync.Mutex // guards fail
	fail error
}

// backlog bounds what is taken in haste: more than a pipe holds.
const backlog = 1 << 20

// buffers are those pumps read into; commands follow each other closely.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (u *pump) run() {
	defer close(u.eof)
	defer u.settle()
	defer u.from.Close()
	lent := buffers.Get().(*[]byte)
	defer buffers.Put(lent)
	buf := *lent
	for {
		n, err := u.from.Read(buf)
		u.write(buf[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = u.from.SetReadDeadline(time.Time{})
			u.rest(buf)
			u.settle()
		default:
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
				u.note(fmt.Errorf("read output: %w", err))
			}
			return
		}
	}
}

// rest takes what lies in the pipe, without waiting for more.
func (u *pump) rest(buf []byte) {
	raw, err := u.from.SyscallConn()
	if err != nil {
		return
	}
	for taken := 0; taken < backlog; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n = readNow(fd, buf)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		u.write(buf[:n])
		taken += n
	}
}

// write gives b to the sink. A sink that fails gets nothing more, but the pipe is still emptied, so
// that the program does not hang.
func (u *pump) write(b []byte) {
	if len(b) == 0 || u.err() != nil {
		return
	}
	if _, err := u.to.Write(b); err != nil {
		u.note(fmt.Errorf("keep output: %w", err))
	}
}

// hurry makes run take what is there and settle.
func (u *pump) hurry() {
	if err := u.from.SetReadDeadline(time.Unix(1, 0)); err != nil { // no deadlines for this file: do not wait
		u.settle()
	}
}

func (u *pump) settle() { u.once.Do(func() { close(u.settled) }) }

func (u *pump) finished() bool {
	select {
	case <-u.eof:
		return true
	default:
		return false
	}
}

func (u *pump) note(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fail == nil {
		u.fail = err
	}
}

func (u *pump) err() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.fail
}
