package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/jq"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// describe fills in what the innermost program of a command does: uses, hosts, what it runs, and
// whether it only reads.
func (w *walker) describe(p *Part, st *dirs) {
	form := p.Forms[len(p.Forms)-1]
	d := describer{w: w, p: p, st: st, at: form.At, name: baseName(form.Name)}
	d.words = p.Words
	if form.Name == "" {
		p.WhyNot = "which program runs is only known at run time"
		return
	}
	if def, defined := w.functions[form.Name]; defined && inShell(p) {
		p.WhyNot = form.Name + " is a function or alias defined here"
		p.read.defined = true
		if def.opaque {
			p.Unknown = append(p.Unknown, p.WhyNot)
		}
		return
	}
	d.spec = options.Find(d.name)
	p.Known = d.spec != nil
	if w.piped {
		p.read.feed = [2]int32{int32(w.feed[0]), int32(w.feed[1])}
	}
	d.fromInput = p.FromInput(form)
	if d.fromInput && runsItsWords(d.name) {
		w.late.runsOutside("words from standard input are added to " + d.name + ", which may run them")
	}
	if d.spec == nil {
		w.describeRunners(p, st)
		p.WhyNot = d.name + " is not known to only read"
		if d.fromInput {
			d.runsProgram("gets words from standard input, which may be options and places")
		}
		return
	}
	p.FileTool = d.spec.FileTool || d.name == "sed"
	w.describeRunners(p, st)
	from := len(p.Uses)
	d.run()
	if far := w.acc.far(p); far || inContainer(p) { // its places are not those of this machine
		p.Uses = slices.DeleteFunc(p.Uses, func(u PathUse) bool {
			from--
			return from < 0 && (far && u.Intent != Delete || u.Intent == Read) && !u.Redirect
		})
	}
	d.added()
	d.finish(form)
}

// added judges the words that xargs and its kind add: they may be any option and any place, so only programs that take
// nothing but text are vouched for.
func (d *describer) added() {
	if !d.fromInput {
		return
	}
	if d.listed = d.readsListed(); d.listed {
		return
	}
	if !slices.ContainsFunc(d.p.Uses, func(u PathUse) bool { return u.Unbased && u.Intent != Read }) {
		d.addFromInput(Read)
	}
	if text := d.spec.Operands == "t" || d.spec.Operands == "0"; !text || d.spec.Runs {
		d.runsProgram("gets words from standard input, which may be options and places")
	}
}

// inContainer tells whether the innermost program runs in a container or on another machine.
func inContainer(p *Part) bool {
	last := p.Forms[len(p.Forms)-1]
	program, _, _ := strings.Cut(last.Wrapper, " ")
	switch program {
	case "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc", "incus", "vagrant", "heroku", "ddev":
		return last.Runner
	}
	return false
}

// describeRunners looks at the options of the runners around the innermost program, which may choose
// another machine or shell.
func (w *walker) describeRunners(p *Part, st *dirs) {
	for k := 1; k < len(p.Forms); k++ {
		if !p.Forms[k].Runner {
			continue
		}
		outer := p.Forms[k-1]
		d := describer{w: w, p: p, st: st, at: outer.At, name: baseName(outer.Name), words: p.Words[:p.Forms[k].At]}
		if d.spec = options.Find(d.name); d.spec == nil {
			continue
		}
		d.a = cmdline.Take(d.spec, d.words, d.at)
		d.spec = d.a.Spec
		d.options()
		if p.Remote() {
			d.urlOperands(d.a.Operands[:min(1, len(d.a.Operands))])
			d.sshOptions()
		}
	}
}

// describer works on one command.
type describer struct {
	w         *walker
	p         *Part
	st        *dirs
	spec      *options.Spec
	at        int // index of the program's own word
	name      string
	words     []Word
	a         cmdline.Args
	fromInput bool // xargs adds arguments that are only known at run time
	notRO     string
	recursive bool
	narrowed  bool // find has tests that select
	listed    bool // the words that xargs adds are names below known folders
	looks     bool // this form only looks, whatever the options were said to do
}

