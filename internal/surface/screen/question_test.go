package screen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func input(t *testing.T, v map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func changing(t *testing.T, tool string, v map[string]any) *Question {
	return NewQuestion(proto.Ask{Kind: proto.AskPermission, Tool: tool, Title: "Change a.go?", Input: input(t, v), Reason: "changing files needs your word"}, "test")
}

func TestKF169_AChangeIsShownInItsPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	if err := os.WriteFile(file, []byte("1\n2\n3\n4\nold\n6\n7\n8\n9\n10\n11\n12\n13\nold\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		tool string
		in   map[string]any
		want []string
	}{
		"one place":    {"Edit", map[string]any{"file_path": file, "old_string": "4\nold", "new_string": "4\nnew\u200b"}, []string{"Edit a.go?", "   2  2", " 5 -old", " 5 +new\\u200B", "   8  8"}},
		"every place":  {"Edit", map[string]any{"file_path": file, "old_string": "old", "new_string": "new", "replace_all": true}, []string{"2 places", " 5 -old", "14 -old", "14 +new"}},
		"not unique":   {"Edit", map[string]any{"file_path": file, "old_string": "old", "new_string": "new"}, []string{"    -old", "    +new"}},
		"not there":    {"Edit", map[string]any{"file_path": file, "old_string": "gone", "new_string": "new"}, []string{"    -gone", "    +new"}},
		"several":      {"Edit", map[string]any{"file_path": file, "edits": []any{map[string]any{"old_string": "1\n2", "new_string": "x"}, map[string]any{"old_string": "12", "new_string": "y"}}}, []string{" 1 -1", " 1 +x", "12 -12", "11 +y"}},
		"new file":     {"Write", map[string]any{"file_path": filepath.Join(dir, "b.go"), "content": "a\nb\n"}, []string{"Create b.go?", "1 +a", "2 +b"}},
		"whole file":   {"Write", map[string]any{"file_path": file, "content": "1\n2\n"}, []string{"Overwrite a.go?", " 5 -old"}},
		"another tool": {"mcp__x__y", map[string]any{"file_path": file, "content": "x"}, []string{"Change a.go?", `"content":"x"`}},
	} {
		q := changing(t, tc.tool, tc.in)
		q.Ask.Text = string(q.Ask.Input)
		got := strings.Join(q.Lines(Style{}, Window{Cells: 60, Cwd: dir}), "\n")
		for _, part := range tc.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is missing in\n%s", name, part, got)
			}
		}
	}
}

// However long the change, title and answers stand on one screen, and the rest can be opened.
func TestKF169_TitleAndAnswersStayInSight(t *testing.T) {
	in := map[string]any{"file_path": filepath.Join(t.TempDir(), "long"), "content": strings.Repeat("x\n", 120)}
	for _, rows := range []int{16, 24, 50} {
		q := changing(t, "Write", in)
		lines := q.Lines(Style{}, Window{Cells: 60, Rows: rows})
		if len(lines) > rows || !strings.Contains(strings.Join(lines, "\n"), "more lines; v shows all") {
			t.Errorf("%d rows: %d lines\n%s", rows, len(lines), strings.Join(lines, "\n"))
		}
		if n := strings.Count(strings.Join(q.Whole(), "\n"), "+x"); n != 120 {
			t.Errorf("%d rows: %d lines can be opened", rows, n)
		}
	}
	// a command is never cut
	a := proto.Ask{Kind: proto.AskPermission, Tool: "Bash", Title: "Run a command?", Text: strings.Repeat("echo x\n", 90)}
	lines := NewQuestion(a, "test").Lines(Style{}, Window{Cells: 60, Rows: 20})
	if n := strings.Count(strings.Join(lines, "\n"), "echo x"); n != 90 {
		t.Errorf("%d lines of the command are shown", n)
	}
	if !slices.ContainsFunc(lines[len(lines)-4:], func(l string) bool { return strings.Contains(l, "Run a command?") }) {
		t.Errorf("the title is out of sight:\n%s", strings.Join(lines[len(lines)-4:], "\n"))
	}
}

