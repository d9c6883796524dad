package read

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// textOutput is the structured output for text.
type textOutput struct {
	Type string   `json:"type"`
	File textFile `json:"file"`
}

type textFile struct {
	FilePath   string `json:"filePath"`
	Content    string `json:"content"`
	NumLines   int    `json:"numLines"`
	StartLine  int    `json:"startLine"`
	TotalLines int    `json:"totalLines"` // where a huge file was not read to its end: as far as it was
	Cut        bool   `json:"truncatedByTokenCap,omitempty"`
}

// loaded is a text file as far as it was read.
type loaded struct {
	page textfile.Page
	rec  tool.ReadRecord
}

func (r *reader) text(ctx context.Context, in Input, info fs.FileInfo, call tool.Call) (tool.Result, error) {
	limit := r.tokenCap(in)
	want := textfile.Want{First: in.Offset, Count: in.Limit, MaxBytes: max(8*limit, 64<<10)}
	if in.Column > 0 {
		in.Offset, in.Limit = max(in.Offset, 1), 1
		want.First, want.Count, want.Column, want.Width = in.Offset, 1, in.Column, 4*limit
	}
	if in.AllowLarge && in.Column == 0 {
		want.Width = 1 << 20
		if in.Limit == 0 {
			want.Count = 1 << 30
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	got, err := load(ctx, in, want, info.Size())
	if err != nil {
		return refuse(in, call, err)
	}
	got.rec.Offset, got.rec.Limit = in.Offset, in.Limit
	if in.Column == 0 && unchanged(call.Scope.Reads, got.rec) {
		return shown(struct {
			Type string `json:"type"`
			File struct {
				FilePath string `json:"filePath"`
			} `json:"file"`
		}{Type: "file_unchanged", File: struct {
			FilePath string `json:"filePath"`
		}{in.FilePath}}, msg.Text{Text: "File unchanged since your last read of this range; see that result."})
	}
	return r.show(in, got, call, limit)
}

// load reads the wanted lines; a file of moderate size is read whole, so that its hash is known.
func load(ctx context.Context, in Input, want textfile.Want, size int64) (loaded, error) {
	var large *textfile.TooLargeError
	if size <= maxInMemory {
		f, err := textfile.LoadReal(in.FilePath, in.real, maxInMemory)
		if err == nil {
			rec := tool.ReadRecord{Path: f.Real, Hash: f.Text.Hash(), ModTime: f.Info.ModTime(), Size: int64(len(f.Text.Raw()))}
			if len(f.Text.Raw()) <= tool.MaxKeptContent {
				rec.Content = f.Text.Raw()
			}
			return loaded{textfile.PageOf(f.Text, want), rec}, nil
		}
		if !errors.As(err, &large) {
			return loaded{}, err
		}
	}
	page, err := textfile.ReadPage(ctx, in.real, want)
	if err != nil {
		return loaded{}, err
	}
	return loaded{page, tool.ReadRecord{Path: in.real, Size: size, Partial: true}}, nil
}

// unchanged tells whether the model has seen just this.
func unchanged(reads *tool.Reads, rec tool.ReadRecord) bool {
	old, ok := reads.Get(rec.Path)
	return ok && !old.Written && old.Hash == rec.Hash && rec.Hash != [sha256.Size]byte{} && old.Offset == rec.Offset && old.Limit == rec.Limit
}

func (r *reader) show(in Input, got loaded, call tool.Call, limit int) (tool.Result, error) {
	page := got.page
	first := page.First
	switch {
	case page.Total == 0:
		call.Scope.Reads.Put(got.rec)
		return shown(textOutput{"text", textFile{FilePath: in.FilePath, StartLine: 1}}, msg.Text{Text: note("the file exists but is empty")})
	case len(page.Lines) == 0 && page.Total >= 0 && page.Total < first:
		return shown(textOutput{"text", textFile{FilePath: in.FilePath, StartLine: first, TotalLines: page.Total}},
			msg.Text{Text: note(fmt.Sprintf("the file has only %d lines; offset %d is behind its end", page.Total, first))})
	}
	lines, capped := fit(page.Lines, first, limit)
	capped = capped || page.Full
	if capped && len(lines) > 0 && (in.Offset > 0 || in.Limit > 0) {
		return tool.Failed(fmt.Sprintf("Lines %d to %d have more than the %d tokens one result may hold. Ask for a smaller limit (about %d lines fit), or look for what you need with Grep.",
			first, first+len(page.Lines)-1, limit, len(lines))), nil
	}
	if len(lines) == 0 { // one line alone is too much
		lines, page.Long = shorten(page, min(limit, maxTokens))
	}
	last := first + len(lines) - 1
	more := page.Total < 0 || last < page.Total
	got.rec.Partial = got.rec.Partial || (more && in.Limit == 0)
	if in.Column == 0 { // a part of a line says nothing of what is known of the file
		call.Scope.Reads.Put(got.rec)
	}

	var b strings.Builder
	for i, l := range lines {
		b.WriteString(strconv.Itoa(first + i))
		b.WriteByte('\t')
		b.WriteString(l)
		if more := hidden(page, in, i, l); more > 0 {
			fmt.Fprintf(&b, "… [%d more characters]", more)
		}
		b.WriteByte('\n')
	}
	b.WriteString(insideLines(page, in, lines))
	b.WriteString(remarks(page, first, last, more, in))
	total := page.Total
	if total < 0 {
		total = last
	}
	out := textFile{in.FilePath, strings.Join(lines, "\n"), len(lines), first, total, capped}
	return shown(textOutput{"text", out}, msg.Text{Text: strings.TrimSuffix(b.String(), "\n")})
}

// fit returns the lines that are within the cap of tokens, numbers included.
func fit(lines []string, first, limit int) (kept []string, capped bool) {
	used := 0
	for i, l := range lines {
		used += estimate(l) + (len(strconv.Itoa(first+i))+5)/4
		if used > limit {
			return lines[:i], true
		}
	}
	return lines, false
}

// remarks says what the model does not see, and what it should know of what it sees.
func remarks(page textfile.Page, first, last int, more bool, in Input) string {
	var out []string
	if more {
		what := fmt.Sprintf("lines %d to %d of %d", first, last, page.Total)
		if page.Total < 0 {
			what = fmt.Sprintf("lines %d to %d of a very large file", first, last)
		}
		if in.Limit == 0 {
			what = "PARTIAL view: " + what
		}
		out = append(out, note(fmt.Sprintf("%s; continue with offset %d", what, last+1)))
	}
	switch {
	case page.Guessed:
		out = append(out, note(fmt.Sprintf("nothing says how the file is encoded; it was read as %s, which is a guess: letters beyond ASCII may be wrong. Edits keep all other bytes", page.Encoding)))
	case page.Encoding != textfile.UTF8:
		out = append(out, note(fmt.Sprintf("the file is encoded as %s, which edits keep", page.Encoding)))
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n")
}

func note(s string) string { return "[" + s + "]" }