// FromInput tells whether a form of the part gets further words from standard input, by xargs or its kind.
func (p *Part) FromInput(form Form) bool {
	for _, f := range p.Forms[min(1, len(p.Forms)):] {
		if f.At > form.At {
			break
		}
		if strings.HasSuffix(f.Wrapper, "xargs") || f.Wrapper == "parallel" {
			return true
		}
	}
	return false
}

func (d *describer) run() {
	switch d.spec.Operands {
	case "git":
		gitReader{d}.read()
		return
	case "find":
		findReader{d}.read()
		return
	case "test":
		d.test()
		return
	case "printf":
		d.printf()
		return
	case "cd":
		return // the walk knows more
	case "dd":
		d.dd()
		return
	case "jq":
		jqReader{d}.read()
		return
	}
	d.a = cmdline.Take(d.spec, d.words, d.at)
	d.spec = d.a.Spec
	d.options()
	from := len(d.p.Uses)
	d.operands()
	if d.followsLinks() {
		if len(d.a.Operands) == 0 && len(d.p.Uses) == from {
			d.named(".", Read)
		}
		d.follow(from, len(d.p.Uses))
	}
	d.special()
}

// options goes through the options by their roles.
func (d *describer) options() {
	for _, o := range d.a.Options {
		if d.spec.Runs && runsValue(o) {
			d.tellOption(o)
		}
		if !o.Known {
			if !d.spec.Any {
				d.not(o.Name + " is not on the list of harmless options of " + d.name)
			}
			if d.spec.Runs && !(d.spec.Any && d.spec.ReadOnly) {
				d.runsProgram("has an option that is not on the list of harmless ones: " + o.Name)
			}
			continue
		}
		d.option(o)
	}
	if d.spec.Runs && d.a.Strange != "" {
		d.strange(strings.TrimSpace(d.a.Sub + " " + d.a.Strange))
	}
	if d.spec.Runs && d.a.Maybe {
		d.runsProgram("has a word that is only known at run time and may be an option")
	}
}

// strange notes a sub-command that nobody lists.
func (d *describer) strange(sub string) {
	for _, i := range d.a.Operands[min(1, len(d.a.Operands)):] {
		d.tell(i, 0)
	}
	d.not(d.name + " " + sub + " is not known to only read")
	d.p.Strange = d.name + " " + sub
}

// option notes what one known option does.
func (d *describer) option(o cmdline.Arg) {
	switch o.Opt.Role {
	case options.ReadsPath, options.PatternFile:
		d.use(o, Read)
	case options.ProgramFile:
		d.not(o.Name + " takes what is to be done from a file")
		d.use(o, Read)
		if isInput(o.Value) || !d.words[o.Word].Static() {
			d.runsProgram(o.Name + " takes what is to be done from standard input")
		}
	case options.NamesFile:
		d.not(o.Name + " takes names of files from a file")
		d.use(o, Read)
		d.p.Uses = append(d.p.Uses, PathUse{Text: "the files that " + o.Name + " lists", Intent: Read, Unknown: true, Unbased: true})
	case options.ConfigFile:
		d.use(o, Read)
		d.runsProgram(o.Name + " reads options from a file")
	case options.WritesPath:
		d.not(o.Name + " writes a file")
		d.use(o, Write)
	case options.Product:
		d.not(o.Name + " writes a file")
		from := len(d.p.Uses)
		d.use(o, Write)
		for k := from; k < len(d.p.Uses); k++ {
			d.p.Uses[k].Product = true
		}
	case options.Runs:
		d.runsProgram(o.Name + " runs a program")
	case options.Command:
		d.runsProgram(o.Name + " runs a program")
		d.w.pendText(d, strings.TrimPrefix(o.Value, "exec="), d.words[o.Word].Static())
	case options.Changes:
		d.not(o.Name + " does more than read")
	default:
		d.optionValue(o)
	}
}

