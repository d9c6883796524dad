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

func promptFor(prompt string, without ...string) provider.Request {
	req := provider.Request{Messages: []msg.Message{user(msg.Text{Text: prompt})}}
	for _, name := range []string{"Bash", "Read", "Edit", "Glob", "Grep"} {
		if !strings.Contains(strings.Join(without, " "), name) {
			req.Tools = append(req.Tools, provider.Tool{Name: name})
		}
	}
	return req
}

func user(content ...msg.Block) msg.Message { return msg.Message{Role: msg.User, Content: content} }

// ask makes one request and returns the text and the calls of the answer.
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

// play answers the calls of a turn with results in order, and returns the last text and all calls.
func play(t *testing.T, prompt string, results ...outcome) (text, made string) {
	t.Helper()
	req := promptFor(prompt)
	var all []string
	for {
		text, calls := ask(t, req)
		if len(calls) == 0 {
			if len(results) > 0 {
				t.Errorf("%q: %d results were not asked for", prompt, len(results))
			}
			return text, strings.Join(all, " ")
		}
		answer := msg.Message{Role: msg.Assistant}
		reply := user()
		for _, c := range calls {
			all = append(all, c.Name+string(c.Input))
			if len(results) == 0 {
				return "", strings.Join(all, " ")
			}
			answer.Content = append(answer.Content, c)
			reply.Content = append(reply.Content, msg.ToolResult{CallID: c.ID, IsError: results[0].failed, Content: []msg.Block{msg.Text{Text: results[0].text}}})
			results = results[1:]
		}
		req.Messages = append(req.Messages, answer, reply)
	}
}

const testsGlob = `Glob{"pattern":"{go.mod,Cargo.toml,package.json,pyproject.toml,pytest.ini,Makefile}"}`

func TestRequestsAreParsed(t *testing.T) {
	for prompt, want := range map[string]string{
		"read main.go":                            `Read{"file_path":"main.go"}`,
		"Please show src/main.go.":                `Read{"file_path":"src/main.go"}`,
		"cat `weird name.txt`":                    `Read{"file_path":"weird name.txt"}`,
		"read lines 10-20 of main.go":             `Read{"file_path":"main.go","limit":11,"offset":10}`,
		"open @src/app.py":                        `Read{"file_path":"src/app.py"}`,
		"read the file Makefile":                  `Read{"file_path":"Makefile"}`,
		"list":                                    `Bash{"command":"ls -Ap -- ."}`,
		"list the files in src":                   `Bash{"command":"ls -Ap -- src"}`,
		"ls 'a b'":                                `Bash{"command":"ls -Ap -- 'a b'"}`,
		"find *.md":                               `Glob{"pattern":"**/*.md"}`,
		"find `*_test.go` in src":                 `Glob{"path":"src","pattern":"**/*_test.go"}`,
		"find files named config.yaml":            `Glob{"pattern":"**/config.yaml"}`,
		"search for retry":                        `Grep{"output_mode":"content","pattern":"retry"}`,
		"search \"a.b(c\" in src/":                `Grep{"output_mode":"content","path":"src/","pattern":"a\\.b\\(c"}`,
		"grep TODO":                               `Grep{"output_mode":"content","pattern":"TODO"}`,
		"run `ls -la | wc -l`":                    `Bash{"command":"ls -la | wc -l","timeout":600000}`,
		"run go vet ./...":                        `Bash{"command":"go vet ./...","timeout":600000}`,
		"execute \"make clean\"":                  `Bash{"command":"make clean","timeout":600000}`,
		"run ./script.sh":                         `Bash{"command":"./script.sh","timeout":600000}`,
		"replace \"foo\" with \"bar\" in main.go": `Read{"file_path":"main.go"}`,
		"replace foo by bar in main.go":           `Read{"file_path":"main.go"}`,
		"run the tests":                           testsGlob,
		"Run all tests.":                          testsGlob,
		"test":                                    testsGlob,
	} {
		if _, got := play(t, prompt); got != want {
			t.Errorf("%q\n got %s\nwant %s", prompt, got, want)
		}
	}
}

func TestOtherPromptsAreAnsweredWithHelp(t *testing.T) {
	for _, prompt := range []string{
		"refactor the auth module to use sessions", "fix the failing test", "find the bug in main.go",
		"read the room", "search the whole code for a bug", "run the linter and fix what it finds",
		"replace the old parser with a better one", "show me how to use generics", "delete everything", "", "!!!", "help",
	} {
		text, calls := ask(t, promptFor(prompt))
		if len(calls) > 0 {
			t.Errorf("%q led to %s %s", prompt, calls[0].Name, calls[0].Input)
		}
		if !strings.Contains(text, "offline model") || !strings.Contains(text, "ANTHROPIC_API_KEY") {
			t.Errorf("%q was answered with %q", prompt, text)
		}
	}
}

