package bash

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/termtext"
)

// structured is the public shape of the tool's output.
type structured struct {
	Stdout              string        `json:"stdout"`
	Stderr              string        `json:"stderr"`
	Interrupted         bool          `json:"interrupted"`
	IsImage             bool          `json:"isImage,omitempty"`
	BackgroundTaskID    string        `json:"backgroundTaskId,omitempty"`
	BackgroundedByUser  bool          `json:"backgroundedByUser,omitempty"`
	TimedOutAfterMS     int64         `json:"timedOutAfterMs,omitempty"`
	NoSandbox           bool          `json:"dangerouslyDisableSandbox,omitempty"`
	Interpretation      string        `json:"returnCodeInterpretation,omitempty"`
	NoOutputExpected    bool          `json:"noOutputExpected,omitempty"`
	PersistedOutputPath string        `json:"persistedOutputPath,omitempty"`
	PersistedOutputSize int64         `json:"persistedOutputSize,omitempty"`
	GitOperation        *gitOperation `json:"gitOperation,omitempty"`
}

type gitOperation struct {
	Commit *gitCommit `json:"commit,omitempty"`
}

type gitCommit struct {
	SHA  string `json:"sha"`
	Kind string `json:"kind"` // committed, amended
}

// answer adds what holds for every result: the notices, and the structured form.
func (j *job) answer(text string, s structured) tool.Result {
	s.NoSandbox = j.in.NoSandbox && j.call.Confine.Level == tool.Unconfined
	raw, err := json.Marshal(s)
	if err != nil { // strings and numbers only: cannot be
		raw = nil
	}
	res := tool.Text(joinNotes(text, j.notice))
	res.Structured = raw
	return res
}

// result makes the result of a command that has ended in the foreground.
func (j *job) result(exit proc.Exit, how ending, extra string) tool.Result {
	if img, ok := j.image(exit, how); ok {
		res := j.answer("", structured{IsImage: true})
		res.Content = append([]msg.Block{img}, res.Content...)
		if j.notice == "" {
			res.Content = res.Content[:1]
		}
		return res
	}
	s := structured{Interrupted: how.interrupted}
	if exit.Code == 1 && exit.Stopped == "" {
		s.Interpretation = j.sight.harmlessOne()
	}
	if how.timedOut {
		s.TimedOutAfterMS = j.limit.Milliseconds()
	}
	if exit.Code == 0 && exit.Stopped == "" || s.Interpretation != "" {
		return j.success(s, extra)
	}
	return j.failure(exit, how, s, extra)
}

func (j *job) success(s structured, extra string) tool.Result {
	front, end, between := j.capture.Ends(4*j.lim.MaxOutput, proc.DefaultTail)
	sh := shown{front: front, end: end, between: between}
	text, whole := sh.all(j.lim.MaxOutput)
	if !whole {
		text = sh.fit(previewHead, previewTail)
		s.PersistedOutputPath, s.PersistedOutputSize = j.keepOutput()
		if s.PersistedOutputPath != "" {
			note := fmt.Sprintf("[Output is long: %d bytes, kept in %s. Front and end:]\n", s.PersistedOutputSize, s.PersistedOutputPath)
			s.Stdout = text
			text = note + text
		}
	}
	if s.Stdout == "" {
		s.Stdout = text
	}
	s.NoOutputExpected = j.sight.silent()
	s.GitOperation = gitDone(s.Stdout, j.sight)
	if text == "" {
		text = "(no output)"
		if s.Interpretation != "" {
			text = "(no output: " + s.Interpretation + ")"
		}
	}
	return j.answer(joinNotes(text, extra), s)
}

// keepOutput makes sure that long output is in a file, and returns where and how much came.
func (j *job) keepOutput() (path string, size int64) {
	if err := j.capture.Spill(); err != nil {
		j.notice = joinNotes(j.notice, "The output could not be kept: "+err.Error())
		return "", 0
	}
	return j.capture.Path(), j.capture.Total()
}

func (j *job) failure(exit proc.Exit, how ending, s structured, extra string) tool.Result {
	front, end, between := j.capture.Ends(2*4*failureOutput, 2*4*failureOutput)
	out := shown{front: front, end: end, between: between}.fit(failureOutput/2, failureOutput/2)
	s.Stdout = out
	text := joinNotes(j.failureLine(exit, how), out)
	res := j.answer(joinNotes(text, extra), s)
	res.IsError = true
	return res
}

func (j *job) failureLine(exit proc.Exit, how ending) string {
	switch {
	case how.interrupted:
		return "Interrupted: the command was ended before it was done. Its output so far:"
	case how.timedOut:
		return fmt.Sprintf("Exit code %d\nCommand timed out after %s and was ended", exit.Code, seconds(j.limit))
	case how.flooded:
		return fmt.Sprintf("Exit code %d\nCommand was ended because it printed more than %d bytes", exit.Code, j.lim.MaxBytes)
	case exit.Stopped != "":
		return fmt.Sprintf("Exit code %d\nCommand was stopped: %s", exit.Code, exit.Stopped)
	}
	return exitText(exit)
}

