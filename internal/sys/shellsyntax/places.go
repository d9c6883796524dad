package shellsyntax

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/paths"
)

// Places yields what in the words of a command could name a place: each word after the command word, and what stands
// in it after "=", "@", ":", ",", ";", or in braces and quotes of an option's own little language. Left out are addresses
// with a scheme, words that are known to be text (patterns, messages, scripts) and places inside of a container. Of a
// place that the program reads at most, [PathUse.Only] is set.
//
// It is worked out anew with each call: only the few parts a pattern would allow are asked for it.
func (p *Part) Places(yield func(PathUse) bool) {
	if p.Kind != Command || len(p.Forms) == 0 || p.read.dirs == nil {
		return
	}
	last := p.Allow()
	kinds := p.wordKinds(last)
	for i := last.At + 1; i < len(p.Words); i++ {
		k := kinds[i-last.At]
		if k.text {
			continue
		}
		w := &p.Words[i]
		value := w.Value[min(k.from, len(w.Value)):]
		if k.mount {
			value = paths.Mounted(value)
		}
		if w.Unknown() {
			if w.Prefix == 0 && !strings.HasPrefix(w.Text, "~") {
				value = strings.TrimLeft(value, "/") // below a place that is not known: only what is protected anywhere counts
			}
			value += " " + paths.Defaults(w.Text)
		}
		for v := range paths.Pieces(strings.TrimSpace(value)) {
			for _, d := range p.read.dirs.list {
				u := PathUse{Text: w.Text, Intent: Write, Guess: true, Only: k.read, Unknown: w.Unknown(), Glob: w.Glob()}
				if u.Path = paths.Absolute(d, v, p.read.dirs.home); !strings.HasPrefix(v, "~") {
					u.Walk = paths.Walk(d, v)
				}
				if u.Path != "" && !yield(u) {
					return
				}
			}
		}
	}
}

// wordKind is what is known of a word beforehand.
type wordKind struct {
	text  bool // no place
	read  bool // read at most
	mount bool // a place, a colon and a place inside of a container
	from  int  // where its value begins: an option stands before it
}

// wordKinds tells of each word from the name of the program on what it is.
func (p *Part) wordKinds(form Form) []wordKind {
	kinds := make([]wordKind, len(p.Words)-form.At)
	name := baseName(form.Name)
	for i := range kinds[1:] {
		w := &p.Words[form.At+1+i]
		kinds[i+1].text = i > 0 && !strings.Contains(w.Value, "..") && paths.TakesPattern(p.Words[form.At+i].Value)
		if at := paths.OptionValue(w.Value); at > 0 {
			kinds[i+1].from = at
		}
	}
	s := options.Find(name)
	if s == nil {
		return kinds
	}
	a := cmdline.Take(s, p.Words, form.At)
	if name == "git" {
		g := cmdline.ReadGitGlobal(p.Words, form.At)
		sub := &options.Spec{}
		if g.Sub < len(p.Words) {
			kinds[g.Sub-form.At].text = true
			if known := options.Find("git").Sub(p.Words[g.Sub].Text); known != nil {
				sub = known
			}
		}
		a = cmdline.Take(sub, p.Words, min(g.Sub, len(p.Words)-1))
	}
	for _, o := range a.Options {
		k := &kinds[o.Word-form.At]
		switch o.Opt.Role {
		case options.Text, options.Pattern, options.Program:
			k.text = true
		case options.Script:
			k.text = name != "psql" && name != "mysql" && name != "mariadb" && name != "sqlite3"
		case options.DataArg:
			k.text = !strings.HasPrefix(o.Value, "@") && (!isCookie(o) || strings.Contains(o.Value, "="))
		case options.FormArg:
			k.text = !strings.ContainsAny(o.Value, "@<")
		case options.Mount:
			k.mount = true
		case options.ReadsPath, options.PatternFile, options.ProgramFile, options.NamesFile, options.ConfigFile:
			k.read = true
		}
		if o.Opt.Arg == options.TwoArgs {
			k.text = true
			kinds[o.Word-1-form.At].text = true
		}
		k.from = o.From
	}
	p.operandKinds(kinds, &a, form, name)
	return kinds
}

// operandKinds tells what the operands are.
func (p *Part) operandKinds(kinds []wordKind, a *cmdline.Args, form Form, name string) {
	ops := a.Operands
	mark := func(list []int, set func(*wordKind)) {
		for _, i := range list {
			set(&kinds[i-form.At])
		}
	}
	text := func(k *wordKind) { k.text = true }
	read := func(k *wordKind) { k.read = true }
	_, inPlace := a.HasRole(options.InPlace)
	switch a.Spec.Operands {
	case "t", "0", "date", "ps", "printf":
		mark(ops, text)
	case "r", "R", "read", "test", "strings", "find":
		if !inPlace {
			mark(ops, read)
		}
	case "p", "pR", "sed", "awk", "jq":
		_, given := a.HasRole(options.Pattern)
		_, script := a.HasRole(options.Script)
		if !given && !script && len(ops) > 0 {
			mark(ops[:1], text)
			ops = ops[1:]
		}
		if !inPlace {
			mark(ops, read)
		}
	case "container":
		mark(ops, text)
	case "url":
		if name == "ssh" || name == "autossh" || name == "mosh" {
			mark(ops[min(1, len(ops)):], text) // the words of a command on another machine
		}
	case "remote":
		for _, i := range ops {
			if head, _, ok := strings.Cut(p.Words[i].Value, ":"); ok && head != "" && !strings.ContainsAny(head, "/~.") {
				kinds[i-form.At].text = true
			}
		}
	}
	if p.ReadOnly {
		mark(ops, read)
	}
	if (name == "kubectl" || name == "oc") && a.Sub == "exec" && a.Dashes > 0 {
		for i := a.Dashes; i < len(p.Words); i++ {
			kinds[i-form.At].text = true
		}
	}
	if name == "docker" || name == "podman" || name == "kubectl" || name == "oc" {
		if a.Sub == "cp" || strings.HasSuffix(a.Sub, " cp") {
			for _, i := range ops {
				if head, _, ok := strings.Cut(p.Words[i].Value, ":"); ok && head != "" && !strings.ContainsAny(head, "~.") && head[0] != '/' {
					kinds[i-form.At].text = true
				}
			}
		}
	}
}
