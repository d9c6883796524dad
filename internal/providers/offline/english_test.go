package offline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

func allTools() []provider.Tool {
	var out []provider.Tool
	for _, name := range []string{"Bash", "Read", "Write", "Edit", "Glob", "Grep"} {
		out = append(out, provider.Tool{Name: name})
	}
	return out
}

func person(text string) msg.Message {
	return msg.Message{Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}
}

// ask makes one request and returns the answer's blocks.
func ask(t testing.TB, req provider.Request) (text string, calls []msg.ToolCall) {
	t.Helper()
	for e, err := range New().Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.(provider.BlockDone); ok {
			switch b := d.Block.(type) {
			case msg.Text:
				text += b.Text
			case msg.ToolCall:
				calls = append(calls, b)
			}
		}
	}
	return text, calls
}

// firstCalls are the calls a prompt leads to at once, written down shortly.
func firstCalls(t testing.TB, prompt string) string {
	t.Helper()
	_, calls := ask(t, provider.Request{Messages: []msg.Message{person(prompt)}, Tools: allTools()})
	var out []string
	for _, c := range calls {
		var in map[string]any
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		delete(in, "description")
		raw, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c.Name+string(raw))
	}
	return strings.Join(out, " ")
}

func TestPlainRequestsAreUnderstood(t *testing.T) {
	for prompt, want := range map[string]string{
		"show main.go":                                       `Read{"file_path":"main.go"}`,
		"Please show me the file src/main.go.":               `Read{"file_path":"src/main.go"}`,
		"Can you read README.md?":                            `Read{"file_path":"README.md"}`,
		"cat `weird name.txt`":                               `Read{"file_path":"weird name.txt"}`,
		"what's in go.mod?":                                  `Read{"file_path":"go.mod"}`,
		"show the contents of notes.txt":                     `Read{"file_path":"notes.txt"}`,
		"show lines 10-20 of main.go":                        `Read{"file_path":"main.go","limit":11,"offset":10}`,
		"show me the first 5 lines of main.go":               `Read{"file_path":"main.go","limit":5,"offset":1}`,
		"print @src/app.py":                                  `Read{"file_path":"src/app.py"}`,
		"list files":                                         `Bash{"command":"ls -Ap -- ."}`,
		"list the files in src":                              `Bash{"command":"ls -Ap -- src"}`,
		"what files are here?":                               `Bash{"command":"ls -Ap -- ."}`,
		"List all files in the current directory":            `Bash{"command":"ls -Ap -- ."}`,
		"show me the files in this project":                  `Bash{"command":"ls -Ap -- ."}`,
		"list all Go files":                                  `Glob{"pattern":"**/*.go"}`,
		"find all python files in lib":                       `Glob{"path":"lib","pattern":"**/*.py"}`,
		"find files named config.yaml":                       `Glob{"pattern":"**/*config.yaml*"}`,
		"find *.md":                                          `Glob{"pattern":"**/*.md"}`,
		"where is settings.json?":                            `Glob{"pattern":"**/*settings.json*"}`,
		"search for retry":                                   `Grep{"output_mode":"content","pattern":"retry"}`,
		"search for \"a.b(c\" in src/":                       `Grep{"output_mode":"content","path":"src/","pattern":"a\\.b\\(c"}`,
		"grep TODO":                                          `Grep{"output_mode":"content","pattern":"TODO"}`,
		"find all TODOs":                                     `Grep{"output_mode":"content","pattern":"TODO"}`,
		"where is parseConfig used?":                         `Grep{"output_mode":"content","pattern":"parseConfig"}`,
		"find usages of parseConfig in internal":             `Grep{"output_mode":"content","path":"internal","pattern":"parseConfig"}`,
		"which files contain \"hello world\"?":               `Grep{"output_mode":"content","pattern":"hello world"}`,
		"how many lines does main.go have?":                  `Bash{"command":"wc -l -- main.go"}`,
		"count the lines in main.go":                         `Bash{"command":"wc -l -- main.go"}`,
		"how many Go files are there?":                       `Glob{"pattern":"**/*.go"}`,
		"how many files are in src?":                         `Glob{"path":"src","pattern":"**/*"}`,
		"count the occurrences of foo":                       `Grep{"output_mode":"count","pattern":"foo"}`,
		"how many times does \"x y\" appear in a.txt":        `Grep{"output_mode":"count","path":"a.txt","pattern":"x y"}`,
		"explain main.go":                                    `Read{"file_path":"main.go"}`,
		"Explain the shape of src/app.py to me":              `Read{"file_path":"src/app.py"}`,
		"list the functions in main.go":                      `Read{"file_path":"main.go"}`,
		"what does main.go do?":                              `Read{"file_path":"main.go"}`,
		"run `ls -la | wc -l`":                               `Bash{"command":"ls -la | wc -l"}`,
		"run go vet ./...":                                   `Bash{"command":"go vet ./..."}`,
		"Run the command `echo hi`.":                         `Bash{"command":"echo hi"}`,
		"execute \"make clean\" please":                      `Bash{"command":"make clean"}`,
		"run echo hello":                                     `Bash{"command":"echo hello"}`,
		"run ./script.sh":                                    `Bash{"command":"./script.sh"}`,
		"run this:\n```sh\necho a\necho b\n```":              `Bash{"command":"echo a\necho b"}`,
		"create a file hello.txt with the content \"hello\"": `Glob{"pattern":"hello.txt"}`,
		"create an empty file called notes":                  `Glob{"pattern":"notes"}`,
		"make a directory build/out":                         `Bash{"command":"mkdir -p -- build/out"}`,
		"write \"hi\" to out.txt":                            `Glob{"pattern":"out.txt"}`,
		"replace \"foo\" with \"bar\" in main.go":            `Read{"file_path":"main.go"}`,
		"replace foo with bar in main.go":                    `Read{"file_path":"main.go"}`,
		"in main.go, change foo to bar":                      `Read{"file_path":"main.go"}`,
		"replace foo with bar in all files":                  `Grep{"output_mode":"files_with_matches","pattern":"foo"}`,
		"replace foo by bar everywhere":                      `Grep{"output_mode":"files_with_matches","pattern":"foo"}`,
		"rename the function foo to bar":                     `Grep{"output_mode":"files_with_matches","pattern":"foo"}`,
		"rename a.txt to b.txt":                              `Glob{"pattern":"b.txt"}`,
		"move the file a.txt to docs/a.txt":                  `Glob{"path":"docs","pattern":"a.txt"}`,
		"delete old.txt":                                     `Bash{"command":"rm -- old.txt"}`,
		"append \"more\" to notes.txt":                       `Read{"file_path":"notes.txt"}`,
		"show what changed":                                  `Bash{"command":"git status --short"} Bash{"command":"git diff"}`,
		"what has changed?":                                  `Bash{"command":"git status --short"} Bash{"command":"git diff"}`,
		"show me the diff":                                   `Bash{"command":"git status --short"} Bash{"command":"git diff"}`,
		"run the tests":                                      testsGlob,
		"Run the tests.":                                     testsGlob,
		"please run all tests":                               testsGlob,
		"run the unit tests and tell me the result":          testsGlob,
		"do the tests pass?":                                 testsGlob,
		"make sure the tests pass":                           testsGlob,
		"can you run the test suite?":                        testsGlob,
		"test this project":                                  testsGlob,
	} {
		if got := firstCalls(t, prompt); got != want {
			t.Errorf("%q\n got %s\nwant %s", prompt, got, want)
		}
	}
}

