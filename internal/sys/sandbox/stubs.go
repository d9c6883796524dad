package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// stubs makes and removes the empty folders and files that stand in for missing protected paths
// while programs run. They are counted, since commands run side by side, and written to a journal
// before they are made, so that the next start finds what a killed process left.
type stubs struct {
	dir string

	mu      sync.Mutex // guards all below
	refs    map[string]*stub
	journal *os.File
	lines   int
}

type stub struct {
	n    int
	kind stubKind
	ino  uint64
}

// stubLine is one line of a journal.
type stubLine struct {
	Path string `json:"path"`
	File bool   `json:"file,omitempty"`
}

func newStubs(dir string) *stubs { return &stubs{dir: dir, refs: map[string]*stub{}} }

// acquire makes what is missing of want and returns the paths that now are stubs, those of commands
// beside included, to be released.
func (s *stubs) acquire(want []guard) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, g := range want {
		if have := s.refs[g.path]; have != nil {
			have.n++
			got = append(got, g.path)
			continue
		}
		if exists(g.path) {
			continue
		}
		made, err := s.make(g)
		if err != nil {
			s.drop(got)
			return nil, err
		}
		if made {
			got = append(got, g.path)
		}
	}
	return got, nil
}

// untouched reports whether a path is a stub in use that is as it was made.
func (s *stubs) untouched(path string, st os.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := s.refs[path]
	if have == nil || inode(st) != have.ino {
		return false
	}
	if have.kind == fileStub {
		return st.Mode().IsRegular() && st.Size() == 0
	}
	entries, err := os.ReadDir(path)
	return err == nil && len(entries) == 0
}

// make makes one stub; false: somebody else has made something there meanwhile, which is then
// protected as it is. Caller holds mu.
func (s *stubs) make(g guard) (bool, error) {
	if err := s.note(g); err != nil {
		return false, err
	}
	var err error
	if g.stub == fileStub {
		var f *os.File
		if f, err = os.OpenFile(g.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
			err = f.Close()
		}
	} else {
		err = os.Mkdir(g.path, 0o755)
	}
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	if errors.Is(err, os.ErrPermission) { // we may not write there, so no program of ours may
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("protect %s: %w", g.path, err)
	}
	st, err := os.Lstat(g.path)
	if err != nil {
		return false, fmt.Errorf("protect %s: %w", g.path, err)
	}
	s.refs[g.path] = &stub{n: 1, kind: g.stub, ino: inode(st)}
	return true, nil
}

// note writes a journal line before the stub is made. Caller holds mu.
func (s *stubs) note(g guard) error {
	if s.journal == nil {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return fmt.Errorf("make journal of stubs: %w", err)
		}
		f, err := os.OpenFile(filepath.Join(s.dir, uuid.NewString()+".jsonl"), os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("make journal of stubs: %w", err)
		}
		if free, err := lock(f); err != nil || !free {
			return errors.Join(fmt.Errorf("lock journal of stubs: %w", err), f.Close())
		}
		s.journal = f
	}
	data, err := json.Marshal(stubLine{Path: g.path, File: g.stub == fileStub})
	if err != nil {
		return fmt.Errorf("write journal of stubs: %w", err)
	}
	if _, err := s.journal.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("write journal of stubs: %w", err)
	}
	s.lines++
	return nil
}

func (s *stubs) release(paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(paths)
}

// drop counts down and removes what nobody needs and is as it was made. Caller holds mu.
func (s *stubs) drop(paths []string) {
	for _, path := range paths {
		have := s.refs[path]
		if have == nil {
			continue
		}
		if have.n--; have.n > 0 {
			continue
		}
		delete(s.refs, path)
		if st, err := os.Lstat(path); err == nil && inode(st) == have.ino {
			removeEmpty(path, have.kind == fileStub)
		}
	}
	if len(s.refs) == 0 && s.lines > 1000 { // everything in it is settled
		if s.journal.Truncate(0) == nil {
			s.lines = 0
		}
	}
}

// removeEmpty removes an empty folder or an empty file and nothing else.
func removeEmpty(path string, file bool) {
	st, err := os.Lstat(path)
	if err != nil || file && (!st.Mode().IsRegular() || st.Size() != 0) || !file && !st.IsDir() {
		return
	}
	_ = os.Remove(path) // a folder that is not empty stays
}

func (s *stubs) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journal == nil {
		return
	}
	if len(s.refs) == 0 {
		_ = os.Remove(s.journal.Name())
	}
	_ = s.journal.Close()
	s.journal = nil
}

// cleanDead removes the stubs of processes that were killed.
func (s *stubs) cleanDead() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for stubs left behind: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			errs = append(errs, cleanJournal(filepath.Join(s.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

func cleanJournal(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for stubs left behind: %w", err)
	}
	defer f.Close()
	if free, err := lock(f); err != nil || !free {
		return err // its writer lives
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l stubLine
		if json.Unmarshal(lines.Bytes(), &l) == nil && filepath.IsAbs(l.Path) {
			removeEmpty(l.Path, l.File)
		}
	}
	if err := errors.Join(lines.Err(), os.Remove(path)); err != nil {
		return fmt.Errorf("take away journal of stubs %s: %w", path, err)
	}
	return nil
}
