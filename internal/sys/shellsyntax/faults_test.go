package shellsyntax

import (
	"slices"
	"strings"
	"testing"
)

// readsOnly tells whether every part of a command only reads.
func readsOnly(text string) bool {
	a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
	if len(a.Problems) > 0 || len(a.Parts) == 0 {
		return false
	}
	for i := range a.Parts {
		if p := &a.Parts[i]; !p.ReadOnly || len(p.Unknown) > 0 {
			return false
		}
	}
	return true
}

func TestKF143_LanguagesWithinLanguages(t *testing.T) {
	for _, text := range []string{
		"sed -n 5p f", "sed -e 's/a/b/' -e p f", "awk '{print $1}' f", "awk -F: -v n=3 '$1 > n' f", "jq . f", "jq -r '.a | length' f", "jq --arg k v '.[$k]' f", "jq -n '1'", "jq --indent 2 . f -c",
	} {
		if !readsOnly(text) {
			t.Errorf("%q does not count as reading", text)
		}
	}
	for _, text := range []string{
		"sed ':a e id' f", "sed -e 'a x\\' -e p -e 'e id' f", "sed 'v 4.2 e id' f", "sed \"$x\" f", "sed -f s f", "sed -i p f", "sed 's/a/b/w o' f", "awk 'BEGIN{system(1)}'", "awk -v ARGV=x '{print}' f", "awk '{print}' ARGC=1 f", "awk -f p f", "awk -i inplace '{print}' f",
		"jq env f", "jq -f p f", "jq --from-file p f", "jq --rawfile a f '$a'", "jq --slurpfile a f .", "jq -L . 'import \"a\" as a; .'", "jq -nf p", "jq \"$x\" f", "jq --in-place . f", "jq $x . f", "jq -- env", "jq . --args env",
	} {
		if readsOnly(text) {
			t.Errorf("%q counts as reading", text)
		}
	}
	for text, want := range map[string]string{
		"sed -i.bak s/a/b/ d/f":                "w /p/d/f.bak",
		"sed -i'.git/hooks/*' s/a/b/ f":        "w /p/.git/hooks/f",
		"sed --in-place=/etc/* s/a/b/ x/f":     "w /etc/f",
		"jq --rawfile a /etc/passwd '$a'":      "r /etc/passwd",
		"jq -f /etc/x f":                       "r /etc/x",
		"sed -n '1w /etc/x' f":                 "w /etc/x",
		"sed -s -e '1R /etc/x' -e p --quiet f": "r /etc/x",
	} {
		if got := uses(text); !slices.Contains(got, want) {
			t.Errorf("%q: %q lacks %q", text, got, want)
		}
	}
	if got := names(Analyse("sed '1e rm x' f", Options{Cwd: "/p"})); !slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, "rm x") }) {
		t.Errorf("the program of a script is no part: %q", got)
	}
}
