package plain

import (
	"time"

	"github.com/myelin-agent/myelin/internal/surface/screen"
)

// restWait is how long the keyboard must have been still before keys answer a question that came meanwhile.
const restWait = time.Second

// focus says whose the keys are while a question is open. Whoever types when it comes goes on typing: keys are the
// draft's until they rest, or until Tab is pressed; with a draft begun, until Tab alone.
type focus struct {
	typed time.Time // the last key that was no answer
	note  string    // why the last key answered nothing
}

// due reports whether keys are the question's from now on, and if not, after how much more rest; 0: only Tab helps.
func (f focus) due(draft *screen.Editor, now time.Time) (yes bool, wait time.Duration) {
	if !draft.Empty() {
		return false, 0
	}
	if rest := now.Sub(f.typed); rest < restWait {
		return false, restWait - rest
	}
	return true, 0
}

// attend turns the keys to the question asked now, once it stands on the screen and the hands rest.
func (k *keyFace) attend(now time.Time) {
	q := k.asked()
	if q == nil || !q.Shown.IsZero() {
		k.timers.rest.stop()
		return
	}
	yes, wait := k.focus.due(&k.draft, now)
	switch {
	case yes, q.Local != nil: // what was asked for by a key just now is awaited
		q.Shown, k.dirty, k.byKey = now, true, true // the next frame says how to answer
		k.focus.note = ""
	case wait > 0 && k.timers.rest.C == nil:
		k.timers.rest.set(wait)
	}
}

// questionFrame is where a question is answered: how to, and what is typed.
func (k *keyFace) questionFrame(q *screen.Question, most int) screen.Frame {
	hint := q.Hint(max(k.cells-1, 1), most)
	for i := range hint {
		hint[i] = k.style.Bold(hint[i])
	}
	last := len(hint) - 1
	if !q.Single() && screen.Width(hint[last]) > k.cells/2 { // what is typed has a row of its own
		hint = append(hint, "")
		last++
	}
	f := k.answer.Frame(hint[last], k.cells, max(most-last, 1))
	f.Rows = append(hint[:last:last], f.Rows...)
	f.Row += last
	return f
}
