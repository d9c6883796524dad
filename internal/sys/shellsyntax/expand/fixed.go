package expand

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// fixedText returns the output of a Substitution that only prints a quoted here-document: $(cat <<'EOF' … EOF). The text
// stands in the command, so it is as fixed as any other.
func (r *Reader) fixedText(c *syntax.CmdSubst) (string, bool) {
	if r.Cat || len(c.Stmts) != 1 || c.TempFile || c.ReplyVar {
		return "", false
	}
	s := c.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Redirs) != 1 || len(call.Assigns) != 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" {
		return "", false
	}
	h := s.Redirs[0]
	if h.Op != syntax.Hdoc || h.N != nil || h.Hdoc == nil || !quotedDelimiter(h.Word) {
		return "", false
	}
	var b strings.Builder
	for _, p := range h.Hdoc.Parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return strings.TrimRight(b.String(), "\n"), true
}

// quotedDelimiter tells whether the delimiter of a here-document keeps its body as it stands.
func quotedDelimiter(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); !ok || strings.Contains(lit.Value, `\`) {
			return true
		}
	}
	return false
}

// constant works out arithmetic of plain numbers. What needs a variable, or more than sums and products, is not constant.
func constant(x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		lit := x.Lit()
		if lit == "" || len(lit) > 9 || strings.Trim(lit, "0123456789") != "" || len(lit) > 1 && lit[0] == '0' {
			return 0, false
		}
		n := 0
		for i := range len(lit) {
			n = n*10 + int(lit[i]-'0')
		}
		return n, true
	case *syntax.ParenArithm:
		return constant(x.X)
	case *syntax.BinaryArithm:
		a, okA := constant(x.X)
		b, okB := constant(x.Y)
		if !okA || !okB || a > 1<<31 || a < -1<<31 || b > 1<<31 || b < -1<<31 {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			return a + b, true
		case syntax.Sub:
			return a - b, true
		case syntax.Mul:
			return a * b, true
		case syntax.Quo:
			if b != 0 {
				return a / b, true
			}
		case syntax.Rem:
			if b != 0 {
				return a % b, true
			}
		}
	}
	return 0, false
}

// Pipe tells whether the word is <(…): the name of a pipe that another command's output is read from.
func (w *Word) Pipe() bool { return w.Flags&Pipe != 0 }

// Variables tells whether all that is unknown of the word are plain variables of which none holds a secret by its name.
func (w *Word) Variables() bool { return w.variables(secretName) }

// AnyVariables tells whether all that is unknown of the word are plain variables.
func (w *Word) AnyVariables() bool { return w.variables(func(string) bool { return false }) }

func (w *Word) variables(secret func(string) bool) bool {
	if w.Flags&(Subst|Evals|Arith|Tilde) != 0 {
		return false
	}
	src := w.Text
	for {
		i := strings.IndexByte(src, '$')
		if i < 0 {
			return true
		}
		src = src[i+1:]
		braced := strings.HasPrefix(src, "{")
		if braced {
			src = src[1:]
		}
		n := 0
		for n < len(src) && IsName(src[:n+1]) {
			n++
		}
		if n == 0 && src != "" && strings.IndexByte("?#$!0123456789", src[0]) >= 0 {
			n = 1
		}
		if n == 0 || secret(src[:n]) || braced && !strings.HasPrefix(src[n:], "}") {
			return false
		}
		src = src[n:]
	}
}

// secretName tells names of variables that hold secrets by convention.
func secretName(name string) bool {
	up := strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASS", "PWD", "PW", "CRED", "AUTH", "COOKIE", "SESSION", "PRIVATE", "SIGN", "SALT", "DSN", "URL", "URI", "CONN", "CERT", "JWT", "BEARER", "PIN", "HEADER", "WEBHOOK", "PAT"} {
		if !strings.Contains(up, part) {
			continue
		}
		switch up {
		case "PWD", "OLDPWD", "PATH", "GOPATH", "MANPATH":
			continue
		}
		return true
	}
	return false
}
