package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Prompt is one entry of the history of prompts.
type Prompt struct {
	Text    string            // as it was typed; pastes stand in it by their placeholders
	Pastes  map[string]string // texts behind placeholders
	Images  map[string]string // paths of pictures behind placeholders
	Shell   bool              // a shell command of the user ("!cmd"), without the mark
	Project string            // root of the project it was typed in
	Session string
	Time    time.Time
}

// History is the file in which the prompts of all sessions are, in the order in which they were
// sent. Any number of processes append to it at once. It is safe for concurrent use.
type History struct {
	path string

	mu   sync.Mutex // guards file
	file *os.File   // nil until the first Add
}

// OpenHistory returns the history at path, usually history.jsonl in the home. The file is made
// with the first prompt.
func OpenHistory(path string) *History { return &History{path: path} }

// promptLine is a prompt as it stands in the file.
type promptLine struct {
	Display   string            `json:"display"`
	Pastes    map[string]string `json:"pastedContents"`
	Images    map[string]string `json:"images,omitempty"`
	Shell     bool              `json:"shell,omitempty"`
	Timestamp int64             `json:"timestamp"` // Unix milliseconds
	Project   string            `json:"project"`
	Session   string            `json:"sessionId,omitempty"`
}

// Add appends a prompt in one write. A prompt without text is not kept.
func (h *History) Add(p Prompt) error {
	if strings.TrimSpace(p.Text) == "" {
		return nil
	}
	if p.Pastes == nil {
		p.Pastes = map[string]string{}
	}
	raw, err := json.Marshal(promptLine{p.Text, p.Pastes, p.Images, p.Shell, p.Time.UnixMilli(), p.Project, p.Session})
	if err != nil {
		return fmt.Errorf("write history: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		if err := h.open(); err != nil {
			return err
		}
	}
	if _, err := h.file.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write history %s: %w", h.path, err)
	}
	return nil
}

func (h *History) open() error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("open history: %w", err)
	}
	file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open history: %w", err)
	}
	// A process that was killed while it wrote may have left half a line.
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			if _, err := file.WriteString("\n"); err != nil {
				return errors.Join(fmt.Errorf("write history %s: %w", h.path, err), file.Close())
			}
		}
	}
	h.file = file
	return nil
}

// Close gives the file up; a later Add opens it again.
func (h *History) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	err := h.file.Close()
	h.file = nil
	return err
}

// Filter says which prompts are wanted. The zero Filter wants those of all projects but no shell
// commands.
type Filter struct {
	Project  string // only of this project; empty: of all
	Contains string // only with this text, in any case
	Shell    bool   // shell commands, and only those
}

// mayWant looks for the text in a line as it stands there, which is much quicker than taking the line
// apart. It is only sure of a no, and only where JSON writes the text as it is.
func (f Filter) mayWant(line []byte) bool {
	if strings.ContainsFunc(f.Contains, func(r rune) bool { return r < ' ' || r > '~' || strings.ContainsRune(`"\<>&`, r) }) {
		return true
	}
	return f.Contains == "" || bytes.Contains(bytes.ToLower(line), []byte(strings.ToLower(f.Contains)))
}

func (f Filter) wants(p *Prompt) bool {
	return (f.Project == "" || f.Project == p.Project) && f.Shell == p.Shell &&
		(f.Contains == "" || strings.Contains(strings.ToLower(p.Text), strings.ToLower(f.Contains)))
}

// Prompts yields the prompts that f wants, the newest first, each text once. It reads no more of
// the file than it needs. Lines that cannot be read are passed over. An error comes last.
func (h *History) Prompts(f Filter) iter.Seq2[Prompt, error] {
	return func(yield func(Prompt, error) bool) {
		file, err := os.Open(h.path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Prompt{}, fmt.Errorf("read history: %w", err))
			return
		}
		defer file.Close()
		if err := h.each(file, f, yield); err != nil {
			yield(Prompt{}, fmt.Errorf("read history %s: %w", h.path, err))
		}
	}
}

func (h *History) each(file *os.File, f Filter, yield func(Prompt, error) bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	lines, err := newBackward(file, info.Size())
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for {
		line, _, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !f.mayWant(line) {
			continue
		}
		p, ok := readPrompt(line)
		if !ok || !f.wants(&p) || seen[p.Text] {
			continue
		}
		seen[p.Text] = true
		if !yield(p, nil) {
			return nil
		}
	}
}

func readPrompt(line []byte) (Prompt, bool) {
	d := &doc{data: line}
	var p Prompt
	pastes, images := span{}, span{}
	ok := d.fields(d.lineSpan(), func(key string, v span) {
		switch key {
		case "display":
			p.Text = d.text(v)
		case "pastedContents":
			pastes = v
		case "images":
			images = v
		case "shell":
			p.Shell = d.is(v, "true")
		case "timestamp":
			var ms json.Number
			if json.Unmarshal(d.at(v), &ms) == nil { // a prompt without a time is still one
				n, _ := ms.Int64()
				p.Time = time.UnixMilli(n)
			}
		case "project":
			p.Project = d.text(v)
		case "sessionId":
			p.Session = d.text(v)
		}
	})
	p.Pastes, p.Images = d.texts(pastes), d.texts(images)
	return p, ok && p.Text != ""
}

// texts reads an object of strings; other programs keep objects with a "content" in it.
func (d *doc) texts(s span) map[string]string {
	var out map[string]string
	d.fields(s, func(key string, v span) {
		value := d.text(v)
		d.fields(v, func(inner string, v span) {
			if inner == "content" {
				value = d.text(v)
			}
		})
		if out == nil {
			out = map[string]string{}
		}
		out[text([]byte(`"`+key+`"`))] = value
	})
	return out
}
