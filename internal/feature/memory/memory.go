// Package memory reads the instruction files of a machine, a person and a project (CLAUDE.md,
// AGENTS.md, rules) and says which of them belong in front of a conversation, which come with a
// file that is read, and what changed on disk since.
//
// Instruction files are text for the model. They decide nothing: permissions, hooks and the sandbox
// never read them. The formats are those of https://code.claude.com/docs/en/memory and
// https://agents.md. Begin with [New]; [Instructions.Load] gives the files of the start,
// [Instructions.Touched] those that come with a file, [Instructions.Changes] what changed.
package memory

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// State is this feature's slice: the instruction files that are in the context.
type State struct {
	Files    []Loaded `json:"files"`
	Problems []string `json:"problems,omitempty"` // what could not be loaded, and why
}

// Loaded is one file in the context.
type Loaded struct {
	Path   string   `json:"path"`
	Level  Level    `json:"level"`
	Bytes  int      `json:"bytes"`
	Reason Reason   `json:"reason"`
	Globs  []string `json:"globs,omitempty"` // of a rule
}

// Level is whose instructions a file holds.
type Level string

// The levels, in load order.
const (
	Managed Level = "managed" // the administrator of the machine
	User    Level = "user"    // one person, all projects
	Project Level = "project" // a team, checked in
	Local   Level = "local"   // one person, one project
)

// Reason is why a file was loaded. The values are those of the InstructionsLoaded hook event.
type Reason string

// The reasons.
const (
	SessionStart Reason = "session_start"
	Nested       Reason = "nested_traversal"
	RuleMatch    Reason = "path_glob_match"
	Imported     Reason = "include"
	Compacted    Reason = "compact"
)

// File is an instruction file as the model is shown it.
type File struct {
	Path    string // absolute, as it was found
	Level   Level
	Reason  Reason
	Globs   []string // of a rule
	Trigger string   // the file whose reading brought it; empty at the start
	Parent  string   // the file that imports it; empty for others
	Text    string   // without comments, byte order mark and invisible characters

	real string // links resolved
}

// Label describes a file's level in a few words.
func (f File) Label() string {
	text := map[Level]string{
		Managed: "instructions of the organisation", User: "the user's instructions for all projects",
		Project: "project instructions, checked in", Local: "the user's instructions for this project, not checked in",
	}[f.Level]
	if f.Parent != "" {
		text += ", imported by " + f.Parent
	}
	return text
}

// Options say where to look. Start and UserHome are needed; both absolute.
type Options struct {
	State       store.Slice[State] // nil: kept nowhere
	Managed     []string           // folders that hold the organisation's CLAUDE.md, lowest first
	ManagedText string             // the organisation's text from its settings
	Homes       []string           // folders of the person: guest first, native last
	UserHome    string
	Start       string // where the session began
	// Main and Worktree are set in a linked worktree that lies inside of its main checkout: the main
	// checkout's own files are then left out, since the worktree has them too.
	Main, Worktree string
	Folders        []string // names of the project folder: ".claude", ".myelin"
	// Levels says which levels are read besides the organisation's; nil: all.
	Levels func(Level) bool
	// AgentsMD is auto (AGENTS.md where a folder has no CLAUDE.md), always or never. Empty: auto.
	AgentsMD string
	Excludes []string // patterns of absolute paths, for all levels but the organisation's
	// MayRead reports whether a path may be shown to the model (Read deny rules); nil: all may. It
	// may block on the file system.
	MayRead func(path string) bool
	// Approve is asked by Load, once for all of them, whether project files may bring in these files
	// from outside of the project; nil: they may not. It may wait for a person.
	Approve func(ctx context.Context, files []string) bool
	// Report is told, as a sentence with the file's path, what could not be used; nil: nobody.
	Report func(problem string)
}

// Instructions are the instruction files of one session. It is safe for concurrent use; its methods
// read files.
type Instructions struct {
	opts     Options
	excludes []pathpattern.Pattern

	mu       sync.Mutex          // guards the rest
	shown    map[string]snapshot // files in the context, by real path
	rules    []rule              // rules with paths that were not needed yet
	problems []string
	external map[string]bool // answers about imports from outside, by real path
}