func TestResultsAreReported(t *testing.T) {
	refused := outcome{"This call was not run: no rule allows it. An allow rule such as Bash(go test (x) *) in the settings would let it run.", true}
	for _, tc := range []struct {
		prompt  string
		results []outcome
		want    string
	}{
		{"read a.go", []outcome{{"1\tpackage a ```", false}}, "`a.go`:\n\n````\n1\tpackage a ```\n````"},
		{"read a.go", []outcome{{"File does not exist.", true}}, "could not read `a.go`"},
		{"run `make`", []outcome{{"ok", false}}, "`make` succeeded"},
		{"run `make`", []outcome{{"Exit code 2\nls: permission denied", true}}, "could not run `make`"},
		{"run `make`", []outcome{{"open /etc/shadow: permission denied", true}}, "could not run `make`"},
		{"run `make`", []outcome{{"Permission denied by the user.", true}}, "I was not allowed to run `make`"},
		{"run the tests", []outcome{{"x/go.mod\nMakefile", false}, refused}, "`Bash(go test (x) *)`: give it with `--allowedTools 'Bash(go test (x) *)'`"},
		{"run the tests", []outcome{{"No files found", false}}, "no way to run tests"},
		{"run the tests", []outcome{{"Makefile", false}, {"all good", false}}, "`make test` succeeded:\n\n```\nall good"},
		{`replace "a" with "b" in c.txt`, []outcome{{"1\ta", false}, {"edited", false}}, "Replaced \"a\" with \"b\" in `c.txt`"},
		{`replace "a" with "b" in c.txt`, []outcome{{"gone", true}}, "could not read `c.txt`"},
		{`replace "a" with "b" in c.txt`, []outcome{{"1\ta", false}, {"String not found", true}}, "could not edit `c.txt`"},
	} {
		if text, _ := play(t, tc.prompt, tc.results...); !strings.Contains(text, tc.want) {
			t.Errorf("%q: %q lacks %q", tc.prompt, text, tc.want)
		}
	}
}

func TestAMissingToolIsNamed(t *testing.T) {
	for prompt, tool := range map[string]string{
		"run `ls`": "Bash", "read a.txt": "Read", "list": "Bash", "search foo": "Grep", "find a.txt": "Glob", "run the tests": "Glob", "replace foo with bar in a.txt": "Read",
	} {
		text, calls := ask(t, promptFor(prompt, tool))
		if len(calls) > 0 || !strings.Contains(text, "the tool "+tool+" is not available") {
			t.Errorf("%q: %q, %v", prompt, text, calls)
		}
	}
}

func TestOtherLanes(t *testing.T) {
	history := []msg.Message{
		user(msg.Text{Text: "replace foo with bar in main.go now"}),
		{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "a", Name: "Edit", Input: json.RawMessage(`{"file_path":"main.go"}`)}}},
		user(msg.ToolResult{CallID: "a", Content: []msg.Block{msg.Text{Text: "done"}}}, msg.Text{Text: "Summarise all of it in a structured way."}),
	}
	for lane, want := range map[provider.Lane]string{
		provider.LaneTitle: "replace foo with bar in main.go", provider.LaneClassifier: "unsure", provider.LaneHook: "",
	} {
		if got, _ := ask(t, provider.Request{Lane: lane, Messages: history}); got != want {
			t.Errorf("lane %s says %q, want %q", lane, got, want)
		}
	}
	got, _ := ask(t, provider.Request{Lane: provider.LaneCompact, Messages: history})
	for _, want := range []string{"Prompt: replace foo with bar", `Edit {"file_path":"main.go"} (ok)`} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
}

func TestCallsOfAnotherModelAreNotContinued(t *testing.T) {
	req := promptFor("read main.go")
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "x", Name: "WebFetch", Input: json.RawMessage(`{}`)}}},
		user(msg.ToolResult{CallID: "x", Content: []msg.Block{msg.Text{Text: "page"}}}))
	text, calls := ask(t, req)
	if len(calls) > 0 || !strings.Contains(text, "calls that I did not make") {
		t.Errorf("%q, %v", text, calls)
	}
}

func TestNotesBesideResultsAreNoPrompts(t *testing.T) {
	req := promptFor("run `echo hi`")
	req.Messages = append(req.Messages,
		msg.Message{Role: msg.Assistant, Content: []msg.Block{msg.ToolCall{ID: "x", Name: "Bash", Input: json.RawMessage(`{}`)}}},
		user(
			msg.ToolResult{CallID: "x", Content: []msg.Block{msg.Text{Text: "hi"}}},
			msg.Text{Text: "A hook says: be careful."}, msg.Text{Text: "<system-reminder>read main.go</system-reminder>"},
		))
	text, calls := ask(t, req)
	if len(calls) > 0 || !strings.Contains(text, "`echo hi` succeeded") {
		t.Errorf("%q, %v", text, calls)
	}
}

func TestEventsFollowTheContract(t *testing.T) {
	var got []string
	for e, err := range New().Stream(t.Context(), promptFor("read a.go")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", e), "provider."))
	}
	if diff := cmp.Diff([]string{"Start", "BlockStart", "Delta", "BlockDone", "Done"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"read main.go", "run `x`", "replace \"a\" with \"b\" in c.go", "find *.{a", "search ''"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		if text, calls := ask(t, promptFor(prompt)); text == "" && len(calls) == 0 {
			t.Fatalf("nothing came of %q", prompt)
		}
	})
}
