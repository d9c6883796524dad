package read_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/tools/read"
)

// bench is a tool with an agent in a folder of its own.
type bench struct {
	*testing.T
	tool  tool.Tool
	scope *tool.Scope
	dir   string
}

func newBench(t *testing.T, w read.World) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, read.New(w), tool.NewScope("", dir), dir}
}

func (b *bench) put(name, content string) string {
	b.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
	return path
}

// call runs the tool as the loop does; an error of Normalise is the text of an error result.
func (b *bench) call(input any) tool.Result {
	b.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.Fatal(err)
	}
	c, err := b.tool.Normalise(tool.Call{Name: read.Name, Literal: raw, Scope: b.scope})
	if err != nil {
		return tool.Misuse(err.Error())
	}
	r, err := b.tool.Run(context.Background(), c)
	if err != nil {
		b.Fatal(err)
	}
	for _, block := range r.Content {
		if t, ok := block.(msg.Text); ok && !utf8.ValidString(t.Text) {
			b.Errorf("the result is no valid UTF-8: %q", t.Text)
		}
	}
	return r
}

type in map[string]any

func text(r tool.Result) string { return msg.TextOf(r.Content) }

func (b *bench) wants(input any, isError bool, parts ...string) string {
	b.Helper()
	r := b.call(input)
	got := text(r)
	if r.IsError != isError {
		b.Errorf("%v: error is %v: %s", input, r.IsError, got)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("%v: %q is not in %.500q", input, p, got)
		}
	}
	return got
}

func TestText(t *testing.T) {
	b := newBench(t, read.World{})
	path := b.put("a.txt", "one\ntwo\nthree\n")
	r := b.call(in{"file_path": "a.txt"})
	if got, want := text(r), "1\tone\n2\ttwo\n3\tthree"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want := fmt.Sprintf(`{"type":"text","file":{"filePath":%q,"content":"one\ntwo\nthree","numLines":3,"startLine":1,"totalLines":3}}`, path)
	if d := cmp.Diff(want, string(r.Structured)); d != "" {
		t.Error(d)
	}
	b.wants(in{"file_path": path, "offset": 2, "limit": 1}, false, "2\ttwo\n[lines 2 to 2 of 3; continue with offset 3]")
	b.wants(in{"file_path": path, "offset": 9}, false, "only 3 lines")
	b.wants(in{"file_path": path, "offset": "2"}, false, "2\ttwo\n3\tthree")
	rec, ok := b.scope.Reads.Get(path)
	if !ok || string(rec.Content) != "one\ntwo\nthree\n" || rec.Partial {
		t.Errorf("record %+v, %v", rec, ok)
	}
}

func TestTraitsAndPaths(t *testing.T) {
	b := newBench(t, read.World{})
	t.Setenv("HOME", "/home/u")
	for given, want := range map[string]string{"x/../a": b.dir + "/a", "~/a": "/home/u/a", "/a//b": "/a/b", "-n": b.dir + "/-n"} {
		raw, _ := json.Marshal(in{"file_path": given})
		c, err := b.tool.Normalise(tool.Call{Literal: raw, Scope: b.scope})
		if err != nil {
			t.Fatal(err)
		}
		wantTraits := tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: want, Intent: tool.Read}}}
		if d := cmp.Diff(wantTraits, b.tool.Traits(c)); d != "" {
			t.Errorf("%s: %s", given, d)
		}
	}
	b.wants(in{"file_path": "a\x00b"}, true, "NUL byte")
	b.wants(in{"file_path": ""}, true, "is empty")
	b.wants(in{}, true, "The required parameter `file_path` is missing")
}

func TestKF021_EmptyFile(t *testing.T) {
	b := newBench(t, read.World{})
	path := b.put("empty", "")
	b.wants(in{"file_path": path}, false, "exists but is empty")
	b.wants(in{"file_path": path, "offset": 5}, false, "exists but is empty")
	b.put("empty.ipynb", "")
	b.wants(in{"file_path": "empty.ipynb"}, false, "exists but is empty")
	b.put("bom", "\uFEFF")
	b.wants(in{"file_path": "bom"}, false, "exists but is empty")
}

