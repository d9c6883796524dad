package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/paths"
)

// special adds what a few programs do beyond their options.
func (d *describer) special() {
	switch d.name {
	case "go":
		d.goTool()
	case "make", "gmake":
		d.make()
	case "zip":
		for i := d.at + 1; i < len(d.words); i++ {
			if strings.Contains(d.words[i].Value, "TT") && strings.HasPrefix(d.words[i].Value, "-") && !strings.HasPrefix(d.words[i].Value, "--") {
				d.runsProgram("-TT runs a program")
				if i+1 < len(d.words) {
					d.w.pendText(d, d.words[i+1].Value, d.words[i+1].Static())
				}
			}
		}
	case "ssh", "autossh", "scp", "sftp":
		d.sshOptions()
	case "mysql", "mariadb", "psql", "sqlite3", "bc", "dc", "ed", "ex", "ftp", "lftp", "gdb", "lldb":
		d.language()
	case "less", "more":
		d.runsProgram("can start a shell, and programs named in the environment")
	case "vim", "vi", "nvim", "gvim", "rvim", "view", "rview", "vimdiff", "emacs", "nano", "pico", "micro", "code":
		d.editor()
	case "gh":
		d.cloneOptions()
	case "kubectl", "oc":
		d.templateFiles()
	case "tput":
		if v := d.operandText(0); v == "init" || v == "reset" || v == "rs1" || v == "rs2" || v == "rs3" || v == "is1" || v == "iprog" || len(d.a.Operands) == 0 {
			d.not("tput " + v + " may run a program of the terminal description")
		}
	case "xxd":
		d.not("xxd may write")
	}
	if d.spec.Operands == "-schedule" {
		d.runsProgram("runs something later")
		d.inputText("")
	}
	d.looking()
}

// operandText is the k-th operand when it is static.
func (d *describer) operandText(k int) string {
	if k < len(d.a.Operands) && d.words[d.a.Operands[k]].Static() {
		return d.words[d.a.Operands[k]].Value
	}
	return ""
}

// goTool notes what go fetches and which linker flags run programs.
func (d *describer) goTool() {
	switch d.a.Sub {
	case "run":
		if v := d.operandText(0); strings.Contains(v, "@") || cmdline.RemoteModule(v) {
			d.runsProgram("run fetches and runs a program")
		}
	case "doc", "list":
		for _, i := range d.a.Operands {
			if strings.Contains(d.words[i].Value, "@") {
				d.not("go fetches a module")
			}
		}
	}
}

// editor notes commands and scripts among the operands of an editor.
func (d *describer) editor() {
	for _, i := range d.a.Operands {
		if v := d.words[i].Value; len(v) > 1 && v[0] == '+' && !expand.IsNumber(v[1:]) {
			d.runsProgram("is given a command to run")
			if strings.HasPrefix(v, "+!") {
				d.w.pendText(d, v[2:], d.words[i].Static())
			}
		}
	}
}

// mount notes the place that a container gets to see: it is read, with all that is below, and written unless the option forbids that. The
// name of a volume is no place.
func (d *describer) mount(o cmdline.Arg) {
	value := strings.TrimPrefix(o.Value, "=") // -v=…
	from := paths.Mounted(value)
	fields := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ':' })
	switch {
	case slices.Contains(fields, "type=volume"), slices.Contains(fields, "type=tmpfs"):
		return
	case from == "" && d.words[o.Word].Unknown():
		d.p.Uses = append(d.p.Uses, PathUse{Text: d.words[o.Word].Text, Intent: Read, Unknown: true, Unbased: true, Guess: true})
		return
	case from == "", !strings.Contains(from, "/") && from[0] != '.' && from[0] != '~' && !strings.Contains(value, "="):
		return
	}
	d.useValue(from, o.Word, Read)
	intent := Write
	if slices.ContainsFunc(fields, func(f string) bool { return f == "ro" || strings.HasPrefix(f, "readonly") }) {
		intent = Read
	}
	at := len(d.p.Uses)
	d.w.addUse(d.p, d.st, &d.words[o.Word], from, intent, true)
	for k := at; k < len(d.p.Uses); k++ {
		d.p.Uses[k].Guess = true
	}
}

