package cmdline

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// EnvText turns the text of "env -S" into words as a shell reads them. It reports false for what only
// env itself understands.
func EnvText(text string) (string, bool) {
	var b strings.Builder
	double, single := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			switch e := text[i]; {
			case single, strings.IndexByte("cfnrtv", e) >= 0:
				return "", false
			case e == '_':
				b.WriteByte(' ')
			default:
				b.WriteByte('\\')
				b.WriteByte(e)
			}
		case c == '\'' && !double:
			single = !single
			b.WriteByte(c)
		case c == '"' && !single:
			double = !double
			b.WriteByte(c)
		case c == '$' && !single:
			return "", false
		case !single && !double && strings.IndexByte(";&|<>()`*?[]~{}!#", c) >= 0, double && c == '`':
			b.WriteByte('\\') // means nothing to env
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

// ReplaceMarks returns the texts that options of xargs say are replaced.
func ReplaceMarks(words []expand.Word) []string {
	var marks []string
	for k := 1; k < len(words); k++ {
		v := words[k].Value
		switch {
		case v == "-I" && k+1 < len(words):
			k++
			marks = append(marks, words[k].Value)
		case strings.HasPrefix(v, "-I"):
			marks = append(marks, v[2:])
		case v == "-i", v == "--replace":
			marks = append(marks, "{}")
		case strings.HasPrefix(v, "-i"):
			marks = append(marks, v[2:])
		case strings.HasPrefix(v, "--rep"):
			if _, mark, ok := strings.Cut(v, "="); ok {
				marks = append(marks, mark)
			} else {
				marks = append(marks, "{}")
			}
		case len(v) > 2 && v[0] == '-' && v[1] != '-' && strings.ContainsAny(v, "Ii"): // in a cluster
			i := strings.IndexAny(v, "Ii")
			switch mark := v[i+1:]; {
			case mark != "":
				marks = append(marks, mark)
			case v[i] == 'I' && k+1 < len(words):
				marks = append(marks, words[k+1].Value)
			default:
				marks = append(marks, "{}")
			}
		}
	}
	return slices.DeleteFunc(marks, func(m string) bool { return m == "" })
}