func exitText(exit proc.Exit) string {
	text := fmt.Sprintf("Exit code %d", exit.Code)
	if exit.Signal != "" {
		text += " (" + exit.Signal + ")"
	}
	return text
}

// shown is what is left of an output: its front, its end, and how many bytes lie between.
type shown struct {
	front, end []byte
	between    int64
}

// all is the whole output, if nothing is missing and it has at most max characters.
func (s shown) all(max int) (text string, ok bool) {
	if s.between > 0 {
		return "", false
	}
	text = clean(append(append([]byte{}, s.front...), s.end...))
	return text, utf8.RuneCountInString(text) <= max
}

// fit cuts the middle out, between characters, so that head and tail characters stay.
func (s shown) fit(head, tail int) string {
	if s.between <= 0 {
		r := []rune(clean(append(append([]byte{}, s.front...), s.end...)))
		if len(r) <= head+tail {
			return string(r)
		}
		return cutText(string(r[:head]), len(string(r))-len(string(r[:head]))-len(string(r[len(r)-tail:])), string(r[len(r)-tail:]))
	}
	front, end := []rune(clean(wholeRunes(s.front))), []rune(clean(s.end))
	lost := s.between
	if len(front) > head {
		lost += int64(len(string(front[head:])))
		front = front[:head]
	}
	if len(end) > tail {
		lost += int64(len(string(end[:len(end)-tail])))
		end = end[len(end)-tail:]
	}
	return cutText(string(front), int(lost), string(end))
}

func cutText(front string, lost int, end string) string {
	mark := fmt.Sprintf("[%d bytes left out]", lost)
	if front == "" {
		return mark + "\n" + end
	}
	return front + "\n\n" + mark + "\n\n" + end
}

// wholeRunes drops a character that was cut at the end.
func wholeRunes(b []byte) []byte {
	for n := 1; n <= 3 && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// clean makes text of output that can be stored and sent for ever: valid UTF-8 without NUL, without
// the rest of a character that was cut at the front, as a terminal would show it at last, without blank
// lines around it.
func clean(b []byte) string {
	for n := 0; n < 3 && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:]
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = termtext.Final(strings.ReplaceAll(s, "\x00", "\u2400"))
	return strings.TrimRight(strings.TrimLeft(s, "\r\n"), " \t\r\n")
}

// changedReads names files that the agent has read and that were changed while the command ran.
func (j *job) changedReads() string {
	if j.shell.world.Judge != nil && j.shell.world.Judge(j.in.Command, j.dir).ReadOnly {
		return ""
	}
	var names []string
	recent := j.call.Scope.Reads.Recent()
	for _, r := range recent[:min(len(recent), 100)] {
		st, err := os.Stat(r.Path)
		if err != nil || st.ModTime().Equal(r.ModTime) && st.Size() == r.Size {
			continue
		}
		if st.ModTime().After(j.began.Add(-20 * time.Millisecond)) { // file systems round
			names = append(names, r.Path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > 10 {
		more, names = fmt.Sprintf(" and %d more", len(names)-10), names[:10]
	}
	return "Changed since you read them: " + strings.Join(names, ", ") + more
}

var commitLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[[^\]\n]*\b([0-9a-f]{7,40})\] `)
})

// gitDone finds the commit that the line made.
func gitDone(out string, s sight) *gitOperation {
	for _, w := range s.words {
		if w[0] != "git" {
			continue
		}
		for i, a := range w[1:] {
			if a != "commit" {
				continue
			}
			m := commitLine().FindStringSubmatch(out)
			if m == nil {
				return nil
			}
			kind := "committed"
			for _, f := range w[1+i:] {
				if f == "--amend" {
					kind = "amended"
				}
			}
			return &gitOperation{Commit: &gitCommit{SHA: m[1], Kind: kind}}
		}
	}
	return nil
}

// progressEvery is the shortest time between two signs of life.
const progressEvery = 200 * time.Millisecond

// progressMax bounds one of them, in bytes.
const progressMax = 8 << 10

// liveText hands output on while the command runs, merged and bounded: a flood shows its newest part.
type liveText struct {
	to func(tool.Progress)

	mu      sync.Mutex // guards all below
	pending []byte
	last    time.Time
}

func newLiveText(to func(tool.Progress)) *liveText { return &liveText{to: to, last: time.Now()} }

func (l *liveText) add(b []byte) {
	l.mu.Lock()
	if len(b) > progressMax {
		b = b[len(b)-progressMax:]
	}
	l.pending = append(l.pending, b...)
	if over := len(l.pending) - progressMax; over > 0 {
		l.pending = append(l.pending[:0], l.pending[over:]...)
	}
	due := time.Since(l.last) >= progressEvery
	l.mu.Unlock()
	if due {
		l.flush()
	}
}

// flush hands on what is there, in whole characters.
func (l *liveText) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole := wholeRunes(l.pending)
	if len(whole) == 0 {
		return
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(whole), "\uFFFD"), "\x00", "\u2400")
	l.pending = append(l.pending[:0], l.pending[len(whole):]...)
	l.last = time.Now()
	if l.to != nil {
		l.to(tool.Progress{Text: text}) // under the lock, so that pieces keep their order
	}
}
