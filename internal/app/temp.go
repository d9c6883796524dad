package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/sys/ownfolder"
	"github.com/myelin-agent/myelin/internal/sys/twotier"
)

// folders are those of the present session, and those of the ones before it in this process.
type folders struct {
	id         func() string // of the present session
	transcript func() string // its file; empty: nothing is kept
	base       func() string // of the folders for temporary files; computed once

	pages *twotier.Cache[[]byte] // fetched from the web
	left  []string               // by sessions before; the worker's
	old   *retention             // of sessions that nobody has used for long; nil in a session that never began
}

// dir is the folder that belongs to the session: large results, pages, hook files.
func (f *folders) dir() string {
	if p := f.transcript(); p != "" {
		return transcript.SessionDir(p)
	}
	return filepath.Join(os.TempDir(), "myelin-"+f.id())
}

// temp is a folder commands may write to.
func (f *folders) temp() string { return filepath.Join(f.base(), f.id()) }

// leave notes what the session leaves behind for another one. Work that goes on may use it until the end.
func (f *folders) leave() {
	f.left = append(f.left, f.temp())
	if f.transcript() == "" {
		f.left = append(f.left, f.dir())
	}
}

// empty takes away what the sessions have left in the temporary folder.
func (f *folders) empty() error {
	f.leave()
	var errs []error
	for _, path := range f.left {
		errs = append(errs, os.RemoveAll(path))
	}
	_ = os.Remove(f.base()) // another session uses it: then it stays
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("empty the session's temporary folder: %w", err)
	}
	return nil
}

// userTemp is this user's folder in the system's temporary one, by the name other processes of ours know.
func userTemp() (string, error) {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("myelin-%d", os.Geteuid()))
	return path, ownfolder.Make(path)
}

// tempBase is this user's folder in dir, empty: [userTemp], or a folder under a name of its own where
// somebody has taken that one.
func tempBase(dir string) string {
	path, err := userTemp()
	if dir != "" {
		path = filepath.Join(dir, fmt.Sprintf("myelin-%d", os.Geteuid()))
		err = ownfolder.Make(path)
	}
	if err == nil {
		return path
	}
	if own, err := os.MkdirTemp(dir, "myelin-"); err == nil {
		return own
	}
	return path // making the session's folder in it tells what is wrong
}
