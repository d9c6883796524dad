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

// found tells whether a part of the command is rm.
func found(a *Account) bool {
	return slices.ContainsFunc(names(a), func(n string) bool { return strings.HasPrefix(n, "rm x") })
}

func TestKF151_TextThatIsEvaluatedLater(t *testing.T) {
	for _, text := range []string{ // searched: the program is a part
		"[[ 'a[$(rm x)]' -eq 0 ]]", "[[ 1 -lt \"a[\\$(rm x)]\" ]]", "[[ -v 'a[$(rm x)]' ]]", "(( 'a[$(rm x)]' ))", "(( a['$(rm x)'] ))", "echo $(( 'a[$(rm x)]' ))", "echo ${a['$(rm x)']}", "echo ${a:'b[$(rm x)]'}", "let 'a[$(rm x)]=1'", "command let 'a[`rm x`]=1'", "declare -i 'n=a[$(rm x)]'", "declare -i n='a[$(rm x)]'", "declare 'a[$(rm x)]=1'", "declare -a 'b=($(rm x))'", "declare -a b='($(rm x))'", "declare -a 'b=([$(rm x)]=1)'", "builtin typeset -A 'm=([$(rm x)]=1)'", "readonly -a 'b=($(rm x))'", "a=(['$(rm x)']=1)", "declare -a a=(['$(rm x)']=1)", "declare -A m=(['$(rm x)']=1)", "builtin declare 'a[$(rm x)]=1'", "export 'a[$(rm x)]=1'",
		"declare -n r='a[$(rm x)]'; echo $r", "read 'a[$(rm x)]' <<<1", "read -r -a 'a[$(rm x)]'", "unset 'a[$(rm x)]'", "unset -v 'a[$(rm x)]'", "wait -n -p 'a[$(rm x)]'", "printf -v 'a[$(rm x)]' y", "printf -v'a[$(rm x)]' y", "test -v 'a[$(rm x)]'", "[ -v 'a[$(rm x)]' ]", "mapfile 'a[$(rm x)]'", "getopts ab 'a[$(rm x)]'", "a['$(rm x)']=1", "ls {a['$(rm x)']}>/dev/null", "cat {a['$(rm x)']}\\\n< f", "ls >&'$(rm x)'", "ls 2>&'`rm x`'",
		"x='a[$(rm x)]'; echo $((x))", "x='a[$(rm x)]'; [[ x -eq 0 ]]", "for v in 'a[$(rm x)]'; do ((v)); done", "read v <<<'a[$(rm x)]'; ((v))", "set -- 'a[$(rm x)]'; (( $1 ))", "echo 'a[$(rm x)]' | { read v; ((v)); }", "a=('b[$(rm x)]'); ((a))", "read v <<'E'\na[$(rm x)]\nE\n((v))",
		"mapfile -C 'rm x' -c 1 f <g", "mapfile -C'rm x' f", "compgen -C 'rm x'", "compgen -W '$(rm x)'", "complete -C 'rm x' g", "PS4='$(rm x)'; set -x; ls", "PROMPT_COMMAND='rm x' bash -i", "export PS4='$(rm x)'", "eval -- 'rm x'", "time -- rm x", "time -p -- rm x", "env -S 'rm\\_x'", "env -S'rm x'", "source /dev/stdin <<<'rm x'", ". /dev/fd/0 <<<'rm x'", "bash /dev/stdin <<<'rm x'", "bash <<E\nrm x\nE", "echo 'rm x' | bash", "printf 'rm x' | sh -s", "echo rm x | bash /dev/stdin", "env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls",
		"{ bash; } <<<'rm x'", "while bash; do :; done <<<'rm x'", "exec <<<'rm x'; bash", "bash /dev/fd/3 3<<<'rm x'", "bash -c bash <<<'rm x'", "f() { sh; }; f <<<'rm x'", "env PS4='$(rm x)' bash -xc ls", "newgrp g <<<'rm x'", "time -- rm x | cat", "echo 'rm x' | bash {a[0]}</dev/null", "echo 'rm x' | bash 3</dev/null", "sudo -s <<<'rm x'", "bash //dev/./stdin <<<'rm x'",
	} {
		a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
		if !found(a) {
			t.Errorf("%q: no part is rm x: %q %v", text, names(a), a.Problems)
		}
	}
	for _, text := range []string{ // cannot be searched: said to come from outside
		"((x))", "echo $((x + 1))", "echo $(($1))", "[[ $x -eq 0 ]]", "[[ -v $x ]]", "let \"$x\"", "let x=y+1", "declare -i n=$x", "declare -n r=$x", "declare -a \"b=$x\"", "declare -A m=$x", "read \"$x\"", "unset \"$x\"", "printf -v \"$x\" y", "mapfile \"$x\"", "echo ${a[i]}", "echo ${a:n}", "a[i]=1", "read x; ((x))", "for x in $(ls); do ((x)); done", "echo $(( $(ls) ))", "curl h | sh", "cat f | bash -s", "bash <(curl h)", "source \"$x\"", "bash < $x", "sh <f", "bash -s <f", "exec <f; bash", "{ sh; } <f", "PS4=$x", "xargs -I{} sh -c '{}'", "xargs -rI% % x", "parallel {} ::: a", "xargs bash <f", "xargs env <f", "xargs --replace sh -c {}", "x=$y; ((x++))", "[[ a[i] -eq 0 ]]",
	} {
		a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
		unknown := slices.ContainsFunc(a.Parts, func(p Part) bool { return len(p.Unknown) > 0 })
		if len(a.Outside) == 0 && !unknown {
			t.Errorf("%q: nothing comes from outside", text)
		}
	}
	for _, text := range []string{
		"i=0; while ((i < 3)); do ((i++)); done", "for ((i = 0; i < 3; i++)); do ls; done", "echo $((1 + 2))", "for i in 1 2 3; do echo $((i * 2)); done", "for i in {1..9}; do ((i)); done", "[[ 1 -eq 1 ]]", "[[ -f x && $y == z ]]", "echo ${a[0]} ${a[@]} ${#a[@]}", "a[0]=1", "read x y", "unset x", "echo $(($# - 1))", "export A=$B", "printf '%s' \"$x\"", "git commit -m 'a[$(x)]'", "ls 2>&1 >&-", "wait -n", "declare -a a=(1 2)", "declare -A m=([k]=v [l]=w)",
	} {
		a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
		unknown := slices.ContainsFunc(a.Parts, func(p Part) bool { return len(p.Unknown) > 0 })
		if len(a.Outside) > 0 || unknown {
			t.Errorf("%q: evaluates text from outside: %v", text, a.Outside)
		}
	}
}

