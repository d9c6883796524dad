package proc

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// line is one line of a record file and of what the watcher is told. Readers ignore what they do
// not know.
type line struct {
	Op    string `json:"op"` // host, job, keep, ended
	V     int    `json:"v,omitempty"`
	Boot  string `json:"boot,omitempty"`
	Mark  string `json:"mark,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
	Label string `json:"label,omitempty"`
}

// recordVersion is the format of record files; a newer one is left alone.
const recordVersion = 1

// recordLimit is the size at which a record is written anew with what still lives.
const recordLimit = 256 << 10

// record is the file that lets the next start find what this process leaves behind, and the line to
// the watcher. Both hold the same lines.
type record struct {
	host string
	opts Options

	mu      sync.Mutex // guards all below
	opened  bool
	file    *os.File
	name    string // of the file; empty: there is none
	size    int64
	watcher *watcher
	jobs    map[string]line // what may still live
	kept    []line
	closed  bool
}

func newRecord(host string, opts Options) *record {
	return &record{host: host, opts: opts, jobs: map[string]line{}}
}

func (r *record) head() line {
	return line{Op: "host", V: recordVersion, Boot: bootID(), Mark: r.host, PID: os.Getpid()}
}

// ready makes file and watcher before the first program: what starts then and is not noted yet when we
// are killed is found by its mark.
func (r *record) ready() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.open()
	}
}

// job notes a started program. What cannot be written is reported: the program runs all the same.
func (r *record) job(p *Process) {
	l := line{Op: "job", Mark: p.mark, PID: p.id.PID, Start: p.id.Start, Label: p.spec.Label}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.jobs[l.Mark] = l
	r.write(l)
}

func (r *record) keep(p *Process) {
	l := line{Op: "keep", Mark: p.mark, PID: p.id.PID, Start: p.id.Start, Label: p.spec.Label}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.jobs, l.Mark)
	r.kept = append(r.kept, l)
	r.write(l)
}

// open makes file and watcher, once. Caller holds mu.
func (r *record) open() {
	if r.opened {
		return
	}
	r.opened = true
	if r.opts.RunDir != "" {
		name := filepath.Join(r.opts.RunDir, r.host+".jsonl")
		f, err := createRecord(name)
		if err != nil {
			r.opts.Report(fmt.Errorf("record what runs: %w", err))
		}
		if r.file = f; f != nil {
			r.name = name
		}
	}
	if len(r.opts.Watcher) > 0 {
		r.watcher = startWatcher(r.opts, r.name)
	}
	r.write(r.head())
}

func createRecord(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := lockFile(f); err != nil {
		return f, err
	}
	return f, nil
}

// write appends one line to the file; where that fails the watcher is told, which else reads the file
// when it has to, so that it need not wake for every program. Caller holds mu.
func (r *record) write(l line) {
	data, err := json.Marshal(l)
	if err != nil {
		r.opts.Report(fmt.Errorf("record what runs: %w", err))
		return
	}
	data = append(data, '\n')
	if r.file == nil {
		r.watcher.tell(data)
		return
	}
	if _, err := r.file.Write(data); err != nil {
		r.watcher.tell(data)
		r.opts.Report(fmt.Errorf("record what runs: %w", err))
	}
	if r.size += int64(len(data)); r.size > recordLimit {
		r.compact()
	}
}

// compact writes the record anew with the jobs that still live, and puts it in the place of the old
// one at once, so that there is a whole one at any moment. Caller holds mu.
func (r *record) compact() {
	all := table()
	q := query{}
	for mark, l := range r.jobs {
		q.roots, q.mark = []root{{pid: l.PID, start: l.Start}}, mark
		if len(q.pick(all)) == 0 {
			delete(r.jobs, mark)
		}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	lines := append([]line{r.head()}, r.kept...)
	for _, l := range r.jobs {
		lines = append(lines, l)
	}
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			r.opts.Report(fmt.Errorf("record what runs: %w", err))
		}
	}
	if err := r.replace(b.String()); err != nil {
		r.opts.Report(fmt.Errorf("record what runs: %w", err))
	}
	r.size = int64(b.Len())
}

func (r *record) replace(text string) error {
	_ = os.Remove(r.name + ".new") // of an earlier try
	next, err := createRecord(r.name + ".new")
	if err != nil {
		return err
	}
	if _, err = io.WriteString(next, text); err == nil {
		err = os.Rename(next.Name(), r.name)
	}
	if err != nil {
		_ = os.Remove(next.Name())
		_ = next.Close()
		return err
	}
	_ = r.file.Close()
	r.file = next // it holds the lock
	return nil
}

// close is for an orderly end: the watcher is sent home, the file goes.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	r.watcher.dismiss()
	if r.file != nil {
		_ = os.Remove(r.name) // before the lock goes, so nobody takes it for a leftover
		_ = r.file.Close()
	}
}

// Leftover is what a process that died without an orderly end left behind.
type Leftover struct {
	Labels []string // what it had started, by label, as far as something of it lives
	Procs  []Info   // what lives
	Ended  []Info   // what its watcher has ended

	path  string
	query query
}

// Leftovers looks through the records of a run folder for processes that died without an orderly
// end, and returns what they left. A record that names nothing that lives is taken away. It does
// not exist, cannot be read: no leftovers and an error only in the second case.
func Leftovers(runDir string) ([]Leftover, error) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(runDir), "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("look for leftovers in %s: %w", runDir, err)
	}
	var out []Leftover
	var errs []error
	for _, path := range names {
		l, some, err := lookInto(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("look for leftovers: %w", err))
		}
		if some {
			out = append(out, l)
		}
	}
	return out, errors.Join(errs...)
}

// lookInto looks into one record, and takes it away when it names nothing. It looks twice before that:
// the watcher may have ended all and noted it after the record was read and before the table was.
func lookInto(path string) (l Leftover, some bool, err error) {
	for range 2 {
		lines, alive, err := readRecord(path)
		if err != nil || alive {
			return Leftover{}, false, err
		}
		if l, some = leftover(path, lines, table()); some {
			return l, true, nil
		}
	}
	_ = os.Remove(path)
	return Leftover{}, false, nil
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// readRecord reads a record; alive: its writer lives, or is newer than we are.
func readRecord(path string) (lines []line, alive bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, true, nil // ended in this very moment
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	free, err := lockFile(f)
	if err != nil || !free {
		return nil, !free && err == nil, err
	}
	lines = scanLines(f)
	newer := len(lines) > 0 && lines[0].V > recordVersion
	return lines, newer, nil
}

// scanLines reads lines; one that is torn is skipped.
func scanLines(r io.Reader) []line {
	var out []line
	s := bufio.NewScanner(r)
	for s.Scan() {
		var l line
		if json.Unmarshal(s.Bytes(), &l) == nil {
			out = append(out, l)
		}
	}
	return out
}

func leftover(path string, lines []line, all map[int]row) (Leftover, bool) {
	l := Leftover{path: path, query: query{all: true}}
	labels := map[string]string{}
	for _, e := range lines {
		switch e.Op {
		case "host":
			if e.Boot != bootID() {
				return l, false
			}
			l.query.mark = e.Mark
		case "job":
			if r, ok := all[e.PID]; ok && r.start == e.Start {
				l.query.roots = append(l.query.roots, root{pid: e.PID, start: e.Start})
			}
			labels[e.Mark] = e.Label
		case "keep":
			l.query.except = append(l.query.except, e.Mark)
		case "ended":
			l.Ended = append(l.Ended, Info{PID: e.PID, Start: e.Start, Name: e.Label})
		}
	}
	rows := l.query.pick(all)
	l.Procs = infos(rows)
	for mark, label := range labels {
		for _, r := range rows {
			if carries(marksOf(r.pid), mark) && label != "" {
				l.Labels = append(l.Labels, label)
				break
			}
		}
	}
	return l, len(l.Procs)+len(l.Ended) > 0
}

// End ends what lives and takes the record away. A grace of 0 means [DefaultGrace].
func (l Leftover) End(grace time.Duration) []Info {
	if grace <= 0 {
		grace = DefaultGrace
	}
	ended := endTrees(l.query, grace)
	_ = os.Remove(l.path)
	return ended
}