// optionValue notes what an option does that neither runs nor writes by itself, or whose value needs a closer look.
func (d *describer) optionValue(o cmdline.Arg) {
	switch o.Opt.Role {
	case options.Recurses:
		d.recursive = true
	case options.Follows:
		d.recursive = true
		d.not(o.Name + " follows links")
	case options.ScriptFile:
		d.use(o, Read)
		d.runsProgram(o.Name + " reads a script whose text is not known")
	case options.MovesDir:
		d.not(o.Name + " works in another directory")
		d.use(o, Enter)
	case options.InPlace, options.WritesHere:
		d.not(o.Name + " writes files")
	case options.DataArg:
		if rest, ok := strings.CutPrefix(o.Value, "@"); ok {
			d.useValue(rest, o.Word, Read)
		} else if isCookie(o) && !strings.Contains(o.Value, "=") {
			d.use(o, Read)
		}
	case options.Mount:
		d.mount(o)
	case options.FormArg:
		d.formFiles(o)
	case options.Script:
		d.script(o)
	}
}

// formFiles notes the files of curl's -F: name=@file,file;type=…, in quotes or not.
func (d *describer) formFiles(o cmdline.Arg) {
	i := strings.IndexAny(o.Value, "@<")
	if i < 0 || i+1 >= len(o.Value) {
		return
	}
	rest, _, _ := strings.Cut(o.Value[i+1:], ";")
	for f := range strings.SplitSeq(rest, ",") {
		if f = strings.Trim(f, `"' `); f != "" {
			d.useValue(f, o.Word, Read)
		}
	}
}

// script judges the value of an option in a little language of its own; sed, awk, jq and the databases have readers.
func (d *describer) script(o cmdline.Arg) {
	switch d.name {
	case "curl": // -w: "@file" and %output{file}
		if strings.HasPrefix(o.Name, "--p") {
			if scheme := strings.ToLower(o.Value); scheme != "http" && scheme != "https" {
				d.runsProgram(o.Name + " may take an address for a file")
			}
			return
		}
		if rest, ok := strings.CutPrefix(o.Value, "@"); ok {
			d.useValue(rest, o.Word, Read)
		}
		for rest := o.Value; ; {
			_, after, ok := strings.Cut(rest, "%output{")
			if !ok {
				return
			}
			name, tail, _ := strings.Cut(after, "}")
			d.useValue(strings.TrimPrefix(name, ">>"), o.Word, Write)
			rest = tail
		}
	case "gh": // what --jq takes reads the environment like jq itself
		if why := jq.Danger(o.Value); why != "" || !d.words[o.Word].Static() {
			d.runsProgram(o.Name + " has a filter that may show the environment or more")
		}
	case "go":
		if !cmdline.HarmlessLinking(o.Value) || !d.words[o.Word].Static() {
			d.runsProgram(o.Name + " may name programs that run")
		}
	}
}

// isCookie tells curl's option for cookies, whose value names a file when it holds no "=".
func isCookie(o cmdline.Arg) bool { return o.Name == "-b" || o.Name == "--cookie" }

