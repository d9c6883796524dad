package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/caseblind"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/protected"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// Resolution is where an absolute path leads.
type Resolution struct {
	Path string   // every symbolic link of the longest existing prefix followed
	Hops []string // the spellings on the way, each with one more link followed; without the first and the last
}

// Resolver follows the links of an absolute path, in which ".." may stand: links before it are followed first. An error means the path cannot be
// resolved (a loop, no permission): the call then asks. It must be safe for concurrent use.
type Resolver func(path string) (Resolution, error)

// ErrLinkLoop is returned by [ResolveLinks] for links that lead in a circle.
var ErrLinkLoop = errors.New("the path leads through too many symbolic links")

// ResolveLinks is the Resolver of the real file system.
func ResolveLinks(p string) (Resolution, error) { return resolveWith(p, os.Readlink) }

// maxLinks is how many links one path may lead through, as on Linux.
const maxLinks = 40

// resolveWith walks the path as the kernel does, component by component: a link is followed before a ".." after it
// is. What does not exist is no link.
func resolveWith(p string, readlink func(string) (string, error)) (Resolution, error) {
	var out Resolution
	at, rest := "", strings.TrimPrefix(p, "/")
	for rest != "" {
		name, after, _ := strings.Cut(rest, "/")
		rest = after
		switch name {
		case "", ".":
			continue
		case "..":
			at = strings.TrimSuffix(path.Dir("/"+at), "/")
			continue
		}
		next := at + "/" + name
		target, err := readlink(next)
		switch {
		case err == nil:
			if len(out.Hops) == maxLinks {
				return Resolution{}, ErrLinkLoop
			}
			if rest = strings.TrimSuffix(target+"/"+rest, "/"); strings.HasPrefix(target, "/") {
				at = ""
			}
			out.Hops = append(out.Hops, path.Clean(at+"/"+rest))
			continue
		case errors.Is(err, fs.ErrPermission):
			return Resolution{}, fmt.Errorf("resolve %s: %w", next, err)
		}
		at = next // no link (EINVAL), nothing (ENOENT), or below something that is no directory (ENOTDIR)
	}
	out.Path = path.Clean("/" + at)
	return out, nil
}

// place is one path with its spellings.
type place struct {
	path string // as written: absolute and clean
	real string // resolved
	hops []string
	err  error
}

// placeOf resolves a path; the answers of one decision are kept.
func (e *eval) placeOf(p string) *place {
	if got, ok := e.places[p]; ok {
		return got
	}
	out := &place{path: p, real: p}
	if e.pol.Resolve != nil {
		res, err := e.pol.Resolve(p)
		if err != nil {
			out.err = err
		} else {
			out.real, out.hops = res.Path, res.Hops
		}
	}
	if e.places == nil {
		e.places = make(map[string]*place, 8)
	}
	e.places[p] = out
	return out
}

// errStray says that a path is two places: what its text says, and where the kernel goes.
var errStray = errors.New("read as text it is another place than the one that its links and “..” lead to")

// placeOfUse resolves a path of a shell command. Where a link stands before a "..", the place is the one the text
// names, with an error and with the one the kernel finds among its spellings.
func (e *eval) placeOfUse(u *shellsyntax.PathUse) *place {
	written := e.placeOf(u.Path)
	if u.Walk == "" || u.Glob || u.Unknown || e.pol.Resolve == nil {
		return written
	}
	if got, ok := e.places[u.Walk]; ok {
		return got
	}
	out := *written
	if res, err := e.pol.Resolve(u.Walk); err != nil {
		out.err = err
	} else if res.Path != written.real {
		out.err = errStray
		out.hops = append(append(out.hops[:len(out.hops):len(out.hops)], res.Hops...), res.Path)
	}
	e.places[u.Walk] = &out
	return &out
}

// workDirs returns the working directories as written and resolved.
func (e *eval) workDirs() []string {
	if e.work == nil {
		e.work = make([]string, 0, 4)
		for _, d := range append([]string{e.pol.Dirs.Cwd}, e.pol.Dirs.More...) {
			if d == "" {
				continue
			}
			e.work = append(e.work, d)
			if real := e.placeOf(d).real; real != d {
				e.work = append(e.work, real)
			}
		}
	}
	return e.work
}

func (e *eval) within(p string) bool {
	for _, d := range e.workDirs() {
		if _, ok := pathpattern.Rel(d, p); ok {
			return true
		}
	}
	return false
}

// inside tells whether both spellings lie in a working directory.
func (e *eval) inside(p *place) bool {
	return p.err == nil && e.within(p.path) && (p.real == p.path || e.within(p.real))
}

// foldsAt tells whether the name of a path, or of a folder on the way to it, is found in any case.
func (e *eval) foldsAt(p string) bool {
	if e.pol.Folds == nil {
		return false
	}
	folds, known := e.foldAt[p]
	if !known {
		for d := path.Dir(p); !folds; d = path.Dir(d) {
			folds = e.pol.Folds(d)
			if d == "/" || d == "." {
				break
			}
		}
		if e.foldAt == nil {
			e.foldAt = map[string]bool{}
		}
		e.foldAt[p] = folds
	}
	return folds
}

// relTo returns p relative to base; with fold by their keys.
func relTo(base, p string, fold bool) (string, bool) {
	if fold {
		base, p = caseblind.Key(base), caseblind.Key(p)
	}
	return pathpattern.Rel(base, p)
}

// of returns the pattern of a rule for names as they are, or for their keys.
func (r *pathRule) of(fold bool) *pathpattern.Pattern {
	if fold {
		return &r.folded
	}
	return &r.pattern
}

