package options

import (
	"strings"
	"sync"
)

// Nature says what a program does with words that name other programs.
type Nature uint8

// The natures. Of a program that the table lists with its options, these say which words are run; of any other, nothing
// is known, so that each of its words may be.
const (
	Unlisted Nature = iota
	Code            // what it is given is a program in a language of its own, which may name others
	Words           // each of its words may name a program that it runs
	Texts           // words that are more than a name, and those behind "--", may be commands
	Quiet           // it runs nothing that its words name
)

// natureLines name programs by their nature. Code are interpreters, editors, debuggers and clients of databases; Words are programs
// of the other tables whose options or operands of any kind may hold a command; Quiet are programs whose operands are packages, units,
// devices and their like.
const natureLines = `
code python pypy perl raku ruby jruby irb pry node nodejs deno bun php lua luajit tclsh wish expect osascript Rscript R r littler julia groovy groovysh scala amm kotlin kotlinc jshell
code elixir iex erl escript ghc ghci runghc runhaskell stack guile racket gracket sbcl clisp ecl clojure clj bb lein janet fennel nim nimble crystal swift dart zig vlang ocaml utop
code octave octave-cli matlab scilab gnuplot maxima gp sage m4 pwsh powershell nu xonsh elvish ion osh ysh ipython ipython3 bpython ptpython jupyter forth gforth io factor
code vim vi nvim ex gvim rvim view rview vimdiff emacs emacsclient kak helix ed red joe jed mg gdb lldb dlv pdb jdb radare2 r2 rizin rz
code psql mysql mariadb sqlite3 sqlite duckdb mongosh mongo sqlplus usql clickhouse-client ftp lftp tnftp bc dc crontab bind
words socat less more most lesspipe rustc java javac su open xdg-open start-stop-daemon coreutils
texts aws gcloud az
quiet apt apt-get apt-cache aptitude dpkg dnf yum zypper pacman apk brew port rpm systemctl service launchctl
quiet redis-cli tldr info apropos whatis type which whereis hash kill killall pkill pgrep pidof adduser useradd usermod groupadd
`

var natures = sync.OnceValue(func() map[string]Nature {
	kinds := map[string]Nature{"code": Code, "words": Words, "texts": Texts, "quiet": Quiet}
	out := map[string]Nature{}
	for line := range strings.SplitSeq(strings.TrimSpace(natureLines), "\n") {
		kind, programs, _ := strings.Cut(line, " ")
		for name := range strings.FieldsSeq(programs) {
			out[name] = kinds[kind]
		}
	}
	return out
})

// NatureOf returns what is known of a program. A version at the end of its name is left out.
func NatureOf(program string) Nature {
	if n, ok := natures()[program]; ok {
		return n
	}
	if n, ok := natures()[strings.TrimRight(program, "0123456789.-_")]; ok && n == Code {
		return n
	}
	return Unlisted
}

// IsShell tells the programs that read shell text.
func IsShell(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "yash", "fish", "csh", "tcsh", "busybox-sh":
		return true
	}
	return false
}

// ReadsText tells whether a program reads one of its arguments, or all of them joined, as a program: a shell, an interpreter, or one that
// has a shell run its words. code are the letters of the options whose value is such a text.
func ReadsText(program string) (code string, joins, reads bool) {
	if w, known := FindWrapper(program); w != nil || known {
		if w == nil {
			return "c", false, true
		}
		return w.Text + "c", w.Joined || w.Texts, w.Text != "" || w.Joined || w.Texts || len(w.TextLong) > 0
	}
	switch name := strings.TrimRight(program, "0123456789.-"); {
	case IsShell(program), name == "python", name == "pypy":
		return "c", false, true
	case name == "php":
		return "rBRE", false, true
	case name == "node":
		return "ep", false, true
	case NatureOf(program) == Code, strings.HasSuffix(name, "awk"), strings.HasSuffix(name, "sed"):
		return "ceE", false, true
	}
	return "", false, false
}
