package shellsyntax

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/paths"
)

// redirs notes the redirections of part i.
func (w *walker) redirs(i int, list []*syntax.Redirect, st *dirs) {
	for _, r := range list {
		var subs []expand.Substitution
		w.redir(&w.acc.Parts[i], r, st, &subs)
		if all := w.acc.Parts[i].Redirs; len(all) > 0 {
			last := &all[len(all)-1]
			w.late.holds(i, last.Target.Value, st)
			if strings.HasPrefix(last.Op, "<<") && strings.TrimSpace(last.Target.Value) != "" {
				w.late.input.docs = append(w.late.input.docs, laterText{part: i, text: last.Target.Value, st: st})
			} else if last.Op == "<" && !last.Inert {
				w.late.input.files = append(w.late.input.files, last.Target.Text)
			}
		}
		for _, s := range subs {
			w.substitute(s, st, held{parent: i, context: Target, background: w.acc.Parts[i].Background})
		}
	}
}

func (w *walker) redir(p *Part, r *syntax.Redirect, st *dirs, subs *[]expand.Substitution) {
	out := Redir{Op: r.Op.String()}
	defer func() {
		if out.Target.Flags&expand.Evals != 0 {
			p.Unknown = append(p.Unknown, "the redirection evaluates text once more")
		}
	}()
	if what := readDocument(&w.r, &out, r, subs); what != "" {
		if out.Target.Unknown() {
			p.Loose = append(p.Loose, what+" is only known at run time")
		}
		p.Redirs = append(p.Redirs, out)
		return
	}
	out.Target = w.r.Read(r.Word, subs)
	if expand.HasBrace(r.Word) {
		out.Target.Flags = out.Target.Flags&^expand.Static | expand.Unknown
	}
	t := &out.Target
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		switch {
		case strings.ContainsAny(t.Value, "$`"): // the shell expands the word twice
			p.Unknown = append(p.Unknown, "the redirection evaluates the text "+t.Text)
			*subs = append(*subs, expand.Substitution{Text: t.Value})
		case t.Static() && paths.IsDescriptor(t.Text):
			out.Inert = true
			p.Redirs = append(p.Redirs, out)
			return
		case t.Unknown():
			out.Odd = "a descriptor that is only known at run time"
			p.Loose = append(p.Loose, out.Odd)
		}
	}
	intent := Write
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
		intent = Read
	}
	if t.Static() && paths.InertDevice(t.Text, intent != Read) {
		out.Inert = true
	} else {
		n := len(p.Uses)
		w.addUse(p, st, t, t.Value, intent, false)
		for k := n; k < len(p.Uses); k++ {
			p.Uses[k].Redirect = true
		}
	}
	p.Redirs = append(p.Redirs, out)
}

// readDocument reads a here-document or here-string, and says which of them it is; empty: neither.
func readDocument(reader *expand.Reader, out *Redir, r *syntax.Redirect, subs *[]expand.Substitution) string {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			out.Target = reader.Document(r, subs)
		}
		out.Inert = true
		return "text in the here-document"
	case syntax.WordHdoc:
		out.Target, out.Inert = reader.Read(r.Word, subs), true
		return "the here-string"
	}
	return ""
}

// addUse notes that a part touches the path that is value of word.
func (w *walker) addUse(p *Part, st *dirs, word *Word, value string, intent Intent, below bool) {
	u := PathUse{
		Text: word.Text, Intent: intent, Glob: word.Glob(), Unknown: word.Unknown(), Tilde: word.Flags&expand.Tilde != 0,
		Expands: word.Flags&(expand.Tilde|expand.Home|expand.Pwd) != 0,
		Below:   below, Slash: len(value) > 1 && strings.HasSuffix(value, "/"),
	}
	if word.Static() && len(value) != len(word.Value) {
		u.Text = value
	}
	if !u.Glob && !u.Unknown && paths.InertDevice(value, intent != Read) {
		return
	}
	if word.Static() && strings.HasPrefix(value, "~") && value != word.Value { // --opt=~/x, of=~/x
		if rest, ok := strings.CutPrefix(value, "~/"); ok && w.r.Home != "" {
			value, u.Tilde, u.Expands = w.r.Home+"/"+rest, true, true
		}
	}
	u.Rooted, u.Selected = word.Prefix > 0, word.Flags&expand.Selected != 0
	u.Network = strings.HasPrefix(value, "/dev/tcp/") || strings.HasPrefix(value, "/dev/udp/")
	w.place(p, st, u, value)
}

// place makes the path absolute: one use for each directory the shell may stand in.
func (w *walker) place(p *Part, st *dirs, u PathUse, value string) {
	if u.Unknown && value == "" {
		u.Unbased = true
	}
	if strings.HasPrefix(value, "/") {
		u.Path, u.Walk = path.Clean(value), paths.Walk("", value)
		if u.Unknown {
			u.Empty = u.Path
		}
		p.Uses = append(p.Uses, u)
		return
	}
	u.Unbased = u.Unbased || st.unknown || p.Elsewhere
	for _, d := range st.list {
		u.Path, u.Walk = path.Clean(d+"/"+value), paths.Walk(d, value)
		if u.Unknown {
			u.Empty = ""
			if value != "" {
				u.Empty = u.Path
			}
		}
		p.Uses = append(p.Uses, u)
	}
}