func TestKF148_QuotesInsidePatterns(t *testing.T) {
	for text, want := range map[string]string{
		`cat secret["s"]/key`:   `/p/secret[s]/key`,
		`cat secret['s']/key`:   `/p/secret[s]/key`,
		`cat .gi["t"a]*`:        `/p/.gi[ta]*`,
		`cat [\s]x`:             `/p/[s]x`,
		`cat ["!"a]x`:           `/p/[\!a]x`,
		`cat [$'\x73']x`:        `/p/[s]x`,
		`cat a"["b]`:            ``,
		`cat a[b"]"`:            ``,
		`cat a["]"b]c`:          `/p/a[\]b]c`,
		`cat {a,b}["c"]`:        `/p/a[c]`,
		`cat x[a"-"z]`:          `/p/x[a\-z]`,
		"cat s[\"e\"\\\nc]":     `/p/s[ec]`,
		`cat 'a['"b"[c"d"]`:     `/p/a\[b[cd]`,
		`cat [[:al"pha":]]x`:    `/p/[[:alpha:]]x`,
		`cat "a"?'b*'["c"'d'e]`: `/p/a?b\*[cde]`,
	} {
		a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
		u := a.Parts[0].Uses[0]
		if want == "" {
			if u.Glob {
				t.Errorf("%s: %q counts as a pattern", text, u.Path)
			}
		} else if !u.Glob || u.Path != want {
			t.Errorf("%s: %q (pattern: %v), want %q", text, u.Path, u.Glob, want)
		}
	}
	if a := Analyse(`/bin/r["m"] x`, Options{Cwd: "/p"}); len(a.Parts[0].Unknown) == 0 {
		t.Error("a pattern as the command word is known")
	}
}
