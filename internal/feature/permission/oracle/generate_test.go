//go:build linux

package oracle

import (
	"math/rand/v2"
	"strings"
)

// generator makes commands from fragments: harmless ones, and such as break out where the reading
// of a language and the language itself differ.
type generator struct{ *rand.Rand }

func (g generator) pick(list []string) string { return list[g.IntN(len(list))] }

// join puts some fragments one after another.
func (g generator) join(list []string, most int, between string) string {
	parts := make([]string, 1+g.IntN(most))
	for i := range parts {
		parts[i] = g.pick(list)
	}
	return strings.Join(parts, between)
}

// single quotes a text for the shell.
func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var files = []string{"a.txt", "b.txt", "sub/c.txt", "data.json", ".", "sub", "l.txt", "out", "out/hosts", "out/..", "sub/../a.txt", "out/../outside/hosts", "secrets/key", "nothing"}

var sedParts = []string{
	"p", "d", "n", "N", "g", "x", "h", "=", "l", "q", "z", "F", "1", "$", "2,3", "0~2", "/a/", "\\,a,", "!", "{", "}", ";", "\n", " ", "\t", ":a", "b a", "ta", "b", ":", "s/a/b/", "s/a/b/g", "s|a|b|2", "s/a/touch PWN/", "y/a/b/", "#", "#n", "a", "i", "c", "a\\\n", "a text", "\\", "\\\n", "text", "v", "v 4.2",
	"e", "e touch PWN", "e touch PWN\n", "w PWN", "w PWN\n", "W PWN", "r out/hosts", "R out/hosts", "I", "M", "1e touch PWN", "w /dev/stdout", ",+1", "~3", "s/a/b/e", "s/[/]/e/", "\\n", "a\\", "a x\\\\", "}e touch PWN", ";e touch PWN", "s/x/y/w PWN", "s/a/b/;",
}

var awkParts = []string{
	"{", "}", "(", ")", "[", "]", ";", "\n", ",", " ", "print", "printf", "print $1", "{print}", "BEGIN", "END", "$1", "$NF", "NR", "x", "a", "1", "\"x\"", "\"PWN\"", "\"", "/x/", "/", "\\", "#", ">", ">>", "<", "|", "|&", "||", "&&", "=", "==", "~", "!", "+", "++", "-", "*", "%", "?", ":", "$", "if", "else", "while", "for", "do", "in", "delete", "next", "exit",
	"system(\"touch PWN\")", "; system(\"touch PWN\")", "BEGIN{system(\"touch PWN\")}", "print > \"PWN\"", "print | \"touch PWN\"", "\"touch PWN\" | getline", "getline < \"out/hosts\"", "getline", "ENVIRON[\"MARK\"]", "print ENVIRON[\"MARK\"]", "ARGV[1]=\"out/hosts\"", "ARGC=2", "@include \"out/hosts\"", "f(1)", "length", "length($1)", "substr($1,1)", "split($0,a)", "gsub(/a/,\"b\")", "function f(){}", "(a > b)", "print (a > \"PWN\")", "\"x\" > \"PWN\"", "/[/]/", "\\\n", "sprintf(\"%s\",1)",
}

var jqParts = []string{
	".", ".a", ".b[0]", ".[]", "|", ",", ";", ":", "(", ")", "[", "]", "{", "}", " ", "\n", "\"x\"", "\"", "\\(", "\\", "1", "+", "//", "?", "==", "env", "env.MARK", "$ENV", "$ENV.MARK", "$x", "as $x", "as", "def f: .;", "def env2: env;", "f", "import \"m\" as m;", "include \"m\";", "m::f", "keys", "map(.)", "select(.)", "length", "#", "if . then . else . end", "reduce", "@json", "tojson", "..", "input_filename", "try", "error", "modulemeta", "{a}", "{env}", "{a: env}", "limit(1; .)", "inputs", "$__loc__", "getpath([\"a\"])", "env|.MARK", "$ENV|.MARK",
}

var jqOptions = []string{"-c", "-r", "-n", "-s", "-R", "-e", "-rc", "--arg x y", "--argjson x 1", "--slurpfile x out/hosts", "--rawfile x out/hosts", "-f out/hosts", "--from-file out/hosts", "-L out", "--args", "--indent 2", "--tab", "--seq", "--"}