// covers tells whether a deny or ask rule is about the path: itself or a directory it lies in.
func (e *eval) covers(r *compiled, p string) bool {
	fold := r.rule.List != AllowList && e.foldsAt(p)
	for _, b := range r.path.bases {
		rel, ok := relTo(b, p, fold)
		if ok && (r.path.whole || (rel != "" && r.path.of(fold).Covers(rel))) {
			return true
		}
	}
	return false
}

// grants tells whether an allow rule is about exactly this path.
func (e *eval) grants(r *compiled, p string) bool {
	for _, b := range r.path.bases {
		rel, ok := pathpattern.Rel(b, p)
		if ok && (r.path.whole || (rel != "" && r.path.pattern.Match(rel, true))) {
			return true
		}
	}
	return false
}

// pathRules returns the rules of a list about paths for reading ("Read") or changing ("Edit").
func (e *eval) pathRules(tool string, list List) []*compiled {
	var out []*compiled
	if t := e.pol.Rules.byTool[tool]; t != nil {
		out = t.paths[list]
	}
	if x := e.pol.Rules.extra; x != nil {
		if t := x.byTool[tool]; t != nil {
			out = append(out[:len(out):len(out)], t.paths[list]...)
		}
	}
	return out
}

// anySpelling finds a deny or ask rule that covers the path in any of its spellings.
func (e *eval) anySpelling(rules []*compiled, p *place) *compiled {
	for _, r := range rules {
		if e.covers(r, p.path) || (p.real != p.path && e.covers(r, p.real)) {
			return r
		}
		for _, h := range p.hops {
			if e.covers(r, h) {
				return r
			}
		}
	}
	return nil
}

// bothSpellings finds an allow rule for the path as written and one for where it leads.
func (e *eval) bothSpellings(rules []*compiled, p *place) *compiled {
	if p.err != nil {
		return nil
	}
	find := func(s string) *compiled {
		for _, r := range rules {
			if e.grants(r, s) {
				return r
			}
		}
		return nil
	}
	first := find(p.path)
	if first == nil || p.real == p.path {
		return first
	}
	if find(p.real) == nil {
		return nil
	}
	return first
}

// couldReach tells whether an unexpanded pattern, or everything below a directory, could touch what a
// deny or ask rule is about.
func (e *eval) couldReach(r *compiled, glob string) bool {
	if r.path.whole {
		for _, b := range r.path.bases {
			head := pathpattern.LiteralHead(glob)
			if _, ok := pathpattern.Rel(b, head); ok {
				return true
			}
			if _, ok := pathpattern.Rel(head, b); ok {
				return true
			}
		}
		return false
	}
	for _, b := range r.path.bases {
		if e.meets(r, b, glob) {
			return true
		}
	}
	return false
}

func (e *eval) meets(r *compiled, base, glob string) bool {
	fold := r.rule.List != AllowList && e.foldsAt(path.Join(pathpattern.LiteralHead(glob), "x"))
	if fold {
		glob, base = caseblind.Key(glob), caseblind.Key(base)
	}
	if base == "/" {
		base = ""
	}
	whole, err := pathpattern.Compile(pathpattern.Escape(base)+"/**", pathpattern.Options{})
	if err != nil {
		return true
	}
	other, err := pathpattern.Compile(glob, pathpattern.Options{})
	if err != nil {
		return true
	}
	if !whole.MayMeet(other) {
		return false
	}
	// Bring the pattern of the rule to the root: "name" at any depth is "base/**/name".
	text := r.path.pattern.String()
	text = strings.TrimSuffix(text, "/")
	if strings.Contains(text, "/") {
		text = "/" + strings.TrimPrefix(text, "/")
	} else {
		text = "/**/" + text
	}
	if fold {
		text = caseblind.Key(text)
	}
	abs, err := pathpattern.Compile(pathpattern.Escape(base)+text, pathpattern.Options{})
	if err != nil {
		return true
	}
	return abs.MayMeet(other)
}

// protectedName tells why writing the path always asks; empty: it does not.
func (e *eval) protectedName(p *place) string {
	if why := e.protectedPath(p.path); why != "" {
		return why
	}
	if p.real != p.path {
		if why := e.protectedPath(p.real); why != "" {
			return why
		}
	}
	if p.err != nil {
		for _, hop := range p.hops {
			if why := e.protectedPath(hop); why != "" {
				return why
			}
		}
	}
	return ""
}

func (e *eval) protectedPath(p string) string {
	fold, rest := e.foldsAt(p), p
	if fold {
		rest = caseblind.Key(p)
	}
	for _, d := range e.pol.Dirs.Protected {
		if _, ok := relTo(d, p, fold); ok {
			return d
		}
	}
	if h := e.pol.Dirs.Home; h != "" {
		if rel, ok := relTo(h, p, fold); ok && (rel == ".ssh" || strings.HasPrefix(rel, ".ssh/")) {
			return "~/.ssh"
		}
	}
	for rest != "" {
		rest = strings.TrimPrefix(rest, "/")
		seg, after, _ := strings.Cut(rest, "/")
		if why := protected.Asks(seg, after); why != "" {
			return why
		}
		rest = after
	}
	return ""
}

// badPath tells why a path must be refused outright.
func badPath(p string) string {
	for i := range len(p) {
		if p[i] < ' ' || p[i] == 0x7f {
			return "the path holds a control character"
		}
	}
	return ""
}

// clean makes a path absolute and clean against base.
func clean(base, p string) string {
	p = filepath.ToSlash(p)
	if !path.IsAbs(p) {
		p = base + "/" + p
	}
	return path.Clean(p)
}