func TestLimits(t *testing.T) {
	b := newBench(t, read.World{})
	for _, n := range []int{1999, 2000, 2001} {
		path := b.put("lines", strings.Repeat("x\n", n))
		got := b.wants(in{"file_path": path}, false)
		if partial := strings.Contains(got, "PARTIAL view: lines 1 to 2000 of 2001; continue with offset 2001"); partial != (n == 2001) {
			t.Errorf("%d lines: %.100s…", n, got[len(got)-80:])
		}
		if rec, _ := b.scope.Reads.Get(path); rec.Partial != (n == 2001) {
			t.Errorf("%d lines: the record says partial %v", n, rec.Partial)
		}
	}
	for _, n := range []int{1999, 2000, 2001} {
		path := b.put("wide", strings.Repeat("é", n)+"\n")
		got := b.wants(in{"file_path": path}, false)
		if cut := strings.Contains(got, "[1 more characters]"); cut != (n == 2001) {
			t.Errorf("%d characters: %.30s…", n, got[len(got)-30:])
		}
	}
}

func TestTokenCap(t *testing.T) {
	env := map[string]string{"CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS": "100"}
	b := newBench(t, read.World{Env: func(k string) string { return env[k] }})
	path := b.put("f", strings.Repeat("four\n", 400))
	r := b.call(in{"file_path": path})
	if got := text(r); !strings.Contains(got, "PARTIAL view: lines 1 to ") || len(got) > 700 || r.IsError {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(string(r.Structured), `"truncatedByTokenCap":true`) {
		t.Errorf("structured %s", r.Structured)
	}
	if rec, _ := b.scope.Reads.Get(path); !rec.Partial {
		t.Error("a view cut by the cap counts as read")
	}
	b.wants(in{"file_path": path, "offset": 1, "limit": 300}, true, "100 tokens", "smaller limit", "Grep")
	b.wants(in{"file_path": path, "offset": 1, "limit": 10}, false, "10\tfour")
	if got := b.wants(in{"file_path": path, "allow_large": true}, false, "400\tfour"); strings.Contains(got, "PARTIAL") {
		t.Error("allow_large is still cut")
	}
	delete(env, "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS")
	b.wants(in{"file_path": b.put("big", strings.Repeat(strings.Repeat("x", 99)+"\n", 1500))}, false, "PARTIAL view: lines 1 to 9")
}

func TestUnchanged(t *testing.T) {
	b := newBench(t, read.World{})
	path := b.put("f", "a\nb\nc\n")
	b.wants(in{"file_path": path}, false, "1\ta")
	r := b.call(in{"file_path": path})
	if got, want := string(r.Structured), fmt.Sprintf(`{"type":"file_unchanged","file":{"filePath":%q}}`, path); got != want || !strings.Contains(text(r), "unchanged") {
		t.Errorf("got %s %q", got, text(r))
	}
	b.wants(in{"file_path": path, "offset": 2}, false, "2\tb")
	b.put("f", "A\nb\nc\n")
	b.wants(in{"file_path": path, "offset": 2}, false, "2\tb") // the same lines, but of another file
	b.wants(in{"file_path": path, "offset": 2}, false, "unchanged")
	b.scope.Reads.Wrote(path, []byte("A\nb\nc\n"), time.Time{})
	b.wants(in{"file_path": path}, false, "1\tA") // known by writing, never shown
	b.scope.Reads.Clear()
	b.wants(in{"file_path": path}, false, "1\tA")
}

func TestErrors(t *testing.T) {
	b := newBench(t, read.World{})
	b.put("main.go", "x")
	b.wants(in{"file_path": "mian.go"}, true, "does not exist", "Did you mean "+b.dir+"/main.go?", "working directory is "+b.dir)
	b.wants(in{"file_path": "none/at/all"}, true, "does not exist")
	b.wants(in{"file_path": "."}, true, "is a directory", "ls")
	b.wants(in{"file_path": b.put("x.bin", "\x7fELF\x00\x00")}, true, "ELF program")
	b.wants(in{"file_path": b.put("y.bin", "abc\x00\x01")}, true, "binary data")
	b.wants(in{"file_path": b.put("z.zip", "PK\x03\x04\x00")}, true, "ZIP archive")
	b.wants(in{"file_path": "main.go", "pages": "1"}, true, "for PDF files")
	b.wants(in{"file_path": "main.go", "pages": "5-1"}, true, "expected a page")
	b.wants(in{"file_path": "main.go", "pages": "1-21"}, true, "at most 20 pages")
}

func TestKF023_SpecialFilesAreRefused(t *testing.T) {
	b := newBench(t, read.World{})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(b.dir, "zero")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"fifo", "zero", "/dev/zero", "/dev/stdin", "/dev/random"} {
		b.wants(in{"file_path": path}, true)
	}
}

