package offline

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// runRules are the requests that run something.
func runRules() []rule {
	return []rule{
		{`(?:(?:run|execute|start|do|launch|try|check|rerun|re-run|perform)\s+){the}{tests}(?:(?:{in}|\s+for\s+)(?:the\s+)?{dir})?(?:\s+again)?`, makeTests},
		{`(?:do|are|will|does|did)\s+{the}{tests}\s+(?:pass|passing|green|run|running|work|working|ok|okay|fine|still\s+pass|succeed|fail|failing)(?:\s+(?:now|still))?`, makeTests},
		{`(?:make\s+sure|check|see|verify|tell\s+me)\s+(?:that\s+|if\s+|whether\s+)?{the}{tests}\s+(?:pass(?:es)?|are\s+(?:green|passing|ok)|still\s+pass|work|run|succeed)`, makeTests},
		{`test(?:\s+(?:it|this|everything|the\s+(?:project|code|program|app)|this\s+(?:project|code)))?`, makeTests},
		{`(?:build|compile)(?:\s+(?:it|this|everything|{the}(?:project|code|program|app|application|binary|whole\s+project)))?|run\s+{the}build`, func(groups) task { return build }},
		{`(?:show|what(?:'s|\s+is|\s+was|\s+has|\s+have)?|which|see|list|display|tell|print)\b.*\b(?:changed|changes|modified|modifications|uncommitted|diff|differs?|different)(?:\s+(?:in|since|so\s+far|here|now|today|me|did|have|has|been|files|made|you|i|we|were|was|the|last|commit|this|project|repo|repository|working|tree)\b)*`, func(groups) task { return changes }},
		{`(?:git\s+)?(?:diff|status|changes)|what\s+(?:did|have)\s+you\s+(?:change|do|done|changed)(?:\s+so\s+far)?`, func(groups) task { return changes }},
		{`(?:undo|revert|take\s+back|roll\s*back|reverse)(?:\s+(?:it|that|this|everything|{the}(?:last|previous|latest|most\s+recent)?\s*(?:change|changes|edit|edits|step|one)|your\s+(?:last\s+)?(?:changes?|edits?)|what\s+you\s+(?:just\s+)?did))?`, func(groups) task { return undo }},
		{`(?:run|execute|exec|issue|invoke|call)\s+(?:(?:the|this|a)\s+)?(?:(?:shell|bash|terminal)\s+)?(?:command|program|script)?\s*:?\s*(?P<cmd>` + "`[^`]+`" + `|"[^"]+"|'[^']+')(?:\s+(?:in\s+(?:the\s+|a\s+)?(?:shell|terminal|bash)))?`, makeRun},
		{`(?:run|execute|exec)\s+(?:the\s+(?:shell\s+)?command\s*:?\s*)?(?P<cmd>\S.*)`, makeRun},
		{`(?:run|execute)(?:\s+(?:this|these|the\s+following)(?:\s+commands?)?)?`, makeRun},
		{`[$!]\s+(?P<cmd>\S.*)`, makeRun},
		{`what\s+(?:does|is\s+the\s+output\s+of)\s+(?P<cmd>` + "`[^`]+`" + `)(?:\s+(?:print|output|say|show|return|give))?`, makeRun},
		{"(?P<cmd>`[^`]+`)", makeRun},
	}
}

func makeRun(g groups) task {
	command, quoted := unquote(g["cmd"])
	if command == "" && g["block"] != "" {
		command, quoted = strings.TrimSpace(g["block"]), true
	}
	if command == "" || !quoted && !looksLikeCommand(command) {
		return nil
	}
	return func(w *work) { w.command(bash(command, "Run "+cut(firstLine(command), 60)), command) }
}

// looksLikeCommand tells "go vet ./..." from "the linter and see what it says".
func looksLikeCommand(s string) bool {
	first, rest, _ := strings.Cut(s, " ")
	if !programName().MatchString(first) {
		return false
	}
	switch strings.ToLower(first) {
	case "the", "a", "an", "all", "my", "our", "this", "that", "it", "them", "these", "those", "your", "some", "any", "every", "through", "around", "away", "into", "over", "with":
		return false
	}
	return rest != "" || strings.ContainsAny(first, "./") || oneWordCommands().MatchString(first)
}