var findParts = []string{
	".", "sub", "out", "out/", "l.txt", "-name '*.txt'", "-name \\*", "-type f", "-type l", "-print", "-print0", "-ls", "-maxdepth 1", "-newer a.txt", "-samefile a.txt", "-o", "-a", "!", "-not", "\\(", "\\)", ",", "-prune", "-quit", "-empty", "-size +0", "-L", "-H", "-P", "-follow", "-O2", "-D tree", "-regex x", "-printf '%p'", "-printf %p",
	"-exec touch PWN \\;", "-exec touch PWN {} +", "-execdir touch PWN \\;", "-ok touch PWN \\;", "-delete", "-fprint PWN", "-fprintf PWN %p", "-fls PWN", "-fprint0 PWN", "-files0-from out/hosts", "{}", "+", "\\;", "-exec", "touch", "--", "-xtype f", "-lname x", "-path './sub'", "-mtime -1", "-depth", "-true", "-false",
}

var gitParts = []string{
	"status", "log", "diff", "show", "branch", "tag", "blame a.txt", "ls-files", "ls-tree HEAD", "cat-file -p HEAD", "rev-parse HEAD", "describe --always", "shortlog HEAD", "reflog", "merge-base HEAD HEAD", "for-each-ref", "remote -v", "config --list", "grep a", "stash list", "worktree list",
	"-p", "--stat", "--oneline", "-n 1", "-1", "--name-only", "HEAD", "--", "a.txt", "sub", ".", "--output=PWN", "-o PWN", "--ext-diff", "--textconv", "--no-index", "out/hosts", "-O", "-Otouch", "--open-files-in-pager=touch", "-c core.pager=touch", "-c alias.x='!touch PWN'", "-C out", "--git-dir=out", "--paginate", "-p", "':(glob)*.txt'", "':!a.txt'", "'*.txt'", "-D x", "-d x", "newbranch", "-a", "-v", "--format=%H", "--show-signature", "--stdin", "-f out/hosts", "--exec=touch", "--cached", "--untracked", "-e a", "--contents out/hosts",
}

var readers = []string{
	"cat", "cat -n", "head -1", "tail -1", "ls", "ls -l", "ls -R", "ls -LR", "wc", "wc -l", "grep a", "grep -r a", "grep -R a", "grep -rf out/hosts", "diff", "diff -r sub", "sort", "sort -o PWN", "sort --files0-from=out/hosts", "sort -u", "cmp a.txt", "comm a.txt", "stat", "du", "du -L", "file", "file -f", "cut -c1", "uniq", "fmt", "pr", "od -c", "tac", "nl", "rev", "fold", "paste", "column", "basename", "dirname", "realpath", "readlink -f", "md5sum", "md5sum -c", "sha256sum", "hexdump -C", "strings", "test -f", "[ -f", "echo", "printf %s", "tee", "tee /dev/null", "touch", "cp a.txt", "tr a b <", "date", "date -f", "seq 3", "expr 1 +", "true", "which", "tree", "xargs cat <", "find", "env", "id", "wc --files0-from=out/hosts", "tar tf", "split", "base64",
}

var redirections = []string{"", "", "", "", "", "> /dev/null", "2>&1", "2>/dev/null", "< a.txt", "< out/hosts", "> PWN", ">> PWN", ">| PWN", "&> PWN", ">&PWN", "<> PWN", "{fd}> /dev/null", "{a['$(touch PWN)']}>/dev/null", "{a[0]}</dev/null", ">&'$(touch PWN)'", "<<< x", "<<< \"$(touch PWN)\"", "<<E\n$(touch PWN)\nE", "<<'E'\n$(touch PWN)\nE", "2>&$x", ">&-", "< <(touch PWN)", "> >(touch PWN)", "< *.txt", "< l.tx\"t\""}