func TestKF023_SparseFileOf10GB(t *testing.T) {
	b := newBench(t, read.World{})
	path := b.put("sparse", "")
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Fatal(err)
	}
	b.wants(in{"file_path": path}, true, "binary data")
	path = b.put("text", strings.Repeat("a line\n", 300_000))
	if err := os.Truncate(path, 10<<30); err != nil {
		t.Fatal(err)
	}
	b.wants(in{"file_path": path}, false, "1\ta line", "lines 1 to 2000 of a very large file")
	b.wants(in{"file_path": path, "offset": 250_000, "limit": 2}, false, "250000\ta line\n250001\ta line\n[")
	if rec, ok := b.scope.Reads.Get(path); !ok || !rec.Partial {
		t.Errorf("record %+v, %v", rec, ok)
	}
}

func TestKF015_OtherEncodings(t *testing.T) {
	b := newBench(t, read.World{})
	b.wants(in{"file_path": b.put("latin", "caf\xE9\r\n\xA9\r\n")}, false, "1\tcafé\n2\t©\n[nothing says how the file is encoded; it was read as Windows-1252, which is a guess")
	b.wants(in{"file_path": b.put("utf16", "\xFF\xFEa\x00\r\x00\n\x00b\x00")}, false, "1\ta\n2\tb\n[the file is encoded as UTF-16LE")
	b.wants(in{"file_path": b.put("sjis", "\x83\x5C\x83\x8B\n")}, false, "1\tソル\n", "read as Shift_JIS, which is a guess")
	if got := b.wants(in{"file_path": b.put("bom", "\uFEFFx\r\ny\r\n")}, false); got != "1\tx\n2\ty" {
		t.Errorf("got %q", got)
	}
}

func TestKF005_CutsFallBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		b := newBench(t, read.World{Env: func(string) string { return "50" }})
		path := b.put("f", strings.Repeat("a", shift)+strings.Repeat("😀", 3000)+"\n")
		b.wants(in{"file_path": path}, false, "😀", "more characters")
	}
}