// templateFiles notes the files that formats of kubectl's output name: go-template-file=…, jsonpath-file=….
func (d *describer) templateFiles() {
	for _, o := range d.a.Options {
		if kind, file, ok := strings.Cut(o.Value, "="); ok && strings.HasSuffix(kind, "-file") {
			d.useValue(file, o.Word, Read)
		}
	}
}

// cloneOptions judges the options after "--" that gh hands to git clone.
func (d *describer) cloneOptions() {
	if d.a.Dashes == 0 || d.a.Sub != "repo clone" && d.a.Sub != "repo fork" {
		return
	}
	for _, o := range cmdline.Take(options.Find("git").Sub("clone"), d.words, d.a.Dashes).Options {
		switch {
		case !o.Known, o.Opt.Role == options.Runs:
			d.runsProgram(o.Name + " of git clone may run a program")
		case o.Opt.Role != options.Harmless && o.Opt.Role != options.Text:
			d.option(o)
		}
	}
}

// make notes variables that name programs, and the programs in texts that make expands.
func (d *describer) make() {
	for k := range d.p.Redirs {
		if r := &d.p.Redirs[k]; strings.HasPrefix(r.Op, "<<") {
			d.makeText(r.Target.Value)
		}
	}
	for _, o := range d.a.Options {
		if o.Name == "-E" || strings.HasPrefix(o.Name, "--ev") {
			d.makeText(o.Value)
		}
	}
	for _, i := range d.a.Operands {
		name, value, ok := strings.Cut(d.words[i].Value, "=")
		if !ok {
			continue
		}
		d.tell(i, len(name)+1)
		switch strings.TrimRight(name, ":?+! ") {
		case "SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MAKE":
			d.runsProgram(name + "= names a program")
			d.makeText(value)
			d.w.pendText(d, value, true)
		default:
			if strings.HasSuffix(name, "!") || strings.ContainsAny(value, "`") || strings.Contains(value, "$(") || strings.Contains(value, "${") {
				d.runsProgram(name + "= is expanded by make, which may run a program")
				d.makeText(value)
			}
		}
	}
}

// makeText notes the programs that a text of make's own language plainly runs: calls of shell, and recipes.
func (d *describer) makeText(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			d.w.pendText(d, recipe, true)
		} else if _, recipe, ok := strings.Cut(line, ";"); ok {
			d.w.pendText(d, recipe, true)
		}
		for rest := line; ; {
			_, after, ok := strings.Cut(rest, "shell ")
			if !ok {
				break
			}
			d.w.pendText(d, strings.TrimRight(after, ")} "), true)
			rest = after
		}
	}
}

func (d *describer) sshOptions() {
	for _, o := range d.a.Options {
		if o.Opt.Role != options.Script {
			continue
		}
		key := strings.ToLower(strings.TrimSpace(o.Value))
		value := ""
		if i := strings.IndexAny(key, "= \t"); i >= 0 {
			key, value = key[:i], strings.TrimLeft(strings.TrimSpace(o.Value)[i:], "= \t")
		}
		switch key {
		case "proxycommand", "remotecommand", "localcommand", "permitlocalcommand", "knownhostscommand", "include", "match",
			"pkcs11provider", "securitykeyprovider", "xauthlocation", "proxyjump", "identityagent", "controlpath", "controlmaster":
			d.runsProgram("-o " + key + " runs a local program")
			if strings.HasSuffix(key, "command") {
				d.w.pendText(d, value, d.words[o.Word].Static())
			}
		case "":
			d.runsProgram("-o takes an option that is not known")
		}
	}
}

