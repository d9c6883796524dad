package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/named"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Mention is a text that a part hands to a program which may run what it names. It is no part of the account: what becomes of it is not
// known.
type Mention struct {
	Text  string
	To    string // the program that gets it
	Whole bool   // any word of it may be run, not only those a command could begin with
	// Variable is the name of the variable that gets it, when that is none of a program's arguments.
	Variable string
}

// Programs yields the words of the text that may name a program.
func (m Mention) Programs(yield func(string) bool) {
	if m.Whole {
		named.All(m.Text, yield)
	} else {
		named.Leading(m.Text, yield)
	}
}

// told is a text in a word of a part: a program is known to run such a text, and what it does with it is not followed.
type told struct {
	word, from int
}

// tell notes a word that the program may run.
func (d *describer) tell(word, from int) {
	if word > d.at && word < len(d.words) && from < len(d.words[word].Value) {
		d.p.read.told = append(d.p.read.told, told{word, from})
	}
}

// tellAll notes every word of the program.
func tellAll(d *describer) {
	for i := d.at + 1; i < len(d.words); i++ {
		d.tell(i, 0)
	}
}

// tellOption notes the value of an option that runs what it is given. Of one that is not listed it is not known whether the next word
// is its value.
func (d *describer) tellOption(o cmdline.Arg) {
	switch {
	case o.Value != "":
		d.tell(o.Word, o.From)
	case o.Known:
	default:
		if v := d.words[o.Word].Value; len(v) > 2 && v[1] != '-' {
			d.tell(o.Word, 2) // joined to its name
		}
		next := o.Word + 1
		if next < len(d.words) && !strings.HasPrefix(d.words[next].Value, "-") && !strings.HasPrefix(d.a.Sub+" ", d.words[next].Value+" ") {
			d.tell(next, 0)
		}
	}
}

// runsValue tells the options whose value the program may run, and the account does not follow.
func runsValue(o cmdline.Arg) bool {
	switch o.Opt.Role {
	case options.Runs, options.Program, options.Script, options.ScriptFile, options.ConfigFile:
		return true
	}
	return !o.Known
}

// Mentions yields the texts that part i hands to programs which may run what is named in them: values of variables, words of programs
// nobody knows, values of options that are not followed, and programs in other languages. What is a part of the account itself is left
// out.
func (a *Account) Mentions(i int, yield func(Mention) bool) {
	p := &a.Parts[i]
	for k := range p.Assigns {
		v := &p.Assigns[k]
		if v.held != "" && !yield(Mention{Text: v.held, Variable: v.Name}) {
			return
		}
	}
	if p.Kind != Command || len(p.Forms) == 0 {
		return
	}
	if a.wrapperMentions(p, yield) {
		a.wordMentions(p, yield)
	}
}

// wrapperMentions yields what stands among the options of wrappers; it reports whether to go on.
func (a *Account) wrapperMentions(p *Part, yield func(Mention) bool) bool {
	for k := 1; k < len(p.Forms); k++ {
		outer, end := p.Forms[k-1], p.Forms[k].At
		if end <= outer.At+1 {
			continue
		}
		name := baseName(outer.Name)
		spec := options.Find(name)
		if spec == nil {
			if !eachWord(p.Words[outer.At+1:end], name, yield) {
				return false
			}
			continue
		}
		args := cmdline.Take(spec, p.Words[:end], outer.At)
		for _, o := range args.Options {
			if runsValue(o) && o.Value != "" && !yield(Mention{Text: o.Value, To: name}) {
				return false
			}
		}
		if args.Spec.Operands == "container" && !imageMentions(p, &args, name, yield) {
			return false
		}
		for _, i := range args.Operands { // variables and settings for the program
			if v := p.Words[i].Value; strings.Contains(v, "=") && !yield(Mention{Text: v, To: name}) {
				return false
			}
		}
	}
	return true
}

// wordMentions yields what the innermost program of a part is given.
func (a *Account) wordMentions(p *Part, yield func(Mention) bool) {
	last := p.Forms[len(p.Forms)-1]
	name := baseName(last.Name)
	nature := options.NatureOf(name)
	for _, t := range p.read.told {
		if !yield(Mention{Text: p.Words[t.word].Value[t.from:], To: name}) {
			return
		}
	}
	switch {
	case nature == options.Code:
		a.code(p, last, yield)
	case options.IsShell(name):
		a.fed(p, name, yield)
	case nature == options.Texts:
		behind := slices.IndexFunc(p.Words, func(w Word) bool { return w.Value == "--" })
		for k := last.At + 1; k < len(p.Words); k++ {
			if v := p.Words[k].Value; (behind > 0 && k > behind || strings.ContainsAny(v, " =/")) && !yield(Mention{Text: v, To: name}) {
				return
			}
		}
	case nature == options.Quiet:
		documents(p, name, false, yield)
	case nature == options.Words, nature == options.Unlisted && !p.Known && !p.read.defined:
		if eachWord(p.Words[last.At+1:], name, yield) {
			documents(p, name, false, yield)
		}
	}
	if last.At+1 == len(p.Words) {
		return
	}
	if spec := options.Find(name); spec != nil && spec.Runs && len(p.Forms) == 1 {
		if args := cmdline.Take(spec, p.Words, last.At); args.Spec.Operands == "container" {
			imageMentions(p, &args, name, yield)
		}
	}
}

