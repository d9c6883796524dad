// Package glob is the tool that finds files by the pattern of their path.
//
// The walk and the matching are in sys/search. Begin with [New].
package glob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/search"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Name is the tool's name.
const Name = "Glob"

// World is what the tool is built with. All fields may be nil.
type World struct {
	Env func(name string) string // environment; nil: nothing set
	// Hidden is asked once a search for the function that says which files a rule forbids to read; they are
	// left out. Nil, and a nil function: none.
	Hidden func() func(path string) bool
}

const description = `Finds files by path pattern, such as **/*.go or src/**/*.{ts,tsx}; newest first, at most 100. Supports * ? [class] {a,b} and **. Hidden and git-ignored files are included.`

const schema = `{"type":"object","required":["pattern"],"properties":{
"pattern":{"type":"string"},
"path":{"type":"string","description":"Folder to search in; default is the working directory"}}}`

// Input is what the model gives.
type Input struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

// New returns the tool.
func New(w World) tool.Tool {
	spec := tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Keywords: "find files names list directory", Repeatable: true, Argument: "pattern"}
	g := &globber{w}
	return tool.New(spec, g.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	switch {
	case strings.TrimSpace(in.Pattern) == "":
		return in, errors.New("InputValidationError: Glob failed: `pattern` is empty")
	case strings.ContainsRune(in.Pattern, 0):
		return in, errors.New("InputValidationError: Glob failed: `pattern` holds a NUL byte; remove it")
	}
	if in.Path == "" {
		in.Path = call.Dir()
	}
	path, err := textfile.Absolute(in.Path, call.Dir())
	if err != nil {
		return in, fmt.Errorf("InputValidationError: Glob failed: `path`: %w", err)
	}
	in.Path = path
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	root, _ := in.place()
	return tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: root, Intent: tool.Search}}}
}

// place is the folder that is searched and the pattern below it: a pattern may itself begin with
// folders, "~", or "..", and what these lead to is decided about with the rest.
func (in Input) place() (root, pattern string) {
	pattern = filepath.ToSlash(in.Pattern)
	fixed := pattern
	if i := strings.IndexAny(pattern, "*?[{\\"); i >= 0 {
		fixed = pattern[:i]
	}
	slash := strings.LastIndexByte(fixed, '/') + 1
	root, err := textfile.Absolute(pattern[:slash], in.Path)
	if err != nil || root == "" {
		return in.Path, pattern
	}
	return root, pattern[slash:]
}

type globber struct{ w World }

const maxResults = 100

// output is the structured output.
type output struct {
	Filenames  []string `json:"filenames"`
	NumFiles   int      `json:"numFiles"`
	Truncated  bool     `json:"truncated"`
	DurationMs int64    `json:"durationMs"`
	Total      int64    `json:"totalMatches"`
	Complete   bool     `json:"countIsComplete"`
	TimedOut   bool     `json:"timedOut,omitempty"`
}

func (g *globber) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	root, pattern := in.place()
	if err := search.CheckGlob(pattern); err != nil {
		return tool.Misuse(err.Error()), nil
	}
	real, err := call.Real(root)
	if err != nil {
		return failed(root, err)
	}
	hidden := g.hidden()
	if hidden != nil && (hidden(root) || hidden(real)) {
		return tool.Failed(root + " is covered by a Read deny rule in your permission settings and is not searched."), nil
	}
	limit := g.timeLimit()
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tree := search.Tree{Root: root, Real: real, NoHidden: g.env("CLAUDE_CODE_GLOB_HIDDEN") == "false", Ignore: g.env("CLAUDE_CODE_GLOB_NO_IGNORE") == "false", Skip: skip(hidden)}
	found, err := search.Glob(limited, tree, pattern, maxResults)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil && root != in.Path && errors.Is(err, fs.ErrNotExist): // nothing below a folder of the pattern that is not there
	case err != nil:
		return failed(root, err)
	}
	return g.result(found, call.Dir(), filepath.ToSlash(in.Pattern), limit, time.Since(begin))
}

func (g *globber) hidden() func(path string) bool {
	if g.w.Hidden == nil {
		return nil
	}
	return g.w.Hidden()
}

func skip(hidden func(string) bool) func(string, bool) bool {
	if hidden == nil {
		return nil
	}
	return func(path string, _ bool) bool { return hidden(path) }
}

func (g *globber) env(name string) string {
	if g.w.Env == nil {
		return ""
	}
	return g.w.Env(name)
}

// timeLimit is 20 seconds; 60 under WSL, where walks through Windows folders are slow.
func (g *globber) timeLimit() time.Duration {
	if n, err := strconv.Atoi(g.env("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if g.env("WSL_DISTRO_NAME") != "" {
		return 60 * time.Second
	}
	return 20 * time.Second
}

func failed(root string, err error) (tool.Result, error) {
	var bad *search.GlobError
	switch {
	case errors.Is(err, nolink.ErrLink):
		return tool.Result{}, err
	case errors.As(err, &bad):
		return tool.Misuse(err.Error()), nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failed("Directory does not exist: " + root + "."), nil
	case errors.Is(err, fs.ErrInvalid):
		return tool.Failed(root + " is not a directory."), nil
	default:
		return tool.Failed(fmt.Sprintf("%s cannot be searched: %v.", root, err)), nil
	}
}

func (g *globber) result(found search.GlobFound, cwd, pattern string, limit, took time.Duration) (tool.Result, error) {
	out := output{
		Filenames: []string{}, NumFiles: len(found.Files), Truncated: found.Total > int64(len(found.Files)) || found.Missed.Stopped,
		DurationMs: took.Milliseconds(), Total: found.Total, Complete: !found.Missed.Stopped, TimedOut: found.Missed.Stopped,
	}
	for _, f := range found.Files {
		out.Filenames = append(out.Filenames, relative(f.Path, cwd))
	}
	text := strings.Join(out.Filenames, "\n")
	if len(out.Filenames) == 0 {
		text = "No files found"
		if !strings.Contains(pattern, "/") && !strings.HasPrefix(pattern, "**") && found.Missed.Unreadable == 0 && !found.Missed.Stopped {
			text += fmt.Sprintf(" (only this folder was searched; **/%s looks below it too)", pattern)
		}
	}
	for _, n := range notes(found, limit) {
		text += "\n[" + n + "]"
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of Glob: %w", err)
	}
	return tool.Result{Content: []msg.Block{msg.Text{Text: text}}, Structured: raw}, nil
}

// notes say what is not among the results.
func notes(found search.GlobFound, limit time.Duration) []string {
	var out []string
	if n := found.Total - int64(len(found.Files)); n > 0 {
		out = append(out, fmt.Sprintf("the newest %d of %d matching files; use a narrower pattern or path for the others", len(found.Files), found.Total))
	}
	if found.Missed.Stopped {
		out = append(out, fmt.Sprintf("stopped after %v, so there may be more; use a narrower pattern or path", limit))
	}
	if n := found.Missed.Unreadable; n > 0 {
		out = append(out, fmt.Sprintf("%d folders could not be read: %s", n, strings.Join(found.Missed.Names, "; ")))
	}
	if n := found.Missed.Skipped; n > 0 {
		out = append(out, fmt.Sprintf("%d left out by Read deny rules", n))
	}
	return out
}

// relative is a path as seen from the working directory, if it lies in it.
func relative(path, cwd string) string {
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
		return path
	}
	return rel
}
