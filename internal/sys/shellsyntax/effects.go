package shellsyntax

import (
	"path"
	"strings"

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
		if def.opaque {
			p.Unknown = append(p.Unknown, p.WhyNot)
		}
		return
	}
	d.spec = options.Find(d.name)
	p.Known = d.spec != nil
	d.fromInput = d.throughXargs()
	if d.spec == nil {
		w.describeRunners(p, st)
		p.WhyNot = d.name + " is not known to only read"
		return
	}
	p.FileTool = d.spec.FileTool || d.name == "sed"
	w.describeRunners(p, st)
	d.run()
	d.finish(form)
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
		d.a = takeArgs(d.spec, d.words, d.at)
		d.spec = d.a.spec
		d.options()
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
	a         args
	fromInput bool // xargs adds arguments that are only known at run time
	notRO     string
	recursive bool
	narrowed  bool // find has tests that select
	looks     bool // this form only looks, whatever the options were said to do
}

func (d *describer) throughXargs() bool {
	for _, f := range d.p.Forms[1:] {
		if f.Wrapper == "xargs" || f.Wrapper == "parallel" {
			return true
		}
	}
	return false
}

func (d *describer) run() {
	switch d.spec.Operands {
	case "git":
		d.git()
		return
	case "find":
		d.find()
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
		d.jq()
		return
	}
	d.a = takeArgs(d.spec, d.words, d.at)
	d.spec = d.a.spec
	d.options()
	d.operands()
	d.special()
}

// options goes through the options by their roles.
func (d *describer) options() {
	for _, o := range d.a.options {
		if !o.known {
			if !d.spec.Any {
				d.not(o.name + " is not on the list of harmless options of " + d.name)
			}
			if d.spec.Runs {
				d.runsProgram("has an option that is not on the list of harmless ones: " + o.name)
			}
			continue
		}
		d.option(o)
	}
	if d.spec.Runs && d.a.strange != "" {
		d.runsProgram("has a sub-command that is not on the list of harmless ones: " + strings.TrimSpace(d.a.sub+" "+d.a.strange))
	}
	if d.spec.Runs && d.a.maybe {
		d.runsProgram("has a word that is only known at run time and may be an option")
	}
}

// option notes what one known option does.
func (d *describer) option(o arg) {
	switch o.opt.Role {
	case options.ReadsPath, options.PatternFile:
		d.use(o, Read)
	case options.ProgramFile:
		d.use(o, Read)
		if isInput(o.value) || !d.words[o.word].Static() {
			d.runsProgram(o.name + " takes what is to be done from standard input")
		}
	case options.NamesFile:
		d.not(o.name + " takes names of files from a file")
		d.use(o, Read)
		d.p.Uses = append(d.p.Uses, PathUse{Text: "the files that " + o.name + " lists", Intent: Read, Unknown: true, Unbased: true})
	case options.ConfigFile:
		d.use(o, Read)
		d.runsProgram(o.name + " reads options from a file")
	case options.WritesPath:
		d.not(o.name + " writes a file")
		d.use(o, Write)
	case options.Product:
		d.not(o.name + " writes a file")
		from := len(d.p.Uses)
		d.use(o, Write)
		for k := from; k < len(d.p.Uses); k++ {
			d.p.Uses[k].Product = true
		}
	case options.Runs:
		d.runsProgram(o.name + " runs a program")
	case options.Command:
		d.runsProgram(o.name + " runs a program")
		d.w.pendText(d, strings.TrimPrefix(o.value, "exec="), d.words[o.word].Static())
	case options.Changes:
		d.not(o.name + " does more than read")
	case options.Recurses:
		d.recursive = true
	case options.Follows:
		d.recursive = true
		d.not(o.name + " follows links")
	case options.ScriptFile:
		d.use(o, Read)
		d.runsProgram(o.name + " reads a script whose text is not known")
	case options.MovesDir:
		d.use(o, Enter)
	case options.InPlace, options.WritesHere:
		d.not(o.name + " writes files")
	case options.DataArg:
		if rest, ok := strings.CutPrefix(o.value, "@"); ok {
			d.useValue(rest, o.word, Read)
		}
	case options.FormArg:
		d.formFiles(o)
	case options.Script:
		d.script(o)
	}
}