// imageMentions yields what a container is told to run: the program that its image is named after, and the words behind the image when
// another program gets them.
func imageMentions(p *Part, args *cmdline.Args, to string, yield func(Mention) bool) bool {
	if len(args.Operands) == 0 {
		return true
	}
	image := args.Operands[0]
	if program := imageProgram(p.Words[image].Value); program != "" && !yield(Mention{Text: program, To: to}) {
		return false
	}
	_, entry := args.HasRole(options.Program)
	return !entry || eachWord(p.Words[image+1:], to, yield)
}

// imageProgram is the program that an image of somebody's is named after, as in curlimages/curl:8; empty for the images that are only a
// name.
func imageProgram(image string) string {
	at := strings.LastIndexByte(image, '/')
	if at < 0 {
		return ""
	}
	name, _, _ := strings.Cut(image[at+1:], ":")
	return name
}

// code yields the texts that an interpreter gets: its words, its input where that stands in the line, and what echo and its like write
// into a pipe to it.
func (a *Account) code(p *Part, last Form, yield func(Mention) bool) {
	name := baseName(last.Name)
	for k := last.At + 1; k < len(p.Words); k++ {
		v := p.Words[k].Value
		option := strings.HasPrefix(v, "-") || k > last.At+1 && strings.HasPrefix(p.Words[k-1].Value, "-")
		if !yieldWord(v, Mention{Text: v, To: name, Whole: option}, yield) {
			return
		}
	}
	if documents(p, name, true, yield) {
		a.fed(p, name, yield)
	}
}

// fed yields what echo and its like write into a pipe to a program, and the here-documents there.
func (a *Account) fed(p *Part, name string, yield func(Mention) bool) {
	for k := p.read.feed[0]; k < p.read.feed[1]; k++ {
		from := &a.Parts[k]
		if !documents(from, name, true, yield) {
			return
		}
		if n := from.Name(); n != "echo" && n != "printf" {
			continue
		}
		for _, w := range from.Words[from.Forms[len(from.Forms)-1].At+1:] {
			if !yield(Mention{Text: w.Value, To: name, Whole: true}) {
				return
			}
		}
	}
}

// documents yields the here-documents and here-strings of a part.
func documents(p *Part, to string, whole bool, yield func(Mention) bool) bool {
	return !slices.ContainsFunc(p.Redirs, func(r Redir) bool {
		return strings.HasPrefix(r.Op, "<<") && !yield(Mention{Text: r.Target.Value, To: to, Whole: whole})
	})
}

// eachWord yields the words of a program that may run them.
func eachWord(words []Word, to string, yield func(Mention) bool) bool {
	for k := range words {
		if v := words[k].Value; !yieldWord(v, Mention{Text: v, To: to}, yield) {
			return false
		}
	}
	return true
}

// yieldWord yields a word and, of a short option, what may be joined to its name.
func yieldWord(v string, m Mention, yield func(Mention) bool) bool {
	if v == "" {
		return true
	}
	if !yield(m) {
		return false
	}
	if len(v) > 2 && v[0] == '-' && v[1] != '-' {
		m.Text = v[2:]
		return yield(m)
	}
	return true
}

// far tells whether a part runs on another machine, reached by a program around it or around the text it stands in.
func (a *Account) far(p *Part) bool {
	for {
		if p.Remote() {
			return true
		}
		if p.Parent < 0 {
			return false
		}
		p = &a.Parts[p.Parent]
	}
}

// Remote tells whether what the part runs runs on another machine.
func (p *Part) Remote() bool {
	return len(p.Forms) > 1 && slices.ContainsFunc(p.Forms[1:], func(f Form) bool { return isRemote(f.Wrapper) })
}

// isRemote tells the programs that have a shell of another machine run their words.
func isRemote(name string) bool {
	switch name {
	case "ssh", "autossh", "rsh", "slogin", "dbclient", "mosh":
		return true
	}
	return false
}
