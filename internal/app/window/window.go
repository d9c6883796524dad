// Package window is what a person sees of the context window and can do about it: what fills it, what
// each item costs with every request, what was left out, and what shall be left out or sent again.
// Begin with [Command].
package window

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/feature/cost"
	"github.com/myelin-agent/myelin/internal/feature/prompt"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// Given is what fills the window now.
type Given struct {
	Used, Window int // tokens; 0: not known
	Model        provider.Info
	Items        func() []prompt.Item
	Saved        func() map[string]int // tokens that stages leave out, by stage
	ByName       []string              // tools that are known by their name alone
	Notes        func(w io.Writer)     // lists the agent's notes
	Prompt       *prompt.Prompt
	Conversation Conversation
	Now          time.Time
}

// Conversation is what fills most of the window.
type Conversation interface {
	Shown() []msg.Message // as it stood when the last request was made
	Removed(model string) []shaping.Removed
	Show(id string, on bool) bool
}

// mostResults is how many results are listed, the largest first.
const mostResults = 15

// Command answers what is typed behind /context. Columns are separated by tabs.
func Command(w io.Writer, args string, g Given) error {
	what, id, _ := strings.Cut(args, " ")
	id = strings.TrimSpace(id)
	switch {
	case what == "" || what == "all":
		g.show(w)
		return nil
	case what == "--removed" && id == "":
		g.removed(w)
		return nil
	case what == "--bring-back" && id != "":
		if !g.Conversation.Show(id, true) && !g.Prompt.Show(id, true) {
			return fmt.Errorf("/context: nothing with the id %s is left out; /context --removed lists what is", id)
		}
		fmt.Fprintln(w, "It is sent again, from the next request on.")
		return nil
	case what == "--evict" && id != "":
		known := slices.ContainsFunc(g.results(), func(r result) bool { return r.id == id })
		if !(known && g.Conversation.Show(id, false)) && !g.Prompt.Show(id, false) {
			return fmt.Errorf("/context: nothing that could be left out has the id %s; /context lists what can", id)
		}
		fmt.Fprintln(w, "It is left out from the next request on; /context --bring-back "+id+" sends it again.")
		return nil
	}
	return errors.New("/context takes --removed, or --evict or --bring-back and an id")
}

// each is what so many tokens cost with every request: at the price of the service's cache, where it
// has one.
func (g Given) each(tokens int) string {
	price := g.Model.Price.CacheRead
	if price == 0 {
		price = g.Model.Price.Input
	}
	return cost.Dollars(float64(tokens) * price / 1e6).String()
}

func (g Given) show(w io.Writer) {
	fmt.Fprintf(w, "used\t%d of %d tokens\t%d%%\n", g.Used, g.Window, 100*g.Used/max(g.Window, 1))
	fmt.Fprintf(w, "item\ttokens\tbytes\ta request\tlast use\tid for --evict\n")
	for _, it := range g.Items() {
		use := "every request"
		if it.Source == "results" {
			use = "see below"
		}
		fmt.Fprintf(w, "%s\t%d tokens\t%d\t%s\t%s\t%s\n", it.Label, it.Tokens, it.Bytes, g.each(it.Tokens), use, it.Path)
	}
	gone := g.gone()
	for i, r := range g.results() {
		if i == mostResults {
			fmt.Fprintf(w, "…\t%d smaller results\n", len(g.results())-i)
			break
		}
		if !gone[r.id] {
			tokens := (r.bytes + 3) / 4
			fmt.Fprintf(w, "%s\t%d tokens\t%d\t%s\t%s\t%s\n", r.label, tokens, r.bytes, g.each(tokens), g.ago(r.at), r.id)
		}
	}
	g.Notes(w)
	for stage, tokens := range g.Saved() {
		fmt.Fprintf(w, "left out by %s\t%d tokens\t/context --removed\n", stage, tokens)
	}
	for _, name := range g.ByName {
		fmt.Fprintf(w, "%s\tby name only\n", name)
	}
}

func (g Given) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return g.Now.Sub(at).Round(time.Second).String() + " ago"
}

func (g Given) gone() map[string]bool {
	out := map[string]bool{}
	for _, r := range g.Conversation.Removed(g.Model.Ref()) {
		out[r.ID] = true
	}
	return out
}

// result is a tool result of the conversation.
type result struct {
	id, label string
	bytes     int
	at        time.Time
}

// results are those of the conversation, the largest first.
func (g Given) results() []result {
	calls := map[string]msg.ToolCall{}
	var out []result
	for _, m := range g.Conversation.Shown() {
		for _, c := range msg.Calls(m) {
			calls[c.ID] = c
		}
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				c := calls[r.CallID]
				out = append(out, result{r.CallID, c.Name + " " + msg.Cut(strings.Join(strings.Fields(string(c.Input)), " "), 60), msg.Size(r.Content), m.Time})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b result) int { return cmp.Compare(b.bytes, a.bytes) })
	return out
}

func (g Given) removed(w io.Writer) {
	left, files := g.Conversation.Removed(g.Model.Ref()), g.Prompt.Evicted()
	if len(left)+len(files) == 0 {
		fmt.Fprintln(w, "Nothing is left out.")
	}
	for _, r := range left {
		fmt.Fprintf(w, "%s\t%s\t%d tokens\t%s\n", r.ID, r.Stage, r.Tokens, r.Label)
	}
	for _, path := range files {
		fmt.Fprintf(w, "%s\tevicted\t\t\n", path)
	}
}