var words = []string{
	"*.txt", "l*", "ou?/hosts", "*/hosts", "[a-l].txt", "l[\".\"]txt", "se[\"c\"]rets/key", "sec'r'ets/key", "s*/key", "{a,b}.txt", "{l,a}.tx{t,u}", "o{u,}t/hosts", "\"$x\"", "$x", "${x}", "$HOME", "~", "~/x", "$PWD/a.txt", "$PWD/out/hosts", "../outside/hosts", "$(echo a.txt)", "`echo a.txt`", "\"$(touch PWN)\"", "$((1+1))", "$(( a['$(touch PWN)'] ))", "${a['$(touch PWN)']}", "${x:-$(touch PWN)}", "${!x}", "${x@P}", "'a.txt'", "\"a.txt\"", "$'a.tx\\x74'", "$'\\x6c.txt'", "a.t\\xt", "<(cat a.txt)", "-", "--", "-n", "./a.txt", "//etc/hostname", "/dev/null", "/dev/stdin", "$x$y", "$0", "$#", "$?", "@(a|l).txt", "sub/../l.txt", "out/../a.txt", "**/hosts", ".*", ".?/hosts", ".[.]/*", "*", "[!a]*", "?.txt", "\\*.txt", "out//hosts", "sub/./../l.txt", "./out/./hosts",
}

var builtins = []string{
	"x=a.txt", "x=l.txt", "x='a[$(touch PWN)]'", "x=touch", "y=PWN", "cd sub", "cd out", "cd ..", "cd -P out", "cd out/..", "set -P", "pwd", "read x <<< 'a[$(touch PWN)]'", "read x < a.txt", "declare -i n=x", "declare -n r=x", "declare -i 'n=a[$(touch PWN)]'", "local x", "export x=1", "unset x", "unset 'a[$(touch PWN)]'", "printf -v x %s 'a[$(touch PWN)]'", "printf -v 'a[$(touch PWN)]' x", "let x", "let 'a[$(touch PWN)]=1'", "((x))", "((x++))", "[[ x -eq 0 ]]", "[[ 'a[$(touch PWN)]' -eq 0 ]]", "[[ -v x ]]", "[[ -v 'a[$(touch PWN)]' ]]", "[[ $x == *.txt ]]", "[[ -f a.txt ]]", "test -v 'a[$(touch PWN)]'",
	"eval 'touch PWN'", "eval -- 'touch PWN'", "eval \"$x $y\"", "$x $y", "\"$x\" PWN", "trap 'touch PWN' EXIT", "trap -- 'touch PWN' EXIT", "alias ls='touch PWN'", "f() { touch PWN; }", "f", "ls() { touch PWN; }", "time -- touch PWN", "command touch PWN", "builtin echo", "exec touch PWN", "mapfile -C 'touch PWN' -c 1 < a.txt", "compgen -C 'touch PWN'", "compgen -W '$(touch PWN)'", "PS4='$(touch PWN)'", "set -x", "PROMPT_COMMAND='touch PWN'", ". /dev/stdin <<< 'touch PWN'", "bash <<< 'touch PWN'", "echo 'touch PWN' | bash", "echo touch PWN | bash -s", "printf 'touch PWN' | sh", "bash -c 'touch PWN'", "sh -c \"$x\"", "env touch PWN", "env -S 'touch PWN'", "env -S 'touch\\_PWN'", "hash -p /bin/touch ls", "shopt -s dotglob", "shopt -s nullglob", "IFS=o", "set -- 'a[$(touch PWN)]'", "(( $1 ))", "wait -n -p 'a[$(touch PWN)]'", "getopts a 'x[$(touch PWN)]'", "for v in a.txt l.txt; do cat $v; done", "for v in 'a[$(touch PWN)]'; do ((v)); done", "case $x in *) cat a.txt;; esac", "if true; then cat a.txt; fi", "while false; do touch PWN; done", "{ cat a.txt; }", "(cat a.txt)", "! cat a.txt", "coproc cat a.txt", "cat a.txt &", "mapfile x < a.txt", "type ls", "enable -n echo", "exit", "xargs touch < a.txt", "nice touch PWN", "timeout 1 touch PWN", "nohup cat a.txt", "setarch -R touch PWN", "setsid touch PWN",
	"{ bash; } <<< 'touch PWN'", "while bash; do break; done <<< 'touch PWN'", "exec <<< 'touch PWN'", "bash", "sh", "bash -s", "cat a.txt | bash", "tail -1 a.txt | sh", "xargs -I{} sh -c '{}' < a.txt", "xargs -I % % < a.txt", "xargs sh -c < a.txt", "xargs env < a.txt", "echo touch PWN | xargs", "echo touch PWN | xargs env", "xargs -a a.txt -L1 nice", "echo PWN | xargs -n1 touch", "find . -exec sh -c 'touch PWN' \\;", "find a.txt -exec env {} \\;", "set -- touch PWN", "\"$@\"", "f() { bash; }", "f <<< 'touch PWN'",
	"awk '{print}' a.txt | sh", "sed -n '3p' a.txt | sh", "sed -n '3e' a.txt", "read -r l < l.txt", "echo ${l}", "a=(touch PWN)", "${a[@]}", "${a[0]} PWN", "select v in a; do break; done", "until true; do touch PWN; done", "function g { touch PWN; }", "g", "unset -f ls", "declare -f f", "command -v ls", "command -p touch PWN", "exec 3< a.txt", "cat <&3", "exec 3<<< 'touch PWN'", "bash <&3", "bash /dev/fd/3", "source /dev/fd/3", ". <(echo touch PWN)", "bash <(echo touch PWN)", "eval \"$(cat a.txt)\"", "eval \"`tail -1 a.txt`\"", "x=$(tail -1 a.txt)", "echo $x | sh", "printf '%s' \"$x\" | sh", "[ -v 'a[$(touch PWN)]' ]", "echo $[ 'a[$(touch PWN)]' ]", "for ((i=0; i<'a[$(touch PWN)]'; i++)); do :; done", "a['$(touch PWN)']=1", "a=(['$(touch PWN)']=1)", "declare -a 'a=([$(touch PWN)]=1)'", "declare -A m=(['$(touch PWN)']=1)", "export 'a[$(touch PWN)]=1'", "readonly -a 'b=($(touch PWN))'", "declare 'b=($(touch PWN))'", "declare -a 'b=($(touch PWN))'", "local 'b=($(touch PWN))'", "typeset -n q='a[$(touch PWN)]'", "q=1", "echo $q", "test \"$(touch PWN)\"", "ls \"${x:=$(touch PWN)}\"", "echo ${x:'a[$(touch PWN)]'}", "echo ${x:0:'a[$(touch PWN)]'}", "echo ${a[\"\\$(touch PWN)\"]}",
}

