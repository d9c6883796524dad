package memory

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// walk collects files for one call of [Instructions.Load] or [Instructions.Touched].
type walk struct {
	i       *Instructions
	reason  Reason
	trigger string
	files   []File
	outside []string // files outside of the project that nobody was asked about
}

// managed loads the organisation's files and text.
func (w *walk) managed() {
	for _, dir := range w.i.opts.Managed {
		w.file(filepath.Join(dir, "CLAUDE.md"), Managed)
	}
	if text := clean(w.i.opts.ManagedText); text != "" {
		w.files = append(w.files, File{Path: "the managed setting claudeMd", Level: Managed, Reason: w.reason, Text: text})
	}
}

// parents are the folders from the file system's root down to the start folder. The walk stops at a
// folder that belongs neither to the user nor to the administrator, and at another user's home.
func (i *Instructions) parents() []string {
	var out []string
	for dir := i.opts.Start; ; dir = filepath.Dir(dir) {
		if foreign(dir) && dir != i.opts.Start {
			break
		}
		if !i.shadowed(dir) {
			out = append(out, dir)
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// shadowed reports whether a folder belongs to the main checkout around a nested worktree.
func (i *Instructions) shadowed(dir string) bool {
	if i.opts.Main == "" {
		return false
	}
	_, main := pathpattern.Rel(i.opts.Main, dir)
	_, own := pathpattern.Rel(i.opts.Worktree, dir)
	return main && !own
}

// folder loads the files of one folder: CLAUDE.md, the same in the project folders, rules, and the
// local file.
func (w *walk) folder(dir string) {
	if w.i.reads(Project) {
		has := w.file(filepath.Join(dir, "CLAUDE.md"), Project)
		for _, name := range w.i.opts.Folders {
			has = w.file(filepath.Join(dir, name, "CLAUDE.md"), Project) || has
		}
		if mode := w.i.opts.AgentsMD; mode == "always" || (mode != "never" && !has) {
			w.file(filepath.Join(dir, "AGENTS.md"), Project)
		}
		for _, name := range w.i.opts.Folders {
			if project := filepath.Join(dir, name); !slices.Contains(w.i.opts.Homes, project) {
				w.ruleFolder(filepath.Join(project, "rules"), Project, dir)
			}
		}
	}
	if w.i.reads(Local) {
		w.file(filepath.Join(dir, "CLAUDE.local.md"), Local)
	}
}

// file loads one file with its imports and reports whether it is there.
func (w *walk) file(path string, level Level) bool {
	f, there := w.read(path, level)
	if f != nil {
		w.take(*f, 0)
	}
	return there
}

// take adds a file that was read, and what it imports.
func (w *walk) take(f File, depth int) {
	w.files = append(w.files, f)
	for _, target := range imports(f.Text) {
		w.load(f, target, depth+1)
	}
}

// read reads a file that is not in the context yet. there is true for a file that exists, whether
// it was loaded or not.
func (w *walk) read(path string, level Level) (f *File, there bool) {
	i := w.i
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil, false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, false
	}
	if _, again := i.shown[real]; again || (level != Managed && i.excluded(path, real)) {
		return nil, true
	}
	if i.opts.MayRead != nil && level != Managed && !(i.opts.MayRead(path) && i.opts.MayRead(real)) {
		i.report(path + " is not loaded: a Read deny rule covers it")
		return nil, true
	}
	if (level == Project || level == Local) && path != real && !i.inside(real) && !w.approved(real) {
		return nil, true
	}
	text, stamp, problem := readText(path)
	if problem != "" {
		i.report(path + ": " + problem)
	}
	if text == "" {
		return nil, true
	}
	out := File{Path: path, Level: level, Reason: w.reason, Trigger: w.trigger, Text: text, real: real}
	i.shown[real] = snapshot{file: out, stamp: stamp}
	return &out, true
}

func (i *Instructions) excluded(paths ...string) bool {
	for _, path := range paths {
		for _, p := range i.excludes {
			if p.Match(strings.TrimPrefix(path, "/"), false) {
				return true
			}
		}
	}
	return false
}

// inside reports whether a path lies in the start folder, links resolved.
func (i *Instructions) inside(real string) bool {
	start := i.opts.Start
	if resolved, err := filepath.EvalSymlinks(start); err == nil {
		start = resolved
	}
	_, below := pathpattern.Rel(start, real)
	return below
}

// approved reports whether a file outside of the project may be loaded for a project's file.
func (w *walk) approved(real string) bool {
	yes, known := w.i.external[real]
	if !known && !slices.Contains(w.outside, real) {
		w.outside = append(w.outside, real)
	}
	return yes
}

// load loads what a file imports. What is missing or cannot be read is silent in the text and
// reported.
func (w *walk) load(from File, target string, depth int) {
	const maxDepth = 4
	path := target
	switch {
	case strings.HasPrefix(target, "~/"):
		path = filepath.Join(w.i.opts.UserHome, target[2:])
	case !filepath.IsAbs(target):
		path = filepath.Join(filepath.Dir(from.Path), target)
	}
	if depth > maxDepth {
		w.i.note(from.Path + " imports " + target + " at depth 5; imports are followed four deep")
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if strings.ContainsAny(target, "./~") { // otherwise it names a person, not a file
			w.i.note(from.Path + " imports " + target + ", which cannot be read: " + reasonOf(err))
		}
		return
	}
	if (from.Level == Project || from.Level == Local) && !w.i.inside(real) && !w.approved(real) {
		return
	}
	f, there := w.read(path, from.Level)
	if !there {
		w.i.note(from.Path + " imports " + target + ", which is no file")
		return
	}
	if f == nil { // loaded already, excluded, or reported
		return
	}
	f.Parent, f.Reason = from.Path, Imported
	w.i.shown[f.real] = snapshot{file: *f, stamp: w.i.shown[f.real].stamp}
	w.take(*f, depth)
}

// reasonOf is the cause of a file error without operation and path.
func reasonOf(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
