package permission

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
)

// Files is what a decision may look up beside links. It is only asked where the answer decides; what depends on a nil
// function asks. The functions must be safe for concurrent use.
type Files struct {
	Locate func(program string) string             // the file the shell would run; empty: none is found
	Exists func(path string) bool                  // anything of that name
	List   func(dir string) ([]fs.DirEntry, error) // what a folder holds
	// ListSome lists a folder up to a number of entries, in no order; nil: patterns are not expanded.
	ListSome func(dir string, most int) ([]fs.DirEntry, error)
}

// Disk looks in the real file system.
func Disk() Files {
	return Files{
		Locate: func(program string) string {
			p, err := exec.LookPath(program)
			if err != nil {
				return "" // not found: nothing would run
			}
			if p, err = filepath.Abs(p); err != nil {
				return ""
			}
			return filepath.ToSlash(p)
		},
		Exists: func(p string) bool {
			_, err := os.Lstat(p)
			return err == nil
		},
		List: os.ReadDir, ListSome: listSome,
	}
}

// placeVerdict judges the places that the words of a part name, when no more than a pattern or the mode “accept edits” vouches
// for it: none may lie outside of the working directories or be protected. The zero verdict means it is fine.
func (s *shellEval) placeVerdict(p *shellsyntax.Part, r *compiled) partVerdict {
	var bad partVerdict
	for u := range p.Places {
		switch {
		case strings.Contains(u.Path, "\x00"), u.Unknown && strings.Contains(u.Path, "/.."):
			bad = partVerdict{kind: ByDirectory, why: "which place " + u.Text + " names is only known at run time"}
		case u.Glob:
			bad = s.patternPlace(&u)
		default:
			bad = s.onePlace(&u, r)
		}
		if bad.why != "" {
			bad.path, bad.missing = u.Text, s.exactly(p)
			return bad
		}
	}
	return s.copies(p)
}

// patternPlace judges a pattern by what is literal in it.
func (s *shellEval) patternPlace(u *shellsyntax.PathUse) partVerdict {
	if !s.inside(s.placeOf(pathpattern.LiteralHead(u.Path))) {
		return partVerdict{kind: ByDirectory, why: u.Text + " may lie outside of the working directories"}
	}
	if !u.Only && strings.Contains(u.Path, "/.") {
		return partVerdict{kind: BySafety, why: u.Text + " may name a protected place"}
	}
	return partVerdict{}
}

func (s *shellEval) onePlace(u *shellsyntax.PathUse, r *compiled) partVerdict {
	pl := s.placeOfUse(u)
	if pl.err != nil {
		return partVerdict{kind: ByDirectory, why: fmt.Sprintf("%s cannot be resolved: %v", u.Text, pl.err)}
	}
	if name := s.protectedName(pl); name != "" && !u.Only {
		return partVerdict{kind: BySafety, why: fmt.Sprintf("it names %s, which is protected (%s)", s.shown(u, pl), name)}
	}
	if s.inside(pl) || s.temporary(pl) || s.named(r, pl) || s.bothSpellings(s.pathRules("Read", AllowList), pl) != nil && u.Only {
		return partVerdict{}
	}
	return partVerdict{kind: ByDirectory, why: fmt.Sprintf("it names %s, outside of the working directories", s.shown(u, pl))}
}

// temporary tells whether a place lies in the session's own temporary folder.
func (s *shellEval) temporary(pl *place) bool {
	t := s.pol.Dirs.Temp
	if t == "" {
		return false
	}
	_, written := pathpattern.Rel(t, pl.path)
	real := s.placeOf(t).real
	_, leads := pathpattern.Rel(real, pl.real)
	return written && leads
}

