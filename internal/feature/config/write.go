package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/quote"
)

// ErrBroken is returned by every function that writes when the file does not parse: it is left as
// it is.
var ErrBroken = errors.New("the file is not valid and was not changed")

// Edit changes a settings file under its lock: read anew, change, replace whole. What edit does not
// touch keeps its bytes. A file that is not there begins as {}; one that does not parse is left
// alone ([ErrBroken]). Project files are readable for everybody, others for their owner.
func Edit(scope origin.Scope, path string, edit func(*jsonc.Doc) error) error {
	perm := fs.FileMode(0o600)
	if scope == origin.Project {
		perm = 0o644
	}
	return atomicfile.Update(path, perm, func(old []byte) ([]byte, error) {
		text := old
		if len(bytes.TrimSpace(bytes.TrimPrefix(old, []byte("\ufeff")))) == 0 {
			text = []byte("{}\n")
		}
		doc, err := jsonc.Parse(scope, path, text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if doc.Root().Kind != jsonc.Object {
			return nil, fmt.Errorf("%w: %s is %s, expected an object of settings", ErrBroken, path, doc.Root().Kind)
		}
		before := doc.Root()
		if err := edit(doc); err != nil {
			return nil, err
		}
		if doc.Root() == before { // nothing was edited: an absent file stays absent
			return old, nil
		}
		return doc.Bytes(), nil
	})
}

// Saved tells what a write did.
type Saved struct {
	Path string
	// Overridden is set when a higher level keeps the written value from taking effect.
	Overridden *origin.Origin
	Excluded   string // file of ignore patterns the local file was added to; empty: none was changed
}

// Writer writes settings where a scope has its file.
type Writer struct {
	Places   Places
	Sections []Section
	Git      gitrepo.Git
}

// Set gives a dotted key a value in the file of a scope. The value is checked like one that is read:
// what would be dropped is refused here. Keys of the state file go there whatever the scope.
func (w Writer) Set(ctx context.Context, scope origin.Scope, key string, value json.RawMessage) (Saved, error) {
	cat := catalogueOf(w.Sections)
	if err := w.fits(cat, scope, key, value); err != nil {
		return Saved{}, err
	}
	return w.edit(ctx, cat, scope, key, func(d *jsonc.Doc) error { return d.Set(strings.Split(key, "."), value) })
}

// Unset takes a dotted key out of the file of a scope.
func (w Writer) Unset(ctx context.Context, scope origin.Scope, key string) (Saved, error) {
	cat := catalogueOf(w.Sections)
	return w.edit(ctx, cat, scope, key, func(d *jsonc.Doc) error { return d.Delete(strings.Split(key, ".")) })
}

// Add appends texts to an array of strings ("permissions.allow") in the file of a scope, without
// doubles.
func (w Writer) Add(ctx context.Context, scope origin.Scope, key string, texts ...string) (Saved, error) {
	cat := catalogueOf(w.Sections)
	raw := make([]json.RawMessage, len(texts))
	for i, t := range texts {
		raw[i] = quote.JSON(nil, t)
	}
	whole := append(append([]byte("["), bytes.Join(asBytes(raw), []byte(","))...), ']')
	if err := w.fits(cat, scope, key, whole); err != nil {
		return Saved{}, err
	}
	return w.edit(ctx, cat, scope, key, func(d *jsonc.Doc) error { return d.Append(strings.Split(key, "."), raw...) })
}

// Remove takes texts out of an array of strings in the file of a scope.
func (w Writer) Remove(ctx context.Context, scope origin.Scope, key string, texts ...string) (Saved, error) {
	drop := map[string]bool{}
	for _, t := range texts {
		drop[t] = true
	}
	cat := catalogueOf(w.Sections)
	return w.edit(ctx, cat, scope, key, func(d *jsonc.Doc) error {
		return d.Remove(strings.Split(key, "."), func(raw json.RawMessage) bool {
			var text string
			return json.Unmarshal(raw, &text) == nil && drop[text]
		})
	})
}

func asBytes(raw []json.RawMessage) [][]byte {
	out := make([][]byte, len(raw))
	for i := range raw {
		out[i] = raw[i]
	}
	return out
}

// fits checks a value the way a file with it would be checked.
func (w Writer) fits(cat *catalogue, scope origin.Scope, key string, value json.RawMessage) error {
	k, known := cat.keys[key]
	if !known && !cat.spaces[key] && !w.inside(cat, key) {
		msg := key + ": unknown key"
		if near := cat.nearest(key); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
		return errors.New(msg)
	}
	if known && k.Scopes == InGlobal {
		scope = "" // checked by type alone
	}
	doc, err := jsonc.Parse(scope, "", []byte("{}"))
	if err == nil {
		err = doc.Set(strings.Split(key, "."), value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	c := &checker{cat: cat, doc: doc, scope: scope}
	if scope == "" {
		if c.shape(k, doc.Root().Get(strings.Split(key, ".")...)) == nil {
			return refusal(c.problems)
		}
		return nil
	}
	c.object("", doc.Root())
	return refusal(c.problems)
}

// inside reports whether key leads into the value of a known key ("env.NAME").
func (w Writer) inside(cat *catalogue, key string) bool {
	for i := len(key) - 1; i > 0; i-- {
		if key[i] != '.' {
			continue
		}
		if k, ok := cat.keys[key[:i]]; ok {
			return k.Type&(TObject|TStringMap|TBoolMap|TAny) != 0
		}
	}
	return false
}

func refusal(problems []Problem) error {
	for _, p := range problems {
		if p.Level != LevelNotice {
			p.File, p.Line, p.Lost = "", 0, false
			return errors.New(p.String())
		}
	}
	return nil
}

func (w Writer) edit(ctx context.Context, cat *catalogue, scope origin.Scope, key string, edit func(*jsonc.Doc) error) (Saved, error) {
	if k, ok := cat.keys[key]; ok && k.Scopes == InGlobal {
		err := StateFile{Path: w.Places.StateFile, Backups: w.Places.Backups()}.Update(edit)
		return Saved{Path: w.Places.StateFile}, err
	}
	path := w.Places.File(scope)
	if path == "" {
		return Saved{}, fmt.Errorf("set %s: nothing can be saved in scope %q; expected user, project or local", key, scope)
	}
	_, statErr := os.Lstat(path)
	if err := Edit(scope, path, edit); err != nil {
		return Saved{}, err
	}
	saved := Saved{Path: path}
	if scope == origin.Local && errors.Is(statErr, fs.ErrNotExist) {
		saved.Excluded = w.exclude(ctx)
	}
	return saved, nil
}

// exclude keeps a new local file out of everybody's commits, by the person's own list of ignored
// files. That it cannot be is no reason not to save.
func (w Writer) exclude(ctx context.Context) string {
	file, err := w.Git.GlobalExcludes(ctx, w.Places.UserHome)
	if err != nil {
		return ""
	}
	if err := gitrepo.AddPattern(file, "**/"+w.Places.Folder+"/"+localName); err != nil {
		return ""
	}
	return file
}

// Overrides fills in, from the state after the write was loaded, whether a higher level overrules
// what was written.
func (s Saved) Overrides(now *State, key string) Saved {
	n := now.Lookup(key)
	if n == nil || n.Kind == jsonc.Array || n.Kind == jsonc.Object || n.At.File == s.Path {
		return s
	}
	at := n.At
	s.Overridden = &at
	return s
}
