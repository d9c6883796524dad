package shellsyntax

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// findReader describes a find command.
type findReader struct{ *describer }

// read reads the expression of find: starting points, tests, and the actions that do something.
func (d findReader) read() {
	i := d.at + 1
	var starts []int
	from, follows := len(d.p.Uses), false
	for ; i < len(d.words); i++ {
		v := d.words[i].Value
		if len(starts) == 0 && v == "-D" {
			i++
			continue
		}
		if v == "-L" {
			follows = true
			d.not("-L follows links")
			continue
		}
		if strings.HasPrefix(v, "-") || v == "(" || v == "!" || v == ")" || v == "," {
			if v == "-H" || v == "-P" || strings.HasPrefix(v, "-O") {
				continue
			}
			break
		}
		starts = append(starts, i)
	}
	d.each(starts, Read)
	if len(starts) == 0 {
		d.w.addUse(d.p, d.st, &Word{Text: ".", Value: ".", Prefix: 1, Flags: expand.Static}, ".", Read, false)
	}
	starting := len(d.p.Uses)
	for i < len(d.words) {
		follows = follows || d.words[i].Value == "-follow"
		i = d.findPredicate(i, starts)
	}
	if follows {
		d.follow(from, starting)
	}
}

func (d findReader) findPredicate(i int, starts []int) int {
	w := &d.words[i]
	name := w.Value
	if !w.Static() {
		d.runsProgram("has a word that is only known at run time and may be an action")
		return i + 1
	}
	if n, ok := cmdline.FindTest(name); ok {
		if i+1 < len(d.words) && (name == "-samefile" || strings.HasSuffix(name, "newer") || strings.HasPrefix(name, "-newer") && !strings.HasSuffix(name, "t")) {
			d.operand(i+1, Read)
		}
		d.narrowed = d.narrowed || (n > 0 && name != "-maxdepth" && name != "-mindepth" && name != "-D")
		return i + 1 + n
	}
	switch name {
	case "-exec", "-execdir", "-ok", "-okdir":
		d.runsProgram(name + " runs a program")
		end := i + 1
		for end < len(d.words) && d.words[end].Value != ";" && !(d.words[end].Value == "+" && d.words[end-1].Value == "{}") {
			end++
		}
		d.innerWords(d.words[i+1 : end])
		d.innerRemoval(d.words[i+1:end], starts)
		return end + 1
	case "-delete":
		d.runsProgram("-delete removes files")
		d.innerDelete(starts)
		return i + 1
	case "-fprint", "-fprint0", "-fls", "-fprintf":
		d.runsProgram(name + " writes a file")
		if i+1 < len(d.words) {
			d.operand(i+1, Write)
		}
		if name == "-fprintf" {
			return i + 3
		}
		return i + 2
	case "-files0-from":
		d.not("-files0-from names its starting points in a file")
		if i+1 < len(d.words) {
			d.operand(i+1, Read)
		}
		return i + 2
	case "-L", "-follow":
		d.not(name + " follows links")
		return i + 1
	}
	d.not(name + " is not on the list of tests of find")
	return i + 1
}

// innerWords notes a program given as words. A "{}" in them stands for a path that is only known at
// run time.
func (d *describer) innerWords(words []Word) {
	if len(words) == 0 {
		return
	}
	out := make([]Word, len(words))
	copy(out, words)
	for i := range out {
		if i > 0 && strings.Contains(out[i].Value, "{}") {
			v := strings.ReplaceAll(out[i].Value, "{}", "")
			out[i] = Word{Text: out[i].Text, Canon: out[i].Canon, Value: v, Prefix: strings.Index(out[i].Value, "{}"), Flags: expand.Unknown | expand.Selected}
		}
	}
	d.w.pending = append(d.w.pending, pendingInner{words: out, st: d.st})
}

// innerRemoval notes the removal of the starting points themselves, which "-exec rm -r {}" without a
// test begins with.
func (d findReader) innerRemoval(words []Word, starts []int) {
	if d.narrowed || len(words) < 2 || (words[0].Text != "rm" && words[0].Text != "/bin/rm" && words[0].Text != "rmdir") {
		return
	}
	d.innerDelete(starts)
}

// innerDelete notes what -delete does as the removal it is.
func (d findReader) innerDelete(starts []int) {
	words := []Word{expand.Fixed("rm"), expand.Fixed("-r")}
	if d.narrowed {
		words = append(words, Word{Text: "(what find selects)", Canon: "{}", Flags: expand.Unknown | expand.Selected})
		starts = nil
	}
	for _, i := range starts {
		words = append(words, d.words[i])
	}
	if len(starts) == 0 && !d.narrowed {
		words = append(words, expand.Fixed("."))
	}
	d.w.pending = append(d.w.pending, pendingInner{words: words, st: d.st})
}
