package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// MaxFile is the most bytes a settings file may have.
const MaxFile = 2 << 20

// maxScan is the most bytes of a bigger file that are looked through for rules that forbid.
const maxScan = 64 << 20

// Options say what to load. Places are needed.
type Options struct {
	Places   Places
	Settings string    // --settings: a file, or JSON text that begins with {
	AddDirs  []string  // --add-dir: of their shared files only plugins and marketplaces count
	Sources  *[]string // --setting-sources: of user, project, local; nil: all
	Sections []Section
	Now      func() time.Time // nil: time.Now
}

// Files is one reading of all sources: parsed, checked, not merged yet. It is immutable and safe
// for concurrent use.
type Files struct {
	cat      *catalogue
	layers   []Layer // lowest first
	sources  []Source
	problems []Problem
	err      error
	refused  []error            // problems with which the program must not start
	parts    map[string]*part   // by path
	order    []string           // of the paths, lowest first
	kept     map[string]Problem // files that are broken now, of which the version before is used
	helper   *helperCall        // how the managed tier is made anew; nil: of files
}

// part is one source as read.
type part struct {
	source   Source
	layer    Layer
	problems []Problem
	absent   bool
}

// Load reads all sources. What is wrong in them is in the state's errors; [Files.Err] says when the
// program must not start at all. The context bounds a policy helper, the only thing that runs.
func Load(ctx context.Context, opts Options) *Files { return load(ctx, opts, nil) }

// Err is an error in what the person asked for on the command line, in the administrator's policy
// helper, or a lock that nobody could keep: the program must not start. It does not mean a broken
// settings file.
func (f *Files) Err() error { return errors.Join(append([]error{f.err}, f.refused...)...) }

// unusable is an error with which a session that runs keeps what it has: where the policy comes from is
// not known. A lock that nobody can keep is none, for it would keep every other change out.
func (f *Files) unusable() error {
	errs := []error{f.err}
	for _, p := range f.problems {
		if k := f.cat.keys[p.Key]; p.Refuses && k != nil && k.Unkept == "" {
			errs = append(errs, errors.New(p.String()))
		}
	}
	return errors.Join(errs...)
}

// load reads all sources; what is unchanged since prev is taken from there.
func load(ctx context.Context, opts Options, prev *Files) *Files {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	r := &reader{opts: opts, prev: prev, f: &Files{cat: catalogueOf(opts.Sections), parts: map[string]*part{}, kept: map[string]Problem{}}}
	wanted, err := wantedScopes(opts.Sources)
	r.f.err = err
	user, managed := opts.Places.files(), opts.Places.managedFiles()
	user = slices.DeleteFunc(user, func(c candidate) bool { return !slices.Contains(wanted, c.scope) })

	flag := r.flag()
	var parts []*part
	parts = append(parts, r.added(wanted)...)
	native := r.readAll(append(slices.Clone(user), managed...), false)
	guests := r.guestsWanted(native, flag)
	for _, c := range user {
		parts = append(parts, r.pick(native, c, guests.user))
	}
	parts = append(parts, flag)
	for _, c := range managed {
		parts = append(parts, r.pick(native, c, guests.managed))
	}
	for _, p := range r.helped(ctx, parts) {
		if p != nil {
			r.f.parts[p.source.Path] = p
			r.f.order = append(r.f.order, p.source.Path)
		}
	}
	r.f.build()
	return r.f
}

// wantedScopes reads --setting-sources.
func wantedScopes(names *[]string) ([]origin.Scope, error) {
	all := []origin.Scope{origin.User, origin.Project, origin.Local}
	if names == nil {
		return all, nil
	}
	var out []origin.Scope
	for _, n := range *names {
		n = strings.TrimSpace(n)
		if n == "" {
			continue
		}
		if !slices.Contains(all, origin.Scope(n)) {
			return all, fmt.Errorf("--setting-sources %s: expected user, project or local", n)
		}
		out = append(out, origin.Scope(n))
	}
	return out, nil
}

type reader struct {
	opts Options
	prev *Files
	f    *Files
}

// readAll reads the candidates of one kind: guests, or native files.
func (r *reader) readAll(list []candidate, guests bool) map[string]*part {
	out := map[string]*part{}
	for _, c := range list {
		if c.guest == guests {
			out[c.path] = r.read(c)
		}
	}
	return out
}

