package cmdline

import (
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// ListsNames reads a find command that prints the names it selects and does nothing else: its starting points, and whether all it
// selects are plain files, not links.
func ListsNames(words []expand.Word) (starts []expand.Word, files, ok bool) {
	i := 1
	for ; i < len(words) && !strings.HasPrefix(words[i].Value, "-") && !isFindSign(words[i].Value); i++ {
		if words[i].Value == "" {
			return nil, false, false
		}
		starts = append(starts, words[i])
	}
	plain, prints := true, false // plain: every test must hold
	for ; i < len(words); i++ {
		switch v := words[i].Value; v {
		case "-print0":
			prints = true
		case "-o", "-or", "-not", "!", "(", ")":
			plain = false
		case "-a", "-and", "-empty", "-prune", "-mount", "-xdev", "-depth", "-true", "-false", "-executable", "-readable", "-writable":
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-type", "-size", "-mtime", "-mmin",
			"-atime", "-amin", "-ctime", "-cmin", "-perm", "-user", "-group", "-maxdepth", "-mindepth", "-newer":
			if i++; i >= len(words) {
				return nil, false, false
			}
			files = files || v == "-type" && words[i].Value == "f" && !prints
		default:
			return nil, false, false
		}
	}
	return starts, files && plain, prints
}

func isFindSign(v string) bool { return v == "(" || v == ")" || v == "!" || v == "," }

// ListsTracked reads a git command that prints names below the directory it runs in, each with a zero byte at its end.
func ListsTracked(words []expand.Word) bool {
	if len(words) < 2 || words[1].Value != "ls-files" {
		return false
	}
	zero, dashes := false, false
	for _, w := range words[2:] {
		switch v := w.Value; {
		case dashes || !strings.HasPrefix(v, "-"):
			if clean := path.Clean(v); v == "" || v[0] == ':' || v[0] == '/' || clean == ".." || strings.HasPrefix(clean, "../") {
				return false
			}
		case v == "--":
			dashes = true
		case v == "-z":
			zero = true
		case !slices.Contains([]string{"-c", "--cached", "-m", "--modified", "-o", "--others", "--exclude-standard", "--deduplicate"}, v):
			return false
		}
	}
	return zero
}

// SplitsAtZero reads the options of xargs: -0 must be among them, and nothing but -r, -n, -P and -I besides. mark is the text that -I
// has replaced by a name; empty: the names come last.
func SplitsAtZero(words []expand.Word) (mark string, ok bool) {
	zero := false
	for i := 0; i < len(words); i++ {
		text := words[i].Value
		if name, number, long := strings.Cut(text, "="); long {
			if name != "--max-args" && name != "--max-procs" || !expand.IsNumber(number) {
				return "", false
			}
			continue
		}
		switch text {
		case "--null":
			zero = true
			continue
		case "--no-run-if-empty":
			continue
		}
		if len(text) < 2 || text[0] != '-' {
			return "", false
		}
		letters := strings.TrimLeft(text[1:], "0r")
		zero = zero || strings.Contains(text[1:len(text)-len(letters)], "0")
		if letters == "" {
			continue
		}
		value := letters[1:]
		if value == "" {
			if i++; i >= len(words) {
				return "", false
			}
			value = words[i].Value
		}
		switch {
		case letters[0] == 'I' && mark == "" && value != "":
			mark = value
		case letters[0] != 'n' && letters[0] != 'P', !expand.IsNumber(value):
			return "", false
		}
	}
	return mark, zero
}
