package read

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ledongthuc/pdf"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

const (
	wholePages  = 10 // a document of more needs a range
	maxRange    = 20
	maxDocument = 20 << 20 // bytes handed to a model as a document
	maxPDF      = 200 << 20
	maxParsed   = 32 << 20 // bytes given to the parser in this process
	pdfTime     = 20 * time.Second
)

type pdfOutput struct {
	Type string  `json:"type"`
	File pdfFile `json:"file"`
}

type pdfFile struct {
	FilePath     string `json:"filePath"`
	Base64       string `json:"base64,omitempty"`
	OriginalSize int64  `json:"originalSize"`
	Count        int    `json:"count,omitempty"`
	OutputDir    string `json:"outputDir,omitempty"`
}

// pageRange reads "3" and "1-5".
func pageRange(s string) (from, to int, err error) {
	a, b, ok := strings.Cut(strings.TrimSpace(s), "-")
	from, err = strconv.Atoi(strings.TrimSpace(a))
	if to = from; err == nil && ok {
		to, err = strconv.Atoi(strings.TrimSpace(b))
	}
	switch {
	case err != nil || from < 1 || to < from:
		return 0, 0, fmt.Errorf("expected a page such as \"3\" or a range such as \"1-5\", not %q", s)
	case to-from+1 > maxRange:
		return 0, 0, fmt.Errorf("at most %d pages at once, not %d", maxRange, to-from+1)
	}
	return from, to, nil
}

func (r *reader) pdf(ctx context.Context, in Input, info fs.FileInfo, call tool.Call) (tool.Result, error) {
	if info.Size() > maxPDF {
		return tool.Failed(fmt.Sprintf("%s has %d bytes; PDF files over %d are not read.", in.FilePath, info.Size(), maxPDF)), nil
	}
	limited, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	count, err := pageCount(limited, r.find, in.real)
	if err != nil {
		return pdfFailed(ctx, in, err)
	}
	from, to := 1, count
	switch {
	case in.Pages != "":
		if from, to, err = pageRange(in.Pages); err != nil {
			return tool.Misuse("`pages`: " + err.Error()), nil
		}
		if from > count {
			return tool.Failed(fmt.Sprintf("%s has only %d pages.", in.FilePath, count)), nil
		}
		to = min(to, count)
	case count > wholePages && !in.AllowLarge:
		return tool.Failed(fmt.Sprintf("%s has %d pages, too many to read at once. Say which with pages, for instance \"1-5\" (at most %d).", in.FilePath, count, maxRange)), nil
	}
	if in.Pages == "" && r.w.Documents != nil && r.w.Documents() && info.Size() <= maxDocument {
		return r.document(in, count, call)
	}
	return r.pages(limited, in, info.Size(), from, to, count)
}

func pdfFailed(ctx context.Context, in Input, err error) (tool.Result, error) {
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case errors.Is(err, nolink.ErrLink):
		return tool.Result{}, err
	}
	return tool.Failed(fmt.Sprintf("%s cannot be read as PDF (damaged, or protected by a password?): %v.", in.FilePath, err)), nil
}

// document hands the file as it is to a model that reads PDF.
func (r *reader) document(in Input, count int, call tool.Call) (tool.Result, error) {
	raw, _, err := textfile.ReadReal(in.real, maxDocument)
	if err != nil {
		return refuse(in, call, err)
	}
	out := pdfOutput{"pdf", pdfFile{FilePath: in.FilePath, Base64: base64.StdEncoding.EncodeToString(raw), OriginalSize: int64(len(raw))}}
	return shown(out, msg.Document{MediaType: "application/pdf", Data: raw, Title: filepath.Base(in.FilePath)},
		msg.Text{Text: fmt.Sprintf("PDF file, %d pages", count)})
}

// pages shows some pages as text, or as pictures when there is no text in them.
func (r *reader) pages(ctx context.Context, in Input, size int64, from, to, count int) (tool.Result, error) {
	texts, err := pageTexts(ctx, r.find, in.real, from, to)
	if err != nil {
		return pdfFailed(ctx, in, err)
	}
	var b strings.Builder
	empty := true
	for i, t := range texts {
		empty = empty && strings.TrimSpace(t) == ""
		fmt.Fprintf(&b, "--- page %d of %d ---\n%s\n", from+i, count, strings.TrimSpace(strings.ToValidUTF8(t, "\uFFFD")))
	}
	if empty {
		return r.pictures(ctx, in, size, from, to)
	}
	text := strings.TrimSpace(b.String())
	if limit := r.tokenCap(in); estimate(text) > limit {
		return tool.Failed(fmt.Sprintf("Pages %d to %d have more text than the %d tokens one result may hold. Ask for fewer pages.", from, to, limit)), nil
	}
	n := textfile.CountLines(text)
	return shown(textOutput{"text", textFile{FilePath: in.FilePath, Content: text, NumLines: n, StartLine: 1, TotalLines: n}}, msg.Text{Text: text})
}

// finder finds a program that is run on a file.
type finder func(name string) (string, error)