// pick returns the part of a candidate, reading a guest only when guests are wanted.
func (r *reader) pick(native map[string]*part, c candidate, guests bool) *part {
	if !c.guest {
		return native[c.path]
	}
	if !guests {
		return nil
	}
	return r.read(c)
}

type guestsWanted struct{ user, managed bool }

// guestsWanted says whether files of the other tool are read: unless a native file says compat:
// false. The administrator's guest files can only be switched off by the administrator.
func (r *reader) guestsWanted(native map[string]*part, flag *part) guestsWanted {
	if r.opts.Places.DropIn { // the public places are our own there
		return guestsWanted{true, true}
	}
	says := map[origin.Scope]bool{}
	parts := []*part{flag}
	for _, p := range native {
		parts = append(parts, p)
	}
	for _, p := range parts {
		if p == nil || p.layer.Root == nil {
			continue
		}
		if v := p.layer.Root.Get(compatKey); v != nil {
			// Of several drop-ins one that says false is enough.
			says[p.source.Scope] = says[p.source.Scope] || string(v.Scalar) == "false"
		}
	}
	off := false
	for _, scope := range []origin.Scope{origin.User, origin.Flag, origin.Managed} {
		if v, ok := says[scope]; ok {
			off = v
		}
	}
	return guestsWanted{user: !off, managed: !says[origin.Managed]}
}

// build lists layers, sources and problems of the parts.
func (f *Files) build() {
	f.layers, f.sources, f.problems, f.refused = nil, nil, nil, nil
	for _, path := range f.order {
		p := f.parts[path]
		if !p.absent {
			f.sources = append(f.sources, p.source)
		}
		f.problems = append(f.problems, p.problems...)
		for _, problem := range p.problems {
			if problem.Refuses {
				f.refused = append(f.refused, fmt.Errorf("%s; the program does not start with this", problem))
			}
		}
		if p.layer.Root != nil {
			f.layers = append(f.layers, p.layer)
		}
	}
}

// added reads the shared files of directories given by --add-dir. They are no settings roots: all but
// plugins and marketplaces is passed over, and so is what is wrong with it.
func (r *reader) added(wanted []origin.Scope) []*part {
	if !slices.Contains(wanted, origin.Project) {
		return nil
	}
	var out []*part
	for _, dir := range r.opts.AddDirs {
		for _, folder := range []string{guestFolder, nativeFolder} {
			path := filepath.Join(dir, folder, sharedName)
			if sameFile(dir, r.opts.Places.Start) || !filepath.IsAbs(path) {
				continue
			}
			p := *r.read(candidate{scope: origin.Project, path: path, guest: folder != r.opts.Places.Folder})
			p.problems = slices.DeleteFunc(slices.Clone(p.problems), func(x Problem) bool { return !x.Skipped && !isPluginKey(x.Key) })
			if p.layer.Root != nil {
				root := *p.layer.Root
				root.Members = slices.DeleteFunc(slices.Clone(root.Members), func(m Member) bool { return !isPluginKey(m.Key) })
				p.layer.Root = &root
			}
			out = append(out, &p)
		}
	}
	return out
}

func isPluginKey(key string) bool {
	first, _, _ := cutKey(key)
	return first == "enabledPlugins" || first == "extraKnownMarketplaces"
}

// flag reads --settings; nil when it was not given.
func (r *reader) flag() *part {
	text := strings.TrimSpace(r.opts.Settings)
	if text == "" {
		return nil
	}
	var p *part
	if strings.HasPrefix(text, "{") {
		p = r.parse(candidate{scope: origin.Flag, path: "--settings"}, []byte(text))
	} else {
		if rest, ok := strings.CutPrefix(text, "~/"); ok {
			text = filepath.Join(r.opts.Places.UserHome, rest)
		}
		if !filepath.IsAbs(text) {
			text = filepath.Join(r.opts.Places.Start, text)
		}
		p = r.read(candidate{scope: origin.Flag, path: text})
	}
	switch {
	case p.absent:
		r.f.err = errors.Join(r.f.err, fmt.Errorf("--settings %s: there is no such file", text))
	case p.source.Bad:
		r.f.err = errors.Join(r.f.err, fmt.Errorf("--settings: %s", p.problems[0]))
	}
	return p
}

