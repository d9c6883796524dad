package shellsyntax

import (
	"path"
	"slices"
	"strings"
)

// followsLinks tells whether what the program reads below its operands goes through symbolic links.
func (d *describer) followsLinks() bool {
	recursive := d.hasOption("-r", "-R", "--recursive")
	switch d.name {
	case "grep", "egrep", "fgrep", "zgrep":
		return d.hasOption("-R", "--dereference-recursive")
	case "ls", "dir", "vdir":
		return d.hasOption("-R", "--recursive") && d.hasOption("-L", "--dereference")
	case "diff", "colordiff":
		return recursive && !d.hasOption("--no-dereference")
	case "du":
		return d.hasOption("-L", "--dereference")
	case "tree":
		return d.hasOption("-l")
	case "rg", "ripgrep", "fd", "fdfind":
		return d.hasOption("-L", "--follow")
	case "cp":
		return recursive && d.hasOption("-L", "-H", "--dereference")
	case "tar", "bsdtar", "gtar":
		return d.hasOption("-h", "--dereference")
	case "rsync":
		return d.hasOption("-L", "-k", "--copy-links", "--copy-dirlinks", "--copy-unsafe-links")
	case "zip":
		return recursive && !d.hasOption("-y", "--symlinks")
	case "scp":
		return recursive
	case "chmod", "chown", "chgrp":
		return d.hasOption("-L")
	}
	return false
}

// follow marks some of the paths as read, or changed, through links.
func (d *describer) follow(from, to int) {
	for i := from; i < to; i++ {
		u := &d.p.Uses[i]
		u.Follows, u.Below = true, u.Below || u.Intent == Read
	}
}

// unsettle marks the paths of which a name before a ".." may be a link by the time they are used, since another
// part of the line could make one. What is done below the folder the line starts in, and not above it, counts.
func (w *walker) unsettle() {
	makers, maker := 0, -1
	for i := range w.acc.Parts {
		if w.acc.Parts[i].mayLink() {
			makers, maker = makers+1, i
		}
	}
	if makers == 0 {
		return
	}
	for i := range w.acc.Parts {
		if makers == 1 && maker == i {
			continue
		}
		p := &w.acc.Parts[i]
		for k := range p.Uses {
			u := &p.Uses[k]
			if u.Walk != "" && w.namesBeforeDots(u.Walk) {
				u.Unsettled = true
			}
			u.Follows = u.Follows || u.Listed != Nobody // a link may be made that is not there yet
		}
	}
}

// namesBeforeDots tells whether a ".." follows a name that is not part of where the line starts.
func (w *walker) namesBeforeDots(walk string) bool {
	rest := walk
	if after, ok := strings.CutPrefix(walk, strings.TrimSuffix(w.opt.Cwd, "/")+"/"); ok {
		rest = after
	}
	names := 0
	for c := range strings.SplitSeq(rest, "/") {
		switch {
		case c == "" || c == ".":
		case c != "..":
			names++
		case names > 0:
			return true
		}
	}
	return false
}

// mayLink tells whether a part could make a link or put another folder in the place of one.
func (p *Part) mayLink() bool {
	if p.Kind != Command || p.ReadOnly || p.Name() == "" && len(p.Unknown) == 0 {
		return false
	}
	return !slices.Contains([]string{
		"mkdir", "touch", "tee", "rm", "rmdir", "truncate", "chmod", "chown", "sed", "dd", "cd", "pushd", "popd", "sort", "set", "export", "read", "unset", "shift",
		"trap", "return", "exit", "echo", "printf", "test", "[", "[[", "awk", "jq", "grep", "kill", "wait", "let", "true", "false", ":",
	}, path.Base(p.Name())) || len(p.Exec) > 0
}
