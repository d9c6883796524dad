package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Info is what lists show of a session.
type Info struct {
	ID          string
	Path        string
	Guest       bool // of another program: it is read, never written
	Cwd         string
	Branch      string
	CustomTitle string // given by the user
	AITitle     string // made from the conversation
	Tag         string
	FirstPrompt string // shortened to 200 characters, as LastPrompt
	LastPrompt  string
	Started     time.Time // of the first record; zero when it has none
	Modified    time.Time
	Size        int64
}

// Title is the best name there is: the user's, a made one, or a prompt; empty when nobody spoke.
func (i Info) Title() string {
	for _, s := range []string{i.CustomTitle, i.AITitle, i.FirstPrompt, i.LastPrompt} {
		if s != "" {
			return s
		}
	}
	return ""
}

// window is how much of a file lists read at either end.
const window = 64 << 10

// ReadInfo reads the first and last 64 KiB of a transcript, nothing between.
func ReadInfo(path string) (Info, error) {
	r := infoReader{}
	return r.read(path)
}

// infoReader reads one file after another into the same memory.
type infoReader struct{ buf []byte }

func (r *infoReader) read(path string) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, fmt.Errorf("read transcript: %w", err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return Info{}, fmt.Errorf("read transcript: %w", err)
	}
	if !stat.Mode().IsRegular() {
		return Info{}, fmt.Errorf("read transcript %s: it is no regular file", path)
	}
	if r.buf == nil {
		r.buf = make([]byte, window)
	}
	info := Info{ID: strings.TrimSuffix(filepath.Base(path), ".jsonl"), Path: path, Modified: stat.ModTime(), Size: stat.Size()}
	// The usual first prompt stands in the first few kilobytes: look there before reading more.
	for _, n := range []int{4 << 10, window} {
		head, err := r.part(file, 0, n)
		if err != nil {
			return Info{}, fmt.Errorf("read transcript %s: %w", path, err)
		}
		if info.readHead(head, int64(len(head)) == info.Size) || int64(len(head)) == info.Size {
			break
		}
	}
	from := max(0, info.Size-window)
	tail, err := r.part(file, from, window)
	if err != nil {
		return Info{}, fmt.Errorf("read transcript %s: %w", path, err)
	}
	if from > 0 { // it begins in the middle of a line
		_, tail, _ = bytes.Cut(tail, []byte("\n"))
	}
	info.readTail(tail)
	return info, nil
}

func (r *infoReader) part(file *os.File, at int64, n int) ([]byte, error) {
	got, err := file.ReadAt(r.buf[:n], at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return r.buf[:got], err
}

// readHead takes from the first lines what is not known yet. It reports whether nothing is left to
// be found. Without whole, the last line is cut off and left alone.
func (i *Info) readHead(data []byte, whole bool) (complete bool) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !ended && !whole {
			return false
		}
		data = rest
		if i.readLine(line); i.FirstPrompt != "" && i.Cwd != "" && !i.Started.IsZero() {
			return true
		}
	}
	return false
}

// readLine takes from a line what is not known yet.
func (i *Info) readLine(line []byte) {
	if i.readMetadata(line, false) {
		return
	}
	h, ok := readHead(line)
	if !ok || !h.linked() {
		return
	}
	if i.Started.IsZero() {
		i.Started = h.time()
	}
	if i.Cwd == "" {
		h.doc.fields(h.doc.lineSpan(), func(key string, v span) {
			switch key {
			case "cwd":
				i.Cwd = h.doc.text(v)
			case "gitBranch":
				i.Branch = h.doc.text(v)
			}
		})
	}
	if i.FirstPrompt == "" && h.kind == "user" && h.speaks() && !h.meta && !h.summary && !h.team {
		i.FirstPrompt = promptOf(&h)
	}
}

// promptOf is what a person said in a record, "" when it is something else.
func promptOf(h *head) string {
	m, err := decodeMessage(h)
	if err != nil || m.Origin != "" {
		return ""
	}
	for _, b := range m.Content {
		t, ok := b.(msg.Text)
		if !ok {
			continue
		}
		s := strings.Join(strings.Fields(t.Text), " ")
		// Slash commands and what they print are wrapped in such tags.
		if strings.HasPrefix(s, "<command-") || strings.HasPrefix(s, "<local-command-") {
			return ""
		}
		if s != "" {
			return shorten(s, promptLength)
		}
	}
	return ""
}

// readTail takes the newest metadata from the last lines.
func (i *Info) readTail(data []byte) {
	found := Info{}
	for len(data) > 0 {
		at := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
		found.readMetadata(bytes.TrimSuffix(data[at:], []byte("\n")), true)
		data = data[:at]
	}
	if found.CustomTitle != "" {
		i.CustomTitle = strings.TrimPrefix(found.CustomTitle, gone)
	}
	if found.AITitle != "" {
		i.AITitle = strings.TrimPrefix(found.AITitle, gone)
	}
	if found.Tag != "" {
		i.Tag = strings.TrimPrefix(found.Tag, gone)
	}
	if found.LastPrompt != "" {
		i.LastPrompt = strings.TrimPrefix(found.LastPrompt, gone)
	}
}

// gone stands for an empty value that was found, so that an older one does not count.
const gone = "\x00"

// readMetadata reads a line of metadata and reports whether it was one. keep leaves a value alone
// that is known already; then an empty value is noted as gone.
func (i *Info) readMetadata(line []byte, keep bool) bool {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	if !ok {
		return false
	}
	kind, _, _ := bytes.Cut(rest, []byte(`"`))
	var field *string
	var name string
	switch string(kind) {
	case "custom-title":
		field, name = &i.CustomTitle, "customTitle"
	case "ai-title":
		field, name = &i.AITitle, "aiTitle"
	case "tag":
		field, name = &i.Tag, "tag"
	case "last-prompt":
		field, name = &i.LastPrompt, "lastPrompt"
	default:
		return false
	}
	if keep && *field != "" {
		return true
	}
	d := &doc{data: line}
	value, there := "", false
	if d.fields(d.lineSpan(), func(key string, v span) {
		if key == name {
			value, there = d.text(v), true
		}
	}) && there {
		if value == "" && keep {
			value = gone
		}
		*field = value
	}
	return true
}

// list reads the infos of all transcripts in folders, the newest first.
func list(folders []folder) ([]Info, error) {
	var files []Info
	for _, f := range folders {
		entries, err := os.ReadDir(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list transcripts: %w", err)
		}
		for _, e := range entries {
			if name := e.Name(); e.Type().IsRegular() && strings.HasSuffix(name, ".jsonl") && !strings.HasPrefix(name, "agent-") {
				files = append(files, Info{Path: filepath.Join(f.path, name), Guest: f.guest})
			}
		}
	}
	readAll(files)
	files = slices.DeleteFunc(files, func(i Info) bool { return i.ID == "" || i.Size == 0 }) // vanished meanwhile, or nothing in it
	seen := map[string]bool{}
	files = slices.DeleteFunc(files, func(i Info) bool { // our own copy of a guest's session counts
		was := seen[i.ID]
		seen[i.ID] = true
		return was
	})
	slices.SortStableFunc(files, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	return files, nil
}

// readAll fills in the infos by as many readers as there are processors. A file that cannot be read
// keeps an empty id.
func readAll(files []Info) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() { // ends with the list
			r := infoReader{}
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(files) {
					return
				}
				if info, err := r.read(files[i].Path); err == nil {
					info.Guest = files[i].Guest
					files[i] = info
				}
			}
		})
	}
	wg.Wait()
}
