package tool

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Files is the one door through which tools change files, so that all of them judge alike what an
// agent must have read, keep what was there before, and never write over what somebody else has
// changed. The zero Files keeps nothing and lets an agent change only what it has read.
//
// A problem is what the model is told; "" means there is none.
type Files struct {
	// Before is called with the real path of a file right before it is changed or made (a
	// checkpoint). An error prevents the change.
	Before func(ctx context.Context, path string) error
	// Review sees what shall stand in the file at a real path before it does: what it returns is
	// written, and with a problem nothing is. Nil: everything is written as it is.
	Review func(path string, next textfile.Text) (textfile.Text, string)
	// Hidden tells whether a rule forbids to read the file.
	Hidden func(path string) bool
	// MayRead tells whether reading the file would need no question; then it may also be changed
	// without having been read. Nil: never.
	MayRead func(path string) bool
	// ReadFirst tells that every file must have been read as it is now, whatever MayRead says. Nil: no.
	ReadFirst func() bool
}

// MaxChanged is the size up to which files are changed, in bytes.
const MaxChanged = 256 << 20

// Load reads the file a call wants to change; done is "edited" or "written". With no file there,
// exists is false. What is no text, or no file, is a problem. An error is [nolink.ErrLink].
func (w Files) Load(call Call, path, done string) (f textfile.File, exists bool, problem string, err error) {
	real, err := call.Real(path)
	if err == nil {
		if w.hides(path, real) {
			return f, false, fmt.Sprintf("File is covered by a Read deny rule in your permission settings and cannot be %s.", done), nil
		}
		f, err = textfile.LoadReal(path, real, MaxChanged)
	}
	var binary *textfile.BinaryError
	switch {
	case err == nil:
		return f, true, "", nil
	case errors.Is(err, nolink.ErrLink):
		return f, false, "", err
	case errors.Is(err, fs.ErrNotExist):
		return f, false, "", nil
	case errors.As(err, &binary):
		return f, true, fmt.Sprintf("%s is no text file but looks like: %s. It cannot be %s.", path, binary.Kind, done), nil
	default:
		return f, true, fmt.Sprintf("%s cannot be %s: %s.", path, done, cause(err)), nil
	}
}

// hides asks about the path and about the place it leads to.
func (w Files) hides(path, real string) bool {
	return w.Hidden != nil && (w.Hidden(path) || w.Hidden(real))
}

// Missing is the text for a file that does not exist.
func Missing(call Call, path string) string {
	text := "File does not exist: " + path + "."
	if near := textfile.Nearest(path); near != "" {
		text += " Did you mean " + near + "?"
	}
	return text + " The current working directory is " + call.Dir() + "."
}

// Check judges whether the agent knows enough of a file to change it, or, with whole, to replace all
// of it. stale says that the file is no longer as the agent knows it, whose text was was ("" when it
// was not kept): the caller decides whether the change is still safe.
func (w Files) Check(scope *Scope, f textfile.File, whole bool) (was string, stale bool, problem string) {
	strict := w.ReadFirst != nil && w.ReadFirst()
	standing, rec := scope.Reads.Standing(f.Real, f.Text.Hash())
	free := !strict && w.MayRead != nil && w.MayRead(f.Path)
	switch {
	case standing == Stale && strict:
		return "", true, w.StaleText(f, viewOf(rec))
	case standing == Stale:
		return viewOf(rec), true, ""
	case standing == Unread && !free:
		return "", false, f.Path + " has not been read yet. Read it first, then change it."
	case standing == PartlyRead && (whole || !free):
		return "", false, f.Path + " has been read only in part. Read what is missing (offset and limit, or allow_large), then change it."
	case standing == Fresh && whole && !rec.Written && !covers(rec, f.Text.Lines()):
		return "", false, f.Path + " has been read only in part. Read the whole file before replacing all of it, or use Edit."
	}
	return "", false, ""
}

func covers(rec ReadRecord, lines int) bool {
	return rec.Offset <= 1 && (rec.Limit == 0 || rec.Limit >= lines)
}

func viewOf(rec ReadRecord) string {
	if rec.Content == nil {
		return ""
	}
	t, err := textfile.Decode(rec.Content)
	if err != nil {
		return ""
	}
	return t.View()
}