var joints = []string{"; ", " && ", " || ", " | ", "\n", " |& "}

// command makes one command line.
func (g generator) command() string {
	switch g.IntN(12) {
	case 0, 1, 2:
		return g.sed()
	case 3, 4:
		return g.pick([]string{"awk", "gawk", "mawk"}) + " " + single(g.join(awkParts, 9, g.pick([]string{"", " "}))) + " " + g.pick(files)
	case 5:
		return g.jq()
	case 6:
		return "find " + g.join(findParts, 6, " ")
	case 7:
		return "git " + g.join(gitParts, 5, " ")
	}
	parts := make([]string, 1+g.IntN(4))
	for i := range parts {
		parts[i] = g.simple()
	}
	out := parts[0]
	for _, p := range parts[1:] {
		out += g.pick(joints) + p
	}
	return out
}

func (g generator) sed() string {
	text := g.join(sedParts, 7, g.pick([]string{"", "", "\n", ";", " "}))
	switch g.IntN(6) {
	case 0:
		return "sed -n -e " + single(text) + " -e " + single(g.join(sedParts, 3, "")) + " " + g.pick(files)
	case 1:
		return "sed " + g.pick([]string{"-n", "-E", "-s", "-i", "-z", "-i.bak", "--posix", "-f a.txt", "-n -r", "--sandbox"}) + " " + single(text) + " " + g.pick(files)
	}
	return "sed " + single(text) + " " + g.pick(files)
}

func (g generator) jq() string {
	out := "jq "
	if g.IntN(2) == 0 {
		out += g.pick(jqOptions) + " "
	}
	return out + single(g.join(jqParts, 7, g.pick([]string{"", "", " "}))) + " " + g.pick([]string{"data.json", "data.json", "out/data.json", "l.txt", "-n data.json", "data.json --args env"})
}

func (g generator) simple() string {
	if g.IntN(3) == 0 {
		return g.pick(builtins) + " " + g.pick(redirections)
	}
	out := g.pick(readers)
	for range 1 + g.IntN(2) {
		if g.IntN(2) == 0 {
			out += " " + g.pick(files)
		} else {
			out += " " + g.pick(words)
		}
	}
	if strings.HasPrefix(out, "[ ") {
		out += " ]"
	}
	return out + " " + g.pick(redirections)
}
