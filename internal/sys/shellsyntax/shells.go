package shellsyntax

import (
	"path"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// startsShell tells the programs that start a shell when they are given no program, and those that read commands then.
func startsShell(name string) bool {
	switch name {
	case "parallel", "sem", "at", "batch", "newgrp", "sg", "su", "sudo", "doas", "pkexec", "runuser", "unshare", "nsenter", "chroot", "script", "fakeroot", "proot", "firejail", "setarch", "linux32", "linux64", "nix-shell", "ssh", "autossh", "rsh", "slogin", "dbclient":
		return true
	}
	return false
}

// shellReader finds the program that a shell is given.
type shellReader struct{ *walker }

// shells looks for the program of a shell: -c text, a here-document, or standard input.
func (w shellReader) shells(p *Part, last Form) {
	name := baseName(last.Name)
	if name == "." || name == "source" {
		w.sourced(p, last)
		return
	}
	if startsShell(name) {
		switch name {
		case "parallel", "sem", "at", "batch":
			p.Exec = append(p.Exec, name+" runs what it reads")
		}
		w.input(p, name)
		return
	}
	if !options.IsShell(name) {
		return
	}
	if w.shellArguments(p, last.At+1, name) {
		p.Exec = append(p.Exec, name+" runs what it reads")
		w.input(p, name)
	}
}

// shellArguments goes through the words of a shell from the one at index i on; it reports whether the shell reads its program from its
// standard input.
func (w shellReader) shellArguments(p *Part, i int, name string) bool {
	for ; i < len(p.Words); i++ {
		word := &p.Words[i]
		v := word.Value
		if !word.Static() {
			if word.MayBeOption() {
				p.Unknown = append(p.Unknown, name+" has a word that is only known at run time and may be its program")
			}
			w.late.runsOutside(name + " runs the file " + word.Text)
			return false
		}
		if v == "-" || v == "--" {
			return i+1 >= len(p.Words) || isStdin(p.Words[i+1].Value)
		}
		if len(v) < 2 || (v[0] != '-' && v[0] != '+') {
			return isStdin(v)
		}
		if strings.HasPrefix(v, "--") {
			if v == "--rcfile" || v == "--init-file" {
				p.Exec = append(p.Exec, name+" "+v+" runs a file first")
				w.late.runsOutside(name + " " + v + " runs a file first")
				i++
			}
			continue
		}
		if strings.ContainsRune(v, 'c') {
			w.shellText(p, name, i+1)
			return false
		}
		if strings.HasSuffix(v, "o") || strings.HasSuffix(v, "O") {
			i++
		}
		if strings.ContainsRune(v, 's') {
			break
		}
	}
	return true
}

// isStdin tells the names of standard input and of other descriptors.
func isStdin(file string) bool {
	file = path.Clean(file)
	return file == "/dev/stdin" || strings.HasPrefix(file, "/dev/fd/") || strings.HasPrefix(file, "/proc/self/fd/") || strings.HasPrefix(file, "/proc/thread-self/fd/")
}

// sourced looks for the text of "." and "source" when the file is standard input.
func (w shellReader) sourced(p *Part, last Form) {
	i := last.At + 1
	if i < len(p.Words) && p.Words[i].Value == "--" {
		i++
	}
	switch {
	case i >= len(p.Words):
	case isStdin(p.Words[i].Value):
		w.input(p, baseName(last.Name))
	case !p.Words[i].Static():
		w.late.runsOutside(baseName(last.Name) + " runs the file " + p.Words[i].Text)
	}
}

// input notes the program that a shell reads from its standard input: a here-document, a here-string, or
// what echo or printf write into a pipe. Which of several it is hangs on numbers of descriptors, so all are searched.
func (w shellReader) input(p *Part, name string) {
	own := false
	for k := range p.Redirs {
		switch r := &p.Redirs[k]; r.Op {
		case "<<", "<<-", "<<<":
			own = true
			w.pending = append(w.pending, pendingInner{text: r.Target.Value, isText: true, static: r.Target.Static(), context: Inner})
		case "<":
			if !r.Inert {
				w.late.runsOutside(name + " runs what is in " + r.Target.Text)
			}
		}
	}
	if !own {
		w.late.input.shells = append(w.late.input.shells, w.reading)
	}
	if !w.piped {
		return
	}
	for k := w.feed[0]; k < w.feed[1]; k++ {
		text, known := written(&w.acc.Parts[k])
		if !known {
			w.late.runsOutside(name + " runs what it reads from a pipe")
			continue
		}
		w.pending = append(w.pending, pendingInner{text: text, isText: true, static: true, context: Inner})
	}
}

// written is what echo and printf print, when that is known: backslashes, formats and several
// arguments of printf are not followed.
func written(p *Part) (string, bool) {
	name := p.Name()
	if name != "echo" && name != "printf" {
		return "", false
	}
	words := p.Words[p.Forms[len(p.Forms)-1].At+1:]
	if len(words) > 0 && name == "echo" && words[0].Value == "-n" {
		words = words[1:]
	}
	texts := make([]string, len(words))
	for k := range words {
		if !words[k].Static() || strings.Contains(words[k].Value, `\`) {
			return "", false
		}
		texts[k] = words[k].Value
	}
	if name == "printf" && (len(words) != 1 || strings.Contains(texts[0], "%")) {
		return "", false
	}
	return strings.Join(texts, " "), true
}

// shellText notes the text after -c: the first word that is no option.
func (w shellReader) shellText(p *Part, name string, i int) {
	for ; i < len(p.Words); i++ {
		v := p.Words[i].Value
		if p.Words[i].Static() && len(v) > 1 && (v[0] == '-' || v[0] == '+') && v != "--" {
			if strings.HasSuffix(v, "o") || strings.HasSuffix(v, "O") {
				i++
			}
			continue
		}
		if v == "--" && p.Words[i].Static() {
			continue
		}
		w.pending = append(w.pending, pendingInner{text: v, isText: true, static: p.Words[i].Static(), context: Inner})
		return
	}
	p.Unknown = append(p.Unknown, name+" -c has no text")
}