// Keys mean the same in every question: digits say yes by width, n says no, x a further no.
func TestKF163_KeysMeanTheSameEverywhere(t *testing.T) {
	yes := func(id string) proto.Option { return proto.Option{ID: id, Label: id, Behavior: "allow"} }
	no := func(id string) proto.Option { return proto.Option{ID: id, Label: id, Behavior: "deny"} }
	for name, tc := range map[string]struct {
		options []proto.Option
		want    string
	}{
		"none":    {nil, "1:once n:no"},
		"command": {[]proto.Option{yes("once"), yes("session"), yes("always"), no("no")}, "1:once 2:session 3:always n:no"},
		"edit":    {[]proto.Option{yes("once"), yes("session"), no("no")}, "1:once 2:session n:no"},
		"host":    {[]proto.Option{yes("session"), yes("always"), no("no")}, "2:session 3:always n:no"},
		"trust":   {[]proto.Option{{ID: "trust"}, {ID: "session"}, no("decline"), no("exit")}, "3:trust 2:session n:decline x:exit"},
		"plan":    {[]proto.Option{yes("edits"), yes("manual"), no("no")}, "1:edits 2:manual n:no"},
		"dialog":  {[]proto.Option{{ID: "accept"}, no("exit")}, "1:accept n:exit"},
	} {
		q := NewQuestion(proto.Ask{ID: "q", Options: tc.options}, "test")
		var got []string
		for _, a := range q.answers {
			got = append(got, a.key+":"+a.ID)
			v := q.Key(a.key)
			if v.Answer == nil || v.Answer.Option != a.ID || v.Answer.Behavior != a.Behavior {
				t.Errorf("%s: key %s answers %+v", name, a.key, v.Answer)
			}
			if strings.ContainsAny(a.key, "0123456789") && a.Behavior == "deny" {
				t.Errorf("%s: %s says no", name, a.key)
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: %s, want %s", name, s, tc.want)
		}
		q.Key("N")
		if v := q.Line("because"); v.Answer == nil || v.Answer.Behavior != "deny" || v.Answer.Message != "because" {
			t.Errorf("%s: N answers %+v", name, v)
		}
		for _, wrong := range []string{"7", "z", "", "é"} {
			if v := NewQuestion(proto.Ask{Options: tc.options}, "test").Key(wrong); v.Answer != nil || v.Again == "" {
				t.Errorf("%s: %q answers", name, wrong)
			}
		}
	}
}

func TestKF164_OneQuestionOneAnswer(t *testing.T) {
	raw := json.RawMessage(`{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":"first"},{"label":"B"}]}]}`)
	q := NewQuestion(proto.Ask{ID: "q", Kind: proto.AskQuestion, Tool: "AskUserQuestion", Title: "Use AskUserQuestion?", Input: raw, Text: string(raw), Reason: "only a person can answer it"}, "test")
	got := strings.Join(q.Lines(Style{}, Window{Cells: 60}), "\n")
	if want := "\nquestion: The model asks\n  Which?\n  1  A  first\n  2  B"; got != want {
		t.Errorf("shown as\n%s\nwant\n%s", got, want)
	}
	for _, wrong := range []string{"0", "3", "1,9", ""} {
		if v := q.Line(wrong); v.Answer != nil || v.Again == "" {
			t.Errorf("%q is taken: %+v", wrong, v)
		}
	}
	if v := q.Line("2"); v.Answer == nil || string(v.Answer.Values) != `{"answers":{"Which?":"B"}}` || v.Said != "B" {
		t.Errorf("answered %+v", v)
	}
}

func TestEachReasonOnce(t *testing.T) {
	a := proto.Ask{
		Kind: proto.AskPermission, Tool: "Bash", Title: "Run a command?", Text: "npm test", Reason: "no rule allows npm test", Path: "/p",
		Understood: []string{"npm test: no rule allows npm test", "reads /p/x"}, Input: json.RawMessage(`{"command":"npm test","description":"Run the tests"}`),
	}
	got := strings.Join(NewQuestion(a, "test").Lines(Style{}, Window{Cells: 80}), "\n")
	if strings.Count(got, "no rule allows") != 1 || strings.Contains(got, "path:") {
		t.Errorf("a reason stands twice:\n%s", got)
	}
	if lines := strings.Split(got, "\n"); !strings.Contains(lines[2], "Run the tests") {
		t.Errorf("what the model says of its command is not the second row:\n%s", got)
	}
}

// The hint wraps in a narrow window, and Esc is the last to go.
func TestTheHintFits(t *testing.T) {
	q := NewQuestion(proto.Ask{Kind: proto.AskPermission}, "test")
	for _, cells := range []int{1, 10, 25, 40, 60, 120} {
		for rows := 1; rows < 5; rows++ {
			hint := q.Hint(cells, rows)
			text := strings.Join(strings.Fields(strings.Join(hint, " ")), " ")
			if cells >= 25 && (len(hint) > rows || !strings.Contains(text, "Esc: no")) {
				t.Errorf("%d cells, %d rows: %q", cells, rows, hint)
			}
		}
	}
	if hint := strings.Join(q.Hint(40, 3), ""); !strings.Contains(hint, "N: no") || !strings.Contains(hint, "Esc") {
		t.Errorf("40 cells: %q", hint)
	}
}

func TestAPlanCanBeChangedBeforeItIsApproved(t *testing.T) {
	q := NewQuestion(proto.Ask{ID: "q", Kind: proto.AskPlan, Tool: "ExitPlanMode", Title: "Use ExitPlanMode?", Reason: "only a person can answer it", Input: json.RawMessage(`{"plan":"# One","planFilePath":"/p"}`)}, "test")
	if got := strings.Join(q.Lines(Style{}, Window{Cells: 60}), "\n"); !strings.Contains(got, "Carry out this plan?\n# One") || strings.Contains(got, "only a person") {
		t.Errorf("shown as\n%s", got)
	}
	if err := q.SetPlan("# Two"); err != nil {
		t.Fatal(err)
	}
	if v := q.Key("1"); v.Answer == nil || string(v.Answer.Input) != `{"plan":"# Two","planFilePath":"/p"}` {
		t.Errorf("answered %s", fmt.Sprint(v.Answer))
	}
}