// named tells whether a rule itself writes a place out: every place below what is literal in one of its words.
func (s *shellEval) named(r *compiled, pl *place) bool {
	if r == nil {
		return false
	}
	for _, word := range strings.Fields(strings.Join(r.shell.Pattern.Parts, cmdline.Star)) {
		head, _, _ := strings.Cut(word, cmdline.Star)
		if i := strings.IndexAny(head, "/~"); i < 0 {
			continue
		} else if i > 0 && head[i-1] == '=' {
			head = head[i:]
		}
		if rest, ok := strings.CutPrefix(head, "~/"); ok && s.pol.Dirs.Home != "" {
			head = s.pol.Dirs.Home + "/" + rest
		}
		if !strings.HasPrefix(head, "/") || path.Clean(head) == "/" {
			continue
		}
		if literal := head != word; !literal && path.Clean(head) == pl.path && pl.real == pl.path {
			return true
		} else if literal && strings.HasSuffix(head, "/") {
			if _, ok := pathpattern.Rel(path.Clean(head), pl.path); ok && pl.real == pl.path {
				return true
			}
		}
	}
	return false
}

// ruleNames tells whether the allow rule for a part writes a place out itself.
func (s *shellEval) ruleNames(p *shellsyntax.Part, pl *place, v partVerdict) bool {
	if v.rule == nil {
		v.rule, _ = s.allowRule(p, true)
	}
	return s.named(v.rule, pl)
}

// maxCopied bounds how much of a tree is looked at before it is copied.
const maxCopied = 1000

// copies judges copies of whole trees: the names in them appear at the target.
func (s *shellEval) copies(p *shellsyntax.Part) partVerdict {
	left := maxCopied
	for k := range p.Uses {
		u := &p.Uses[k]
		if !u.Copied {
			continue
		}
		switch name, ok := s.holdsProtected(u.Path, &left); {
		case u.Glob || u.Unknown || !ok:
			return partVerdict{kind: ByDirectory, why: "what a copy of " + u.Text + " would write cannot be listed"}
		case name != "":
			return partVerdict{kind: BySafety, why: "a copy of " + u.Text + " would write " + name + ", which is protected"}
		}
	}
	return partVerdict{}
}

// holdsProtected looks for a protected name in a tree. It is not ok when the tree cannot be listed in full.
func (s *shellEval) holdsProtected(dir string, left *int) (string, bool) {
	if s.pol.Files.List == nil {
		return "", false
	}
	entries, err := s.pol.Files.List(dir)
	if err != nil {
		exists := s.pol.Files.Exists
		return "", exists != nil && (!exists(dir) || !s.isDir(dir)) // a file, or nothing to copy
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return "", false
		}
		sub := path.Join(dir, e.Name())
		if name := s.protectedName(&place{path: path.Join(s.pol.Dirs.Cwd, e.Name()), real: path.Join(s.pol.Dirs.Cwd, e.Name())}); name != "" {
			return sub, true
		}
		if name := s.protectedName(&place{path: sub, real: sub}); name != "" {
			return sub, true
		}
		if e.IsDir() {
			if name, ok := s.holdsProtected(sub, left); name != "" || !ok {
				return name, ok
			}
		}
	}
	return "", true
}

func (s *shellEval) isDir(p string) bool {
	entries, err := s.pol.Files.List(path.Dir(p))
	if err != nil {
		return true
	}
	for _, e := range entries {
		if e.Name() == path.Base(p) {
			return !e.Type().IsRegular()
		}
	}
	return false
}

// toolVerdict judges a tool that only reads in the form it is called, if it is what it seems: not one that the project supplies,
// and for Rust's none that the project chooses.
func (s *shellEval) toolVerdict(p *shellsyntax.Part) string {
	if p.Tool == "" {
		return ""
	}
	f := s.pol.Files
	if f.Locate == nil || f.Exists == nil {
		return "whether " + p.Tool + " is the project's own cannot be looked up"
	}
	if at := f.Locate(p.Tool); at != "" {
		if pl := s.placeOf(path.Clean(at)); s.within(pl.path) || s.within(pl.real) || pl.err != nil {
			return "the program " + at + " lies in the project"
		}
	}
	if p.Tool != "cargo" && p.Tool != "rustc" {
		return ""
	}
	for dir := s.req.Cwd; ; dir = path.Dir(dir) {
		for _, name := range []string{"rust-toolchain", "rust-toolchain.toml"} {
			if f.Exists(path.Join(dir, name)) {
				return "the file " + path.Join(dir, name) + " chooses which program runs"
			}
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}
