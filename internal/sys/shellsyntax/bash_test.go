package shellsyntax

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stubLog is set in processes that this test binary starts under the names of other programs: they
// do nothing but write down how they were called.
const stubLog = "SHELLSYNTAX_STUB_LOG"

func TestMain(m *testing.M) {
	if log := os.Getenv(stubLog); log != "" {
		os.Exit(runStub(log))
	}
	os.Exit(m.Run())
}

func runStub(log string) int {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 3
	}
	args := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	if _, err := fmt.Fprintf(f, "%q\n", args); err != nil {
		return 3
	}
	if f.Close() != nil {
		return 3
	}
	return 0
}

// TestAgainstBash has a real bash run random command lines with programs that only write down how they
// were called, and looks whether the account knew of every call.
func TestAgainstBash(t *testing.T) {
	runs := 80
	if testing.Short() {
		runs = 20
	}
	if n := os.Getenv("SHELLSYNTAX_RUNS"); n != "" {
		fmt.Sscan(n, &runs)
	}
	seed := uint64(1)
	if n := os.Getenv("SHELLSYNTAX_SEED"); n != "" {
		fmt.Sscan(n, &seed)
	}
	r := newBashRunner(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	ran := 0
	for range runs {
		text := randomLine(rng)
		calls := r.run(text)
		ran += len(calls)
		for _, c := range calls {
			if !known(Analyse(text, Options{Cwd: r.dir, Home: r.dir}), c) {
				t.Errorf("bash ran %q, which the account of %q does not have", c, text)
			}
		}
	}
	if ran < runs/4 {
		t.Errorf("bash ran only %d programs in %d lines: the lines are not worth much", ran, runs)
	}
}

// TestBashCorners does the same with lines that tools have read differently from bash.
func TestBashCorners(t *testing.T) {
	r := newBashRunner(t)
	for _, text := range []string{
		"foo #\\\nrm x", "foo \\#\\\nrm x", "foo a#b; rm x", "echo `foo \\`rm x\\``", "foo <<E\nE\nrm x", "foo <<'E E'\na\nE E\nrm x", "foo <<-E\n\ta\n\tE\nrm x",
		"foo <<E\\\nE\nx\nEE\nrm y", "foo $'a\\'b'; rm x", "foo $'a\\0b' c", "r\"\"m x", "{rm,-f,x}", "rm {a,b}{c,d}", "rm a{1..3}", "rm $((1+2))", "x=1 rm y", "x=(1 2); rm ${x[1]}",
		"[[ a = a ]] && rm x", "((1)) && rm x", "if foo; then rm x; fi", "case a in b) foo;; a) rm x;& c) rm y;; esac", "for i in a b; do rm $i; done", "while foo; do rm x; break; done",
		"f() { rm x; }; f", "function f { rm x; }; f", "f() (rm x); f", "time rm x", "time -p rm x", "! rm x", "coproc rm x; wait", "rm x &\nwait", "rm a | rm b |& rm c", "(rm x)", "{ rm x; }",
		"eval 'rm x'", "eval rm x", "eval 'eval \"rm x\"'", "trap 'rm x' EXIT", "exec rm x", "command rm x", "foo <(rm x)", "foo \"$(rm x)\"", "foo \"`rm x`\"", "foo ${a:-$(rm x)}", "foo \"${a:-\"$(rm x)\"}\"",
		"foo $(( $(rm x; echo 1) ))", "a[$(rm x; echo 1)]=2", "foo >$(rm x; echo o)", "foo <<<$(rm x)", "foo <<E\n$(rm x)\nE", "foo <<E\n\\$(rm x)\nE", "foo '$(rm x)'", "foo a\\\nb", "rm\tx", "rm x;foo", "rm 'a\nb'",
		"shopt -s extglob\nrm @(a|b)", "let 'a=1'; rm x", "export A=$(rm x)", "declare -a b=($(rm x))", "foo ${#a} ${a#b} ${a//b/$(rm x)}", "rm ~ ~/x ~nobody/y", "rm \\~ '~'", "$'\\x{72m' x", "$'\\x{72}m' x", "foo $'\\x{0041}\\c?\\cA\\c\\\\z'", "rm *", "rm 'a*'", "rm $HOME/x", "foo $\"rm\"",
		"alias g='rm x'\nfoo", "printf x | while read l; do rm $l; done", "set -- a b; rm \"$@\"", "foo && { rm x; } || rm y", "if ! foo; then rm x; else rm y; fi", "until foo; do rm x; done", "select i in a; do rm $i; break; done <<<1",
		"foo ;\n\n# c\nrm x # d", "foo \\; rm x", "foo 2>&1 >o; rm x", "foo &>o; rm x", "foo >|o; rm x", "foo {fd}>o; rm x", "rm -- -x", "foo \"a\\\"b; rm x\"", "foo 'a'\\''b'; rm x", "foo $(echo a; rm x)", "foo $(echo a) \\\n && rm x",
	} {
		for _, c := range r.run(text) {
			if !known(Analyse(text, Options{Cwd: r.dir, Home: r.dir}), c) {
				t.Errorf("bash ran %q, which the account of %q does not have", c, text)
			}
		}
	}
}

type bashRunner struct {
	t              *testing.T
	bash, dir, log string
	bin            string
	n              int
}

func newBashRunner(t *testing.T) *bashRunner {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("this test needs bash: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	r := &bashRunner{t: t, bash: bash, dir: filepath.Join(root, "work"), bin: filepath.Join(root, "bin"), log: filepath.Join(root, "log")}
	for _, d := range []string{r.dir, r.bin} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rm", "foo", "ls", "git"} {
		if err := os.Symlink(self, filepath.Join(r.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// run returns the calls the text made.
func (r *bashRunner) run(text string) [][]string {
	r.t.Helper()
	r.n++
	log := fmt.Sprintf("%s.%d", r.log, r.n) // one for each line: a job in the background may write late
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Second)
	defer cancel()
	// A random line may call a function from inside itself, in as many subshells: its depth is
	// bounded, and whatever it started is ended with it.
	cmd := exec.CommandContext(ctx, r.bash, "--norc", "--noprofile", "-c", "FUNCNEST=3\n"+text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + r.bin, "HOME=" + r.dir, stubLog + "=" + log, "GORACE=atexit_sleep_ms=0"}
	cmd.WaitDelay = time.Second
	defer func() {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually nobody is left
		}
	}()
	_ = cmd.Run() // most random lines fail in one way or another; what they started is all that counts
	data, err := os.ReadFile(log)
	if err != nil {
		r.t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		var call []string
		rest := strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "[]"))
		for rest != "" {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				r.t.Fatalf("read the log: %v in %q", err, line)
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				r.t.Fatal(err)
			}
			call, rest = append(call, word), strings.TrimSpace(rest[len(quoted):])
		}
		out = append(out, call)
	}
	return out
}

