package shellsyntax

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/awk"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/jq"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/sed"
)

// scripts returns the texts of a program's own language, given by options or as the first operand,
// and the operands that are left. A text that is only known at run time counts as executing.
func (d *describer) scripts(ops []int) ([]string, []int) {
	var texts []string
	given := false
	for _, o := range d.a.Options {
		switch o.Opt.Role {
		case options.Script:
			given = true
			texts = append(texts, o.Value)
			if !d.words[o.Word].Static() {
				d.runsProgram("has a script that is only known at run time")
			}
		case options.ScriptFile:
			given = true
		}
	}
	if !given && len(ops) > 0 {
		if !d.words[ops[0]].Static() {
			d.runsProgram("has a script that is only known at run time")
		}
		texts = append(texts, d.words[ops[0]].Value)
		ops = ops[1:]
	}
	if d.a.Maybe {
		d.runsProgram("has a word that may be an option")
	}
	return texts, ops
}

// sed notes what the scripts of a sed command do, and its files.
func (d *describer) sed(ops []int) {
	texts, ops := d.scripts(ops)
	if len(texts) == 1 && texts[0] == "" && len(ops) > 0 { // other seds take "-i ''": then this is the script
		texts = append(texts, d.words[ops[0]].Value)
	}
	// Several -e scripts are lines of one: a command may go over from one to the next.
	got := sed.Read(strings.Join(texts, "\n"))
	if got.Why != "" {
		tellAll(d)
		d.runsProgram("has a script that " + got.Why)
		d.w.late.runsOutside("sed has a script that " + got.Why)
	}
	for _, text := range got.Runs {
		if strings.TrimSpace(text) != "" {
			d.w.pendText(d, text, true)
		}
	}
	for _, f := range got.Writes {
		d.not("its script writes a file")
		d.p.Exec = append(d.p.Exec, "the script of sed writes "+f)
		d.named(f, Write)
	}
	for _, f := range got.Reads {
		d.not("its script reads another file")
		d.p.Exec = append(d.p.Exec, "the script of sed reads "+f)
		d.named(f, Read)
	}
	intent := Read
	if o, ok := d.hasRole(options.InPlace); ok {
		intent = Write
		d.addFromInput(Write)
		d.backups(o, ops)
	}
	d.each(ops, intent)
}

// named notes a file that a script names.
func (d *describer) named(file string, intent Intent) {
	d.w.addUse(d.p, d.st, &Word{Text: file, Value: file, Prefix: len(file), Flags: expand.Static}, file, intent, false)
}

// backups notes the copies that "sed -i SUFFIX" makes: a "*" in the suffix stands for the name of the
// file, and with a slash in it the copy lies elsewhere.
func (d *describer) backups(o cmdline.Arg, ops []int) {
	if o.Value == "" {
		return
	}
	for _, i := range ops {
		w := &d.words[i]
		dir, base := path.Split(w.Value)
		name := base + o.Value
		if strings.Contains(o.Value, "*") {
			name = strings.ReplaceAll(o.Value, "*", base)
		}
		if !strings.Contains(name, "/") {
			name = dir + name
		}
		copied := Word{Text: name, Value: name, Prefix: min(w.Prefix, len(name)), Flags: w.Flags}
		d.w.addUse(d.p, d.st, &copied, name, Write, false)
	}
}

// awk notes what the program of an awk command may do, and its files.
func (d *describer) awk(ops []int) {
	texts, ops := d.scripts(ops)
	for _, t := range texts {
		if why := awk.Danger(t); why != "" {
			tellAll(d)
			d.runsProgram("has a program that " + why)
			d.w.late.runsOutside("awk has a program that " + why)
		}
	}
	for _, o := range d.a.Options {
		if o.Name == "-v" || o.Name == "--assign" {
			d.awkVariable(o.Value)
		}
	}
	for _, i := range ops {
		if cmdline.IsAssignment(d.words[i].Value) {
			d.awkVariable(d.words[i].Value)
			continue
		}
		d.operand(i, Read)
	}
}

func (d *describer) awkVariable(text string) {
	if name, _, _ := strings.Cut(text, "="); !awk.SafeVariable(name) {
		d.runsProgram("sets " + name + ", by which awk does more than compute")
	}
}

// jqReader describes a jq command.
type jqReader struct{ *describer }

// read reads the command line of jq, whose options may stand anywhere and may take two words, then its
// filter and files.
func (d jqReader) read() {
	filter, rest := false, false
	for i := d.at + 1; i < len(d.words); i++ {
		w := &d.words[i]
		switch {
		case !w.Static() && w.MayBeOption():
			d.runsProgram("has a word that may be an option")
			d.operand(i, Read)
		case !rest && len(w.Value) > 1 && w.Value[0] == '-':
			if w.Value == "--args" || w.Value == "--jsonargs" { // what follows are no files any more
				d.not("jq " + w.Value + " is not followed")
			}
			rest = w.Value == "--"
			i = d.option(i, &filter)
		case !filter:
			filter = true
			if !w.Static() {
				d.runsProgram("has a filter that is only known at run time")
			} else if why := jq.Danger(w.Value); why != "" {
				d.runsProgram("has a filter that " + why)
			}
		default:
			d.operand(i, Read)
		}
	}
}

// option reads the option at word i and returns the index of the last word it takes.
func (d jqReader) option(i int, filter *bool) int {
	v := d.words[i].Value
	last := func(n int) int { return min(i+n, len(d.words)-1) }
	switch v {
	case "--compact-output", "--null-input", "--raw-output", "--raw-output0", "--join-output", "--ascii-output", "--slurp", "--sort-keys", "--color-output",
		"--monochrome-output", "--exit-status", "--raw-input", "--tab", "--seq", "--stream", "--stream-errors", "--unbuffered", "--args", "--jsonargs",
		"--version", "--help", "--build-configuration", "--":
		return i
	case "--indent":
		return last(1)
	case "--arg", "--argjson":
		return last(2)
	case "--slurpfile", "--rawfile", "--argfile":
		d.not("jq " + v + " reads another file")
		if i+2 < len(d.words) {
			d.operand(i+2, Read)
		}
		return last(2)
	case "-f", "--from-file":
		*filter = true
		d.runsProgram(v + " reads a filter whose text is not known")
		if i+1 < len(d.words) {
			d.operand(i+1, Read)
		}
		return last(1)
	}
	if strings.HasPrefix(v, "--") || strings.Trim(v[1:], "cnrjasSCMeRhV") != "" {
		d.runsProgram(v + " is not on the list of harmless options of jq")
	}
	return i
}
