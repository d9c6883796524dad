package shellsyntax

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// listerOf returns the index of the part whose output a command reads, plus one; 0: it reads something else.
func (w *walker) listerOf(c *syntax.CallExpr) int {
	if c != w.lists {
		return 0
	}
	return w.feed[0] + 1
}

// readsListed tells whether the command is a reader to which xargs adds names that find or git lists below known folders. Then it
// notes that everything below these is read.
func (d *describer) readsListed() bool {
	if d.p.read.lister == 0 || d.notRO != "" || d.recursive || d.followsLinks() || !d.plainReader() {
		return false
	}
	if _, defined := d.w.functions["sort"]; defined {
		return false
	}
	lister := &d.w.acc.Parts[d.p.read.lister-1]
	if !lister.ReadOnly || len(lister.Forms) != 1 || len(lister.Assigns) > 0 || !allStatic(lister.Words) {
		return false
	}
	from := len(d.p.Uses)
	switch lister.Forms[0].Name {
	case "find":
		starts, files, ok := cmdline.ListsNames(lister.Words)
		if !ok {
			return false
		}
		if len(starts) == 0 {
			starts = []Word{expand.Fixed(".")}
		}
		for i := range starts {
			d.w.addUse(d.p, d.st, &starts[i], starts[i].Value, Read, true)
		}
		if !files {
			d.listedBy(FindLists, from)
		}
	case "git":
		if !cmdline.ListsTracked(lister.Words) || !d.takesAnyName() {
			return false
		}
		here := expand.Fixed(".")
		d.w.addUse(d.p, d.st, &here, ".", Read, true)
		d.listedBy(GitLists, from)
	default:
		return false
	}
	d.p.Uses = slices.DeleteFunc(d.p.Uses, func(u PathUse) bool { return u.Unknown }) // where xargs puts the names
	return true
}

// listedBy marks the paths from an index on.
func (d *describer) listedBy(lister Lister, from int) {
	for k := from; k < len(d.p.Uses); k++ {
		d.p.Uses[k].Listed = lister
	}
}

func allStatic(words []Word) bool {
	return !slices.ContainsFunc(words, func(w Word) bool { return !w.Static() })
}

// plainReader tells whether the part is "xargs -0 READER …" with a program that reads the files it is given and does nothing
// else with them, and with options of xargs that only say how many names are added at once.
func (d *describer) plainReader() bool {
	p := d.p
	if len(p.Forms) != 2 || p.Forms[0].At != 0 || p.Forms[0].Name != "xargs" || p.Forms[1].Name != d.name || p.Elsewhere ||
		len(p.Assigns)+len(p.Exec)+len(p.Unknown) > 0 || !d.spec.ReadOnly || d.spec.Runs {
		return false
	}
	if _, defined := d.w.functions["xargs"]; defined {
		return false
	}
	switch d.name {
	case "cat", "head", "tail", "wc", "nl", "tac", "stat", "file", "grep", "egrep", "fgrep", "cut", "ls",
		"md5sum", "sha1sum", "sha256sum", "cksum":
		mark, ok := cmdline.SplitsAtZero(p.Words[1:p.Forms[1].At])
		return ok && !slices.ContainsFunc(p.Words, func(w Word) bool { return !w.Static() && (mark == "" || w.Text != mark) })
	}
	return false
}

// takesAnyName tells whether added names cannot be options that do more than read: they come after "--", or the program has no
// such option.
func (d *describer) takesAnyName() bool {
	switch d.name {
	case "cat", "head", "tail", "nl", "tac", "stat":
		return true
	}
	for _, o := range d.a.Options {
		if !o.Known && strings.HasPrefix(o.Name, "--") {
			return false // it might take the "--" for its value
		}
	}
	if slices.ContainsFunc(d.words[:max(d.a.Dashes, 0)], func(w Word) bool { return w.Unknown() }) {
		return false // a name before the "--"
	}
	return d.a.Dashes > 0
}