// language judges the texts given to a program whose input is a language that can run programs.
func (d *describer) language() {
	texts := d.debuggerTexts()
	for _, o := range d.a.Options {
		if o.Opt.Role == options.Script {
			texts = append(texts, o.Value)
			if !d.words[o.Word].Static() {
				d.runsProgram("is given a text that is only known at run time")
			}
		}
	}
	if d.name == "sqlite3" {
		for _, i := range d.a.Operands[min(1, len(d.a.Operands)):] {
			texts = append(texts, d.words[i].Value)
		}
		if len(d.a.Operands) > 0 {
			from := len(d.p.Uses)
			d.operand(d.a.Operands[0], Write)
			for k := from; k < len(d.p.Uses); k++ {
				d.p.Uses[k].Product = true
			}
		}
	}
	for _, t := range texts {
		d.languageText(t)
	}
	d.inputText(d.name)
}

// debuggerTexts are the commands among the words of a debugger, whose long options have a single dash.
func (d *describer) debuggerTexts() []string {
	if d.name != "gdb" && d.name != "lldb" {
		return nil
	}
	var texts []string
	for i := d.at + 1; i < len(d.words); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(d.words[i].Value, "-"), "=")
		switch name {
		case "ex", "eval-command", "iex", "init-eval-command", "o", "O", "one-line", "one-line-before-file":
			if !joined && i+1 < len(d.words) {
				i++
				value = d.words[i].Value
			}
			texts = append(texts, value)
		}
	}
	return texts
}

// escapes notes the programs that a text of a program's own language plainly hands to a shell.
func (d *describer) escapes(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		for _, start := range []string{"platform shell ", ".shell ", ".system ", "\\!", "!", "shell ", "system ", "make "} {
			if rest, ok := strings.CutPrefix(line, start); ok {
				d.w.pendText(d, rest, true)
				break
			}
		}
	}
}

// inputText judges what a program reads from its input when that is a program, too: the text of a here-document or
// here-string, and anything that comes from a pipe or a file. With a language the text is judged by it, else it is shell text.
func (d *describer) inputText(language string) {
	for k := range d.p.Redirs {
		r := &d.p.Redirs[k]
		switch r.Op {
		case "<<", "<<-", "<<<":
			switch {
			case language == "":
				d.w.pendText(d, r.Target.Value, r.Target.Static())
			case r.Target.Unknown():
				d.runsProgram("reads a text that is only known at run time")
			default:
				d.languageText(r.Target.Value)
			}
		case "<", "<>":
			d.runsProgram("reads what is to be done from a file")
		}
	}
	if d.piped() && language != "" {
		d.runsProgram("reads what is to be done from another program")
	}
}

// languageText judges a text in the program's own language: only plain data passes.
func (d *describer) languageText(t string) {
	d.escapes(t)
	low := strings.ToLower(t)
	for line := range strings.SplitSeq(low, "\n") {
		line = strings.TrimSpace(line)
		for _, word := range []string{".", "!", "system", "source", "shell", "delimiter", "pager", "tee", "edit", "notee", "nopager"} {
			if strings.HasPrefix(line, word) {
				d.runsProgram("is given a command of its own shell")
				return
			}
		}
	}
	switch d.name {
	case "mysql", "mariadb", "psql", "sqlite3":
		for _, bad := range []string{`\`, "load_extension", "edit(", "writefile", "readfile", "program", "fsdir", "outfile", "dumpfile", "load_file", "infile", "lo_import", "lo_export", "pg_read", "pg_ls"} {
			if strings.Contains(low, bad) {
				d.runsProgram("is given text that may run a program")
				return
			}
		}
	case "bc", "dc":
		if strings.ContainsAny(t, "!`") {
			d.runsProgram("is given text that may run a program")
		}
	default: // an editor's or debugger's language runs programs with many of its words
		if strings.TrimSpace(t) != "" {
			d.runsProgram("is given commands of its own language")
		}
	}
}
