package hook

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Words are the program and the arguments of a command in exec form, with the root of the project in the place of its placeholder; nil: the
// command is a text for a shell. In an argument that a shell or an interpreter reads as its program the placeholder stays: there the name of
// a folder would be executed, and a shell finds the value in its environment.
func (x *Handler) Words(root string) []string {
	if x.Args == nil {
		return nil
	}
	const placeholder = "${" + projectDir + "}"
	words := append([]string{x.Command}, x.Args...)
	for i, w := range words {
		if strings.Contains(w, placeholder) && !readAsText(words, i, strings.ReplaceAll(w, placeholder, "")) {
			words[i] = strings.ReplaceAll(w, placeholder, root)
		}
	}
	return words
}

// readAsText tells whether the word at i may be read as a program by one that stands before it. rest is the word without placeholders: what
// is no plain path or option with a path counts as a text.
func readAsText(words []string, i int, rest string) bool {
	plain := strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,@%+-") == ""
	for k, w := range words[:i] {
		code, joins, reads := options.ReadsText(path.Base(w))
		if !reads {
			continue
		}
		if joins || !plain || k < i-1 && takesCode(words[i-1], code) || strings.HasPrefix(words[i], "-") && takesCode(words[i], code) {
			return true
		}
	}
	return false
}

// takesCode tells an option whose value is a program: one with one of these letters, or a long one.
func takesCode(option, letters string) bool {
	if long, ok := strings.CutPrefix(option, "--"); ok {
		name, _, _ := strings.Cut(long, "=")
		switch name {
		case "command", "eval", "exec", "expression", "print", "run", "code", "session-command", "call", "execute":
			return true
		}
		return false
	}
	if !strings.HasPrefix(option, "-") {
		return false
	}
	name, _, _ := strings.Cut(option[1:], "$")
	return strings.ContainsAny(name, letters) || strings.EqualFold(option, "-command")
}
