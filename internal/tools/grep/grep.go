// Package grep is the tool that searches the content of files with regular expressions of ripgrep's
// dialect, in this process.
//
// The walk and the engine are in sys/search. What was not searched is told: "no match" is only said
// of what was really looked at. Begin with [New].
package grep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/search"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Name is the tool's name.
const Name = "Grep"

// World is what the tool is built with.
type World struct {
	// Hidden is asked once a search for the function that says which files a rule forbids to read; they are
	// left out. Nil, and a nil function: none.
	Hidden func() func(path string) bool
	Limit  time.Duration // longest search; 0: 20 seconds
}

const description = `Searches file contents with a regular expression (ripgrep syntax, no look-around; escape literal ( [ { .). Ignored files are left out unless named by path; hidden files are searched.
output_mode: files_with_matches (default, newest first), content (matching lines), count.`

const schema = `{"type":"object","required":["pattern"],"properties":{
"pattern":{"type":"string"},
"path":{"type":"string","description":"file or folder"},
"glob":{"type":"string","description":"only these files: *.{ts,tsx}; ! leaves out"},
"type":{"type":"string","description":"go, py, js, …"},
"output_mode":{"type":"string","enum":["files_with_matches","content","count"]},
"-A":{"type":"integer","minimum":0},"-B":{"type":"integer","minimum":0},"-C":{"type":"integer","minimum":0},"context":{"type":"integer","minimum":0},
"-n":{"type":"boolean","description":"line numbers, default true"},
"-o":{"type":"boolean"},"-i":{"type":"boolean"},"multiline":{"type":"boolean"},
"head_limit":{"type":"integer","minimum":0,"description":"default 250, 0 for all"},
"offset":{"type":"integer","minimum":0}}}`

// Input is what the model gives.
type Input struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	Type       string `json:"type,omitempty"`
	Mode       string `json:"output_mode"`
	After      int    `json:"-A,omitempty"`
	Before     int    `json:"-B,omitempty"`
	Around     int    `json:"-C,omitempty"`
	Context    int    `json:"context,omitempty"`
	Numbers    *bool  `json:"-n,omitempty"`
	Only       bool   `json:"-o,omitempty"`
	IgnoreCase bool   `json:"-i,omitempty"`
	Multiline  bool   `json:"multiline,omitempty"`
	HeadLimit  *int   `json:"head_limit,omitempty"`
	Offset     int    `json:"offset,omitempty"`
}

// New returns the tool.
func New(w World) tool.Tool {
	if w.Limit == 0 {
		w.Limit = 20 * time.Second
	}
	spec := tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Keywords: "search content text regex ripgrep rg find", Repeatable: true, Argument: "pattern"}
	g := &grepper{w}
	return tool.New(spec, g.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	if in.Pattern == "" {
		return in, errors.New("InputValidationError: Grep failed: `pattern` is empty")
	}
	if in.Path == "" {
		in.Path = call.Dir()
	}
	path, err := textfile.Absolute(in.Path, call.Dir())
	if err != nil {
		return in, fmt.Errorf("InputValidationError: Grep failed: `path`: %w", err)
	}
	in.Path = path
	if in.Mode == "" {
		in.Mode = "files_with_matches"
	}
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	return tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: in.Path, Intent: tool.Search}}}
}

type grepper struct{ w World }

const (
	defaultHead = 250
	maxColumns  = 500
	maxContext  = 1000 // lines around a match
)

// limit is how many results are wanted; 0: all.
func (in Input) limit() int {
	if in.HeadLimit == nil {
		return defaultHead
	}
	return *in.HeadLimit
}

func (g *grepper) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	q, err := in.query()
	if err != nil {
		return tool.Misuse(err.Error()), nil
	}
	filter, err := search.NewFilter(in.Glob, in.Type)
	if err != nil {
		return tool.Misuse(err.Error()), nil
	}
	real, err := call.Real(in.Path)
	if err != nil {
		return failed(in, call, err)
	}
	hidden := g.hidden()
	if hidden != nil && (hidden(in.Path) || hidden(real)) {
		return tool.Failed(in.Path + " is covered by a Read deny rule in your permission settings and is not searched."), nil
	}
	limited, cancel := context.WithTimeout(ctx, g.w.Limit)
	defer cancel()
	found, single, err := g.search(limited, in, q, wants{filter, hidden, real, call.Dir()})
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil:
		return failed(in, call, err)
	}
	return g.result(in, found, call.Dir(), single)
}

func (in Input) query() (search.Query, error) {
	p, err := search.Compile(in.Pattern, search.Options{IgnoreCase: in.IgnoreCase, Multiline: in.Multiline})
	if err != nil {
		return search.Query{}, err
	}
	q := search.Query{Pattern: p, Columns: maxColumns}
	switch in.Mode {
	case "count":
		q.Mode = search.Counts
	case "content":
		q.Mode, q.Only = search.Lines, in.Only
		if n := in.limit(); n > 0 {
			q.Keep = in.Offset + n + 1
		}
		around := max(in.Around, in.Context)
		if !in.Only {
			q.Before, q.After = min(max(in.Before, around), maxContext), min(max(in.After, around), maxContext)
		}
	}
	return q, nil
}

// wants says which files are searched.
type wants struct {
	filter search.Filter
	hidden func(path string) bool // left out; nil: none
	real   string                 // where the path leads
	cwd    string
}

func (g *grepper) search(ctx context.Context, in Input, q search.Query, files wants) (found search.Found, single bool, err error) {
	info, err := nolink.Lstat(files.real)
	if err != nil {
		return found, false, err
	}
	if !info.IsDir() {
		found, err = search.GrepFile(ctx, in.Path, files.real, q)
		return found, true, err
	}
	tree := search.Tree{Root: in.Path, Real: files.real, Ignore: true, Skip: skip(files.hidden)}
	if !files.filter.Empty() {
		tree.Want = wanted(files.filter, in.Path, files.cwd)
	}
	found, err = search.Grep(ctx, tree, q)
	return found, false, err
}

func (g *grepper) hidden() func(path string) bool {
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

// wanted takes globs as seen from the searched folder, and as seen from the working directory if
// that folder lies in it: both are meant by somebody.
func wanted(filter search.Filter, root, cwd string) func(string) bool {
	prefix := ""
	if rel := relative(root, cwd); !filepath.IsAbs(rel) && rel != "." {
		prefix = filepath.ToSlash(rel) + "/"
	}
	return func(rel string) bool {
		return filter.Match(rel) || (prefix != "" && filter.Match(prefix+rel))
	}
}

func failed(in Input, call tool.Call, err error) (tool.Result, error) {
	switch {
	case errors.Is(err, nolink.ErrLink):
		return tool.Result{}, err
	case errors.Is(err, fs.ErrNotExist):
		text := "Path does not exist: " + in.Path + "."
		if near := textfile.Nearest(in.Path); near != "" {
			text += " Did you mean " + near + "?"
		}
		return tool.Failed(text + " The current working directory is " + call.Dir() + "."), nil
	case errors.Is(err, textfile.ErrSpecial):
		return tool.Failed(in.Path + " is a device, pipe or socket and is not searched."), nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return tool.Failed(fmt.Sprintf("%s cannot be searched: %v.", in.Path, err)), nil
}

// relative is a path as seen from the working directory, if it lies in it.
func relative(path, cwd string) string {
	rel, err := filepath.Rel(cwd, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(os.PathSeparator)) {
		return path
	}
	return rel
}
