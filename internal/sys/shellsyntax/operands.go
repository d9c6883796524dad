package shellsyntax

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// operands goes through the operands by their meaning.
func (d *describer) operands() {
	ops := d.a.Operands
	switch d.spec.Operands {
	case "r":
		intent := Read
		if _, ok := d.hasRole(options.InPlace); ok {
			intent = Write
		}
		d.each(ops, intent)
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
	case "gcc":
		d.optionFiles(ops)
	case "unzip":
		d.unzip(ops)
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

func (d *describer) unzip(ops []int) {
	d.each(ops[:min(1, len(ops))], Read)
	if !d.hasOption("-l", "-v", "-Z", "-t", "-p", "-c") {
		d.runsProgram("unpacks files whose names are not known before")
	}
}

// optionFiles notes operands that name files of options.
func (d *describer) optionFiles(ops []int) {
	for _, i := range ops {
		if strings.HasPrefix(d.words[i].Value, "@") {
			d.runsProgram("reads options from a file")
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
		d.p.Uses = append(d.p.Uses, PathUse{Text: "(from standard input)", Intent: intent, Unknown: true, Unbased: true, Input: intent == Read})
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
		d.w.addUse(d.p, d.st, &Word{Text: ".", Value: ".", Prefix: 1, Flags: expand.Static}, ".", Read, true)
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
	from := len(d.p.Uses)
	defer func() { d.copied(from) }()
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
		if dir := path.Base(path.Dir(d.words[i].Value)); dir == "bin" || dir == "sbin" {
			d.tell(i, 0) // a program under another name
		}
		if d.spec.Operands != "ln" || !d.hasOption("-s", "--symbolic") {
			d.operand(i, source)
		}
	}
	d.recursive = false // the target itself is one place
	switch {
	case given:
		d.useValue(target.Value, target.Word, Write)
		d.into(target.Value, target.Word, sources)
	case last >= 0:
		d.operand(last, Write)
		d.into(d.words[last].Value, last, sources)
	case len(ops) == 1 && d.spec.Operands == "ln":
		d.into(".", ops[0], sources)
	}
	d.addFromInput(Write)
}

// copied marks the sources of a copy of whole trees, with the place they are copied to.
func (d *describer) copied(from int) {
	if d.spec.Operands != "cp" || !d.hasOption("-r", "-R", "-a", "--recursive", "--archive") {
		return
	}
	for k := from; k < len(d.p.Uses); k++ {
		if u := &d.p.Uses[k]; u.Intent == Read && u.Below {
			u.Copied = true
		}
	}
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
		joined := &Word{Text: target + "/" + name, Flags: d.words[word].Flags | s.Flags&expand.Glob}
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
	if last := len(ops) - 1; d.name == "rsync" && last > 0 && !strings.Contains(d.words[ops[last]].Value, ":") {
		d.runsProgram("copies a tree, whose files are not known before")
	}
}

func (d *describer) urlOperands(ops []int) {
	for _, i := range ops {
		if d.name == "curl" && !strings.Contains(d.words[i].Value, "://") && schemeIsFile(&d.a, d.words) {
			d.operand(i, Read)
			continue
		}
		d.hostOfURL(d.words[i].Value)
		if rest, ok := cutFold(d.words[i].Value, "file:"); ok {
			slashes := len(rest) - len(strings.TrimLeft(rest, "/"))
			if slashes == 2 { // file://host/path
				_, rest, _ = strings.Cut(rest[2:], "/")
			}
			d.useValue("/"+strings.TrimLeft(rest, "/"), i, Read)
		}
	}
	if o, ok := d.hasRole(options.ReadsPath); ok && d.name == "curl" && strings.ContainsAny(o.Value, "{[") {
		d.p.Uses = append(d.p.Uses, PathUse{Text: o.Value, Intent: Read, Unknown: true, Unbased: true}) // curl expands them itself
	}
	for _, o := range d.a.Options {
		if o.Known && o.Opt.Role == options.WritesHere {
			d.remoteName(ops)
			break
		}
	}
	if (d.name == "wget" || d.name == "wget2") && !d.hasOption("-O", "--output-document") {
		d.remoteName(ops)
	}
}

// schemeIsFile tells whether curl takes an address without a scheme for a file.
func schemeIsFile(a *cmdline.Args, words []Word) bool {
	for _, o := range a.Options {
		if len(o.Name) > len("--proto-") && strings.HasPrefix("--proto-default", o.Name) && (strings.EqualFold(o.Value, "file") || !words[o.Word].Static()) {
			return true
		}
	}
	return false
}

// remoteName notes the file a download makes in the working directory.
func (d *describer) remoteName(ops []int) {
	dir := "."
	for _, o := range d.a.Options {
		if o.Name == "--output-dir" || o.Name == "-P" || o.Name == "--directory-prefix" {
			dir = o.Value
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
		word := &Word{Text: joined, Value: joined, Prefix: len(joined), Flags: d.words[i].Flags &^ expand.Glob}
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
	for _, o := range d.a.Options {
		if (o.Name == "-f" || o.Name == "--file") && strings.Contains(o.Value, ":") && !d.hasOption("--force-local") {
			d.runsProgram("starts a remote shell for an archive with a colon in its name")
		}
	}
	if d.hasOption("-x", "--extract", "--get") && !d.hasOption("-O", "--to-stdout") {
		d.runsProgram("unpacks files whose names are not known before")
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