const testsGlob = `Glob{"pattern":"{go.mod,package.json,Cargo.toml,pytest.ini,conftest.py,Makefile,makefile,GNUmakefile,pyproject.toml,setup.py,setup.cfg,tox.ini,requirements.txt,deno.json,deno.jsonc,pom.xml,gradlew,build.gradle,build.gradle.kts,mix.exs,Rakefile,Gemfile,composer.json,CMakeLists.txt,Justfile,justfile,test.sh,run_tests.sh,run-tests.sh,pnpm-lock.yaml,yarn.lock,bun.lockb,bun.lock}"}`

func TestOtherRequestsAreAnsweredWithWhatCanBeDone(t *testing.T) {
	for _, prompt := range []string{
		"refactor the auth module to use sessions",
		"fix the failing test",
		"find the bug in main.go",
		"explain how the authentication works",
		"write a function that sorts a list",
		"why is the sky blue?",
		"run the linter and fix what it finds",
		"replace the old parser with a better one",
		"create a web server in Go",
		"show me how to use generics",
		"change the code so that it is faster",
		"write a poem about the sea into the night",
		"delete everything",
		"rename all the things",
		"",
		"!!!",
	} {
		text, calls := ask(t, provider.Request{Messages: []msg.Message{person(prompt)}, Tools: allTools()})
		if len(calls) > 0 {
			t.Errorf("%q led to %s %s", prompt, calls[0].Name, calls[0].Input)
		}
		if !strings.Contains(text, "offline model") || !strings.Contains(text, "ANTHROPIC_API_KEY") {
			t.Errorf("%q was answered with %q", prompt, text)
		}
	}
}