// formFiles notes the files of curl's -F: name=@file,file;type=…, in quotes or not.
func (d *describer) formFiles(o arg) {
	i := strings.IndexAny(o.value, "@<")
	if i < 0 || i+1 >= len(o.value) {
		return
	}
	rest, _, _ := strings.Cut(o.value[i+1:], ";")
	for f := range strings.SplitSeq(rest, ",") {
		if f = strings.Trim(f, `"' `); f != "" {
			d.useValue(f, o.word, Read)
		}
	}
}

// script judges the value of an option in a little language of its own; sed, awk, jq and the databases have readers.
func (d *describer) script(o arg) {
	switch d.name {
	case "curl": // -w: "@file" and %output{file}
		if rest, ok := strings.CutPrefix(o.value, "@"); ok {
			d.useValue(rest, o.word, Read)
		}
		for rest := o.value; ; {
			_, after, ok := strings.Cut(rest, "%output{")
			if !ok {
				return
			}
			name, tail, _ := strings.Cut(after, "}")
			d.useValue(strings.TrimPrefix(name, ">>"), o.word, Write)
			rest = tail
		}
	case "go":
		if !harmlessLinking(o.value) || !d.words[o.word].Static() {
			d.runsProgram(o.name + " may name programs that run")
		}
	}
}

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
func (d *describer) use(o arg, intent Intent) {
	if o.word == 0 || (o.value == "" && d.words[o.word].Static()) || o.value == "-" {
		return
	}
	d.useValue(o.value, o.word, intent)
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

func (d *describer) hasRole(r options.Role) (arg, bool) { return d.a.hasRole(r) }

func (d *describer) hasOption(names ...string) bool { return d.a.hasOption(names...) }

// operands goes through the operands by their meaning.
func (d *describer) operands() {
	ops := d.a.operands
	switch d.spec.Operands {
	case "r":
		d.each(ops, Read)
	case "R":
		d.recursive = true
		d.each(ops, Read)
	case "p", "pR":
		d.patternOperands(ops)
	case "w":
		d.each(ops, Write)
		d.addFromInput(Write)
	case "d":
		if d.name == "rm" && d.hasOption("-r", "-R", "--recursive") {
			d.recursive = true
		}
		d.each(ops, Delete)
		d.addFromInput(Delete)
	case "1w":
		d.each(d.skipMode(ops), Write)
		d.addFromInput(Write)
	case "1r":
		d.each(ops, Read)
	case "rw":
		if len(ops) > 0 {
			d.operand(ops[0], Read)
		}
		for _, i := range ops[min(1, len(ops)):] {
			d.not(d.name + " writes its second operand")
			d.operand(i, Write)
		}
	case "cp", "mv", "ln":
		d.copyOperands(ops)
	case "remote":
		d.remoteOperands(ops)
	case "url":
		d.urlOperands(ops)
	case "sed":
		d.sed(ops)
	case "awk":
		d.awk(ops)
	case "tar":
		d.tar(ops)
	case "zip":
		if len(ops) > 0 {
			d.operand(ops[0], Write)
			d.each(ops[1:], Read)
		}
	}
}

func (d *describer) each(ops []int, intent Intent) {
	for _, i := range ops {
		d.operand(i, intent)
	}
}

// addFromInput notes the paths that xargs adds.
func (d *describer) addFromInput(intent Intent) {
	if d.fromInput {
		d.p.Uses = append(d.p.Uses, PathUse{Text: "(from standard input)", Intent: intent, Unknown: true, Unbased: true})
	}
}

// skipMode leaves the mode or owner of chmod and its like out, unless a reference replaces it.
func (d *describer) skipMode(ops []int) []int {
	if d.hasOption("--reference") || len(ops) == 0 {
		return ops
	}
	return ops[1:]
}

func (d *describer) patternOperands(ops []int) {
	if d.spec.Operands == "pR" {
		d.recursive = true
	}
	_, given := d.hasRole(options.Pattern)
	if !given {
		_, given = d.hasRole(options.PatternFile)
	}
	if !given && !d.hasOption("--files", "--type-list") && len(ops) > 0 {
		ops = ops[1:]
	}
	if len(ops) == 0 && d.recursive && (!d.piped() || d.spec.Operands != "pR") {
		d.w.addUse(d.p, d.st, &Word{Text: ".", Value: ".", Prefix: 1, flags: flagStatic}, ".", Read, true)
	}
	d.each(ops, Read)
}

// piped tells whether the command reads another's output, so that it does not search the directory.
func (d *describer) piped() bool { return d.w.piped }

// copyOperands notes the sources and the target of cp, mv, ln and install.
func (d *describer) copyOperands(ops []int) {
	if d.name == "install" && d.hasOption("-d", "--directory") {
		d.each(ops, Write)
		return
	}
	source := Read
	if d.spec.Operands == "mv" {
		source = Write // a moved file is gone from where it was
	}
	d.recursive = d.recursive || d.spec.Operands == "mv" || d.hasOption("-r", "-R", "-a", "--recursive", "--archive")
	target, given := d.hasRole(options.TargetDir)
	sources, last := ops, -1
	if !given && len(ops) > 1 {
		sources, last = ops[:len(ops)-1], ops[len(ops)-1]
	}
	for _, i := range sources {
		if d.spec.Operands != "ln" || !d.hasOption("-s", "--symbolic") {
			d.operand(i, source)
		}
	}
	d.recursive = false // the target itself is one place
	switch {
	case given:
		d.useValue(target.value, target.word, Write)
		d.into(target.value, target.word, sources)
	case last >= 0:
		d.operand(last, Write)
		d.into(d.words[last].Value, last, sources)
	case len(ops) == 1 && d.spec.Operands == "ln":
		d.into(".", ops[0], sources)
	}
	d.addFromInput(Write)
}

// into notes the files that appear if the target is a directory.
func (d *describer) into(target string, word int, sources []int) {
	for _, i := range sources {
		s := &d.words[i]
		if s.Unknown() || d.words[word].Unknown() {
			continue
		}
		name := path.Base(path.Clean("/" + s.Value))
		if name == "/" {
			continue
		}
		joined := &Word{Text: target + "/" + name, flags: d.words[word].flags | s.flags&flagGlob}
		joined.Value = strings.TrimSuffix(target, "/") + "/" + name
		joined.Prefix = len(joined.Value)
		d.w.addUse(d.p, d.st, joined, joined.Value, Write, false)
	}
}

func (d *describer) remoteOperands(ops []int) {
	for k, i := range ops {
		v := d.words[i].Value
		if head, _, ok := strings.Cut(v, ":"); ok && !strings.Contains(head, "/") {
			d.host(head)
			continue
		}
		if strings.Contains(v, "://") {
			d.hostOfURL(v)
			continue
		}
		if k == len(ops)-1 && len(ops) > 1 {
			d.operand(i, Write)
			d.into(v, i, ops[:k])
			continue
		}
		d.recursive = true
		d.operand(i, Read)
	}
	if d.name == "rsync" && d.hasOption("--delete", "--remove-source-files") {
		d.p.Exec = append(d.p.Exec, "rsync removes files")
	}
}

func (d *describer) urlOperands(ops []int) {
	for _, i := range ops {
		d.hostOfURL(d.words[i].Value)
		if rest, ok := cutFold(d.words[i].Value, "file://"); ok {
			if j := strings.IndexByte(rest, '/'); j >= 0 {
				d.useValue(rest[j:], i, Read)
			}
		}
	}
	for _, o := range d.a.options {
		if o.known && o.opt.Role == options.WritesHere {
			d.remoteName(ops)
			break
		}
	}
	if (d.name == "wget" || d.name == "wget2") && !d.hasOption("-O", "--output-document") {
		d.remoteName(ops)
	}
}

// remoteName notes the file a download makes in the working directory.
func (d *describer) remoteName(ops []int) {
	dir := "."
	for _, o := range d.a.options {
		if o.name == "--output-dir" || o.name == "-P" || o.name == "--directory-prefix" {
			dir = o.value
		}
	}
	for _, i := range ops {
		v := d.words[i].Value
		if _, rest, ok := strings.Cut(v, "://"); ok {
			v = rest
		}
		v, _, _ = strings.Cut(v, "?")
		name := path.Base(v)
		if !strings.Contains(v, "/") || strings.HasSuffix(v, "/") || name == "." || name == "/" {
			name = "index.html"
		}
		joined := dir + "/" + name
		word := &Word{Text: joined, Value: joined, Prefix: len(joined), flags: d.words[i].flags &^ flagGlob}
		d.w.addUse(d.p, d.st, word, joined, Write, false)
	}
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

func (d *describer) host(h string) {
	h = strings.ToLower(h)
	if i := strings.LastIndexByte(h, '@'); i >= 0 {
		h = h[i+1:]
	}
	h = strings.TrimSuffix(h, ".")
	if h != "" && !strings.HasPrefix(h, "-") {
		d.p.Hosts = append(d.p.Hosts, h)
	}
}

func (d *describer) hostOfURL(v string) {
	if _, rest, ok := strings.Cut(v, "://"); ok {
		v = rest
	} else if d.name == "curl" && strings.HasPrefix(v, "-") {
		return
	}
	v, _, _ = strings.Cut(v, "/")
	v, _, _ = strings.Cut(v, "?")
	v, _, _ = strings.Cut(v, "#")
	d.host(v)
}

func (d *describer) tar(ops []int) {
	creates := d.hasOption("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--catenate", "--concatenate", "--delete")
	for i := range d.p.Uses {
		if !creates && d.p.Uses[i].Intent == Write && !d.p.Uses[i].Redirect {
			d.p.Uses[i].Intent = Read
		}
	}
	if creates {
		d.recursive = true
		d.each(ops, Read)
	}
	for i := range d.p.Uses {
		if d.p.Uses[i].Intent == Enter && !creates {
			d.p.Uses[i].Intent = Write // unpacks there
		}
	}
	if v, ok := d.hasRole(options.ReadsPath); ok && v.name == "-I" {
		d.runsProgram("-I runs a program")
	}
}

func (d *describer) dd() {
	for i := d.at + 1; i < len(d.words); i++ {
		key, val, ok := strings.Cut(d.words[i].Value, "=")
		if !ok {
			if d.words[i].Unknown() {
				d.p.Uses = append(d.p.Uses, PathUse{Text: d.words[i].Text, Intent: Write, Unknown: true, Unbased: true})
			}
			continue
		}
		switch key {
		case "if":
			d.useValue(val, i, Read)
		case "of":
			d.useValue(val, i, Write)
		}
	}
	d.not("dd writes")
}

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
				if j > d.at && j < len(d.words) && !(d.words[j].Static() && isNumber(d.words[j].Value)) {
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
	if !form.Stripped {
		d.not("it runs through a wrapper")
	}
	if d.fromInput {
		d.not("its arguments come from standard input")
	}
	for i := d.at; i < len(d.words) && d.notRO == ""; i++ {
		d.unknownWord(i)
	}
	p.WhyNot = d.notRO
	p.ReadOnly = d.notRO == ""
}

// unknownWord refuses a word that could be anything by the time the command runs.
func (d *describer) unknownWord(i int) {
	w := &d.words[i]
	text := d.spec.Operands == "t" || d.spec.Operands == "printf"
	switch {
	case w.Pipe() && !text && i > d.at:
	case d.name == "echo" && i > d.at && w.Variables():
	case w.Unknown(), text && (w.Home() || !w.Static() && !w.Glob()):
		d.not("the word " + w.Text + " is only known at run time")
	case w.Glob() && !d.spec.Glob && (d.spec.Operands != "test" || i > d.at):
		d.not("the pattern " + w.Text + " could become an option of " + d.name)
	}
}
