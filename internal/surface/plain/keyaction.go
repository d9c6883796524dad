package plain

import (
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// key carries out one key, wherever it belongs: to a question, a search, a list, or the draft.
func (k *keyFace) key(key screen.Key) {
	if key.Name != k.leaveArmed {
		k.leaveArmed = ""
	}
	if k.anywhere(key) {
		return
	}
	now := k.opt.Now()
	if q := k.asked(); q != nil {
		switch {
		case q.Single() && key.Name == "paste": // answers nothing, and is not lost
		case !q.Shown.IsZero() && now.Sub(q.Shown) >= screen.AnswerGuard:
			k.focus.note = ""
			k.answerKey(q, key)
			return
		case q.Shown.IsZero() && key.Name == "tab":
			q.Shown = now
			return
		}
		q.Shown = time.Time{} // the hands do not rest yet: what they type is the draft's
	}
	k.focus.typed = now
	if k.search != nil {
		k.searchKey(key)
		return
	}
	if k.menu.open() && k.menuKey(key) {
		return
	}
	k.draftKey(key)
}

// anywhere carries out the keys that mean the same everywhere.
func (k *keyFace) anywhere(key screen.Key) bool {
	switch key.Name {
	case "ctrl+c":
		k.interruptKey()
	case "ctrl+z":
		k.suspend()
	case "ctrl+l":
		k.painter.Forget() // the frame is drawn anew; the conversation is never cleared
	case "shift+tab":
		k.print(k.nextMode())
	case "ctrl+t":
		k.print(k.printer.TodoList())
	default:
		return false
	}
	return true
}

// answerKey answers a question.
func (k *keyFace) answerKey(q *screen.Question, key screen.Key) {
	if q.Single() && key.Name == "text" {
		for c := range strings.SplitSeq(key.Text, "") {
			k.singleKey(q, c)
			return // what came with it at once was meant for no other question
		}
	}
	switch key.Name {
	case "esc":
		k.answer.Clear()
		k.print(k.settle(q.GiveUp()))
	case "ctrl+o":
		takeover{k}.page(q.Whole())
	case "ctrl+d":
		if k.answer.Empty() {
			k.leaveKey()
			return
		}
		k.answer.Key(key)
	case "enter":
		if q.Single() {
			return // a question about a right wants one of its own keys
		}
		text := k.answer.Text()
		k.answer.Clear()
		k.decide(q, q.Line(text))
	default:
		if !q.Single() {
			k.answer.Key(key)
		}
	}
}

// draftKey edits, sends or steers.
func (k *keyFace) draftKey(key screen.Key) {
	switch key.Name {
	case "enter":
		k.enterKey()
	case "esc":
		k.escapeKey()
	case "ctrl+d":
		if k.draft.Empty() {
			k.leaveKey()
			return
		}
		k.draft.Key(key)
	case "up", "ctrl+p":
		k.upKey()
	case "down", "ctrl+n":
		k.downKey()
	case "ctrl+r":
		k.search = &search{at: -1, draft: k.draft.Text()}
	case "ctrl+b":
		if k.busy() {
			k.print(k.do(proto.ToBackground{}))
			return
		}
		k.draft.Key(key)
	case "tab":
		k.complete()
	case "ctrl+g":
		takeover{k}.editOutside()
	case "paste":
		k.pastedAt = k.opt.Now()
		k.draft.Paste(key.Text, key.More)
	default:
		k.edit(key)
	}
}

// edit changes the draft. What was called up from the history is a draft of its own from then on.
func (k *keyFace) edit(key screen.Key) {
	if k.recall.at == 0 {
		k.draft.Key(key)
		return
	}
	before := k.draft.Text()
	k.draft.Key(key)
	if k.draft.Text() != before {
		k.recall.reset()
	}
}

func (k *keyFace) enterKey() {
	if k.opt.Now().Sub(k.pastedAt) < afterPaste {
		k.draft.Insert("\n") // it came with the paste
		return
	}
	if k.draft.Continue() {
		return
	}
	text := k.draft.Text()
	k.draft.Clear()
	k.recall.reset()
	k.print(k.submit(text))
}

func (k *keyFace) escapeKey() {
	if k.busy() {
		if !k.stopping {
			k.print(k.interrupt())
		}
		return
	}
	k.recall.reset()
}

func (k *keyFace) upKey() {
	if k.takeBack() || k.draft.Vertical(false, k.draftCells()) {
		return
	}
	if text, ok := k.recall.older(k.draft.Text()); ok {
		k.draft.Set(text)
	}
}

func (k *keyFace) downKey() {
	if k.draft.Vertical(true, k.draftCells()) {
		return
	}
	if text, ok := k.recall.newer(); ok {
		k.draft.Set(text)
	}
}

// searchKey looks through the history while its query is typed.
func (k *keyFace) searchKey(key screen.Key) {
	s := k.search
	switch key.Name {
	case "text":
		s.query += key.Text
		k.find(max(0, s.at))
	case "backspace":
		r := []rune(s.query)
		s.query = string(r[:max(0, len(r)-1)])
		k.find(0)
	case "ctrl+r":
		k.find(s.at + 1)
	case "esc", "ctrl+g":
		k.endSearch(s.draft)
	case "enter":
		text := s.found
		k.endSearch("")
		k.print(k.submit(text))
	default: // any other key goes on with what was found
		text := s.found
		if text == "" {
			text = s.draft
		}
		k.endSearch(text)
		if key.Name != "tab" && key.Name != "right" {
			k.draftKey(key)
		}
	}
}

func (k *keyFace) find(from int) {
	if k.search.query == "" {
		k.search.at, k.search.found = -1, ""
		return
	}
	if n, text, ok := k.recall.find(k.search.query, from); ok {
		k.search.at, k.search.found = n, text
	}
}

func (k *keyFace) endSearch(text string) {
	k.search = nil
	k.recall.reset()
	k.draft.Clear()
	if text != "" {
		k.draft.Set(text)
	}
}