// snapshot is a file as it was shown.
type snapshot struct {
	file  File
	stamp stamp
}

// New returns the instructions of a session. It reads nothing.
func New(o Options) *Instructions {
	i := &Instructions{opts: o, shown: map[string]snapshot{}, external: map[string]bool{}}
	for _, text := range o.Excludes {
		p, err := pathpattern.Compile(strings.TrimPrefix(text, "/"), pathpattern.Options{})
		if err != nil {
			i.report("the pattern " + text + " of claudeMdExcludes cannot be used: " + err.Error())
			continue
		}
		i.excludes = append(i.excludes, p)
	}
	return i
}

// Load returns the files of the start, in order, and forgets what was loaded before: at the start of
// a session, after /clear and after a compaction (reason [Compacted]). The error is the context's.
func (i *Instructions) Load(ctx context.Context, reason Reason) ([]File, error) {
	files, outside := i.load(ctx, reason)
	if len(outside) > 0 && i.opts.Approve != nil {
		yes := i.opts.Approve(ctx, outside)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i.mu.Lock()
		for _, path := range outside {
			i.external[path] = yes
		}
		i.mu.Unlock()
		files, outside = i.load(ctx, reason)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, path := range outside {
		i.report(path + " lies outside of the project and is not loaded: nobody agreed to it")
	}
	i.publish()
	return files, ctx.Err()
}

// load walks all folders and returns, beside the files, those outside of the project that nobody
// was asked about.
func (i *Instructions) load(ctx context.Context, reason Reason) (files []File, outside []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.shown)
	i.rules = nil
	w := &walk{i: i, reason: reason}
	w.managed()
	if i.reads(User) {
		for _, home := range i.opts.Homes {
			w.file(filepath.Join(home, "CLAUDE.md"), User)
			w.ruleFolder(filepath.Join(home, "rules"), User, i.opts.Start)
		}
	}
	for _, dir := range i.parents() {
		if ctx.Err() != nil {
			break
		}
		w.folder(dir)
	}
	return w.files, w.outside
}

// Touched returns the files that belong to a file which a tool just read or changed: instruction
// files of the folders between the start folder and the file, outermost first, and rules whose
// patterns match. Each is returned once, until the next [Instructions.Load].
func (i *Instructions) Touched(path string) []File {
	i.mu.Lock()
	defer i.mu.Unlock()
	w := &walk{i: i, reason: Nested, trigger: path}
	if rel, inside := pathpattern.Rel(i.opts.Start, path); inside {
		dir := i.opts.Start
		names := strings.Split(rel, "/")
		for _, name := range names[:len(names)-1] {
			dir = filepath.Join(dir, name)
			w.folder(dir)
		}
	}
	w.reason = RuleMatch
	w.matching(path)
	if len(w.files) > 0 {
		i.publish()
	}
	return w.files
}

// reads reports whether a level is wanted.
func (i *Instructions) reads(l Level) bool { return i.opts.Levels == nil || i.opts.Levels(l) }

// report enters a problem and tells it at once.
func (i *Instructions) report(problem string) {
	if i.note(problem) && i.opts.Report != nil {
		i.opts.Report(problem)
	}
}

// note enters a problem for whoever looks at the context. It returns false when it is known.
func (i *Instructions) note(problem string) bool {
	if slices.Contains(i.problems, problem) {
		return false
	}
	i.problems = append(i.problems, problem)
	return true
}

// publish enters what is in the context into the slice.
func (i *Instructions) publish() {
	if i.opts.State == nil {
		return
	}
	files := make([]Loaded, 0, len(i.shown))
	for _, s := range i.shown {
		f := s.file
		files = append(files, Loaded{Path: f.Path, Level: f.Level, Bytes: len(f.Text), Reason: f.Reason, Globs: f.Globs})
	}
	slices.SortFunc(files, func(a, b Loaded) int { return strings.Compare(a.Path, b.Path) })
	problems := slices.Clone(i.problems)
	i.opts.State.Set(func(*State) *State { return &State{Files: files, Problems: problems} })
}