func TestPartsOfARequestAreDoneInOrder(t *testing.T) {
	got := understand("create a file a.txt with the content \"x and y\", then show a.txt and run `echo done`")
	if len(got) != 3 {
		t.Errorf("%d parts", len(got))
	}
	if got := understand("show a.txt and then make it beautiful"); got != nil {
		t.Error("a request that is understood in part only was taken")
	}
}

func TestQuotedTextIsTakenWordForWord(t *testing.T) {
	for in, want := range map[string]string{"`a\\n`": "a\\n", `"a\n"`: "a\n", "'a b'": "a b", "plain": "plain", `"`: `"`} {
		if got, _ := unquote(in); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}

func TestRulesAreFoundInRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"This call was not run: no rule allows it. An allow rule such as Bash(go test *) in the settings would let it run. Do not work around": "Bash(go test *)",
		"This call was not run: nobody can be asked. An allow rule such as WebSearch in the settings would let it run.":                        "WebSearch",
		"denied; missing rule: \"Bash(go test ./...:*)\"\nmore":                                                                                "Bash(go test ./...:*)",
		"needs approval: Edit(/src/(a).go)":                                 "Edit(/src/(a).go)",
		"This call was not run: denied by the rule Bash(rm *). Do not work": "",
		"Permission denied by the user.":                                    "",
	} {
		o := outcome{text: text, failed: true}
		if !o.refused() {
			t.Errorf("%q is no refusal", text)
		}
		if got := ruleIn(text); got != want {
			t.Errorf("%q holds %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"Exit code 1\nls: permission denied", "open /etc/shadow: permission denied"} {
		if (outcome{text: text, failed: true}).refused() {
			t.Errorf("%q is a refusal", text)
		}
	}
}

func TestLanesBesidesTheMainOne(t *testing.T) {
	history := []msg.Message{
		person("replace foo with bar in main.go now"),
		{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "a", Name: "Edit", Input: json.RawMessage(`{"file_path":"main.go"}`)}}},
		{Role: msg.User, Content: []msg.Block{msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "done"}}}, msg.Text{Text: "Summarise all of it in a structured way."}}},
	}
	for lane, want := range map[provider.Lane]string{
		provider.LaneTitle: "replace foo with bar in main.go", provider.LaneClassifier: "unsure", provider.LaneHook: "",
	} {
		got, _ := ask(t, provider.Request{Lane: lane, Messages: history})
		if got != want {
			t.Errorf("lane %s says %q, want %q", lane, got, want)
		}
	}
	got, _ := ask(t, provider.Request{Lane: provider.LaneCompact, Messages: history})
	for _, want := range []string{"Asked: replace foo with bar", `Edit {"file_path":"main.go"} (ok)`} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

func TestEventsFollowTheContract(t *testing.T) {
	var got []string
	for e, err := range New().Stream(t.Context(), provider.Request{Messages: []msg.Message{person("show what changed")}, Tools: allTools()}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", e), "provider."))
	}
	want := []string{"Start", "BlockStart", "Delta", "BlockDone", "BlockStart", "Delta", "BlockDone", "Done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzUnderstand(f *testing.F) {
	for _, s := range []string{"show main.go", "run `x`", "replace \"a\" with \"b\" in c.go", "```\n```", "find *.{a", "create a file x with ```", "rename '' to ''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		text, calls := ask(t, provider.Request{Messages: []msg.Message{person(prompt)}, Tools: allTools()})
		if text == "" && len(calls) == 0 {
			t.Fatalf("nothing came of %q", prompt)
		}
	})
}
