package confine

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// Git writes its own configuration, and removes what it keeps of worktrees and submodules: while a command
// that is nothing but such steps runs, these places are looked after and not mounted. What it leaves there
// stays if it makes git run nothing, see [gitrepo.Unsettled].

// opens are the protected places that a command may change, since what it leaves there can be judged.
func opens(command, dir string, places config.Places) []string {
	if program, verb, ok := named(command); ok && program == "pre-commit" && verb == "install" {
		return []string{filepath.Join(places.Start, ".git", "hooks")}
	}
	var out []string
	for _, s := range gitSteps(command, dir) {
		out = append(out, stepOpens(s, places.UserHome)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func stepOpens(s step, home string) []string {
	if s.words[0] == "rm" {
		return removedRepositories(s)
	}
	verb := s.words[0]
	repo, err := gitrepo.Find(s.dir)
	if err != nil || repo.Doubt != "" {
		return nil
	}
	var out []string
	switch verb {
	case "submodule", "rm", "worktree":
		out = gitrepo.Nested(repo.CommonDir)
	}
	switch {
	case slices.Contains([]string{"submodule", "remote", "branch"}, verb),
		slices.Contains([]string{"checkout", "switch", "push", "pull", "fetch", "worktree"}, verb) &&
			!gitrepo.HooksRun(repo.CommonDir, filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config")):
		out = append(out, filepath.Join(repo.CommonDir, "config"))
	}
	return out
}

// removedRepositories are the checkouts that a removal names.
func removedRepositories(s step) []string {
	var out []string
	for _, w := range s.words[1:] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		path := under(s.dir, w)
		if r, err := gitrepo.Find(path); err == nil && r.Root == path {
			out = append(out, path)
		} else if _, below, ok := strings.Cut(path, "/.git/modules/"); ok && below != "" {
			out = append(out, path)
		}
	}
	return out
}

// step is one step of a command: the words of git without its options, or of rm, and where it runs.
type step struct {
	dir   string
	words []string
}

// gitSteps reads a command that consists of git commands, removals and changes of the folder, one after the
// other, and of nothing that could run anything else; otherwise there are none.
func gitSteps(command, dir string) []step {
	var out []step
	for _, part := range strings.Split(command, "&&") {
		words, ok := plainWords(part)
		if !ok || len(words) == 0 {
			return nil
		}
		switch words[0] {
		case "cd":
			if len(words) != 2 || strings.HasPrefix(words[1], "-") || strings.HasPrefix(words[1], "~") {
				return nil
			}
			dir = under(dir, words[1])
		case "rm":
			out = append(out, step{dir, words})
		case "git":
			at, rest := dir, words[1:]
			for len(rest) > 1 && rest[0] == "-C" {
				at, rest = under(at, rest[1]), rest[2:]
			}
			if len(rest) == 0 || strings.HasPrefix(rest[0], "-") || slices.ContainsFunc(rest, namesProgram) || verbRuns(rest) {
				return nil
			}
			if rest[0] != "rm" || len(rest) > 1 {
				out = append(out, step{at, gitWords(rest)})
			}
		default:
			return nil
		}
	}
	return out
}

// gitWords keeps "git rm" apart from rm.
func gitWords(rest []string) []string {
	if rest[0] == "rm" {
		return []string{"submodule", "rm"} // what it takes away of submodules is the same
	}
	return rest
}

// namesProgram says of a word of git that the next one, or its rest, is a program or an entry of the configuration.
func namesProgram(word string) bool {
	return slices.ContainsFunc([]string{"-c", "--config", "-x", "--exec", "--upload-pack", "--receive-pack", "--template", "ext::", "--open-files-in-pager", "-O", "--extcmd"}, func(option string) bool {
		return word == option || strings.HasPrefix(word, option) && (strings.HasPrefix(option, "--") || option == "ext::")
	})
}

// verbRuns says of git's words that the verb itself runs what they say, or is not one of git's own.
func verbRuns(rest []string) bool {
	own := []string{
		"add", "branch", "checkout", "clone", "commit", "diff", "fetch", "init", "log", "ls-files", "pull", "push", "remote", "reset", "restore",
		"rev-parse", "rm", "show", "status", "submodule", "switch", "tag", "worktree",
	}
	return !slices.Contains(own, rest[0]) || rest[0] == "submodule" && slices.Contains(rest, "foreach") || rest[0] == "clone" && slices.Contains(rest, "-u")
}

// plainWords splits a simple command into its words; false: a shell would do more with it than that.
func plainWords(part string) ([]string, bool) {
	var out []string
	word, open, quote := strings.Builder{}, false, rune(0)
	for _, r := range part {
		switch {
		case quote == '\'' && r != '\'', quote == '"' && !strings.ContainsRune("\"$`\\", r):
			word.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0, strings.ContainsRune("\n;|&<>$`()\\*?[{~#=!…", r) && !(r == '=' && strings.HasPrefix(word.String(), "-")) && !(r == '~' && open):
			return nil, false
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t':
			if open {
				out = append(out, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out, quote == 0
}

// under is where a path leads from a folder.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// plainModules says of a change at a .gitmodules file that it now names submodules and nothing more.
func plainModules(change sandbox.Change) bool {
	if filepath.Base(change.Path) != ".gitmodules" {
		return false
	}
	text, small := change.Text()
	return change.What() == "removed" || small && gitrepo.PlainModules(text)
}
