package plain

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// lineFace shows a session line by line: what is typed comes in whole lines, nothing is redrawn,
// and there is not one control character. It serves screen readers, dumb terminals, logs and
// scripts.
type lineFace struct {
	*face
	out    io.Writer
	typing bool // a person types, so a mark shows that something is awaited
	marked bool // the mark stands on the screen
	ended  bool // no more lines will come
	failed error
}

func runLines(ctx context.Context, s Session, o Options) int {
	l := &lineFace{out: o.Out, typing: o.Terminal != nil || o.Getenv("TERM") == "dumb"}
	l.face = newFace(ctx, s, o, screen.Style{}, lineWidth(o))
	crashed := make(chan any, 3)
	events := follow(ctx, s, crashed)
	lines := readLines(o.In, ctx.Done(), crashed)
	l.print(l.banner())
	if !o.Quiet {
		l.print([]string{"Line mode: type a line to send it, /help for commands, /exit to leave."})
	}
	l.print(l.do(proto.Attach{Surface: surfaceID, Kind: "plain", Answers: true}))
	if o.Prompt != "" {
		l.print(l.submit(o.Prompt))
	}
	code := l.loop(events, lines, crashed)
	l.print(l.goodbye())
	return code
}

// lineWidth is the width prose is wrapped at: the window's, or one that suits logs.
func lineWidth(o Options) func() int {
	return func() int {
		if o.Terminal == nil {
			return 100
		}
		w, _ := o.Terminal.Size()
		return max(w-1, 1)
	}
}

// readLines passes on whole lines until the input ends; then the channel is closed.
func readLines(in io.Reader, done <-chan struct{}, crashed chan<- any) <-chan string {
	lines := make(chan string)
	if in == nil {
		close(lines)
		return lines
	}
	go guarded(crashed, func() { // ends with the input, with done, or with the process
		defer close(lines)
		r := bufio.NewReaderSize(in, 64<<10)
		for {
			text, err := r.ReadString('\n')
			if text != "" {
				select {
				case lines <- strings.TrimRight(text, "\r\n"):
				case <-done:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	return lines
}

func (l *lineFace) loop(events <-chan proto.Event, lines <-chan string, crashed <-chan any) int {
	for {
		if l.failed != nil {
			return exitFailed
		}
		if l.leaving || l.ended && !l.busy() && l.local == 0 && len(l.queued) == 0 {
			return exitDone
		}
		take := lines
		if !l.takes() {
			take = nil
		}
		l.mark()
		var silent <-chan time.Time
		if l.local > 0 {
			silent = time.After(localWait)
		}
		select {
		case e, ok := <-events:
			if !ok {
				return exitDone
			}
			l.print(l.event(e))
			if l.ended {
				l.print(l.noMoreAnswers())
			}
		case text, ok := <-take:
			if !ok {
				l.ended, lines = true, nil
				l.print(l.noMoreAnswers())
				continue
			}
			l.marked = false
			l.line(text)
		case sig := <-l.opt.Signals:
			if code, over := l.signal(sig); over {
				return code
			}
		case <-silent:
			l.local = 0
		case r := <-crashed:
			panic(r)
		case <-l.ctx.Done():
			return exitFailed
		}
	}
}

// takes reports whether the next line is wanted now. A script's lines wait until their turn comes;
// a person may type ahead.
func (l *lineFace) takes() bool {
	return l.typing || l.asked() != nil || !l.busy() && l.local == 0
}

// localWait is how long a command that the session answers by itself may stay without an answer
// before a script goes on.
const localWait = 2 * time.Second

// mark shows that a line is awaited.
func (l *lineFace) mark() {
	if !l.typing || l.marked || l.busy() && l.asked() == nil {
		return
	}
	text := "> "
	if q := l.asked(); q != nil {
		text = q.LineHint()
	}
	l.write(text)
	l.marked = true
}

func (l *lineFace) line(text string) {
	switch q := l.asked(); {
	case q != nil && text == "v" && q.Whole() != nil:
		l.print(q.Whole())
	case q != nil:
		l.print(l.settle(q.Line(text)))
	case strings.TrimSpace(text) == "" && l.busy():
		if a := l.printer.Activity(); a != "" {
			l.print([]string{a})
		}
	default:
		l.print(l.submit(text))
	}
}

// noMoreAnswers refuses what is asked when nobody can answer any more.
func (l *lineFace) noMoreAnswers() []string {
	var out []string
	for l.asked() != nil {
		out = append(out, l.settle(l.asked().Refuse("the input ended", false))...)
	}
	return out
}

func (l *lineFace) signal(sig os.Signal) (code int, over bool) {
	switch {
	case screen.IsResize(sig), screen.IsContinue(sig):
		return 0, false
	case sig == syscall.SIGTERM:
		return exitTerm, true
	case sig == syscall.SIGHUP:
		return exitHangup, true
	}
	if l.busy() && !l.stopping {
		l.print(append([]string{"stopping"}, l.interrupt()...))
		return 0, false
	}
	return exitDone, true
}

func (l *lineFace) print(lines []string) {
	if len(lines) == 0 {
		return
	}
	text := strings.Join(lines, "\n") + "\n"
	if l.marked {
		text = "\n" + text
		l.marked = false
	}
	l.write(text)
}

func (l *lineFace) write(text string) {
	if _, err := fmt.Fprint(l.out, text); err != nil && l.failed == nil {
		l.failed = err
	}
}
