package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// call is a tool call to be made.
type call struct {
	tool  string
	input fields
}

// work is one request being worked on. A request is written as if each call returned at once:
// [work.do] returns the result that stands in the conversation already, or notes the calls and
// reports that the work must wait. The same function runs again from the start in every round and
// comes one step further each time.
type work struct {
	conversation
	at      int // number of the next call of this turn
	said    []string
	pending []call
	foreign bool // the turn holds calls that this work did not make
}

// do makes calls side by side and returns their results. ok is false when they have not run yet:
// the caller must return at once.
func (w *work) do(calls ...call) (results []outcome, ok bool) {
	for _, c := range calls {
		if !w.tools[c.tool] {
			w.say("I cannot do that: the tool " + c.tool + " is not available in this session.")
			w.pending = nil
			return nil, false
		}
	}
	made := w.now.calls[w.at:]
	if len(made) == 0 {
		w.pending = calls
		return nil, false
	}
	for i, c := range calls {
		if i >= len(made) || made[i].call.Name != c.tool {
			w.foreign = true
			return nil, false
		}
		results = append(results, made[i].result)
	}
	w.at += len(calls)
	return results, true
}

// one makes one call.
func (w *work) one(tool string, input fields) (outcome, bool) {
	results, ok := w.do(call{tool, input})
	if !ok {
		return outcome{}, false
	}
	return results[0], true
}

// say adds a paragraph to the answer.
func (w *work) say(paragraph string) { w.said = append(w.said, paragraph) }

// report says what came of a call: what failed and why, or the output under a heading.
func (w *work) report(what, heading string, o outcome) {
	output := strings.TrimSpace(o.text)
	switch {
	case o.refused():
		w.say(o.refusal(what))
	case o.failed:
		w.say("I could not " + what + ":\n\n" + fence(output))
	default:
		w.say(heading + "\n\n" + fence(output))
	}
}

// fields are the input of a tool.
type fields map[string]any

// in adds the folder to look in, unless it is the working directory.
func (f fields) in(where string) fields {
	if d := dir(where); d != "" {
		f["path"] = d
	}
	return f
}

func read(file, from, to string) request {
	p, ok := path(file)
	if !ok {
		return nil
	}
	in := fields{"file_path": p}
	if first, err := strconv.Atoi(from); err == nil {
		last, err := strconv.Atoi(to)
		if err != nil {
			last = first
		}
		in["offset"], in["limit"] = first, max(last-first+1, 1)
	}
	return func(w *work) {
		if o, ok := w.one("Read", in); ok {
			w.report("read `"+p+"`", "`"+p+"`:", o)
		}
	}
}

func list(where string) request {
	d := dir(where)
	if d == "" {
		d = "."
	}
	return func(w *work) {
		if o, ok := w.one("Bash", fields{"command": "ls -Ap -- " + shellQuote(d)}); ok {
			w.report("list `"+d+"`", "`"+d+"`:", o)
		}
	}
}

func find(name, where string) request {
	p, ok := path(name)
	if !ok && !strings.ContainsAny(p, "*?[{") {
		return nil
	}
	if !strings.Contains(p, "/") {
		p = "**/" + p
	}
	return func(w *work) {
		if o, ok := w.one("Glob", fields{"pattern": p}.in(where)); ok {
			w.report("find `"+p+"`", "Files that match `"+p+"`:", o)
		}
	}
}

func search(text, where string) request {
	text, quoted := unquote(text)
	if !quoted && strings.ContainsAny(text, " \n") {
		return nil // part of a sentence
	}
	return func(w *work) {
		if o, ok := w.one("Grep", fields{"pattern": regexp.QuoteMeta(text), "output_mode": "content"}.in(where)); ok {
			w.report("search for `"+text+"`", "Lines with `"+text+"`:", o)
		}
	}
}

// run runs a command. Without quotation marks the first word must look like a program.
func run(text string) request {
	command, quoted := unquote(text)
	first, _, _ := strings.Cut(command, " ")
	if !quoted && (!regexp.MustCompile(`^[a-z0-9./_-]+$`).MatchString(first) || first == "the" || first == "a" || first == "it") {
		return nil
	}
	return func(w *work) { w.command(command) }
}

// command runs a shell command, which may take ten minutes, and says how it ended.
func (w *work) command(command string) {
	if o, ok := w.one("Bash", fields{"command": command, "timeout": 600_000}); ok {
		w.report("run `"+command+"`", "`"+command+"` succeeded:", o)
	}
}

// testRunners are files at the top of a project, each with the command that runs its tests, in the
// order in which they are taken.
func testRunners() [][2]string {
	return [][2]string{
		{"go.mod", "go test ./..."},
		{"Cargo.toml", "cargo test"},
		{"package.json", "npm test"},
		{"pyproject.toml", "pytest"},
		{"pytest.ini", "pytest"},
		{"Makefile", "make test"},
	}
}

// runTests finds out how the project runs its tests and runs them.
func runTests(w *work) {
	var names []string
	for _, r := range testRunners() {
		names = append(names, r[0])
	}
	o, ok := w.one("Glob", fields{"pattern": "{" + strings.Join(names, ",") + "}"})
	if !ok {
		return
	}
	if o.failed {
		w.report("look for the tests", "", o)
		return
	}
	present := map[string]bool{}
	for line := range strings.Lines(o.text) {
		line = strings.TrimSpace(line)
		present[line[strings.LastIndexByte(line, '/')+1:]] = true
	}
	for _, r := range testRunners() {
		if present[r[0]] {
			w.command(r[1])
			return
		}
	}
	w.say("I found no way to run tests here: there is none of " + strings.Join(names, ", ") + ". Give me the command: run `…`.")
}

func replace(old, text, file string) request {
	old, _ = unquote(old)
	text, _ = unquote(text)
	p, ok := path(file)
	if !ok || old == text {
		return nil
	}
	return func(w *work) {
		if o, ok := w.one("Read", fields{"file_path": p}); !ok {
			return
		} else if o.failed {
			w.report("read `"+p+"`", "", o)
			return
		}
		if o, ok := w.one("Edit", fields{"file_path": p, "old_string": old, "new_string": text, "replace_all": true}); ok {
			w.report("edit `"+p+"`", fmt.Sprintf("Replaced %q with %q in `%s`:", old, text, p), o)
		}
	}
}

// answer works on the newest prompt as far as the conversation allows.
func answer(c conversation) reply {
	do := parse(c.now.prompt)
	switch {
	case c.now.prompt == "":
		return reply{text: helpText()}
	case do == nil:
		return reply{text: "I did not understand that, and I did nothing.\n\n" + helpText()}
	}
	w := &work{conversation: c}
	do(w)
	switch {
	case w.foreign:
		return reply{text: "This turn holds calls that I did not make, so I cannot continue it. Repeat what you want me to do.\n\n" + helpText()}
	case len(w.pending) > 0:
		return reply{calls: w.pending}
	}
	return reply{text: strings.Join(w.said, "\n\n")}
}
