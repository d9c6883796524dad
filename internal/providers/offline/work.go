package offline

import (
	"encoding/json"
	"strings"
)

// call is a tool call to be made.
type call struct {
	tool  string
	input any
}

// work is one request being worked on. A kind of work is written as if each call returned at once;
// [work.do] gives the result that stands in the conversation already, or notes the call and
// reports that the work must wait. So the same function runs again from the start in every round,
// and comes one step further each time.
type work struct {
	talk
	at      int // next place on the tape
	said    []string
	pending []call
	strange bool // the tape holds calls this work did not make
}

// do makes calls side by side and returns their outcomes. ok is false when they have not run yet:
// the caller returns at once.
func (w *work) do(calls ...call) (got []outcome, ok bool) {
	rest := w.tape[w.at:]
	if len(rest) == 0 {
		w.pending = calls
		return nil, false
	}
	if len(rest) < len(calls) {
		w.strange = true
		return nil, false
	}
	for i, c := range calls {
		if rest[i].call.Name != c.tool {
			w.strange = true
			return nil, false
		}
		got = append(got, rest[i].result)
	}
	w.at += len(calls)
	return got, true
}

// one makes one call.
func (w *work) one(c call) (outcome, bool) {
	got, ok := w.do(c)
	if !ok {
		return outcome{}, false
	}
	return got[0], true
}

// say adds a paragraph to the answer.
func (w *work) say(paragraph string) { w.said = append(w.said, paragraph) }

// look reads files side by side. A file that the conversation has shown already, unchanged, is
// answered with a note instead of its text; then the text comes from where it stands.
func (w *work) look(ins ...readInput) (got []outcome, ok bool) {
	calls := make([]call, len(ins))
	for i, in := range ins {
		calls[i] = call{"Read", in}
	}
	if got, ok = w.do(calls...); !ok {
		return nil, false
	}
	var again []call
	var at []int
	var others []readInput
	for i := range got {
		if !isUnchanged(got[i]) {
			continue
		}
		if earlier, found := w.shownBefore(ins[i]); found {
			got[i] = earlier
			continue
		}
		other := ins[i] // another range than the one that was read is shown anew
		other.Offset, other.Limit = max(other.Offset, 1), max(other.Limit, 1999)
		again, at, others = append(again, call{"Read", other}), append(at, i), append(others, other)
	}
	if len(again) == 0 {
		return got, true
	}
	anew, ok := w.do(again...)
	if !ok {
		return nil, false
	}
	for i, o := range anew {
		if earlier, found := w.shownBefore(others[i]); isUnchanged(o) && found {
			o = earlier
		}
		got[at[i]] = o
	}
	return got, true
}

// lookAt reads one file.
func (w *work) lookAt(in readInput) (outcome, bool) {
	got, ok := w.look(in)
	if !ok {
		return outcome{}, false
	}
	return got[0], true
}

func isUnchanged(o outcome) bool {
	return !o.failed && len(o.text) < 300 && unchangedNote().MatchString(o.text)
}

// shownBefore finds the newest result of the same read that has the text.
func (w *work) shownBefore(in readInput) (outcome, bool) {
	all := w.tape[:w.at]
	for i := len(w.past); ; i-- {
		for j := len(all) - 1; j >= 0; j-- {
			if d := all[j]; d.call.Name == "Read" && !d.result.failed && !isUnchanged(d.result) && inputOf[readInput](d) == in {
				return d.result, true
			}
		}
		if i == 0 {
			return outcome{}, false
		}
		all = w.past[i-1].done
	}
}

// waiting tells that the work cannot go on in this round.
func (w *work) waiting() bool { return len(w.pending) > 0 || w.strange }

// has tells whether a tool may be called.
func (w *work) has(tool string) bool { return w.tools[tool] }

// need says what cannot be done when a tool is missing.
func (w *work) need(tool, why string) bool {
	if w.has(tool) {
		return true
	}
	w.say("I cannot " + why + ": the tool " + tool + " is not available in this session.")
	return false
}

// The inputs of the tools this model calls.
type (
	readInput struct {
		Path   string `json:"file_path"`
		Offset int    `json:"offset,omitempty"`
		Limit  int    `json:"limit,omitempty"`
	}
	writeInput struct {
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}
	editInput struct {
		Path string `json:"file_path"`
		Old  string `json:"old_string"`
		New  string `json:"new_string"`
		All  bool   `json:"replace_all,omitempty"`
	}
	globInput struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
	}
	grepInput struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path,omitempty"`
		Glob    string `json:"glob,omitempty"`
		Mode    string `json:"output_mode,omitempty"`
	}
	bashInput struct {
		Command     string `json:"command"`
		Description string `json:"description,omitempty"`
		Timeout     int    `json:"timeout,omitempty"` // milliseconds
	}
)

func bash(command, description string) call {
	return call{"Bash", bashInput{Command: command, Description: description}}
}

// longRun is for builds and tests, which often take longer than a command may by default.
func longRun(command, description string) call {
	return call{"Bash", bashInput{Command: command, Description: description, Timeout: 600_000}}
}

// inputOf reads the input of a call; fields it does not have stay empty.
func inputOf[In any](d done) In {
	var in In
	_ = json.Unmarshal(d.call.Input, &in) // a foreign shape leaves the zero value, which fits nothing
	return in
}

// answer works on the newest prompt as far as the conversation allows.
func answer(lane laneName, t talk) reply {
	if r, ok := besides(lane, t); ok {
		return r
	}
	if t.prompt == "" {
		return reply{text: helpText()}
	}
	prompt := t.prompt
	if again().MatchString(clean(prompt)) && len(t.past) > 0 {
		prompt = t.past[len(t.past)-1].prompt
	}
	tasks := understand(prompt)
	if tasks == nil {
		return reply{text: unknownText()}
	}
	w := &work{talk: t}
	for _, do := range tasks {
		do(w)
		if w.waiting() {
			break
		}
	}
	if w.strange {
		return reply{text: "This turn holds calls I did not make, so I cannot go on from here. Say again what you want me to do.\n\n" + helpText()}
	}
	if len(w.pending) > 0 { // the report comes whole, with the last answer
		return reply{calls: w.pending}
	}
	return reply{text: strings.Join(w.said, "\n\n")}
}
