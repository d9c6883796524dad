package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// VectorFile is a file of decisions to check a policy engine against, format 1.
type VectorFile struct {
	Format   string         `json:"format"`
	Defaults VectorDefaults `json:"defaults"`
	Vectors  []Vector       `json:"vectors"`
}

// VectorDefaults is what a vector does not say itself.
type VectorDefaults struct {
	Home        string `json:"home"`
	ProjectRoot string `json:"projectRoot"`
}

// Vector is one decision.
type Vector struct {
	ID       string            `json:"id"`
	Category string            `json:"category"`
	Rules    VectorRules       `json:"rules"`
	Mode     string            `json:"mode"`
	Cwd      string            `json:"cwd"` // where the session was started
	Command  string            `json:"command"`
	Expect   Behavior          `json:"expect"`
	AlsoOK   []Behavior        `json:"alsoOk"`
	Dirs     []string          `json:"additionalDirectories"`
	Links    map[string]string `json:"links"` // symbolic links; no other path needs to exist
	ShellCwd string            `json:"shellCwd"`
	Input    json.RawMessage   `json:"input"` // further fields of the input
	Sandbox  *VectorSandbox    `json:"sandbox"`
	Why      string            `json:"why"`
}

// VectorRules are the rules of a vector.
type VectorRules struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	Ask   []string `json:"ask"`
}

// VectorSandbox is the sandbox of a vector: available and working when enabled.
type VectorSandbox struct {
	Enabled      bool     `json:"enabled"`
	AutoAllow    *bool    `json:"autoAllowBashIfSandboxed"`
	AllowOutside *bool    `json:"allowUnsandboxedCommands"`
	Excluded     []string `json:"excludedCommands"`
}

// ErrVectorFormat is returned for a file of another format than 1.
var ErrVectorFormat = errors.New("vector file")

// ReadVectors reads a vector file.
func ReadVectors(r io.Reader) (VectorFile, error) {
	var f VectorFile
	if err := json.NewDecoder(r).Decode(&f); err != nil {
		return f, fmt.Errorf("%w: read it: %w", ErrVectorFormat, err)
	}
	if f.Format != "1" {
		return f, fmt.Errorf("%w: it has format %q; this program reads format 1", ErrVectorFormat, f.Format)
	}
	if len(f.Vectors) == 0 {
		return f, fmt.Errorf("%w: there is no vector in it", ErrVectorFormat)
	}
	return f, nil
}

// Case makes request and policy of a vector. Rules count as those of a trusted project's settings.
func (v Vector) Case(d VectorDefaults) (Request, Policy, error) {
	mode, ok := ParseMode(v.Mode)
	if !ok {
		return Request{}, Policy{}, fmt.Errorf("unknown mode %q", v.Mode)
	}
	input, err := vectorInput(v.Command, v.Input)
	if err != nil {
		return Request{}, Policy{}, err
	}
	cwd := v.Cwd
	if v.ShellCwd != "" {
		cwd = v.ShellCwd
	}
	pol := Policy{Mode: mode, Dirs: Dirs{Cwd: v.Cwd, Project: d.ProjectRoot, Home: d.Home, More: v.Dirs}, Resolve: linkResolver(v.Links), Files: noFiles(v.Links)}
	if s := v.Sandbox; s != nil {
		pol.Sandbox = Sandbox{
			Enabled: s.Enabled, NoAutoAllow: s.AutoAllow != nil && !*s.AutoAllow,
			NoEscape: s.AllowOutside != nil && !*s.AllowOutside, Excluded: s.Excluded,
		}
	}
	pol.Rules = Compile(v.Rules.list(d.ProjectRoot), Env{Dirs: pol.Dirs, Resolve: pol.Resolve})
	req := Request{Tool: "Bash", Literal: input, Input: input, Cwd: cwd, Traits: tool.Traits{Command: v.Command, Shell: true}}
	return req, pol, nil
}

// noFiles is a file system in which the tools lie where a system has them, and nothing else exists.
func noFiles(links map[string]string) Files {
	return Files{Locate: func(program string) string { return "/usr/bin/" + program }, Exists: func(string) bool { return false }, ListSome: linkLister(links)}
}

func (r VectorRules) list(base string) []Rule {
	var out []Rule
	add := func(list List, texts []string) {
		for _, t := range texts {
			out = append(out, Rule{List: list, Text: t, Source: FromProject, Base: base})
		}
	}
	add(AllowList, r.Allow)
	add(AskList, r.Ask)
	add(DenyList, r.Deny)
	return out
}

func vectorInput(command string, more json.RawMessage) (json.RawMessage, error) {
	fields := map[string]any{}
	if len(more) > 0 {
		if err := json.Unmarshal(more, &fields); err != nil {
			return nil, fmt.Errorf("read input: %w", err)
		}
	}
	fields["command"] = command
	return json.Marshal(fields)
}

// linkResolver resolves the given links and no others.
func linkResolver(links map[string]string) Resolver {
	if len(links) == 0 {
		return nil
	}
	return func(p string) (Resolution, error) {
		return resolveWith(p, func(p string) (string, error) {
			if target, ok := links[p]; ok {
				return target, nil
			}
			return "", fs.ErrInvalid
		})
	}
}

// linkLister lists the given links and nothing else.
func linkLister(links map[string]string) func(string, int) ([]fs.DirEntry, error) {
	return func(dir string, _ int) ([]fs.DirEntry, error) {
		var out []fs.DirEntry
		for p := range links {
			if path.Dir(p) == dir {
				out = append(out, linkEntry(path.Base(p)))
			}
		}
		return out, nil
	}
}

// linkEntry is a link in a folder.
type linkEntry string

func (l linkEntry) Name() string               { return string(l) }
func (l linkEntry) IsDir() bool                { return false }
func (l linkEntry) Type() fs.FileMode          { return fs.ModeSymlink }
func (l linkEntry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// Report is what a run of vectors found.
type Report struct {
	Right          int
	Wrong          int
	WronglyAllowed int      // of the wrong ones: allowed though neither expected nor tolerated
	Lines          []string // one for each wrong one
}

// Summary is the last line of the report.
func (r Report) Summary() string {
	return fmt.Sprintf("%d right, %d wrong, %d wrongly allowed", r.Right, r.Wrong, r.WronglyAllowed)
}
