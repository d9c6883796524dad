package screen

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// table lays a table out in columns where it fits into the window, else as a list of its rows.
func (m *mdRenderer) table(n *east.Table, cells int) []string {
	var head []string
	var rows [][]string
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		row := m.tableRow(r)
		if _, ok := r.(*east.TableHeader); ok {
			head = row
			continue
		}
		rows = append(rows, row)
	}
	widths := columnWidths(head, rows)
	total := 0
	for _, w := range widths {
		total += w + 3
	}
	if total-3 > cells {
		return m.tableAsList(head, rows, cells)
	}
	sep := m.style.Dim(m.style.Sign(" │ ", " | "))
	out := []string{joinCells(head, widths, n.Alignments, sep, m.style.Bold)}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat(m.style.Sign("─", "-"), w)
	}
	out = append(out, m.style.Dim(strings.Join(rule, m.style.Sign("─┼─", "-+-"))))
	for _, row := range rows {
		out = append(out, joinCells(row, widths, n.Alignments, sep, func(s string) string { return s }))
	}
	return out
}

func (m *mdRenderer) tableRow(r ast.Node) []string {
	var out []string
	for c := r.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, strings.ReplaceAll(m.inline(c), "\n", " "))
	}
	return out
}

func columnWidths(head []string, rows [][]string) []int {
	widths := make([]int, len(head))
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			if i < len(widths) {
				widths[i] = max(widths[i], Width(cell))
			}
		}
	}
	return widths
}

func joinCells(row []string, widths []int, align []east.Alignment, sep string, look func(string) string) string {
	parts := make([]string, len(widths))
	for i, w := range widths {
		cell := ""
		if i < len(row) {
			cell = row[i]
		}
		gap := w - Width(cell)
		left := 0
		if i < len(align) {
			switch align[i] {
			case east.AlignRight:
				left = gap
			case east.AlignCenter:
				left = gap / 2
			}
		}
		parts[i] = strings.Repeat(" ", left) + look(cell) + strings.Repeat(" ", gap-left)
	}
	return strings.TrimRight(strings.Join(parts, sep), " ")
}

// tableAsList shows each row as its cells one below the other, named by their heads.
func (m *mdRenderer) tableAsList(head []string, rows [][]string, cells int) []string {
	var out []string
	for i, row := range rows {
		if i > 0 {
			out = append(out, "")
		}
		for j, cell := range row {
			name := ""
			if j < len(head) && head[j] != "" {
				name = m.style.Bold(head[j]) + ": "
			}
			out = append(out, Wrap(name+cell, cells)...)
		}
	}
	return out
}
