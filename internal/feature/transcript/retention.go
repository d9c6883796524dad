package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Nothing is deleted by itself. Who sets a retention gets two steps: what has expired is first
// announced, and only what was announced is moved, to a trash folder, with a line of a log each.

// Expired returns the sessions of the home, never of guests, that were written last before the
// given time, the newest first.
func (s Shelf) Expired(before time.Time) ([]Info, error) {
	all, err := Shelf{Home: s.Home}.List("")
	if err != nil {
		return nil, err
	}
	var out []Info
	for _, i := range all {
		if i.Modified.Before(before) {
			out = append(out, i)
		}
	}
	return out, nil
}

// Retire moves sessions, with their folders, to a trash folder and writes a line for each to log.
// One that was written since it was announced, or is being written, stays.
func (s Shelf) Retire(sessions []Info, trash string, log io.Writer) error {
	var errs []error
	for _, i := range sessions {
		if err := s.retire(i, trash, log); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s Shelf) retire(i Info, trash string, log io.Writer) error {
	rel, err := filepath.Rel(filepath.Join(s.Home, "projects"), i.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("retire %s: it is not below %s", i.Path, s.Home)
	}
	stat, err := os.Stat(i.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	if !stat.ModTime().Equal(i.Modified) {
		return nil
	}
	held := &Transcript{path: i.Path}
	if err := held.openFile(); errors.Is(err, ErrBusy) {
		return nil
	} else if err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	defer held.Close()
	to := filepath.Join(trash, rel)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	if exists(to) {
		return fmt.Errorf("retire %s: %s is there already", i.Path, to)
	}
	if err := os.Rename(i.Path, to); err != nil {
		return fmt.Errorf("retire: %w", err)
	}
	if dir := SessionDir(i.Path); exists(dir) {
		if err := os.Rename(dir, strings.TrimSuffix(to, ".jsonl")); err != nil {
			return fmt.Errorf("retire: %w", err)
		}
	}
	_, err = fmt.Fprintf(log, "%s moved %s to %s\n", time.Now().UTC().Format(time.RFC3339), i.Path, to)
	return err
}