var (
	programName     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w./~+-]+(?:=\S*)?$`) })
	oneWordCommands = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:ls|pwd|date|make|env|whoami|id|uname|df|du|ps|top|true|false|uptime|hostname|tree|pytest|tox|rake|ninja|free|who|cargo|npm|yarn|gradle|mvn|ctest|history|which|sleep|echo)$`)
	})
)

// command runs a shell command and tells what came of it.
func (w *work) command(c call, command string) {
	if !w.need("Bash", "run `"+command+"`") {
		return
	}
	got, ok := w.one(c)
	if !ok {
		return
	}
	output := strings.TrimSpace(got.text)
	switch {
	case got.refused():
		w.say(got.refusal("run `" + command + "`"))
	case background().MatchString(got.text):
		w.say("`" + command + "` is still running in the background; I do not know yet how it ends.\n\n" + quoteBlock(cut(output, 4000)))
	case got.failed:
		w.say("`" + command + "` failed" + exitWords(got.text) + ".\n\n" + quoteBlock(cut(output, 8000)))
	case output == "" || strings.HasPrefix(output, "(") && strings.HasSuffix(output, ")") && !strings.Contains(output, "\n"):
		w.say("`" + command + "` succeeded and printed nothing.")
	default:
		w.say("`" + command + "` succeeded:\n\n" + quoteBlock(cut(output, 8000)))
	}
}

func exitWords(text string) string {
	if m := exitCode().FindStringSubmatch(text); m != nil {
		return " with exit code " + m[1]
	}
	return ""
}

// runner is one way to run a project's tests or to build it.
type runner struct {
	files []string // names at the top that tell of it
	test  string
	build string
	needs *regexp.Regexp // what the file must hold for test; nil: nothing
}

// runners in the order in which they are taken.
var runners = sync.OnceValue(func() []runner {
	has := func(p string) *regexp.Regexp { return regexp.MustCompile(`(?m)` + p) }
	return []runner{
		{[]string{"go.mod"}, "go test ./...", "go build ./...", nil},
		{[]string{"package.json"}, "npm test", "npm run build", has(`"test"\s*:\s*"[^"]*[^"]"`)},
		{[]string{"Cargo.toml"}, "cargo test", "cargo build", nil},
		{[]string{"pytest.ini", "conftest.py"}, "pytest", "", nil},
		{[]string{"Makefile", "makefile", "GNUmakefile"}, "make test", "make", has(`^test\s*:`)},
		{[]string{"pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt"}, "pytest", "", nil},
		{[]string{"deno.json", "deno.jsonc"}, "deno test", "", nil},
		{[]string{"pom.xml"}, "mvn -q test", "mvn -q compile", nil},
		{[]string{"gradlew"}, "./gradlew test", "./gradlew build", nil},
		{[]string{"build.gradle", "build.gradle.kts"}, "gradle test", "gradle build", nil},
		{[]string{"mix.exs"}, "mix test", "mix compile", nil},
		{[]string{"Rakefile"}, "rake test", "rake", nil},
		{[]string{"Gemfile"}, "bundle exec rspec", "", nil},
		{[]string{"composer.json"}, "composer test", "", has(`"test"\s*:`)},
		{[]string{"CMakeLists.txt"}, "ctest --test-dir build --output-on-failure", "cmake --build build", nil},
		{[]string{"Justfile", "justfile"}, "just test", "just build", has(`^test\b.*:`)},
		{[]string{"test.sh"}, "sh ./test.sh", "", nil},
		{[]string{"run_tests.sh"}, "sh ./run_tests.sh", "", nil},
		{[]string{"run-tests.sh"}, "sh ./run-tests.sh", "", nil},
	}
})

