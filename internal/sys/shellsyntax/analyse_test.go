package shellsyntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns the canonical text of every command of the account, wrappers cmdline.Peeled.
func names(a *Account) []string {
	var out []string
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Kind == Command {
			out = append(out, p.Canonical(p.Forms[len(p.Forms)-1].At))
		}
	}
	return out
}

func TestPartsAnywhere(t *testing.T) {
	for _, text := range []string{
		"cd a && rm x", "ls; rm x", "true | rm x", "(rm x)", "{ rm x; }", "if :; then rm x; fi", "echo $(rm x)", "echo `rm x`",
		"cat <(rm x)", "f(){ rm x; }; f", "rm x &", "ls\nrm x", "! rm x", "time rm x", "time -p rm x", "coproc rm x", "coproc N { rm x; }",
		"while :; do rm x; done", "until rm x; do :; done", "for i in a; do rm x; done", "for i in $(rm x); do :; done", "select i in a; do rm x; done",
		"case a in a) rm x;; esac", "case $(rm x) in a) :;; esac", "[[ $(rm x) ]]", "echo \"$(rm x)\"", "cat <<E\n$(rm x)\nE", "cat <<<$(rm x)",
		"echo $((1+$(rm x)))", "a[$(rm x)]=1", "a=(1 $(rm x))", "echo ${a:-$(rm x)}", "echo ${a/b/$(rm x)}", "echo ${a:$(rm x)}", "x=$(rm x)",
		"x=$(rm x) ls", "ls >$(rm x)", "ls > >(rm x)", "export A=$(rm x)", "let a=$(rm x)", "((a=$(rm x)))", "trap 'rm x' EXIT", "eval rm x", "eval 'rm x'",
		"sh -c 'rm x'", "bash -lc 'rm x'", "bash -c -- 'rm x'", "bash -o pipefail -c 'rm x'", "sh <<E\nrm x\nE", "sh <<<'rm x'", "su -c 'rm x' u", "su u -c 'rm x'",
		"script -qc 'rm x' /dev/null", "flock l -c 'rm x'", "flock l rm x", "env -S 'rm x'", "env -S'rm x'", "env -i A=1 rm x", "env -u A rm x", "A=1 rm x", "timeout 5 rm x", "timeout -k 1 5 rm x",
		"timeout --signal=KILL 5 rm x", "nohup rm x", "nice -n 5 rm x", "nice -5 rm x", "stdbuf -o0 rm x", "command rm x", "builtin rm x", "exec rm x", "exec -a n rm x",
		"sudo rm x", "sudo -u u rm x", "sudo -u u -- rm x", "sudo A=1 rm x", "doas -u u rm x", "xargs rm x", "xargs -n1 rm x", "xargs -I {} rm x", "find . -exec rm x ;", "find . -exec rm x \\; -print", "find . -ok rm x \\;",
		"setsid rm x", "ionice -c3 rm x", "ionice -c 3 rm x", "chrt 1 rm x", "taskset 1 rm x", "chroot /d rm x", "unshare -r rm x", "nsenter -t 1 rm x", "strace -o f rm x", "watch rm x", "watch -n 1 'rm x'", "busybox rm x", "parallel rm x ::: a",
		"npx rm x", "npx -y rm x", "uvx rm x", "pipx run rm x", "devbox run rm x", "mise exec -- rm x", "direnv exec . rm x", "nix develop -c rm x", "nix-shell --run 'rm x'", "poetry run rm x", "uv run rm x",
		"docker exec c rm x", "docker exec -it -u 0 c rm x", "docker run --rm -v /a:/b img rm x", "kubectl exec p -- rm x", "npm exec -- rm x", "git bisect run rm x", "git submodule foreach 'rm x'", "git rebase -x 'rm x' main",
		"timeout 5 nice nohup sudo env A=1 rm x", "sh -c 'sh -c \"rm x\"'", "alias a='rm x'", "\\rm x", "'rm' x", "r\"\"m x", "$'\\x72m' x", "{rm,x}", "r\\\nm x", "rm\t\tx", "ls #\\\nrm x", "xargs sh -c 'rm x'",
	} {
		a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
		if len(a.Problems) > 0 {
			t.Errorf("%q: %v", text, a.Problems)
		}
		found := false
		for _, n := range names(a) {
			found = found || strings.HasPrefix(n, "rm x")
		}
		if !found {
			t.Errorf("%q: no part is rm x: %q", text, names(a))
		}
	}
}

func TestTextIsNoProgram(t *testing.T) {
	for _, text := range []string{"echo '$(rm x)'", `echo "\$(rm x)"`, "cat <<'E'\n$(rm x)\nE", "cat <<\\E\n$(rm x)\nE", "ls # rm x", "grep 'rm x' f", "git commit -m 'rm x; rm x'"} {
		for _, n := range names(Analyse(text, Options{Cwd: "/p"})) {
			if strings.HasPrefix(n, "rm") {
				t.Errorf("%q: found %q", text, n)
			}
		}
	}
}

func TestUnknownPrograms(t *testing.T) {
	for _, text := range []string{"$X a", "`a` b", "r? x", "/b*/rm x", "r{m,$x}", "eval \"$X\"", "sh -c \"$X\"", "env $X", "sudo $X y", "echo ${x@P}", "echo ${!x}", "test -v 'a[$(id)]'", "printf -v 'a[1]' x", "trap \"$X\" EXIT", "xargs $X"} {
		a := Analyse(text, Options{Cwd: "/p"})
		if len(a.Parts) == 0 || len(a.Parts[0].Unknown) == 0 {
			t.Errorf("%q: nothing unknown in it", text)
		}
	}
}

