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
)

// Resolution is where an absolute path leads.
type Resolution struct {
	Path string   // every symbolic link of the longest existing prefix followed
	Hops []string // the spellings on the way, each with one more link followed; without the first and the last
}

// Resolver follows the links of an absolute, clean path. An error means the path cannot be
// resolved (a loop, no permission): the call then asks. It must be safe for concurrent use.
type Resolver func(path string) (Resolution, error)

// ErrLinkLoop is returned by [ResolveLinks] for links that lead in a circle.
var ErrLinkLoop = errors.New("the path leads through too many symbolic links")

// ResolveLinks is the Resolver of the real file system.
func ResolveLinks(p string) (Resolution, error) { return resolveWith(p, os.Readlink) }

// resolveWith walks the path from the root and restarts at each link, as the kernel does.
func resolveWith(p string, readlink func(string) (string, error)) (Resolution, error) {
	out := Resolution{}
	const most = 40 // as Linux
	for range most + 1 {
		next, found, err := firstLink(p, readlink)
		if err != nil {
			return Resolution{}, err
		}
		if !found {
			out.Path = p
			return out, nil
		}
		p = next
		out.Hops = append(out.Hops, p)
	}
	return Resolution{}, ErrLinkLoop
}

// firstLink replaces the first link in p by what it points to.
func firstLink(p string, readlink func(string) (string, error)) (string, bool, error) {
	for end := 1; end <= len(p); end++ {
		if end < len(p) && p[end] != '/' {
			continue
		}
		head := p[:end]
		target, err := readlink(head)
		switch {
		case err == nil:
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(head), target)
			}
			return path.Clean(target + p[end:]), true, nil
		case errors.Is(err, fs.ErrNotExist):
			return p, false, nil
		case errors.Is(err, fs.ErrPermission):
			return "", false, fmt.Errorf("resolve %s: %w", head, err)
		}
		// Not a link (EINVAL), or below something that is no directory (ENOTDIR): go on.
	}
	return p, false, nil
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
	for _, s := range []string{p.path, p.real} {
		if why := e.protectedPath(s); why != "" {
			return why
		}
		if p.real == p.path {
			break
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
