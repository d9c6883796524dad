package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// StateFile is the program's own state on disk: trusted folders, accepted notices, the person's
// servers, settings of scope G. Many processes change it at once; each change keeps everybody
// else's keys.
type StateFile struct {
	Path    string
	Backups string           // folder of copies; empty: beside the file
	Now     func() time.Time // nil: time.Now
}

// CorruptError says that the file does not parse. It was copied before anybody could overwrite it.
type CorruptError struct {
	Path  string
	Copy  string // where the copy is
	Cause error
}

// Error names the file, its copy and what is wrong.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("state file %s is broken (%v); a copy is kept as %s", e.Path, e.Cause, e.Copy)
}

// Unwrap is the syntax error.
func (e *CorruptError) Unwrap() error { return e.Cause }

// Backups is the folder for copies of the state file.
func (p Places) Backups() string { return filepath.Join(p.Home, "backups") }

// State is the program's own state file.
func (p Places) State() StateFile { return StateFile{Path: p.StateFile, Backups: p.Backups()} }

// Read returns the content; nil when there is no file or an empty one. A broken file is a
// [*CorruptError]; a copy of it is made, once a content.
func (f StateFile) Read() (*jsonc.Node, error) {
	doc, err := f.document(f.Path)
	if doc == nil || err != nil {
		return nil, err
	}
	return doc.Root(), nil
}

// parse returns no document for a file without content.
func (f StateFile) parse(data []byte) (*jsonc.Doc, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	doc, err := jsonc.Parse("", f.Path, data)
	if err == nil && doc.Root().Kind != jsonc.Object {
		err = fmt.Errorf("%s is %s, expected an object", f.Path, doc.Root().Kind)
	}
	if err != nil {
		name, copyErr := f.keep(data, "corrupted", true)
		return nil, &CorruptError{Path: f.Path, Copy: name, Cause: errors.Join(err, copyErr)}
	}
	return doc, nil
}

// Update changes the file under its lock. edit sees what stands there now, not what the caller read
// before. A broken file is left alone ([*CorruptError]).
func (f StateFile) Update(edit func(*jsonc.Doc) error) error {
	return atomicfile.Update(f.Path, 0o600, func(old []byte) ([]byte, error) {
		doc, err := f.parse(old)
		if err != nil {
			return nil, err
		}
		if doc == nil {
			if doc, err = jsonc.Parse("", f.Path, []byte("{}\n")); err != nil {
				return nil, err
			}
		} else if err := f.backup(old); err != nil {
			return nil, err
		}
		if err := edit(doc); err != nil {
			return nil, err
		}
		return doc.Bytes(), nil
	})
}

// Global reads a setting that stands in the program's own state file, or else in the other tool's.
// ok is false when neither sets it, or with a value of the wrong type. A broken state file is a
// [*CorruptError]; a broken one of the other tool says nothing.
func (p Places) Global(key string) (value json.RawMessage, at origin.Origin, ok bool, err error) {
	k, known := plainCatalogue().keys[key]
	if !known || k.Scopes != InGlobal {
		return nil, origin.Origin{}, false, fmt.Errorf("%s is no setting of the state file", key)
	}
	for _, path := range []string{p.StateFile, p.GuestState} {
		if path == "" {
			continue
		}
		doc, err := p.State().document(path)
		if err != nil && path == p.StateFile {
			return nil, origin.Origin{}, false, err
		}
		if err != nil || doc == nil {
			continue
		}
		c := &checker{cat: plainCatalogue(), doc: doc}
		if n := doc.Root().Get(key); n != nil && n.Kind != jsonc.Null {
			if v := c.shape(k, n); v != nil {
				v.At.Scope = origin.User
				return v.JSON(), v.At, true, nil
			}
		}
	}
	return nil, origin.Origin{}, false, nil
}

// document reads a state file; nil when there is none. Only the program's own is kept as a copy when
// it is broken.
func (f StateFile) document(path string) (*jsonc.Doc, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state file: %w", err)
	}
	if path == f.Path {
		return f.parse(data)
	}
	return jsonc.Parse("", path, data)
}

// Set gives a key of the file a value. path are names, not dotted: they may be folders.
func (f StateFile) Set(value any, path ...string) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	return f.Update(func(d *jsonc.Doc) error { return d.Set(path, raw) })
}

// Reset begins a broken file anew, after the person agreed. The broken content stays as a copy,
// whose name is returned. A file that parses (somebody else mended it) is left as it is.
func (f StateFile) Reset() (copied string, err error) {
	err = atomicfile.Update(f.Path, 0o600, func(old []byte) ([]byte, error) {
		_, broken := f.parse(old)
		var corrupt *CorruptError
		if !errors.As(broken, &corrupt) {
			return old, broken
		}
		if _, err := os.Stat(corrupt.Copy); err != nil {
			return nil, fmt.Errorf("the broken content is not kept: %w", err)
		}
		copied = corrupt.Copy
		return []byte("{}\n"), nil
	})
	return copied, err
}

const (
	backupCount = 5
	// backupPause keeps a burst of writes from pushing every older copy out.
	backupPause = time.Minute
	// stampFormat sorts by time and has no dot, which would make it two extensions.
	stampFormat = "20060102T150405Z0700"
)

// backup keeps a copy of what is about to be replaced, unless there is a young one. The caller holds
// the lock.
func (f StateFile) backup(data []byte) error {
	names := f.copies("backup")
	if n := len(names); n > 0 {
		made, err := time.Parse(stampFormat, filepath.Ext(names[n-1])[1:])
		if age := f.now().Sub(made); err == nil && age >= 0 && age < backupPause {
			return nil
		}
	}
	if _, err := f.keep(data, "backup", false); err != nil {
		return err
	}
	names = f.copies("backup")
	for len(names) > backupCount {
		if err := os.Remove(names[0]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove old backup: %w", err)
		}
		names = names[1:]
	}
	return nil
}

func (f StateFile) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

func (f StateFile) folder() string {
	if f.Backups == "" {
		return filepath.Dir(f.Path)
	}
	return f.Backups
}

// base is the name copies begin with: that of the file, with the dot hidden files have.
func (f StateFile) base() string {
	base := filepath.Base(f.Path)
	if !strings.HasPrefix(base, ".") {
		base = "." + base
	}
	return base
}

// copies lists the copies of a kind, oldest first.
func (f StateFile) copies(kind string) []string {
	names, err := filepath.Glob(filepath.Join(globEscape(f.folder()), f.base()+"."+kind+".*"))
	if err != nil {
		return nil // the pattern is escaped and well-formed
	}
	sort.Strings(names)
	return names
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// keep writes a copy and returns its name. With once, a copy of the same content that is there
// already will do.
func (f StateFile) keep(data []byte, kind string, once bool) (string, error) {
	if once {
		for _, name := range f.copies(kind) {
			if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
				return name, nil
			}
		}
	}
	stamp := f.now().UTC().Format(stampFormat)
	name := filepath.Join(f.folder(), f.base()+"."+kind+"."+stamp)
	for i := 1; once; i++ { // another broken content of the same second
		if _, err := os.Lstat(name); err != nil {
			break
		}
		name = filepath.Join(f.folder(), fmt.Sprintf("%s.%s.%s-%d", f.base(), kind, stamp, i))
	}
	if err := atomicfile.Write(name, data, 0o600); err != nil {
		return name, fmt.Errorf("keep a copy: %w", err)
	}
	return name, nil
}