// known tells whether an account has a part for a call, or says that it does not know.
func known(a *Account, call []string) bool {
	for _, p := range a.Problems {
		return p.Kind != Internal
	}
	for i := range a.Parts {
		p := &a.Parts[i]
		if len(p.Unknown) > 0 {
			return true
		}
		for _, f := range p.Forms {
			if wordsFit(p.Words[f.At:], call) {
				return true
			}
		}
	}
	return false
}

// wordsFit compares words with what a program got. A word that is not static may stand for any number
// of words.
func wordsFit(words []Word, call []string) bool {
	if len(words) == 0 {
		return len(call) == 0
	}
	if !words[0].Static() {
		for n := 0; n <= len(call); n++ {
			if wordsFit(words[1:], call[n:]) {
				return true
			}
		}
		return false
	}
	return len(call) > 0 && (words[0].Text == call[0] || filepath.Base(words[0].Text) == call[0]) && wordsFit(words[1:], call[1:])
}

// randomLine makes a line that is often valid: pieces of a small grammar, sometimes broken by noise.
func randomLine(rng *rand.Rand) string {
	g := lineMaker{rng: rng}
	text := g.list(3)
	if rng.IntN(3) == 0 {
		noise := []string{"#", "\\\n", "\\", "'", "\"", "`", "$(", ")", "{", "}", ";", "\n", "&", "|", " ", "$", "<<E\n", "\nE\n", "(", "!", "~", "*", "#\\\n"}
		at := rng.IntN(len(text) + 1)
		text = text[:at] + noise[rng.IntN(len(noise))] + text[at:]
	}
	return text
}

