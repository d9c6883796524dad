package shellsyntax

import (
	"strings"
)

// isShell tells the programs that read shell text.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "yash", "fish", "csh", "tcsh", "busybox-sh":
		return true
	}
	return false
}

// shells looks for the program of a shell: -c text, a here-document, or standard input.
func (w *walker) shells(p *Part, last Form) {
	name := baseName(last.Name)
	if !isShell(name) {
		return
	}
	i := last.At + 1
	readsInput := true
	for ; i < len(p.Words); i++ {
		word := &p.Words[i]
		v := word.Value
		if !word.Static() {
			if word.MayBeOption() {
				p.Unknown = append(p.Unknown, name+" has a word that is only known at run time and may be its program")
			}
			readsInput = false
			break
		}
		if v == "-" || v == "--" {
			i++
			readsInput = i >= len(p.Words)
			break
		}
		if len(v) < 2 || (v[0] != '-' && v[0] != '+') {
			readsInput = false
			break
		}
		if strings.HasPrefix(v, "--") {
			if v == "--rcfile" || v == "--init-file" {
				p.Exec = append(p.Exec, name+" "+v+" runs a file first")
				i++
			}
			continue
		}
		if strings.ContainsRune(v, 'c') {
			w.shellText(p, name, i+1)
			return
		}
		if strings.HasSuffix(v, "o") || strings.HasSuffix(v, "O") {
			i++
		}
		if strings.ContainsRune(v, 's') {
			break
		}
	}
	if !readsInput {
		return
	}
	p.Exec = append(p.Exec, name+" runs what it reads")
	for k := range p.Redirs {
		r := &p.Redirs[k]
		if r.Op == "<<" || r.Op == "<<-" || r.Op == "<<<" {
			w.pending = append(w.pending, pendingInner{text: r.Target.Value, isText: true, static: r.Target.Static(), context: Inner})
			return
		}
	}
}

// shellText notes the text after -c: the first word that is no option.
func (w *walker) shellText(p *Part, name string, i int) {
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
