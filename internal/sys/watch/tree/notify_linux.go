package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// told is one notification: what happened to an entry of a folder.
type told struct {
	dir, name string
	entries   bool // an entry came or went
}

// notifier hears of changes in folders. The kernel keeps the order of what happened, so that a file that
// we make ourselves shows that everything before it has been heard.
type notifier struct {
	file    *os.File
	fd      int
	scratch string
	mark    int // what the kernel calls scratch
	n       int // marks made

	mu    sync.Mutex // guards all below
	dirs  map[int]string
	queue []told
	lost  bool
	seen  string        // the newest mark
	heard chan struct{} // holds one: there is a new mark
}

const heeded = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE |
	unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// markTime bounds how long a mark is waited for.
const markTime = 5 * time.Second

// queueMax bounds what is kept between two calls of Sync; above it everything is compared.
const queueMax = 200_000

var errLost = errors.New("notifications were lost")

func newNotifier(scratch string) (*notifier, error) {
	scratch, err := os.MkdirTemp(scratch, "mark-")
	if err != nil {
		return nil, err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ask for notifications: %w", err), os.Remove(scratch))
	}
	n := &notifier{fd: fd, file: os.NewFile(uintptr(fd), "inotify"), scratch: scratch, dirs: map[int]string{}, heard: make(chan struct{}, 1)}
	if n.mark, err = n.add(scratch); err != nil {
		n.close()
		return nil, err
	}
	go n.listen() // ends when close closes the file
	return n, nil
}

// add begins to hear of a folder.
func (n *notifier) add(dir string) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wd, err := unix.InotifyAddWatch(n.fd, dir, heeded)
	if err != nil {
		return 0, fmt.Errorf("watch %s: %w", dir, err)
	}
	n.dirs[wd] = dir
	return wd, nil
}

// watches says whether the kernel still tells of a folder.
func (n *notifier) watches(wd int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.dirs[wd]
	return ok
}

// remove ends it. A folder that is gone has ended by itself.
func (n *notifier) remove(wd int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.dirs[wd]; ok {
		delete(n.dirs, wd)
		_, _ = unix.InotifyRmWatch(n.fd, uint32(wd)) // it may be gone
	}
}

func (n *notifier) close() {
	_ = n.file.Close()
	_ = os.RemoveAll(n.scratch) // a leftover is empty
}

// listen takes what the kernel tells.
func (n *notifier) listen() {
	buf := make([]byte, 64<<10)
	for {
		got, err := n.file.Read(buf)
		if err != nil {
			n.mu.Lock()
			n.lost = true
			n.mu.Unlock()
			return
		}
		n.take(buf[:got])
	}
}

func (n *notifier) take(raw []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(raw) >= unix.SizeofInotifyEvent {
		wd, mask := int(int32(binary.NativeEndian.Uint32(raw))), binary.NativeEndian.Uint32(raw[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(raw[12:]))
		name := strings.TrimRight(string(raw[unix.SizeofInotifyEvent:end]), "\x00")
		raw = raw[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			n.lost = true
		case wd == n.mark:
			if mask&unix.IN_CREATE != 0 {
				n.seen = name
				select {
				case n.heard <- struct{}{}:
				default:
				}
			}
		case mask&unix.IN_IGNORED != 0:
			delete(n.dirs, wd)
		default:
			n.keep(wd, mask, name)
		}
	}
}

// keep enters one notification. Caller holds mu.
func (n *notifier) keep(wd int, mask uint32, name string) {
	dir, ok := n.dirs[wd]
	if !ok {
		return
	}
	t := told{dir: dir, name: name, entries: mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0}
	if last := len(n.queue) - 1; last >= 0 && n.queue[last] == t {
		return // a file that grows
	}
	if len(n.queue) >= queueMax {
		n.queue, n.lost = nil, true
	}
	if !n.lost {
		n.queue = append(n.queue, t)
	}
}

// drain returns everything that had happened when it was called.
func (n *notifier) drain() ([]told, error) {
	n.n++
	mark := fmt.Sprint(n.n)
	path := filepath.Join(n.scratch, mark)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(path))
	}
	if err != nil {
		return nil, fmt.Errorf("make a mark: %w", err)
	}
	limit := time.NewTimer(markTime)
	defer limit.Stop()
	for {
		n.mu.Lock()
		if n.lost || n.seen == mark {
			out, lost := n.queue, n.lost
			n.queue, n.lost = nil, false
			n.mu.Unlock()
			if lost {
				return nil, errLost
			}
			return out, nil
		}
		n.mu.Unlock()
		select {
		case <-n.heard:
		case <-limit.C:
			return nil, errLost
		}
	}
}