func TestWordValues(t *testing.T) {
	for text, want := range map[string][]string{
		`a 'b c' "d e"`:         {"a", "b c", "d e"},
		`a \{b,c\} {d,e}f`:      {"a", "{b,c}", "df", "ef"},
		`a {1..3} {b..a}`:       {"a", "1", "2", "3", "b", "a"},
		`a $'\t\x41\101\u00e9'`: {"a", "\tAAé"},
		`a "" ''`:               {"a", "", ""},
		`a "\$b\c\\"`:           {"a", `$b\c\`},
		`a [`:                   {"a", "["},
		`a {b} {,}`:             {"a", "{b}", "", ""},
		`a {{b,c},d}`:           {"a", "b", "c", "d"},
		`a {01..03}`:            {"a", "01", "02", "03"},
	} {
		p := Analyse(text, Options{Cwd: "/p"}).Parts[0]
		var got []string
		for i := range p.Words {
			if !p.Words[i].Static() {
				t.Errorf("%q: word %d is not static", text, i)
			}
			got = append(got, p.Words[i].Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// uses lists what a command touches as "intent path".
func uses(text string) []string {
	a := Analyse(text, Options{Cwd: "/p", Home: "/h"})
	var out []string
	for i := range a.Parts {
		for _, u := range a.Parts[i].Uses {
			mark := map[Intent]string{Read: "r ", Enter: "c ", Write: "w ", Delete: "d "}[u.Intent] + u.Path
			for _, m := range []struct {
				on   bool
				text string
			}{{u.Glob, " glob"}, {u.Unknown, " unknown"}, {u.Unbased, " unbased"}, {u.Below, " below"}} {
				if m.on {
					mark += m.text
				}
			}
			out = append(out, mark)
		}
	}
	return out
}

func TestUses(t *testing.T) {
	for text, want := range map[string][]string{
		"cat a b":                               {"r /p/a", "r /p/b"},
		"cat ~/a $HOME/b ${HOME}/c \"$HOME/d\"": {"r /h/a", "r /h/b", "r /h/c", "r /h/d"},
		"cat $X/a":                              {"r /a unknown"},
		"cat *.go":                              {"r /p/*.go glob"},
		"grep -rn x a":                          {"r /p/a below"},
		"grep -e x a":                           {"r /p/a"},
		"grep -f p a":                           {"r /p/p", "r /p/a"},
		"grep -nf p a":                          {"r /p/p", "r /p/a"},
		"rm -rf a b/":                           {"d /p/a below", "d /p/b below"},
		"cp a b":                                {"r /p/a", "w /p/b", "w /p/b/a"},
		"cp -t d a":                             {"r /p/a", "w /p/d", "w /p/d/a"},
		"cp --target-dir=d a":                   {"r /p/a", "w /p/d", "w /p/d/a"},
		"mv a b":                                {"w /p/a below", "w /p/b", "w /p/b/a"},
		"tee -a a":                              {"w /p/a"},
		"dd if=a of=b":                          {"r /p/a", "w /p/b"},
		"touch -r a b":                          {"r /p/a", "w /p/b"},
		"chmod +x a":                            {"w /p/a"},
		"sed -i s/a/b/ f":                       {"w /p/f"},
		"sed -n 1p f":                           {"r /p/f"},
		"sed 's/a/b/w o' f":                     {"w /p/o", "r /p/f"},
		"sort -o a b":                           {"w /p/a", "r /p/b"},
		"sort --outp=a b":                       {"w /p/a", "r /p/b"},
		"curl -o a https://h/b":                 {"w /p/a"},
		"curl -O https://h/x/b":                 {"w /p/b"},
		"curl -d @a -F f=@b https://h":          {"r /p/a", "r /p/b"},
		"curl file:///etc/x":                    {"r /etc/x"},
		"tar czf a.tgz d":                       {"w /p/a.tgz", "r /p/d below"},
		"tar xf a.tgz -C d":                     {"r /p/a.tgz", "w /p/d"},
		"ls > a 2>&1 < b":                       {"w /p/a", "r /p/b"},
		"ls >/dev/null 2>/dev/stderr":           nil,
		"cd a && cat b":                         {"c /p/a", "r /p/a/b"},
		"cd a; cat b":                           {"c /p/a", "r /p/a/b", "r /p/b"},
		"(cd a); cat b":                         {"c /p/a", "r /p/b"},
		"cd $X && cat b":                        {"c  unknown unbased", "r /p/b unbased"},
		"cd a && cd .. && cat b":                {"c /p/a", "c /p", "r /p/b"},
		"cd a || cat b":                         {"c /p/a", "r /p/b"},
		"find a -name x":                        {"r /p/a"},
		"find / -delete":                        {"r /", "d / below"},
		"> a":                                   {"w /p/a"},
		"{ ls; } > a":                           {"w /p/a"},
		"git -C a status":                       {"c /p/a"},
		"git log --output=a":                    {"w /p/a"},
		"cat <<E > a\nx\nE":                     {"w /p/a"},
		"rsync a h:b":                           {"r /p/a below"},
		"xargs rm":                              {"d  unknown unbased"},
	} {
		if diff := cmp.Diff(want, uses(text)); diff != "" {
			t.Errorf("%q (-want +got): %s", text, diff)
		}
	}
}

func TestCanonicalKeepsPrefixes(t *testing.T) {
	if got := Canonical("a b'c"); got != `a\ b\'c` {
		t.Error(got)
	}
	if !strings.HasPrefix(Canonical("https://h/?q=1"), Canonical("https://h/")) {
		t.Error("a prefix of a value is no prefix of its spelling")
	}
}