// isInput tells the names of standard input and of other files that are only open while a command runs.
func isInput(name string) bool {
	return name == "-" || name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

func (d *describer) not(why string) {
	if d.notRO == "" {
		d.notRO = why
	}
}

func (d *describer) runsProgram(why string) {
	d.not(d.name + " " + why)
	d.p.Exec = append(d.p.Exec, d.name+" "+why)
}

// use notes the value of an option as a path.
func (d *describer) use(o cmdline.Arg, intent Intent) {
	if o.Word == 0 || (o.Value == "" && d.words[o.Word].Static()) || o.Value == "-" {
		return
	}
	d.useValue(o.Value, o.Word, intent)
}

func (d *describer) useValue(value string, word int, intent Intent) {
	d.w.addUse(d.p, d.st, &d.words[word], value, intent, d.recursive && intent != Enter)
}

func (d *describer) operand(i int, intent Intent) {
	if d.words[i].Static() && d.words[i].Value == "-" && intent == Read || d.words[i].Pipe() {
		return
	}
	d.useValue(d.words[i].Value, i, intent)
}

func (d *describer) hasRole(r options.Role) (cmdline.Arg, bool) { return d.a.HasRole(r) }

func (d *describer) hasOption(names ...string) bool { return d.a.HasOption(names...) }

func (d *describer) test() {
	name := d.name
	for i := d.at + 1; i < len(d.words); i++ {
		v := d.words[i].Value
		switch {
		case v == "-v" || v == "-R":
			d.not(v + " evaluates a subscript")
			if i+1 < len(d.words) && (!d.words[i+1].Static() || strings.Contains(d.words[i+1].Value, "[")) {
				d.p.Unknown = append(d.p.Unknown, name+" "+v+" evaluates the subscript of its operand")
			}
		case len(v) == 2 && v[0] == '-' && strings.IndexByte("abcdefghkprstuwxGLNOS", v[1]) >= 0 && i+1 < len(d.words) && v != "-a" && v != "-t":
			if !(name == "[" && d.words[i+1].Value == "]") {
				d.operand(i+1, Read)
			}
		case name == "[[" && len(v) == 3 && v[0] == '-' && strings.Contains("-eq-ne-lt-le-gt-ge", v):
			for _, j := range []int{i - 1, i + 1} {
				if j > d.at && j < len(d.words) && !(d.words[j].Static() && expand.IsNumber(d.words[j].Value)) {
					d.not("[[ " + v + " evaluates its operands as arithmetic")
				}
			}
		}
	}
}

func (d *describer) printf() {
	if d.at+1 < len(d.words) && strings.HasPrefix(d.words[d.at+1].Value, "-v") {
		d.not("printf -v sets a variable")
		d.p.Unknown = append(d.p.Unknown, "printf -v sets a variable and evaluates its subscript")
		return
	}
	if d.at+1 < len(d.words) && d.words[d.at+1].MayBeOption() && d.words[d.at+1].Value != "--" {
		d.not("printf has an option that is not known")
	}
}

// finish settles whether the command only reads.
func (d *describer) finish(form Form) {
	p := d.p
	ro := d.spec.ReadOnly
	switch d.spec.Operands {
	case "git", "find", "test", "printf", "jq":
		ro = true // their own analysis has spoken
	case "cd":
		ro = d.name == "cd"
	}
	if d.looks {
		ro, d.notRO = true, ""
		p.Exec = nil
	}
	if !ro {
		d.not(d.name + " is not in the set of commands that only read")
	}
	if form.Name != d.name {
		d.not(form.Name + " names a file, which need not be the program " + d.name)
	}
	if !form.Stripped && !d.listed {
		d.not("it runs through a wrapper")
	}
	if d.fromInput && !d.listed {
		d.not("its arguments come from standard input")
	}
	for i := d.at; i < len(d.words) && d.notRO == ""; i++ {
		d.unknownWord(i)
	}
	p.WhyNot = d.notRO
	p.ReadOnly = d.notRO == ""
}

// comparedAsText tells whether a word of [[ … ]] is variables that are only compared as text, or looked whether they are empty.
func comparedAsText(words []Word, i int) bool {
	next := ""
	if i+1 < len(words) {
		next = words[i+1].Value
	}
	w := &words[i]
	switch words[i-1].Value {
	case "-z", "-n":
		return w.AnyVariables()
	case "==", "=", "!=", "=~", "<", ">":
		return w.Variables()
	case "[[", "&&", "||", "!":
		switch next {
		case "", "&&", "||":
			return w.AnyVariables()
		case "==", "=", "!=", "=~", "<", ">":
			return w.Variables()
		}
	}
	return false
}

// unknownWord refuses a word that could be anything by the time the command runs.
func (d *describer) unknownWord(i int) {
	w := &d.words[i]
	text := d.spec.Operands == "t" || d.spec.Operands == "printf"
	switch {
	case w.Pipe() && !text && i > d.at:
	case d.name == "echo" && i > d.at && w.Variables():
	case d.name == "[[" && i > d.at && comparedAsText(d.words, i):
	case d.listed && w.Unknown(): // where xargs puts the names
	case w.Unknown(), text && (w.Home() || !w.Static() && !w.Glob()):
		d.not("the word " + w.Text + " is only known at run time")
	case w.Glob() && !d.spec.Glob && (d.spec.Operands != "test" || i > d.at):
		d.not("the pattern " + w.Text + " could become an option of " + d.name)
	}
}