// shownLines is how many lines of a changed file a message shows.
const shownLines = 60

// StaleText tells that a file has changed since the agent read it, and what the changed places hold
// now.
func (w Files) StaleText(f textfile.File, was string) string {
	text := f.Path + " has changed on disk since you read it (by the user, a formatter or another program). Nothing was written."
	if was != "" {
		text += " The changed places now read:\n" + textfile.Changes(was, f.Text.View(), shownLines) + "\n"
	}
	return text + " Read it again, then change it."
}

// Save puts next in the place of the file's content, after it was kept, and remembers it as known.
// A file that changed in this very moment is a problem and left alone; a link in its real path is
// [nolink.ErrLink].
func (w Files) Save(ctx context.Context, scope *Scope, f textfile.File, next textfile.Text) (saved textfile.File, problem string, err error) {
	if next, problem = w.review(f.Real, next); problem != "" {
		return f, problem, nil
	}
	if err := w.before(ctx, f.Real); err != nil {
		return f, "", err
	}
	saved, err = f.Save(next)
	switch {
	case errors.Is(err, textfile.ErrChanged):
		now, err := textfile.LoadReal(f.Path, f.Real, MaxChanged)
		if err != nil {
			return f, fmt.Sprintf("%s is being changed by another program: %s.", f.Path, cause(err)), nil
		}
		return f, w.StaleText(now, f.Text.View()), nil
	case errors.Is(err, nolink.ErrLink):
		return f, "", err
	case err != nil:
		return f, fmt.Sprintf("%s cannot be written: %s.", f.Path, cause(err)), nil
	}
	scope.Reads.Wrote(saved.Real, saved.Text.Raw(), saved.Info.ModTime())
	return saved, "", nil
}

// Create makes a new file with its parent folders and remembers it as known. A link in its real path is
// [nolink.ErrLink].
func (w Files) Create(ctx context.Context, call Call, path string, t textfile.Text) (made textfile.File, problem string, err error) {
	real, err := call.Real(path)
	if err != nil {
		return made, fmt.Sprintf("%s cannot be written: %s.", path, cause(err)), nil
	}
	if t, problem = w.review(real, t); problem != "" {
		return made, problem, nil
	}
	if err := w.before(ctx, real); err != nil {
		return made, "", err
	}
	made, err = textfile.CreateReal(path, real, t)
	switch {
	case errors.Is(err, nolink.ErrLink):
		return made, "", err
	case err != nil:
		return made, fmt.Sprintf("%s cannot be written: %s.", path, cause(err)), nil
	}
	call.Scope.Reads.Wrote(made.Real, t.Raw(), made.Info.ModTime())
	return made, "", nil
}

func (w Files) review(path string, next textfile.Text) (textfile.Text, string) {
	if w.Review == nil {
		return next, ""
	}
	return w.Review(path, next)
}

func (w Files) before(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.Before == nil {
		return nil
	}
	if err := w.Before(ctx, path); err != nil {
		return fmt.Errorf("keep %s before changing it: %w", path, err)
	}
	return nil
}

// Drift is for after a change, when hooks have run, and for after a shell command: it tells what a
// formatter has made of a file the agent knows, and takes that as known, so that the next change
// builds on it. "" means that the file is as the agent knows it, or is not known as a whole.
func (w Files) Drift(scope *Scope, path string) string {
	real, err := textfile.Real(path)
	if err != nil || w.hides(path, real) {
		return ""
	}
	rec, ok := scope.Reads.Get(real)
	if !ok || rec.Hash == [sha256.Size]byte{} {
		return ""
	}
	f, err := textfile.LoadReal(path, real, MaxChanged)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		scope.Reads.Forget(real)
		return path + " has been deleted since you last read or wrote it."
	case err != nil, f.Text.Hash() == rec.Hash:
		return ""
	}
	scope.Reads.Wrote(f.Real, f.Text.Raw(), f.Info.ModTime())
	text := path + " has changed since you last read or wrote it, perhaps by a formatter."
	if was := viewOf(rec); was != "" {
		text += " The changed places now read:\n" + textfile.Changes(was, f.Text.View(), shownLines)
	}
	return text
}

// cause is the bare reason of a file system error.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
