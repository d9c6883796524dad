package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/sys/ownfolder"
)

// dir is the folder that belongs to this session: large results, pages, hook files.
func (r *rooms) dir() string {
	if p := r.transcript().Path(); p != "" {
		return transcript.SessionDir(p)
	}
	return filepath.Join(os.TempDir(), "myelin-"+r.part.session.Get().ID)
}

// temp is a folder commands may write to.
func (r *rooms) temp() string {
	return filepath.Join(r.tempBase(), r.part.session.Get().ID)
}

// emptyTemp takes away what the session has left in the temporary folder, unless a service that outlives it
// may still use it.
func (r *rooms) emptyTemp() error {
	if r.tasks == nil || r.tasks.outlives() {
		return nil
	}
	errs := []error{os.RemoveAll(r.temp())}
	if r.transcript().Path() == "" {
		errs = append(errs, os.RemoveAll(r.dir()))
	}
	_ = os.Remove(r.tempBase()) // another session uses it: then it stays
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

// tempBase is [userTemp], or a folder under a name of its own where somebody has taken that one.
func tempBase() string {
	path, err := userTemp()
	if err == nil {
		return path
	}
	if own, err := os.MkdirTemp("", "myelin-"); err == nil {
		return own
	}
	return path // making the session's folder in it tells what is wrong
}