type lineMaker struct{ rng *rand.Rand }

func (g lineMaker) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

func (g lineMaker) list(depth int) string {
	out := g.command(depth)
	for g.rng.IntN(3) == 0 {
		out += g.pick("; ", " && ", " || ", " | ", "\n", " & ", " |& ", " ;\n") + g.command(depth)
	}
	return out
}

func (g lineMaker) command(depth int) string {
	if depth <= 0 || g.rng.IntN(3) > 0 {
		return g.simple(depth)
	}
	inner := g.list(depth - 1)
	switch g.rng.IntN(14) {
	case 0:
		return "(" + inner + ")"
	case 1:
		return "{ " + inner + "\n}"
	case 2:
		return "if " + g.simple(0) + "; then " + inner + "\nfi"
	case 3:
		return "for i in a b; do " + inner + "\ndone"
	case 4:
		return "case " + g.pick("a", "b") + " in a) " + inner + "\n;; *) " + g.simple(0) + ";; esac"
	case 5:
		return "f() { " + inner + "\n}; f"
	case 6:
		return "! " + g.simple(depth-1)
	case 7:
		return "time " + g.simple(depth-1)
	case 8:
		return "while " + g.simple(0) + "; do " + inner + "\nbreak; done"
	case 9:
		return "eval " + g.pick("'", "\"") + g.simple(0) + g.pick("'", "\"")
	case 10:
		return "[[ -n " + g.word(depth-1) + " ]]"
	case 11:
		return "a=" + g.word(depth-1) + " " + g.simple(depth-1)
	case 12:
		return "foo <<" + g.pick("E", "'E'", "-E", "\\E", "\"E\"") + "\n" + g.pick("text", "$("+g.simple(0)+")", "`"+g.simple(0)+"`", "'", "\"", "\\$(rm h)", "a\\") + "\n" + g.pick("", "\t") + "E\n" + g.simple(0)
	}
	return "exec " + g.simple(0)
}

func (g lineMaker) simple(depth int) string {
	out := g.pick("rm", "foo", "ls", "'rm'", "r\\m", "r\"m\"", "$'rm'", "git", "\\rm", "r''m", "command rm", "{rm,x}", "$'\\x72m'", "r\\\nm")
	for range g.rng.IntN(4) {
		out += g.pick(" ", "  ", "\t", " \\\n ") + g.word(depth)
	}
	if g.rng.IntN(6) == 0 {
		out += g.pick(" >o", " 2>&1", " </dev/null", " >>o", " &>o", " <<<x", " 3>&1")
	}
	if g.rng.IntN(12) == 0 {
		out += g.pick(" # c", " #'", " # \"", " #\\")
	}
	return out
}

func (g lineMaker) word(depth int) string {
	if depth > 0 && g.rng.IntN(3) == 0 {
		inner := g.list(depth - 1)
		return g.pick("$("+inner+"\n)", "\"$("+inner+"\n)\"", "<("+inner+"\n)", "${u:-$("+inner+"\n)}", "\"${u:-\"$("+inner+"\n)\"}\"")
	}
	return g.pick("x", "-rf", "'a b'", "\"c d\"", "e\\ f", "$u", "\"$u\"", "~", "*", "{g,h}", "$'i\\tj'", "#k", "l#m", "a=b", "\"n\\\"o\"", "'p'\\''q'", "$((1+2))", "\\;", "\"\\$(rm z)\"", "'$(rm z)'", "--", "$HOME/r", "\"#\"", "\\#", "s\\\nt", "`rm v`", "[ab]", "?", "''")
}
