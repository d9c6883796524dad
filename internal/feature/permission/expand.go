package permission

import (
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// maxEntries bounds what is looked at to expand one pattern.
const maxEntries = 1000

// listSome lists a folder up to a number of entries, in no order.
func listSome(dir string, most int) ([]fs.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(most)
}

// matched is what a pattern stands for as the files are now.
type matched struct {
	links []*place // the matches that are links or lie behind one
	why   string   // why it may stand for something outside; empty: it does not
}

// matches expands a pattern of a command. Without a way to list folders it expands to nothing, and
// only its literal head counts.
func (s *shellEval) matches(u *shellsyntax.PathUse) *matched {
	if got, ok := s.expanded[u.Path]; ok {
		return got
	}
	x := expansion{shellEval: s, text: u.Text, left: maxEntries}
	if s.pol.Files.ListSome != nil {
		x.walk([]string{""}, strings.Split(strings.Trim(u.Path, "/"), "/"))
	}
	if s.expanded == nil {
		s.expanded = map[string]*matched{}
	}
	s.expanded[u.Path] = &x.matched
	return &x.matched
}

// expansion goes through a pattern component by component.
type expansion struct {
	*shellEval
	matched
	text string
	left int // entries that may still be looked at
}

func (x *expansion) fail(why string) {
	if x.why == "" {
		x.why = why
	}
}

// walk finds what the components lead to from each of some folders.
func (x *expansion) walk(dirs, components []string) {
	wild := false // a component before this one was a pattern: what follows may be a link
	for _, c := range components {
		if x.why != "" {
			return
		}
		var next []string
		if !hasPattern(c) {
			name := pathpattern.LiteralHead(c)
			for _, d := range dirs {
				next = append(next, d+"/"+name)
				if wild && !x.literal(d+"/"+name) {
					return
				}
			}
		} else {
			wild = true
			for _, d := range dirs {
				next = append(next, x.list(d, c)...)
			}
		}
		dirs = next
	}
}

// hasPattern tells whether a component holds more than literal text and escapes.
func hasPattern(c string) bool {
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// literal looks at a fixed name below a match. It reports false when that is enough.
func (x *expansion) literal(p string) bool {
	const cost = 4 // as much as so many entries of a folder
	if x.left -= cost; x.left < 0 {
		x.fail("the pattern " + x.text + " matches too much to look at all of it")
		return false
	}
	if pl := x.placeOf(p); pl.err != nil || pl.real != p {
		x.link(pl)
	}
	return x.why == ""
}

func (x *expansion) link(pl *place) {
	x.links = append(x.links, pl)
	switch {
	case pl.err != nil:
		x.fail("the pattern " + x.text + " matches " + pl.path + ", which cannot be resolved: " + pl.err.Error())
	case !x.inside(pl):
		x.fail("the pattern " + x.text + " matches " + pl.path + ", a link that leads to " + pl.real)
	}
}

// list returns the entries of a folder that match a component.
func (x *expansion) list(dir, component string) []string {
	if strings.Contains(component, "**") && strings.Contains(x.command, "globstar") {
		x.fail("which files " + x.text + " names is only known at run time")
		return nil
	}
	pattern, err := pathpattern.Compile("/"+component, pathpattern.Options{})
	if err != nil {
		x.fail("the pattern " + x.text + " cannot be read")
		return nil
	}
	if strings.HasPrefix(strings.TrimPrefix(component, "\\"), ".") && pattern.Match("..", true) { // as older shells have it
		x.fail("the pattern " + x.text + " may stand for the folder above")
		return nil
	}
	real := x.placeOf(path.Clean("/" + dir))
	if real.err != nil {
		x.fail("the pattern " + x.text + " looks into " + real.path + ", which cannot be resolved")
		return nil
	}
	entries, err := x.pol.Files.ListSome(real.real, x.left+1)
	if err != nil && len(entries) == 0 {
		return nil // nothing there, or nothing that could be read by the command either
	}
	if x.left -= len(entries); x.left < 0 {
		x.fail("the pattern " + x.text + " looks at more than a thousand files")
		return nil
	}
	hidden := strings.HasPrefix(strings.TrimPrefix(component, "\\"), ".") || strings.Contains(x.command, "glob") // dotglob and its like
	folds := strings.Contains(x.command, "nocaseglob")
	var out []string
	for _, entry := range entries {
		name := entry.Name()
		if name[0] == '.' && !hidden || !folds && !pattern.Match(name, true) {
			continue
		}
		full := dir + "/" + name
		out = append(out, full)
		if entry.Type()&fs.ModeSymlink != 0 {
			x.link(x.placeOf(full))
		}
	}
	return out
}

// followVerdict asks for what goes through links that nobody has looked at, or that may not be there yet.
func (s *shellEval) followVerdict(u *shellsyntax.PathUse) partVerdict {
	switch {
	case u.Unsettled:
		return partVerdict{kind: ByDirectory, why: "another part of the command may make a link of a name before “..” in " + u.Text}
	case u.Follows:
		return partVerdict{kind: ByDirectory, why: "it follows the links below " + u.Text + ", which may lead outside of the working directories"}
	case u.Listed != shellsyntax.Nobody:
		if why := s.linksBelow(u); why != "" {
			return partVerdict{kind: ByDirectory, why: why}
		}
	}
	return partVerdict{}
}

// linksBelow tells why names listed below a folder may lead out of it; empty: they do not. Without a way to list folders it
// looks at none, as for patterns.
func (s *shellEval) linksBelow(u *shellsyntax.PathUse) string {
	root := s.placeOfUse(u)
	if root.err != nil {
		return u.Text + " cannot be resolved: " + root.err.Error()
	}
	if s.pol.Files.ListSome == nil {
		return ""
	}
	left := maxEntries
	for dirs := []string{root.real}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		entries, err := s.pol.Files.ListSome(dir, left+1)
		if err != nil && len(entries) == 0 {
			continue // nothing there, or nothing that could be listed by the command either
		}
		if left -= len(entries); left < 0 {
			return "whether a link below " + u.Text + " leads outside is not known: there are more than a thousand files"
		}
		for _, e := range entries {
			full := path.Join(dir, e.Name())
			switch {
			case u.Listed == shellsyntax.GitLists && e.Name() == ".git":
			case e.IsDir():
				dirs = append(dirs, full)
			case e.Type()&fs.ModeSymlink != 0:
				pl := s.placeOf(full)
				if _, below := pathpattern.Rel(root.real, pl.real); pl.err != nil || !below {
					return "the link " + full + " may lead out of " + u.Text
				}
			}
		}
	}
	return ""
}
