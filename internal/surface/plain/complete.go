package plain

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// menu is the list of ways to go on with a word.
type menu struct {
	items []Completion
	at    int
	last  int // bytes the present choice took in the draft
}

func (m menu) open() bool { return len(m.items) > 0 }

func (m menu) rows(s screen.Style) []string {
	first := max(0, m.at-menuRows+1)
	var out []string
	for i := first; i < len(m.items) && i < first+menuRows; i++ {
		line := "  " + visible.Line(m.items[i].Text)
		if m.items[i].Note != "" {
			line += "  " + visible.Line(m.items[i].Note)
		}
		if i == m.at {
			out = append(out, s.Bold(line))
			continue
		}
		out = append(out, s.Dim(line))
	}
	return out
}

// complete asks for ways to go on. It is done beside, so that a slow answer never holds up a key;
// one that comes after the draft went on is dropped.
func (k *keyFace) complete() {
	if k.opt.Complete == nil {
		return
	}
	before := k.draft.Before()
	go guarded(k.crashed, func() { // ends with the completer, which heeds ctx
		items := k.opt.Complete(k.ctx, before)
		select {
		case k.back <- func() { k.completed(before, items) }:
		case <-k.ctx.Done():
		}
	})
}

func (k *keyFace) completed(before string, items []Completion) {
	if k.draft.Before() != before || len(items) == 0 {
		return
	}
	k.dirty, k.byKey = true, true
	if len(items) == 1 {
		k.draft.Replace(items[0].Replace, items[0].Text)
		return
	}
	common := items[0].Text
	for _, it := range items[1:] {
		for !strings.HasPrefix(it.Text, common) {
			common = strings.ToValidUTF8(common[:len(common)-1], "")
		}
	}
	replaced := items[0].Replace
	if len(common) > replaced {
		k.draft.Replace(replaced, common)
		replaced = len(common)
	}
	k.menu = menu{items: items, last: replaced}
}

// menuKey moves in the list, takes a choice, or closes the list and lets the key pass.
func (k *keyFace) menuKey(key screen.Key) bool {
	m := &k.menu
	switch key.Name {
	case "tab", "down", "ctrl+n":
		m.at = (m.at + 1) % len(m.items)
	case "up", "ctrl+p":
		m.at = (m.at + len(m.items) - 1) % len(m.items)
	case "enter":
		k.draft.Replace(m.last, m.items[m.at].Text)
		*m = menu{}
	case "esc":
		*m = menu{}
	default:
		*m = menu{}
		return false
	}
	return true
}
