package cmdline

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// GitGlobal reads the options between "git" and its subcommand. It returns the index of the
// subcommand (len(words) for none).
type GitGlobal struct {
	Sub      int      // index of the subcommand
	Danger   []string // options that name programs or configuration
	Dirs     []Arg    // -C, --git-dir, --work-tree
	Plain    bool     // nothing but --no-pager and its like
	Moves    bool     // another directory or repository
	Unknown  bool     // a word before the subcommand is only known at run time
	OnlyDirs bool     // nothing but plain ones and -C
}

func ReadGitGlobal(words []expand.Word, at int) GitGlobal {
	g := GitGlobal{Plain: true, OnlyDirs: true}
	i := at + 1
	for ; i < len(words); i++ {
		w := &words[i]
		if !w.Static() {
			g.Unknown = true
			g.Plain, g.OnlyDirs = false, false
			break
		}
		text := w.Text
		if len(text) < 2 || text[0] != '-' {
			break
		}
		name, val, hasVal := strings.Cut(text, "=")
		switch {
		case text == "-C":
			g.Plain, g.Moves = false, true
			if i+1 < len(words) {
				i++
				g.Dirs = append(g.Dirs, Arg{Name: "-C", Word: i, Value: words[i].Value})
			}
		case text == "-c", name == "--config-env", name == "--exec-path" && hasVal:
			g.Danger = append(g.Danger, name+" sets configuration or programs")
			g.Plain, g.OnlyDirs = false, false
			if text == "-c" || (name == "--config-env" && !hasVal) {
				i++
			}
		case strings.HasPrefix(text, "-c"):
			g.Danger = append(g.Danger, "-c sets configuration")
			g.Plain, g.OnlyDirs = false, false
		case text == "-p", text == "--paginate":
			g.Danger = append(g.Danger, text+" runs the pager")
			g.Plain, g.OnlyDirs = false, false
		case text == "--git-dir", text == "--work-tree", text == "--namespace", text == "--super-prefix", text == "--attr-source":
			g.Plain, g.OnlyDirs, g.Moves = false, false, true
			if i+1 < len(words) {
				i++
				g.Dirs = append(g.Dirs, Arg{Name: text, Word: i, Value: words[i].Value})
			}
		case name == "--git-dir", name == "--work-tree":
			g.Plain, g.OnlyDirs, g.Moves = false, false, true
			g.Dirs = append(g.Dirs, Arg{Name: name, Word: i, From: len(name) + 1, Value: val})
		case text == "--no-pager", text == "-P", text == "--no-optional-locks", text == "--literal-pathspecs", text == "--no-replace-objects", text == "--no-advice", text == "--no-lazy-fetch":
		case text == "--version", text == "-v", text == "--help", text == "-h", text == "--html-path", text == "--man-path", text == "--info-path", text == "--exec-path":
			g.OnlyDirs = g.OnlyDirs && g.Plain
		default:
			g.Plain, g.OnlyDirs = false, false
		}
	}
	g.Sub = min(i, len(words))
	return g
}