func TestKF022_OddNames(t *testing.T) {
	b := newBench(t, read.World{})
	names := []string{"[id].tsx", "a b.txt", "-n", "x\ny", "e\u0301.txt", "é.txt", strings.Repeat("n", 250)}
	for i, name := range names {
		b.put(name, fmt.Sprintf("content %d", i))
	}
	for i, name := range names {
		if got, want := b.wants(in{"file_path": name}, false), fmt.Sprintf("1\tcontent %d", i); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// noise is a picture that compresses badly.
func noise(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range img.Pix {
		img.Pix[i] = byte(rnd.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

func encoded(t *testing.T, img image.Image, kind string) string {
	t.Helper()
	var buf bytes.Buffer
	var err error
	switch kind {
	case "png":
		err = png.Encode(&buf, img)
	case "jpeg":
		err = jpeg.Encode(&buf, img, nil)
	default:
		err = gif.Encode(&buf, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestKF009_ImagesFitBeforeTheyEnterAConversation(t *testing.T) {
	b := newBench(t, read.World{})
	flat := image.NewRGBA(image.Rect(0, 0, 2600, 200))
	cases := map[string]struct {
		content      string
		media        string
		width, hight int
	}{
		"small.png": {encoded(t, image.NewRGBA(image.Rect(0, 0, 30, 20)), "png"), "image/png", 30, 20},
		"wide.png":  {encoded(t, flat, "png"), "image/png", 2000, 154},
		"large.png": {encoded(t, noise(1300, 1300), "png"), "image/jpeg", 0, 0}, // over 6 MB
		"a.jpg":     {encoded(t, noise(100, 50), "jpeg"), "image/jpeg", 100, 50},
		"a.gif":     {encoded(t, noise(100, 50), "gif"), "image/gif", 100, 50},
		"tall.gif":  {encoded(t, image.NewPaletted(image.Rect(0, 0, 10, 4000), color.Palette{color.Black}), "gif"), "image/png", 5, 2000},
		"png.txt":   {encoded(t, image.NewRGBA(image.Rect(0, 0, 3, 3)), "png"), "image/png", 3, 3}, // by content, not by name
	}
	for name, c := range cases {
		path := b.put(name, c.content)
		r := b.call(in{"file_path": path})
		if r.IsError {
			t.Errorf("%s: %s", name, text(r))
			continue
		}
		pic := r.Content[0].(msg.Image)
		cfg, _, err := image.DecodeConfig(bytes.NewReader(pic.Data))
		if err != nil || pic.MediaType != c.media || len(pic.Data) > 500<<10 || cfg.Width > 2000 || cfg.Height > 2000 {
			t.Errorf("%s: %s of %d bytes, %dx%d, %v", name, pic.MediaType, len(pic.Data), cfg.Width, cfg.Height, err)
		}
		if c.width != 0 && (cfg.Width != c.width || cfg.Height != c.hight) {
			t.Errorf("%s: %dx%d, want %dx%d", name, cfg.Width, cfg.Height, c.width, c.hight)
		}
		var out struct {
			Type string
			File struct {
				Base64, Type string
				OriginalSize int
			}
		}
		if err := json.Unmarshal(r.Structured, &out); err != nil || out.Type != "image" || out.File.Base64 != base64.StdEncoding.EncodeToString(pic.Data) || out.File.OriginalSize != len(c.content) {
			t.Errorf("%s: structured %.100s, %v", name, r.Structured, err)
		}
	}
	b.wants(in{"file_path": "wide.png"}, false, "multiply positions by 1.30")
}

func TestKF009_DamagedAndHugeImagesAreRefused(t *testing.T) {
	b := newBench(t, read.World{})
	whole := encoded(t, noise(100, 100), "png")
	b.wants(in{"file_path": b.put("cut.png", whole[:len(whole)/2])}, true, "damaged")
	b.wants(in{"file_path": b.put("head.png", whole[:20])}, true, "damaged")
	bomb := []byte(encoded(t, image.NewGray(image.Rect(0, 0, 1, 1)), "png"))
	copy(bomb[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // says 65536x65536; the checksum is wrong as well
	b.wants(in{"file_path": b.put("bomb.png", string(bomb))}, true)
	gifBomb := []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00")
	b.wants(in{"file_path": b.put("bomb.gif", string(gifBomb))}, true, "65535x65535 pixels")
	b.wants(in{"file_path": b.put("bad.webp", "RIFF\x10\x00\x00\x00WEBPVP8 \x00\x00\x00\x00")}, true, "damaged")
}

func TestImageForAModelThatSeesNone(t *testing.T) {
	b := newBench(t, read.World{Images: func() bool { return false }})
	b.wants(in{"file_path": b.put("a.png", encoded(t, noise(4, 4), "png"))}, true, "4x4 pixels", "does not see images")
}

// pdfOf writes a PDF with a line of text on each page.
func pdfOf(pages ...string) string {
	var b strings.Builder
	var at []int
	object := func(s string) {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(at), s)
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	var kids []string
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages)))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	for i, text := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", 5+2*i))
		stream := ""
		if text != "" {
			stream = fmt.Sprintf("BT /F1 18 Tf 20 100 Td (%s) Tj ET", text)
		}
		object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(stream), stream))
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, start)
	return b.String()
}

func manyPages(n int) string {
	var pages []string
	for i := range n {
		pages = append(pages, fmt.Sprintf("text of page %d", i+1))
	}
	return pdfOf(pages...)
}

func TestPDF(t *testing.T) {
	for name, path := range map[string]string{"with poppler, if installed": os.Getenv("PATH"), "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", path)
			documents := false
			b := newBench(t, read.World{Documents: func() bool { return documents }})
			ten, eleven := b.put("ten.pdf", manyPages(10)), b.put("eleven.pdf", manyPages(11))
			b.wants(in{"file_path": ten}, false, "--- page 1 of 10 ---\ntext of page 1\n", "text of page 10")
			b.wants(in{"file_path": eleven}, true, "11 pages", "pages")
			got := b.wants(in{"file_path": eleven, "pages": "2-3"}, false, "text of page 2", "text of page 3")
			if strings.Contains(got, "text of page 1\n") || strings.Contains(got, "text of page 4") {
				t.Errorf("got %q", got)
			}
			b.wants(in{"file_path": eleven, "pages": "10-20"}, false, "text of page 11")
			b.wants(in{"file_path": eleven, "pages": "12"}, true, "only 11 pages")
			b.wants(in{"file_path": b.put("bad.pdf", "%PDF-1.4\nrubbish")}, true, "cannot be read as PDF")
			documents = true
			r := b.call(in{"file_path": ten})
			if doc, ok := r.Content[0].(msg.Document); !ok || doc.MediaType != "application/pdf" || string(doc.Data) != manyPages(10) {
				t.Errorf("a model that reads PDF gets %T", r.Content[0])
			}
			if !strings.HasPrefix(string(r.Structured), `{"type":"pdf","file":{"filePath":`) {
				t.Errorf("structured %.100s", r.Structured)
			}
			b.wants(in{"file_path": eleven}, true, "11 pages")
		})
	}
}

func TestPDFWithoutText(t *testing.T) {
	b := newBench(t, read.World{})
	b.wants(in{"file_path": b.put("scan.pdf", pdfOf("", ""))}, true, "hold no text")
	if _, err := exec.LookPath("pdftoppm"); err != nil {
		return // nothing here can draw pages, and above is what is said then
	}
	b = newBench(t, read.World{Pages: sync.OnceValue(func() string { return filepath.Join(t.TempDir(), "pages") })})
	r := b.call(in{"file_path": b.put("scan.pdf", pdfOf("", ""))})
	if len(r.Content) != 3 || r.Content[0].(msg.Image).MediaType != "image/jpeg" || !strings.Contains(string(r.Structured), `"type":"parts"`) || !strings.Contains(string(r.Structured), `"count":2`) {
		t.Errorf("%d blocks, structured %s", len(r.Content), r.Structured)
	}
}

func TestNotebook(t *testing.T) {
	pic := base64.StdEncoding.EncodeToString([]byte(encoded(t, noise(5, 5), "png")))
	b := newBench(t, read.World{})
	path := b.put("n.ipynb", `{"cells":[
		{"cell_type":"markdown","id":"m1","metadata":{},"source":["# Title\n","text"]},
		{"cell_type":"code","execution_count":3,"metadata":{},"source":"print(1)","outputs":[
			{"output_type":"stream","name":"stdout","text":["1\n"]},
			{"output_type":"display_data","data":{"image/png":"`+pic+`","text/plain":["<Figure>"]}},
			{"output_type":"error","ename":"E","evalue":"bad","traceback":["\u001b[31mat line 1\u001b[0m"]}]}],
		"metadata":{"language_info":{"name":"python"}},"nbformat":4,"nbformat_minor":5}`)
	r := b.call(in{"file_path": path})
	want := "<cell id=\"m1\" type=\"markdown\">\n# Title\ntext\n</cell>\n<cell id=\"cell-1\" type=\"code\">\nprint(1)\n</cell>\n<output>\n1\n</output>\n<output><Figure>[picture below]</output>\n<output>\nE: bad\nat line 1\n</output>"
	if d := cmp.Diff(want, text(r)); d != "" {
		t.Error(d)
	}
	if len(r.Content) != 2 || r.Content[1].(msg.Image).MediaType != "image/png" {
		t.Errorf("content %v", r.Content)
	}
	if !strings.Contains(string(r.Structured), `{"cell_id":"m1","cellType":"markdown","source":"# Title\ntext"}`) {
		t.Errorf("structured %s", r.Structured)
	}
	if _, ok := b.scope.Reads.Get(path); !ok {
		t.Error("the notebook does not count as read")
	}
	b.wants(in{"file_path": b.put("bad.ipynb", "{cells")}, true, "no valid notebook")
	b.wants(in{"file_path": b.put("none.ipynb", `{"cells":[]}`)}, false, "no cells")
}

func TestSize(t *testing.T) {
	spec := read.New(read.World{}).Spec()
	if n := len(spec.Description) + len(spec.Schema); n > 1200 {
		t.Errorf("description and schema have %d bytes", n)
	}
}