// findRunner looks at the project for a way to run its tests (or, with building, to build it).
// found is nil when there is none; tried names what was seen.
func (w *work) findRunner(dir string, building bool) (found *runner, seen []string, ok bool) {
	if !w.need("Glob", "find out how this project is run") {
		return nil, nil, false
	}
	var names []string
	for _, r := range runners() {
		names = append(names, r.files...)
	}
	names = append(names, "pnpm-lock.yaml", "yarn.lock", "bun.lockb", "bun.lock")
	in := globInput{Pattern: "{" + strings.Join(names, ",") + "}"}
	if dir != "." {
		in.Path = dir
	}
	got, ok := w.one(call{"Glob", in})
	if !ok {
		return nil, nil, false
	}
	if got.failed {
		w.say(got.failure("look for a way to run the tests"))
		return nil, nil, false
	}
	present := map[string]string{}
	for _, hit := range resultLines(got) {
		present[path.Base(hit)] = hit
		seen = append(seen, path.Base(hit))
	}
	for _, r := range runners() {
		r, ok, fits := w.tryRunner(r, present, building)
		if !ok {
			return nil, nil, false
		}
		if fits {
			return &r, seen, true
		}
	}
	return nil, seen, true
}

// tryRunner tells whether a runner fits what is present; it reads the file where its content
// decides.
func (w *work) tryRunner(r runner, present map[string]string, building bool) (out runner, ok, fits bool) {
	at := ""
	for _, f := range r.files {
		if p := present[f]; p != "" {
			at = p
			break
		}
	}
	if at == "" || building && r.build == "" {
		return r, true, false
	}
	if path.Base(at) == "package.json" {
		r = withManager(r, present)
	}
	if r.needs == nil || building && path.Base(at) != "package.json" || !w.has("Read") {
		return r, true, true
	}
	got, ok := w.lookAt(readInput{Path: at})
	if !ok {
		return r, false, false
	}
	if got.failed {
		return r, true, false
	}
	text := strings.Join(readLines(got).lines, "\n")
	if building {
		return r, true, strings.Contains(text, `"build"`)
	}
	return r, true, r.needs.MatchString(text) && !strings.Contains(text, "no test specified")
}

// withManager takes the package manager whose lock file lies there.
func withManager(r runner, present map[string]string) runner {
	for _, m := range []struct{ file, name string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lockb", "bun"}, {"bun.lock", "bun"}} {
		if present[m.file] != "" {
			r.test, r.build = m.name+" run test", m.name+" run build"
			return r
		}
	}
	return r
}

func makeTests(g groups) task {
	dir := dirOf(g["dir"])
	return func(w *work) {
		r, seen, ok := w.findRunner(dir, false)
		if !ok {
			return
		}
		if r == nil {
			w.say("I found no way to run tests here: no go.mod, Cargo.toml, package.json with a test script, Makefile with a test target, pytest setup or the like" + seenWords(seen) + ". Tell me the command: run `…`.")
			return
		}
		if !w.need("Bash", "run the tests") {
			return
		}
		w.runTests(r.test, dir)
	}
}

func seenWords(seen []string) string {
	if len(seen) == 0 {
		return ""
	}
	return " (I saw " + strings.Join(seen, ", ") + ")"
}

// runTests runs a test command and tells the outcome as it is.
func (w *work) runTests(command, dir string) {
	for _, command := range append([]string{command}, otherNames(command)...) {
		full := command
		if dir != "." {
			full = "cd " + shellQuote(dir) + " && " + command
		}
		got, ok := w.one(longRun(full, "Run the tests"))
		if !ok {
			return
		}
		if got.failed && notInstalled().MatchString(got.text) && !got.refused() && len(otherNames(command)) > 0 {
			continue
		}
		w.testOutcome(full, got)
		return
	}
}

// otherNames are ways to run the same when the first is not installed.
func otherNames(command string) []string {
	switch command {
	case "pytest":
		return []string{"python3 -m pytest", "python3 -m unittest discover"}
	case "python3 -m pytest":
		return []string{"python3 -m unittest discover"}
	default:
		return nil
	}
}

