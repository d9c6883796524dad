// Package trust decides what a folder's own files may supply before a person has agreed: nothing
// but what restricts. It tells one folder from another by where it really is, binds an agreement to
// a fingerprint of what the folder wants to run, and words the question.
//
// It reads no settings and runs nothing: it is handed what the folder supplies as [Item]s, and only
// [LocalIsOwn], for folders that are trusted already, asks git. Begin with [Locate] and [Decide].
package trust

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// State is the slice trust.
type State struct {
	State       Status     `json:"state"`
	Fingerprint string     `json:"fingerprint,omitempty"`
	By          By         `json:"by,omitempty"`
	Withheld    []Withheld `json:"withheld,omitempty"`
}

// Status says how far a folder is trusted.
type Status string

// The statuses. SessionOnly is kept nowhere: the home directory, and answers for one session.
const (
	Trusted     Status = "trusted"
	SessionOnly Status = "sessionOnly"
	Untrusted   Status = "untrusted"
)

// By says what made a folder trusted.
type By string

// What makes a folder trusted.
const (
	ByDialog By = "dialog" // a person agreed, now or before
	ByFlag   By = "flag"   // --trust
	ByEnv    By = "env"    // MYELIN_TRUST
	ByHost   By = "host"   // the host named project in --setting-sources
	ByParent By = "parent" // a folder above it is trusted
)