func (r *reader) find(name string) (string, error) {
	return r.w.Finder.Find(name, os.Getenv("PATH"))
}

// pageCount asks pdfinfo, or the parser in this process where that is not installed.
func pageCount(ctx context.Context, find finder, real string) (int, error) {
	if program, err := find("pdfinfo"); err == nil {
		out, err := run(ctx, real, program, given)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(out)) {
			if n, ok := strings.CutPrefix(line, "Pages:"); ok {
				return strconv.Atoi(strings.TrimSpace(n))
			}
		}
		return 0, errors.New("pdfinfo tells no number of pages")
	}
	count := 0
	err := parsed(ctx, real, func(doc *pdf.Reader) error {
		if count = doc.NumPage(); count < 1 {
			return errors.New("it has no pages")
		}
		return nil
	})
	return count, err
}

func pageTexts(ctx context.Context, find finder, real string, from, to int) ([]string, error) {
	if program, err := find("pdftotext"); err == nil {
		out, err := run(ctx, real, program, "-f", strconv.Itoa(from), "-l", strconv.Itoa(to), "-layout", "-enc", "UTF-8", given, "-")
		if err != nil {
			return nil, err
		}
		texts := strings.Split(strings.TrimSuffix(string(out), "\f"), "\f")
		return texts[:min(len(texts), to-from+1)], nil
	}
	return parsedTexts(ctx, real, from, to)
}

func parsedTexts(ctx context.Context, real string, from, to int) ([]string, error) {
	var texts []string
	err := parsed(ctx, real, func(doc *pdf.Reader) error {
		for n := from; n <= to; n++ {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			page := doc.Page(n)
			if page.V.IsNull() {
				texts = append(texts, "")
				continue
			}
			text, err := page.GetPlainText(nil)
			if err != nil {
				return fmt.Errorf("page %d: %w", n, err)
			}
			texts = append(texts, text)
		}
		return nil
	})
	return texts, err
}

// parsed runs a function on a parsed document. The parser panics on what it does not understand,
// and may take for ever: it is left behind at the end of ctx.
func parsed(ctx context.Context, real string, use func(*pdf.Reader) error) error {
	raw, _, err := textfile.ReadReal(real, maxParsed)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { // ends with the parser
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the parser gave up: %v", p)
			}
		}()
		doc, err := pdf.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			done <- err
			return
		}
		done <- use(doc)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxOutputBytes bounds what a program may print.
const maxOutputBytes = 16 << 20

// run starts a program on the file at real, which it finds under the name given.
func run(ctx context.Context, real, name string, args ...string) ([]byte, error) {
	f, _, err := textfile.OpenReal(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"} // it needs nothing more
	give(cmd, f)
	cmd.WaitDelay = 500 * time.Millisecond
	out, complaint := &bounded{limit: maxOutputBytes}, &bounded{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = out, complaint
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(complaint.String()); said != "" {
			err = fmt.Errorf("%s: %s", filepath.Base(name), strings.ToValidUTF8(said, "?"))
		}
		return nil, err
	}
	return out.Bytes(), nil
}

// bounded keeps the first bytes of what is written.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.limit-b.Len())]) // never fails
	return len(p), nil
}

// pictures shows pages that hold no text, such as scanned ones.
func (r *reader) pictures(ctx context.Context, in Input, size int64, from, to int) (tool.Result, error) {
	const none = "%s: pages %d to %d hold no text, so they are pictures (scanned?)"
	program, err := r.find("pdftoppm")
	if err != nil || r.w.Pages == nil || (r.w.Images != nil && !r.w.Images()) {
		return tool.Failed(fmt.Sprintf(none+"; they cannot be shown here.", in.FilePath, from, to)), nil
	}
	pages := r.w.Pages()
	if err := os.MkdirAll(pages, 0o700); err != nil {
		return tool.Result{}, fmt.Errorf("make the folder for pages: %w", err)
	}
	dir, err := os.MkdirTemp(pages, "pdf-")
	if err != nil {
		return tool.Result{}, fmt.Errorf("make the folder for pages: %w", err)
	}
	if _, err := run(ctx, in.real, program, "-f", strconv.Itoa(from), "-l", strconv.Itoa(to), "-jpeg", "-scale-to", "1568", given, filepath.Join(dir, "page")); err != nil {
		os.RemoveAll(dir)
		return pdfFailed(ctx, in, err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "page*.jpg"))
	if err != nil {
		return tool.Result{}, err
	}
	slices.Sort(names)
	var content []msg.Block
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			return tool.Result{}, fmt.Errorf("read a page that was just made: %w", err)
		}
		pic, err := prepare(raw)
		if err != nil {
			return pdfFailed(ctx, in, err)
		}
		content = append(content, msg.Image{MediaType: pic.media, Data: pic.data})
	}
	content = append(content, msg.Text{Text: note(fmt.Sprintf(none, in.FilePath, from, to))})
	return shown(pdfOutput{"parts", pdfFile{FilePath: in.FilePath, OriginalSize: size, Count: len(names), OutputDir: dir}}, content...)
}