var notInstalled = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^Exit code 127|command not found|: not found$|No module named ['"]?pytest`)
})

func (w *work) testOutcome(command string, got outcome) {
	output := strings.TrimSpace(got.text)
	switch {
	case got.refused():
		w.say(got.refusal("run the tests with `" + command + "`"))
	case background().MatchString(output):
		w.say("The tests (`" + command + "`) have not finished: the command runs on in the background, so I cannot say yet whether they pass.\n\n" + quoteBlock(tail(output, 20)))
	case got.failed && notInstalled().MatchString(output):
		w.say("I could not run the tests: `" + command + "` did not start.\n\n" + quoteBlock(tail(output, 20)))
	case got.failed:
		text := "The tests fail: `" + command + "` ended" + exitWords(output) + "."
		if names := failures(output); len(names) > 0 {
			text += "\n\nFailing:\n\n" + bullets(names, 30)
		}
		w.say(text + "\n\n" + quoteBlock(tail(output, 40)))
	case noTests(output):
		w.say("`" + command + "` succeeded, but it found no tests to run.\n\n" + quoteBlock(tail(output, 20)))
	default:
		w.say("The tests pass: `" + command + "` succeeded.\n\n" + quoteBlock(tail(output, 20)))
	}
}

// failures are the names of failed tests in the output of the usual runners.
func failures(output string) []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range failedTest().FindAllStringSubmatch(output, -1) {
		for _, name := range m[1:] {
			if name = strings.TrimSpace(name); name != "" && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

var failedTest = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^FAILED (\S+)|^(?:FAIL|ERROR): (\S.*)$|^test (\S+) \.\.\. FAILED|^\s*(?:✕|✗|✖|×) (\S.*)$|^not ok \d* ?-? ?(\S.*)$`)
})

// noTests tells output that says that nothing was tested.
func noTests(output string) bool {
	lines := 0
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !strings.Contains(line, "[no test files]") && !strings.Contains(line, "no tests to run") && !strings.HasPrefix(line, "?") {
			return regexp.MustCompile(`(?i)^(?:no tests ran|ran 0 tests|collected 0 items)`).MatchString(line)
		}
		lines++
	}
	return lines > 0
}

func build(w *work) {
	r, seen, ok := w.findRunner(".", true)
	if !ok {
		return
	}
	if r == nil {
		w.say("I found no way to build this project" + seenWords(seen) + ". Tell me the command: run `…`.")
		return
	}
	w.command(longRun(r.build, "Build the project"), r.build)
}

// changes shows what differs from the last commit, and without one what was changed in this
// conversation.
func changes(w *work) {
	if !w.has("Bash") {
		w.say(w.changedHere())
		return
	}
	got, ok := w.do(bash("git status --short", "Show changed files"), bash("git diff", "Show the changes"))
	if !ok {
		return
	}
	status, diff := got[0], got[1]
	switch {
	case status.failed && strings.Contains(status.text, "not a git repository"):
		w.say("This folder is not under git, so I can only tell what was changed in this conversation. " + w.changedHere())
	case status.failed:
		w.say(status.failure("ask git for changes"))
	case len(resultLines(status)) == 0:
		w.say("Nothing has changed since the last commit.")
	default:
		text := fmt.Sprintf("%s changed since the last commit:\n\n%s", plural(len(resultLines(status)), "file has", "files have"), quoteBlock(strings.TrimRight(status.text, "\n")))
		if d := strings.TrimSpace(diff.text); !diff.failed && strings.Contains(d, "@@") {
			text += "\n\n" + fence(cut(d, 20_000), "diff")
		}
		w.say(text)
	}
}

func (w *work) changedHere() string {
	var lines []string
	for _, u := range w.past {
		for _, d := range u.done {
			if c, ok := changeOf(d); ok {
				lines = append(lines, c.text)
			}
		}
	}
	if len(lines) == 0 {
		return "No file was changed in it."
	}
	return "Changed were:\n\n" + bullets(lines, 50)
}