// read reads one file. A file that is not there is an absent part.
func (r *reader) read(c candidate) *part {
	data, err := readBounded(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		if r.prev != nil {
			if old := r.prev.parts[c.path]; old != nil && old.absent {
				return old // with the values it keeps, when its removal was refused
			}
		}
		return &part{source: Source{Scope: c.scope, Path: c.path, Guest: c.guest}, absent: true}
	}
	if err != nil {
		// What cannot be read may hold rules that forbid: nobody can tell.
		return r.bad(c, data, Problem{Message: errorText(err), Lost: data == nil || r.f.cat.mentionsLocks(data)})
	}
	return r.parse(c, data)
}

func errorText(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return "cannot be read: " + pe.Err.Error()
	}
	return err.Error()
}

// readBounded reads a regular file. Of one that is too big it returns what there is to look through,
// and an error.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait for its writer
	switch {
	case errors.Is(err, errNotDir): // a folder on the way that is a file is no such file either
		return nil, fs.ErrNotExist
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return []byte{}, errors.New("is not a regular file")
	case info.Size() > maxScan:
		return nil, fmt.Errorf("is bigger than %d bytes", MaxFile)
	}
	f, _, err := textfile.OpenRegular(path) // should it become a pipe meanwhile
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		rest, err := io.ReadAll(io.LimitReader(f, maxScan))
		if err != nil {
			return nil, err
		}
		return append(data, rest...), fmt.Errorf("is bigger than %d bytes", MaxFile)
	}
	return data, nil
}

func (r *reader) parse(c candidate, data []byte) *part {
	hash := hashOf(data)
	if r.prev != nil {
		if old := r.prev.parts[c.path]; old != nil && old.source.Hash == hash && !old.absent {
			return old
		}
	}
	data, err := jsonc.UTF8(data)
	if err != nil { // what it says nobody can tell
		return r.bad(c, data, Problem{Message: err.Error(), Expected: "text in UTF-8", Lost: true})
	}
	if len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))) == 0 {
		data = []byte("{}") // an empty file says nothing, and nothing of it is lost
	}
	doc, err := jsonc.Parse(c.scope, c.path, data)
	var syntax *jsonc.SyntaxError
	switch {
	case errors.As(err, &syntax):
		p := Problem{Line: syntax.At.Line, Column: syntax.At.Column, Message: syntax.Msg, Expected: "JSON", Lost: r.f.cat.mentionsLocks(data)}
		return r.bad(c, data, p)
	case err != nil:
		return r.bad(c, data, Problem{Message: err.Error(), Lost: true})
	case doc.Root().Kind != jsonc.Object:
		at := doc.At(doc.Root())
		return r.bad(c, data, Problem{
			Line: at.Line, Column: at.Column, Message: "is " + doc.Root().Kind.String(),
			Expected: "an object of settings", Lost: r.f.cat.mentionsLocks(data),
		})
	}
	done := check(r.f.cat, doc, c.scope, c.guest)
	return &part{
		source:   Source{Scope: c.scope, Path: c.path, Guest: c.guest, Hash: hash, LoadedAt: r.opts.Now()},
		layer:    Layer{Scope: c.scope, File: c.path, Guest: c.guest, Root: done.root},
		problems: done.problems,
	}
}

// bad is a source that is not used at all; or, when an earlier version of it was good, that one: an
// editor may be in the middle of writing.
func (r *reader) bad(c candidate, data []byte, p Problem) *part {
	p.Level, p.Scope, p.File, p.Skipped = LevelError, c.scope, c.path, true
	if r.prev != nil {
		if before := r.prev.parts[c.path]; before != nil && !before.source.Bad && !before.absent {
			r.f.kept[c.path] = p
			return before
		}
	}
	return &part{
		source:   Source{Scope: c.scope, Path: c.path, Guest: c.guest, Hash: hashOf(data), LoadedAt: r.opts.Now(), Bad: true},
		problems: []Problem{p},
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// State merges what view accepts.
func (f *Files) State(view View, revision int) *State {
	s := &State{Sources: f.sources, Errors: f.problems, Revision: revision}
	for _, l := range f.layers {
		accepted, ignored := accept(f.cat, l, view)
		s.Effective.Layers = append(s.Effective.Layers, accepted)
		s.Effective.Ignored = append(s.Effective.Ignored, ignored...)
	}
	s.Effective.Root = merge(f.cat, s.Effective.Layers)
	return s
}
