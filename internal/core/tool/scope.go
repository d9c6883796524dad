package tool

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"time"
)

// Scope is one agent's own world: who it is, where it stands, and which files it has read. It is
// in no store. All methods lock, since calls side by side share one Scope.
type Scope struct {
	// Agent is the id of the agent, empty for the main conversation.
	Agent string
	// Reads is what this agent knows of files.
	Reads *Reads

	mu  sync.Mutex // guards cwd
	cwd string
}

// NewScope returns the scope of an agent that stands in the directory cwd (absolute) and has read
// nothing.
func NewScope(agent, cwd string) *Scope {
	return &Scope{Agent: agent, Reads: &Reads{}, cwd: cwd}
}

// Cwd is the agent's working directory, absolute.
func (s *Scope) Cwd() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cwd
}

// SetCwd moves the agent.
func (s *Scope) SetCwd(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd = dir
}

// The bounds of what one agent remembers of files.
const (
	maxReads     = 1000
	maxReadBytes = 25 << 20
)

// MaxKeptContent is the size up to which the content of one file is kept in its record.
const MaxKeptContent = 4 << 20

// ReadRecord is what an agent knows of one file.
type ReadRecord struct {
	Path    string            // absolute, links resolved
	Hash    [sha256.Size]byte // of the whole file as it was
	ModTime time.Time
	Size    int64
	Content []byte // the whole file as it was; nil when it was too large to keep
	Offset  int    // first line shown, 1-based; 0: from the start
	Limit   int    // number of lines shown; 0: to the end
	Partial bool   // shown in part because it was too large: does not count as read before an edit
	Written bool   // known, but not shown as a whole: put by a change of the agent's own, or no longer in its requests
}

// Standing is what an agent knows of a file as it is now.
type Standing uint8

// The standings.
const (
	Unread     Standing = iota
	PartlyRead          // shown in part because it was too large
	Stale               // was read, and has changed since
	Fresh               // was read or written, and is still so
)

// Reads remembers which files an agent has read, the newest 1,000 and 25 MiB of them. The zero
// Reads is empty and ready. It is safe for concurrent use.
type Reads struct {
	mu     sync.Mutex // guards all below
	byPath map[string]*list.Element
	order  list.List // of ReadRecord, newest in front
	bytes  int64
}

// Put remembers a read; an older record of the same path is replaced.
func (r *Reads) Put(rec ReadRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byPath == nil {
		r.byPath = map[string]*list.Element{}
	}
	if e, ok := r.byPath[rec.Path]; ok {
		r.drop(e)
	}
	r.byPath[rec.Path] = r.order.PushFront(rec)
	r.bytes += int64(len(rec.Content))
	for r.order.Len() > maxReads || (r.bytes > maxReadBytes && r.order.Len() > 1) {
		r.drop(r.order.Back())
	}
}

// Get returns what is known of the file at path.
func (r *Reads) Get(path string) (ReadRecord, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byPath[path]
	if !ok {
		return ReadRecord{}, false
	}
	r.order.MoveToFront(e)
	return e.Value.(ReadRecord), true
}

// Standing tells what is known of the file at path, whose bytes have the hash now. It returns the
// record it judges by.
func (r *Reads) Standing(path string, hash [sha256.Size]byte) (Standing, ReadRecord) {
	rec, ok := r.Get(path)
	switch {
	case !ok:
		return Unread, rec
	case rec.Hash != hash && rec.Hash != [sha256.Size]byte{}:
		return Stale, rec
	case rec.Partial:
		return PartlyRead, rec
	default:
		return Fresh, rec
	}
}

// Wrote remembers a file the agent itself has just written; it must not change content afterwards.
func (r *Reads) Wrote(path string, content []byte, modTime time.Time) {
	rec := ReadRecord{Path: path, Hash: sha256.Sum256(content), ModTime: modTime, Size: int64(len(content)), Written: true}
	if len(content) <= MaxKeptContent {
		rec.Content = content
	}
	r.Put(rec)
}

// Forget drops what is known of the file at path.
func (r *Reads) Forget(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.byPath[path]; ok {
		r.drop(e)
	}
}

// Clear forgets everything; a compaction does this, since the model no longer sees what it read.
func (r *Reads) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPath, r.bytes = nil, 0
	r.order.Init()
}

// Unshown notes that the model may no longer see what it read, since older results were left out of
// its requests: a file that is read again is shown again. What is known of files stays.
func (r *Reads) Unshown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.order.Front(); e != nil; e = e.Next() {
		rec := e.Value.(ReadRecord)
		rec.Written = true
		e.Value = rec
	}
}

// Recent returns the records, the most recently used first.
func (r *Reads) Recent() []ReadRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]ReadRecord, 0, r.order.Len())
	for e := r.order.Front(); e != nil; e = e.Next() {
		out = append(out, e.Value.(ReadRecord))
	}
	return out
}

// Clone returns an independent copy, for a forked agent.
func (r *Reads) Clone() *Reads {
	recent := r.Recent()
	out := &Reads{}
	for i := len(recent) - 1; i >= 0; i-- {
		out.Put(recent[i])
	}
	return out
}

func (r *Reads) drop(e *list.Element) {
	rec := r.order.Remove(e).(ReadRecord)
	delete(r.byPath, rec.Path)
	r.bytes -= int64(len(rec.Content))
}