// Withheld is one thing the folder supplies and does not get.
type Withheld struct {
	Kind string `json:"kind"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// The kinds of things that wait for trust, by the names of --trust. Plain settings (taste, model)
// have no items; they come with any trust.
const (
	KindAllow   = "allow" // allow rules, directories, modes
	KindHooks   = "hooks"
	KindEnv     = "env"
	KindHelpers = "helpers"
	KindMCP     = "mcp"
	KindPlugins = "plugins"
	KindPlain   = "plain"
)

// Kinds are all kinds, in the order the question lists them.
func Kinds() []string {
	return []string{KindHooks, KindHelpers, KindMCP, KindPlugins, KindEnv, KindAllow, KindPlain}
}

// Item is one thing the folder wants.
type Item struct {
	Kind string
	At   origin.Origin // its scope tells the shared files from the local one
	Text string        // for people: the literal command, rule or NAME=value
	Raw  []byte        // everything that would take effect, in a form that is equal only for equal things
}

// Folder is the folder a session starts in, as trust sees it.
type Folder struct {
	Start string // real path of the start folder
	Top   string // real path of the top of its checkout, else Start
	Key   string // real path trust is bound to: top of the main checkout, else Start
	Rel   string // Start within its checkout, with slashes; "." at its top
	Git   bool
	Home  bool   // Key is the person's home: trust is for one session
	Doubt string // why a folder that claims to be a worktree is a folder of its own
}

// Locate works out which folder trust is about. It reads file names only. A nested repository and a
// submodule are folders of their own; a folder that claims to belong to a repository which does not
// know it is too.
func Locate(start, home string) (Folder, error) {
	real, err := filepath.EvalSymlinks(start)
	if err != nil {
		return Folder{}, fmt.Errorf("locate folder for trust: %w", err)
	}
	f := Folder{Start: real, Top: real, Key: real, Rel: "."}
	repo, err := gitrepo.Find(real)
	if err != nil && !errors.Is(err, gitrepo.ErrNone) {
		return Folder{}, fmt.Errorf("locate folder for trust: %w", err)
	}
	if err == nil {
		f.Git, f.Doubt, f.Top = true, repo.Doubt, repo.Root
		f.Key = realPath(repo.Main)
		if rel, err := filepath.Rel(repo.Root, real); err == nil {
			f.Rel = filepath.ToSlash(rel)
		}
	}
	f.Home = f.Key == realPath(home)
	return f, nil
}

func realPath(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

// Local says what is known of the local settings file.
type Local int

// What can be known of it. Git must not run in a folder that is not trusted yet, so it is not known
// at first.
const (
	LocalUnknown Local = iota
	LocalOwn           // untracked, and its folder is no link: this person's own
	LocalShared        // it came with the folder
)

// Input is what a decision is made of.
type Input struct {
	Folder      Folder
	Items       []Item
	Marks       Marks
	Flag        *[]string // --trust; nil: not given, empty: everything
	Env         string    // MYELIN_TRUST of the process's own environment
	HostNamed   bool      // --setting-sources names project
	Interactive bool
	Local       Local
}

// Decision is what a folder gets.
type Decision struct {
	State   State
	Project []string // kinds its shared files may supply
	Local   []string // kinds its local file may supply
	Ask     bool     // a person must be asked
	Why     string   // why the question is put, or what the trust rests on
}

// Decide says what the folder gets. It is a function of its input and reads script files only, for
// the fingerprint. Errors are words of --trust or MYELIN_TRUST nobody knows, and scripts that
// cannot be read.
func Decide(in Input) (Decision, error) {
	prints, err := Prints(in.Folder, in.Items)
	if err != nil {
		return Decision{}, err
	}
	d, done, err := explicit(in)
	if err != nil {
		return Decision{}, err
	}
	if !done {
		d = remembered(in, prints)
	}
	d.State.Fingerprint = prints.Whole()
	d.State.Withheld = withheld(in.Items, d)
	d.Ask = d.Ask && in.Interactive
	return d, nil
}

// explicit decides by flag, environment or host.
func explicit(in Input) (d Decision, done bool, err error) {
	switch {
	case in.Flag != nil:
		kinds, err := parseKinds("--trust", *in.Flag)
		return granted(Trusted, ByFlag, kinds), true, err
	case strings.TrimSpace(in.Env) != "":
		kinds, yes, err := parseEnv(in.Env)
		return granted(Trusted, ByEnv, kinds), yes, err
	case in.HostNamed && !in.Interactive:
		return granted(Trusted, ByHost, Kinds()), true, nil
	}
	return Decision{}, false, nil
}

func granted(status Status, by By, kinds []string) Decision {
	return Decision{State: State{State: status, By: by}, Project: kinds, Local: kinds}
}

// parseKinds reads the list of --trust; an empty one is everything.
func parseKinds(where string, names []string) ([]string, error) {
	var out []string
	for _, n := range names {
		for part := range strings.SplitSeq(n, ",") {
			part = strings.TrimSpace(part)
			switch {
			case part == "":
			case part == "all":
				return Kinds(), nil
			case !slices.Contains(Kinds(), part):
				return nil, fmt.Errorf("%s %s: expected a list of %s, or nothing for all of them", where, part, strings.Join(Kinds()[:6], ", "))
			default:
				out = append(out, part)
			}
		}
	}
	if len(out) == 0 {
		return Kinds(), nil
	}
	return append(out, KindPlain), nil
}

// parseEnv reads MYELIN_TRUST: a boolean, or a list of kinds. yes is false for a no.
func parseEnv(text string) (kinds []string, yes bool, err error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "0", "false", "no", "off":
		return nil, false, nil
	case "1", "true", "yes", "on":
		return Kinds(), true, nil
	}
	kinds, err = parseKinds("MYELIN_TRUST", []string{text})
	return kinds, true, err
}

// remembered decides by what was agreed to before.
func remembered(in Input, p FolderPrints) Decision {
	untrusted := Decision{State: State{State: Untrusted}, Ask: true, Why: "nobody has trusted this folder yet"}
	if in.Folder.Home {
		untrusted.Why = "the home folder is trusted for one session only"
		return untrusted
	}
	marks := in.Marks[in.Folder.Key]
	if len(marks) == 0 {
		return byParent(in, untrusted)
	}
	mark := find(marks, in.Folder.Rel, func(m Mark) bool { return m.Shared == p.Shared })
	if mark == nil {
		untrusted.Why = "what it wants to run has changed since it was trusted"
		if find(marks, in.Folder.Rel, func(Mark) bool { return true }) == nil {
			untrusted.Why = "another folder of this repository was trusted, not this one"
		}
		return untrusted
	}
	d := granted(Trusted, ByDialog, Kinds())
	d.Why = "a person trusted it before"
	if in.Local == LocalOwn || p.Local == mark.Local ||
		find(marks, in.Folder.Rel, func(m Mark) bool { return m.Shared == p.Shared && m.Local == p.Local }) != nil {
		return d
	}
	d.Local = nil
	if in.Local == LocalShared {
		d.Ask, d.Why = true, "its local settings came with it and have changed since it was trusted"
	}
	return d
}

// byParent applies the trust of a folder above, which covers folders without a repository of their
// own: what runs is used, what grants is not.
func byParent(in Input, untrusted Decision) Decision {
	if in.Folder.Git {
		return untrusted
	}
	for dir := filepath.Dir(in.Folder.Key); ; dir = filepath.Dir(dir) {
		if len(in.Marks[dir]) > 0 {
			d := granted(Trusted, ByParent, []string{KindHooks, KindEnv, KindHelpers, KindPlain})
			d.Why = "the folder above it, " + dir + ", is trusted"
			// What a parent's trust does not give is asked for.
			d.Ask = len(withheld(in.Items, d)) > 0
			return d
		}
		if dir == filepath.Dir(dir) {
			return untrusted
		}
	}
}

// withheld lists the items the decision leaves out.
func withheld(items []Item, d Decision) []Withheld {
	var out []Withheld
	for _, i := range items {
		kinds := d.Project
		if i.At.Scope == origin.Local {
			kinds = d.Local
		}
		if !slices.Contains(kinds, i.Kind) {
			out = append(out, Withheld{Kind: i.Kind, File: i.At.File, Line: i.At.Line})
		}
	}
	return out
}
