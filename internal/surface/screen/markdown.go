package screen

import (
	"fmt"
	"html"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

var parser = sync.OnceValue(func() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
})

// markdown renders one or more whole blocks of Markdown as lines. Prose is wrapped at the width;
// code and tables are not, so that they can be copied as they are.
func markdown(source string, cells int, style Style) []string {
	if costly(source) {
		return asSource(source, cells)
	}
	src := []byte(source)
	doc := parser().Parser().Parse(text.NewReader(src))
	m := &mdRenderer{src: src, style: style}
	return m.blocks(doc, cells, false)
}

// costly reports whether a block would hold up the keyboard: the parser takes time that grows with
// the square of begun links (20,000 of them: 16 s).
func costly(source string) bool {
	return len(source) > 256<<10 || strings.Count(source, "](") > 1000
}

// asSource shows a block as it was written.
func asSource(source string, cells int) []string {
	var out []string
	for l := range strings.SplitSeq(strings.TrimRight(source, "\n"), "\n") {
		out = append(out, Wrap(visible.Text(l), cells)...)
	}
	return out
}

type mdRenderer struct {
	src   []byte
	style Style
}

// blocks renders the children of a node; tight leaves no blank line between them.
func (m *mdRenderer) blocks(parent ast.Node, cells int, tight bool) []string {
	var out []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		lines := m.block(n, max(cells, 1))
		if len(lines) == 0 {
			continue
		}
		if len(out) > 0 && !tight {
			out = append(out, "")
		}
		out = append(out, lines...)
	}
	return out
}

func (m *mdRenderer) block(n ast.Node, cells int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return m.heading(n, cells)
	case *ast.Paragraph, *ast.TextBlock:
		return m.prose(n, cells)
	case *ast.FencedCodeBlock:
		return m.code(string(n.Language(m.src)), m.rawLines(n))
	case *ast.CodeBlock:
		return m.code("", m.rawLines(n))
	case *ast.HTMLBlock:
		lines := m.rawLines(n)
		if n.HasClosure() {
			lines = append(lines, strings.TrimRight(string(n.ClosureLine.Value(m.src)), "\n"))
		}
		return visibleLines(lines)
	case *ast.List:
		return m.list(n, cells)
	case *ast.Blockquote:
		return m.indent(m.blocks(n, cells-2, false), m.style.Dim(m.style.Sign("│ ", "> ")), m.style.Dim(m.style.Sign("│ ", "> ")))
	case *ast.ThematicBreak:
		return []string{m.style.Dim(m.style.Sign("───", "---"))}
	case *east.Table:
		return m.table(n, cells)
	}
	return m.blocks(n, cells, false)
}

func visibleLines(lines []string) []string {
	for i, l := range lines {
		lines[i] = visible.Text(l)
	}
	return lines
}

func (m *mdRenderer) heading(n *ast.Heading, cells int) []string {
	title := m.inline(n)
	if !m.style.Attributes {
		return Wrap(strings.Repeat("#", n.Level)+" "+title, cells)
	}
	if n.Level == 1 {
		title = m.style.underline(title)
	}
	return Wrap(m.style.Bold(title), cells)
}

// prose wraps inline content; a hard break in the source stays one.
func (m *mdRenderer) prose(n ast.Node, cells int) []string {
	content := m.inline(n)
	if strings.TrimSpace(content) == "" {
		return nil
	}
	return Wrap(content, cells)
}

func (m *mdRenderer) rawLines(n ast.Node) []string {
	var out []string
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		out = append(out, strings.TrimRight(string(seg.Value(m.src)), "\r\n"))
	}
	return out
}

// code is the language in a dim line and then nothing but the code, at its own indentation.
func (m *mdRenderer) code(language string, lines []string) []string {
	var out []string
	if language != "" {
		out = append(out, m.style.codeHead(language))
	}
	for _, l := range lines {
		out = append(out, m.style.codeLine(l))
	}
	return out
}

func (s Style) codeHead(language string) string { return s.Dim(visible.Text(language)) }
func (s Style) codeLine(line string) string     { return s.cyan(visible.Text(line)) }

func (m *mdRenderer) list(n *ast.List, cells int) []string {
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := m.style.Sign("• ", "- ")
		if n.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		pad := strings.Repeat(" ", Width(marker))
		lines := m.blocks(item, cells-Width(marker), n.IsTight)
		if len(lines) == 0 {
			lines = []string{""}
		}
		if len(out) > 0 && !n.IsTight {
			out = append(out, "")
		}
		out = append(out, m.indent(lines, marker, pad)...)
	}
	return out
}

// indent puts first before the first line and rest before the others.
func (m *mdRenderer) indent(lines []string, first, rest string) []string {
	for i, l := range lines {
		switch {
		case i == 0:
			lines[i] = first + l
		case l == "" && strings.TrimSpace(rest) == "":
		default:
			lines[i] = rest + l
		}
	}
	return lines
}

// inline renders the text inside a block.
func (m *mdRenderer) inline(parent ast.Node) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.WriteString(m.span(n))
	}
	return b.String()
}

func (m *mdRenderer) span(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Text:
		t := visible.Text(literal(string(n.Segment.Value(m.src)), n.IsRaw()))
		switch {
		case n.HardLineBreak():
			return t + "\n"
		case n.SoftLineBreak():
			return t + " "
		}
		return t
	case *ast.String:
		return visible.Text(string(n.Value))
	case *ast.CodeSpan:
		return m.codeSpan(n)
	case *ast.Emphasis:
		if n.Level == 2 {
			return m.marked(m.style.Bold, "**", m.inline(n))
		}
		return m.marked(m.style.italic, "*", m.inline(n))
	case *east.Strikethrough:
		return m.marked(m.style.strike, "~~", m.inline(n))
	case *ast.Link:
		return m.link(m.inline(n), string(n.Destination))
	case *ast.AutoLink:
		return m.style.underline(visible.Text(string(n.URL(m.src))))
	case *ast.Image:
		return m.link("[image: "+m.inline(n)+"]", string(n.Destination))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			seg := n.Segments.At(i)
			b.Write(seg.Value(m.src))
		}
		return visible.Text(b.String())
	case *east.TaskCheckBox:
		if n.IsChecked {
			return "[x] "
		}
		return "[ ] "
	}
	return m.inline(n)
}

// literal is text without the escapes and entities of its source.
func literal(s string, raw bool) string {
	if raw || !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
		case s[i] == '&':
			end := strings.IndexByte(s[i:], ';')
			if end < 0 || end > 32 {
				b.WriteByte('&')
				continue
			}
			b.WriteString(html.UnescapeString(s[i : i+end+1]))
			i += end
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// marked styles a text, or leaves the source's own marks where there are no styles.
func (m *mdRenderer) marked(look func(string) string, mark, t string) string {
	if !m.style.Attributes {
		return mark + t + mark
	}
	return look(t)
}

func (m *mdRenderer) codeSpan(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(m.src))
		}
	}
	t := visible.Text(strings.ReplaceAll(b.String(), "\n", " "))
	if !m.style.Color {
		return "`" + t + "`"
	}
	return m.style.cyan(t)
}

// link shows the target beside the text, since the text may say anything.
func (m *mdRenderer) link(label, target string) string {
	target = visible.Text(target)
	if label == target || label == "" || "mailto:"+label == target {
		return m.style.underline(target)
	}
	return m.style.underline(label) + m.style.Dim(" ("+target+")")
}
