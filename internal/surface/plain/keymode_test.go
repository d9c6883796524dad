package plain

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/surface/screen"
	"github.com/myelin-agent/myelin/internal/testkit/term"
)

func TestAConversation(t *testing.T) {
	r := start(t, 60, 20, func(o *Options) { o.Version = "1.2" })
	r.term.AwaitText(t, "myelin 1.2 · test/m · default")
	r.term.Type("hi there", "\r")
	if got := r.prompt(); got != "hi there" {
		t.Fatalf("sent %q", got)
	}
	r.session.tell(turn(says("Hello **wor", "ld**.\n\nSecond.")...)...)
	r.term.AwaitText(t, "— 1.5 s · $0.42 · test/m · default · ctx 31 %")
	want := "myelin 1.2 · test/m · default\n/p\n\n› hi there\n\nHello world.\n\nSecond.\n— 1.5 s · $0.42 · test/m · default · ctx 31 %\n›"
	if got := r.screen(); got != want {
		t.Errorf("screen\n%s\nwant\n%s", got, want)
	}
	r.term.Type("\x04")
	if code := r.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := r.screen(); !strings.HasSuffix(got, "resume with: myelin --resume s-1") {
		t.Errorf("screen\n%s", got)
	}
}

func TestKF103_TheTerminalIsLeftAsItWasFound(t *testing.T) {
	for name, end := range map[string]func(*rig) int{
		"ctrl-d":        func(r *rig) int { r.term.Type("\x04"); return r.exit() },
		"ctrl-c twice":  func(r *rig) int { r.term.Type("\x03", "\x03"); return r.exit() },
		"/exit":         func(r *rig) int { r.term.Type("/exit", "\r"); return r.exit() },
		"SIGTERM":       func(r *rig) int { r.signals <- syscall.SIGTERM; return r.exit() },
		"SIGHUP":        func(r *rig) int { r.signals <- syscall.SIGHUP; return r.exit() },
		"terminal gone": func(r *rig) int { r.term.Hangup(); return r.exit() },
		"session ends":  func(r *rig) int { close(r.session.queue); return r.exit() },
	} {
		want := map[string]int{"SIGTERM": 143, "SIGHUP": 129, "terminal gone": 129}[name]
		t.Run(name, func(t *testing.T) {
			r := start(t, 60, 20, nil)
			r.term.AwaitText(t, "›")
			if code := end(r); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
			r.leftClean()
		})
	}
}

func (r *rig) leftClean() {
	r.t.Helper()
	if r.term.IsRaw() {
		r.t.Error("the terminal is still raw")
	}
	r.term.Look(func(g *term.Grid) {
		if g.Modes["2004"] || !g.Modes["25"] {
			r.t.Errorf("modes %v", g.Modes)
		}
		if y, x := g.Cursor(); x != 0 || g.Screen()[y] != "" {
			r.t.Errorf("cursor at %d,%d on %q", y, x, g.Screen()[y])
		}
	})
}

// breakingSession panics in the goroutine that reads its events.
type breakingSession struct{ *fakeSession }

func (breakingSession) View() View { panic("a fault of the program") }

func TestKF103_APanicLeavesTheTerminalAsItWasFound(t *testing.T) {
	fake := term.Open(60, 20, true)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the fault was swallowed")
			}
		}()
		Run(t.Context(), breakingSession{newSession()}, Options{Terminal: fake, Getenv: env("TERM", "xterm")})
	}()
	(&rig{t: t, term: fake}).leftClean()
}

func TestInterrupting(t *testing.T) {
	for name, key := range map[string]string{"escape": "\x1b", "ctrl-c": "\x03"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 60, 20, bare)
			r.session.tell(proto.TurnStarted{})
			r.term.AwaitText(t, "Esc stops")
			r.term.Type(key)
			if _, ok := r.op().(proto.Interrupt); !ok {
				t.Error("no interrupt was sent")
			}
			r.term.AwaitText(t, "stopping")
			r.session.tell(proto.Result{Subtype: "error_during_execution", IsError: true, Turns: 1, Ended: proto.Ended{Reason: proto.EndStreaming}})
			r.term.Await(t, "the turn's end", func(g *term.Grid) bool { return !strings.Contains(strings.Join(g.Screen(), ""), "stopping") })
		})
	}
}

func TestCtrlCClearsTheDraftFirstAndItCanBePutBack(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.term.Type("precious words", "\x03")
	r.awaitCursor(0, 2)
	r.term.Type("\x19", "\r")
	if got := r.prompt(); got != "precious words" {
		t.Errorf("got %q", got)
	}
}

func TestKF098_PromptsTypedMeanwhileAreShownAndCanBeTakenBack(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.session.tell(proto.TurnStarted{})
	r.term.AwaitText(t, "Esc stops")
	var queued []proto.QueuedPrompt
	for _, text := range []string{"first", "second", "third"} {
		r.term.Type(text, "\r")
		p := r.op().(proto.Prompt)
		queued = append(queued, proto.QueuedPrompt{ID: p.ID, Text: text})
	}
	r.session.tell(proto.Queued{Prompts: queued})
	r.term.AwaitText(t, "queued: third")
	r.term.Type("\x1b[A") // takes back the newest
	if u, ok := r.op().(proto.Unqueue); !ok || u.ID != queued[2].ID {
		t.Fatalf("took back %+v", u)
	}
	r.session.tell(proto.Queued{Prompts: queued[:2]})
	r.term.Type(" and more", "\r")
	if got := r.prompt(); got != "third and more" {
		t.Errorf("sent %q", got)
	}
	r.term.AwaitText(t, "queued: second")
}

func ask(options ...proto.Option) proto.Ask {
	return proto.Ask{
		ID: "q", Kind: proto.AskPermission, Tool: "Bash", Title: "Bash wants to run", Text: "npm test && rm -rf dist",
		Understood: []string{"npm test: no rule", "rm: deletes dist"}, Reason: "no rule allows npm test", Options: options,
	}
}

func three() []proto.Option {
	return []proto.Option{
		{ID: "once", Label: "Yes, once", Behavior: "allow"},
		{ID: "always", Label: "Yes, always", Detail: "Bash(npm test)", Behavior: "allow", Updates: []proto.PermissionUpdate{{Type: "addRules"}}},
		{ID: "no", Label: "No", Behavior: "deny"},
	}
}

func TestAnsweringAQuestion(t *testing.T) {
	for name, tc := range map[string]struct {
		keys []string
		want proto.Answer
	}{
		"number":      {[]string{"3"}, proto.Answer{ID: "q", Behavior: "allow", Option: "always", Updates: []proto.PermissionUpdate{{Type: "addRules"}}}},
		"yes":         {[]string{"y"}, proto.Answer{ID: "q", Behavior: "allow", Option: "once"}},
		"no":          {[]string{"n"}, proto.Answer{ID: "q", Behavior: "deny", Option: "no"}},
		"no and why":  {[]string{"N", "use make test", "\r"}, proto.Answer{ID: "q", Behavior: "deny", Option: "no", Message: "use make test"}},
		"escape":      {[]string{"\x1b"}, proto.Answer{ID: "q", Behavior: "deny", Interrupt: true}},
		"ctrl-c":      {[]string{"\x03"}, proto.Answer{ID: "q", Behavior: "deny", Interrupt: true}},
		"wrong first": {[]string{"9", "x", "2", "\r", "n"}, proto.Answer{ID: "q", Behavior: "deny", Option: "no"}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			r := start(t, 70, 24, func(o *Options) { o.Quiet, o.Now = true, clock.now })
			r.session.tell(proto.TurnStarted{}, ask(three()...))
			r.term.AwaitText(t, "n: no")
			page := r.screen()
			for _, part := range []string{"npm test && rm -rf dist", "rm: deletes dist", "why: no rule allows npm test", "3  Yes, always  Bash(npm test)"} {
				if !strings.Contains(page, part) {
					t.Errorf("%q is not shown in\n%s", part, page)
				}
			}
			clock.add(screen.AnswerGuard)
			r.term.Type(tc.keys...)
			got, ok := r.op().(proto.Answer)
			tc.want.By = surfaceID
			if !ok || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tc.want) {
				t.Errorf("answered %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestKeysTypedBeforeAQuestionCouldBeReadNeverAnswerIt(t *testing.T) {
	clock := newClock()
	r := start(t, 70, 24, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	r.session.tell(proto.TurnStarted{}, ask(three()...))
	r.term.AwaitText(t, "n: no")
	clock.add(screen.AnswerGuard - time.Millisecond)
	r.term.Type("1", "\r") // meant for the draft
	if got := r.prompt(); got != "1" {
		t.Fatalf("sent %q", got)
	}
	r.term.AwaitText(t, "Tab answers it")
	clock.add(time.Second) // the hands rest
	r.session.tell(proto.Notice{Text: "something new"})
	r.term.AwaitText(t, "n: no")
	clock.add(screen.AnswerGuard)
	r.term.Type("n")
	if a, ok := r.op().(proto.Answer); !ok || a.Option != "no" {
		t.Errorf("answered %+v", a)
	}
}

func TestOneKeyAnswersOneQuestionOnly(t *testing.T) {
	clock := newClock()
	r := start(t, 70, 30, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	second := ask(three()...)
	second.ID, second.Text = "q2", "make clean"
	r.session.tell(proto.TurnStarted{}, ask(three()...), second)
	r.term.AwaitText(t, "waiting: 1 more question")
	clock.add(screen.AnswerGuard)
	r.term.Type("11")
	if a := r.op().(proto.Answer); a.ID != "q" {
		t.Fatalf("answered %+v", a)
	}
	r.term.AwaitText(t, "make clean")
	clock.add(screen.AnswerGuard)
	r.term.Type("n")
	if a := r.op().(proto.Answer); a.ID != "q2" || a.Option != "no" {
		t.Errorf("answered %+v", a)
	}
}

func TestAQuestionAnsweredElsewhereCloses(t *testing.T) {
	r := start(t, 70, 24, bare)
	r.session.tell(proto.TurnStarted{}, ask(three()...))
	r.term.AwaitText(t, "n: no")
	r.session.tell(proto.AskClosed{ID: "q", By: "phone", Behavior: "allow"})
	r.term.AwaitText(t, "decided by phone: allow")
	r.term.Type("x", "\r")
	if got := r.prompt(); got != "x" {
		t.Errorf("sent %q", got)
	}
}

func TestQuestionsOfTheModel(t *testing.T) {
	clock := newClock()
	r := start(t, 70, 30, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	r.session.tell(proto.Ask{ID: "q", Kind: proto.AskQuestion, Title: "Some questions", Input: []byte(`{"questions":[
		{"question":"Which database?","options":[{"label":"SQLite","description":"a file"},{"label":"Postgres"}]},
		{"question":"Which extras?","multiSelect":true,"options":[{"label":"a"},{"label":"b"},{"label":"c"}]},
		{"question":"Name?","options":[{"label":"x"},{"label":"y"}]}]}`)})
	r.term.AwaitText(t, "SQLite  a file")
	clock.add(screen.AnswerGuard)
	r.term.Type("7", "\r")
	r.term.AwaitText(t, "there is no answer 7; choose one of 1-2")
	r.term.Type("1", "\r")
	r.term.AwaitText(t, "Which extras?")
	r.term.Type("<", "\r")
	r.term.AwaitText(t, "1 of 3")
	r.term.Type(`"7"`, "\r")
	r.term.AwaitText(t, "2 of 3")
	r.term.Type("1,3", "\r")
	r.term.AwaitText(t, "3 of 3")
	r.term.Type("my own", "\r")
	a := r.op().(proto.Answer)
	if want := `{"answers":{"Name?":"my own","Which database?":"7","Which extras?":"a, c"}}`; string(a.Values) != want || a.Behavior != "allow" {
		t.Errorf("answered %+v %s", a, a.Values)
	}
}

func TestForms(t *testing.T) {
	clock := newClock()
	r := start(t, 70, 30, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	r.session.tell(proto.Ask{ID: "q", Kind: proto.AskForm, Title: "db asks", Schema: []byte(`{"properties":{
		"port":{"type":"integer","title":"Port"},"host":{"type":"string"},"tls":{"type":"boolean"}},"required":["port"]}`)})
	r.term.AwaitText(t, "Port")
	clock.add(screen.AnswerGuard)
	r.term.Type("\r")
	r.term.AwaitText(t, "Port is needed")
	r.term.Type("x", "\r")
	r.term.AwaitText(t, `"x" is no whole number`)
	r.term.Type("80", "\r")
	r.term.AwaitText(t, "host")
	r.term.Type("\r")
	r.term.AwaitText(t, "tls")
	r.term.Type("yes", "\r")
	if a := r.op().(proto.Answer); string(a.Values) != `{"port":80,"tls":true}` {
		t.Errorf("answered %s", a.Values)
	}
}

func TestKF050_ThePersonSeesWhatRuns(t *testing.T) {
	a := ask(three()...)
	a.Text = "ls" + strings.Repeat("\t", 300) + "; rm -rf x\u202e\u200bcba\x1b[2K\r" + strings.Repeat("y", 12000)
	lines := strings.Join(screen.NewQuestion(a, surfaceID).Lines(screen.Style{}, screen.Window{Cells: 80}), "\n")
	for _, part := range []string{"⟨300 tabs⟩; rm -rf x", `\u202E\u200Bcba\x1B[2K\r`, strings.Repeat("y", 12000)} {
		if !strings.Contains(lines, part) {
			t.Errorf("%.40q is not shown", part)
		}
	}
	if strings.ContainsAny(lines, "\u202e\u200b\x1b\r\t") {
		t.Error("a control character got through")
	}
}

// listHistory is a history in memory.
type listHistory []string

func (l listHistory) Entries() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, s := range l {
			if !yield(s, nil) {
				return
			}
		}
		yield("", errors.New("broken record"))
	}
}

func TestHistory(t *testing.T) {
	up, down := "\x1b[A", "\x1b[B"
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"newest":            {[]string{up, "\r"}, "git status"},
		"older":             {[]string{up, up, "\r"}, "explain main.go"},
		"past the oldest":   {[]string{up, up, up, up, up, up, "\r"}, "git log"},
		"there and back":    {[]string{"my draft", up, down, "\r"}, "my draft"},
		"prefix":            {[]string{"git", up, up, "\r"}, "git log"},
		"repeats are one":   {[]string{up, up, up, "\r"}, "git log"},
		"edited":            {[]string{up, " -s", "\r"}, "git status -s"},
		"search":            {[]string{"\x12", "main", "\r"}, "explain main.go"},
		"search older":      {[]string{"\x12", "git", "\x12", "\r"}, "git log"},
		"search then edit":  {[]string{"\x12", "main", "\t", "!", "\r"}, "explain main.go!"},
		"search given up":   {[]string{"draft", "\x12", "main", "\x07", "\r"}, "draft"},
		"search backspace":  {[]string{"\x12", "logx", "\x7f", "\r"}, "git log"},
		"search not found":  {[]string{"draft", "\x12", "zzz", "\t", "\r"}, "draft"},
		"own prompts first": {[]string{"mine", "\r", up, "\r"}, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 60, 20, func(o *Options) {
				o.Quiet, o.History = true, listHistory{"git status", "explain main.go", "git status", "git log"}
			})
			r.term.Type(tc.keys...)
			got := r.prompt()
			if name == "own prompts first" {
				got = r.prompt()
			}
			if got != tc.want {
				t.Errorf("sent %q, want %q", got, tc.want)
			}
		})
	}
}

func TestSeveralLines(t *testing.T) {
	for name, keys := range map[string][]string{
		"alt-enter":   {"a", "\x1b\r", "b", "\r"},
		"ctrl-j":      {"a", "\n", "b", "\r"},
		"backslash":   {`a\`, "\r", "b", "\r"},
		"shift-enter": {"a", "\x1b[13;2u", "b", "\r"},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, 60, 20, bare)
			r.term.Type(keys...)
			if got := r.prompt(); got != "a\nb" {
				t.Errorf("sent %q", got)
			}
		})
	}
}

func TestKF102_Pastes(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 110)))
	}
	text := strings.Join(lines, "\n")
	big := strings.Repeat("0123456789abcde\n", 10<<20/16)
	chunks := func(s string, n int) []string {
		var out []string
		for len(s) > n {
			out, s = append(out, s[:n]), s[n:]
		}
		return append(out, s)
	}
	bracketed := func(s string) string { return "\x1b[200~" + s + "\x1b[201~" }
	for name, tc := range map[string]struct {
		reads []string
		want  string
	}{
		"bracketed":              {[]string{bracketed(text)}, text},
		"1 kB reads":             {chunks(bracketed(text), 1024), text},
		"byte by byte":           {chunks(bracketed("a\nb\n\nc"), 1), "a\nb\n\nc"},
		"CRLF":                   {[]string{bracketed(strings.ReplaceAll(text, "\n", "\r\n"))}, text},
		"CR":                     {[]string{bracketed(strings.ReplaceAll(text, "\n", "\r"))}, text},
		"end marker split":       {[]string{"\x1b[200~" + text + "\x1b[2", "01~"}, text},
		"begin marker split":     {[]string{"\x1b[20", "0~" + text + "\x1b[201~"}, text},
		"10 MB":                  {chunks(bracketed(big), 64<<10), big},
		"without markers":        {chunks(strings.ReplaceAll(text, "\n", "\r"), 1024), text},
		"empty":                  {[]string{bracketed("")}, ""},
		"escape in it":           {[]string{bracketed("a\x1b[31mb")}, "a\x1b[31mb"},
		"two":                    {[]string{bracketed("a"), bracketed("b")}, "ab"},
		"text behind the marker": {[]string{bracketed("a") + "b"}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newClock()
			r := start(t, 60, 20, func(o *Options) { o.Quiet, o.Now = true, clock.now })
			r.term.Type(tc.reads...)
			if tc.want != "" && len(tc.want) > 2048 {
				r.term.AwaitText(t, fmt.Sprintf("[paste 1 · %d lines", strings.Count(strings.TrimSuffix(tc.want, "\n"), "\n")+1))
			}
			clock.add(time.Second)
			r.term.Type(".")
			r.term.AwaitText(t, ".")
			clock.add(time.Second)
			r.term.Type("\r")
			if got := r.prompt(); got != tc.want+"." {
				t.Errorf("sent %d bytes %.60q, want %d", len(got), got, len(tc.want)+1)
			}
		})
	}
}

func TestAPasteNeverAnswersOrSends(t *testing.T) {
	clock := newClock()
	r := start(t, 60, 20, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	r.session.tell(proto.TurnStarted{}, ask(three()...))
	r.term.AwaitText(t, "n: no")
	clock.add(time.Second)
	r.term.Type("\x1b[200~1\n2\n3\n\x1b[201~")
	r.term.AwaitText(t, "Tab answers it")
	r.term.Type("\t")
	r.term.AwaitText(t, "n: no")
	clock.add(screen.AnswerGuard)
	r.term.Type("n")
	if a := r.op().(proto.Answer); a.Option != "no" {
		t.Errorf("answered %+v", a)
	}
	r.term.Type("\r")
	if got := r.prompt(); got != "1\n2\n3" {
		t.Errorf("sent %q", got)
	}
}

func TestKF101_EachLineStandsOnceInTheScrollback(t *testing.T) {
	fake := term.Open(80, 24, true)
	for i := range 40 {
		if _, err := fmt.Fprintf(fake, "shell %d\r\n", i); err != nil {
			t.Fatal(err)
		}
	}
	r := startOn(t, fake, bare)
	n := 0
	before := len(fake.Log())
	for range 3 {
		var parts []string
		for range 100 {
			n++
			parts = append(parts, fmt.Sprintf("%d. numbered\n\n", n))
		}
		r.session.tell(turn(says(parts...)...)...)
	}
	fake.Await(t, "the last line", func(g *term.Grid) bool { return strings.Count(strings.Join(g.Lines(), "\n"), "— 1.5 s") == 3 })
	lines := strings.Join(strings.Split(r.screen(), "\n"), "\n") + "\n"
	at := 0
	for i := range 40 {
		at = inOrder(t, lines, fmt.Sprintf("shell %d\n", i), at)
	}
	for i := 1; i <= n; i++ {
		at = inOrder(t, lines, fmt.Sprintf("\n%d. numbered\n", i), at-1)
	}
	if perLine := (len(fake.Log()) - before) / n; perLine > 20+64 {
		t.Errorf("%d bytes a line", perLine)
	}
	fake.Look(func(g *term.Grid) {
		for _, bad := range []string{"csi:2J", "csi:3J", "csi:H", "csi:f", "csi:r", "csi:L", "csi:M", "csi:d"} {
			if g.Sequences[bad] > 0 {
				t.Errorf("%s was sent %d times", bad, g.Sequences[bad])
			}
		}
	})
}

func inOrder(t *testing.T, all, want string, from int) int {
	t.Helper()
	if n := strings.Count(all, want); n != 1 {
		t.Fatalf("%q stands %d times", want, n)
	}
	i := strings.Index(all, want)
	if i < from {
		t.Fatalf("%q stands too early", want)
	}
	return i + len(want)
}

func TestKF100_TinyWindows(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 80}, {80, 2}, {12, 4}, {3, 3}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := start(t, size[0], size[1], nil)
			r.term.Type("wide 漢字 text", "\r")
			if got := r.prompt(); got != "wide 漢字 text" {
				t.Fatalf("sent %q", got)
			}
			r.session.tell(turn(says("| a | b |\n|---|---|\n| 1 | 漢字 |\n\n", "- x\n  - y\n\n```\ncode\n```\n")...)...)
			r.session.tell(proto.TurnStarted{}, ask(three()...))
			r.term.AwaitText(t, "1.5 s"[:1])
			r.resize(80, 24)
			r.term.AwaitText(t, "n: no")
		})
	}
}

func (r *rig) resize(w, h int) {
	r.term.Resize(w, h)
	r.signals <- syscall.SIGWINCH
}

func TestResizingLosesNothing(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.term.Type("a draft that is long enough to take two rows in a window that is narrow")
	r.session.tell(proto.TurnStarted{})
	r.session.tell(says("one\n\ntwo\n\n")...)
	r.term.AwaitText(t, "two")
	for _, w := range []int{30, 90, 41, 60} {
		writes := r.term.Writes()
		r.resize(w, 20)
		r.term.Await(t, "a new frame", func(*term.Grid) bool { return true })
		waitWrites(t, r.term, writes)
	}
	r.session.tell(says("three\n\n")...)
	r.term.AwaitText(t, "three")
	r.term.Await(t, "a whole draft", func(g *term.Grid) bool {
		all := strings.Join(g.Lines(), "\n")
		return strings.Count(all, "› a draft") == 1 && strings.Count(all, "one") == 1 && strings.Count(all, "Esc stops") == 1
	})
}

func waitWrites(t *testing.T, f *term.Fake, n int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for f.Writes() == n {
		if time.Now().After(deadline) {
			t.Fatal("nothing was painted")
		}
		f.Await(t, "a write", func(*term.Grid) bool { return true })
	}
}

func TestKF105_IdleMeansNoWrites(t *testing.T) {
	r := start(t, 60, 20, nil)
	r.term.AwaitText(t, "›")
	r.session.tell(turn(says("done\n")...)...)
	r.term.AwaitText(t, "1.5 s")
	r.term.Type("x")
	r.term.AwaitText(t, "› x")
	writes := r.term.Writes()
	timer := time.NewTimer(300 * time.Millisecond)
	<-timer.C
	if n := r.term.Writes(); n != writes {
		t.Errorf("%d writes while nothing happened", n-writes)
	}
}

func TestATerminalThatDoesNotReadStopsNobody(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.term.AwaitText(t, "›")
	r.session.tell(turn(says("before\n")...)...)
	r.term.AwaitText(t, "1.5 s")
	r.term.Stick(true)
	r.session.tell(proto.TurnStarted{})
	r.session.tell(says("first\n\n")...)
	r.term.Type("\x1b[200~typed\x1b[201~") // keys go on being read
	r.session.tell(says("second\n\n")...)
	r.term.Type("\x1b")
	if _, ok := r.op().(proto.Interrupt); !ok {
		t.Error("no interrupt while the terminal does not read")
	}
	r.term.Stick(false)
	r.term.AwaitText(t, "second")
	all := r.screen()
	if !(strings.Index(all, "before") < strings.Index(all, "first") && strings.Index(all, "first") < strings.Index(all, "second")) {
		t.Errorf("out of order:\n%s", all)
	}
	r.term.AwaitText(t, "› typed")
}

func TestModeCycleAndBackground(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.session.view.Modes = []string{"default", "acceptEdits", "plan"}
	r.term.Type("\x1b[Z")
	if m := r.op().(proto.SetMode); m.Mode != "acceptEdits" {
		t.Errorf("mode %q", m.Mode)
	}
	r.session.tell(proto.TurnStarted{})
	r.term.AwaitText(t, "Esc stops")
	r.term.Type("\x02")
	if _, ok := r.op().(proto.ToBackground); !ok {
		t.Error("nothing was moved to the background")
	}
}

func TestLeavingWithWorkRunningAsksOnce(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.session.mu.Lock()
	r.session.view.Running = 2
	r.session.mu.Unlock()
	r.term.Type("\x04")
	r.term.AwaitText(t, "Ctrl-D again leaves and ends 2 tasks in the background")
	r.term.Type("\x04")
	if code := r.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestARefusedOperationIsTold(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.session.refuse = errors.New("the session is closed")
	r.term.Type("hi", "\r")
	r.term.AwaitText(t, "error: the session is closed")
}

func TestPickingASession(t *testing.T) {
	clock := newClock()
	r := start(t, 60, 20, func(o *Options) {
		o.Quiet, o.Now = true, clock.now
		o.Sessions = func(ctx ctxT) ([]SessionChoice, error) {
			return []SessionChoice{{"id-1", "fix the test"}, {"id-2", "docs"}}, nil
		}
	})
	r.term.Type("/resume", "\r")
	r.term.AwaitText(t, "2  docs")
	clock.add(screen.AnswerGuard)
	r.term.Type("2")
	if got := r.prompt(); got != "/resume id-2" {
		t.Errorf("sent %q", got)
	}
}

func TestCompletion(t *testing.T) {
	r := start(t, 60, 20, func(o *Options) {
		o.Quiet = true
		o.Complete = func(_ ctxT, before string) []Completion {
			var out []Completion
			for _, c := range []string{"/help", "/history", "/model"} {
				if strings.HasPrefix(c, before) {
					out = append(out, Completion{Text: c, Replace: len(before)})
				}
			}
			return out
		}
	})
	r.term.Type("/m", "\t")
	r.term.AwaitText(t, "› /model")
	r.term.Type("\x15/", "h", "\t")
	r.term.AwaitText(t, "/history")
	r.term.Type("\t", "\r")
	r.term.AwaitText(t, "› /history")
	r.term.Type("\r")
	if got := r.prompt(); got != "/history" {
		t.Errorf("sent %q", got)
	}
}

func TestSuspendAndContinueFromOutside(t *testing.T) {
	r := start(t, 60, 20, bare)
	r.term.Type("draft")
	r.term.AwaitText(t, "› draft")
	r.signals <- syscall.SIGCONT
	r.term.Type("!")
	r.term.AwaitText(t, "› draft!")
	r.signals <- os.Interrupt
	r.awaitCursor(0, 2)
}

func TestNoColorAndASCII(t *testing.T) {
	r := start(t, 60, 20, func(o *Options) {
		o.Quiet = true
		o.Getenv = env("TERM", "xterm", "NO_COLOR", "1", "LANG", "en_US.ISO-8859-1")
	})
	r.session.tell(turn(says("# Title\n\n- *item* `code`\n\n> quote\n\n---\n")...)...)
	r.term.AwaitText(t, "-- 1.5 s")
	if regexp.MustCompile(`\x1b\[[0-9;]*[34][0-9]`).Match(r.term.Log()) {
		t.Error("a colour was used")
	}
	for _, c := range r.screen() {
		if c > 0x7f {
			t.Errorf("%q was printed", c)
		}
	}
}

func TestSequencesOfHooksReachTheTerminalAndNotTheScreen(t *testing.T) {
	r := start(t, 60, 20, nil)
	r.term.AwaitText(t, "›")
	r.session.tell(proto.Terminal{Sequence: "\x1b]0;a title\x07"})
	r.session.tell(turn(says("done")...)...)
	r.term.AwaitText(t, "done")
	if written := string(r.term.Log()); !strings.Contains(written, "\x1b]0;a title\x07") {
		t.Errorf("the sequence was not written: %q", written)
	}
	if got := r.screen(); strings.Contains(got, "title") {
		t.Errorf("screen\n%s", got)
	}
}

// A piece of an answer on the terminal, from the event to the frames: 20,000 pieces, of which few are drawn alone.
func BenchmarkKF178_APieceOnTheTerminal(b *testing.B) {
	for b.Loop() {
		r := startOn(b, term.Open(100, 30, true), bare)
		r.session.tell(proto.TurnStarted{}, proto.BlockStarted{Kind: "text"})
		for i := range 20_000 {
			r.session.tell(proto.Delta{Kind: "text", Text: fmt.Sprint("word", i%10, " ")})
		}
		r.session.tell(proto.Delta{Kind: "text", Text: "\n\nthe end\n\n"})
		r.term.AwaitText(b, "the end")
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/20_000, "µs/piece")
}

// Typing that goes on when a question comes goes on, and answers nothing; Tab or a pause turns to the question.
func TestKF163_TypingAheadAnswersNothing(t *testing.T) {
	clock := newClock()
	r := start(t, 70, 24, func(o *Options) { o.Quiet, o.Now = true, clock.now })
	r.session.tell(proto.TurnStarted{})
	text := "please keep it tidy, add 12 tests yn"
	for i, c := range text {
		if i == 10 {
			r.session.tell(ask(three()...))
			r.term.AwaitText(t, "Tab answers it")
		}
		clock.add(160 * time.Millisecond)
		r.term.Type(string(c))
	}
	r.term.AwaitText(t, text)
	clock.add(time.Minute) // a begun draft is no answer, however long the hands rest
	r.session.tell(proto.Notice{Text: "a minute later"})
	r.term.AwaitText(t, "a minute later")
	clock.add(screen.AnswerGuard)
	r.term.Type("1")
	r.term.AwaitText(t, text+"1")
	r.term.Type("\t")
	r.term.AwaitText(t, "n: no")
	clock.add(screen.AnswerGuard)
	for _, wrong := range []string{"q", "2", " "} {
		r.term.Type(wrong)
		r.term.AwaitText(t, fmt.Sprintf("%q answers nothing here", wrong))
	}
	if n := strings.Count(r.screen(), "answers nothing"); n > 1 {
		t.Errorf("a wrong key was echoed %d times", n)
	}
	r.term.Type("n")
	if a, ok := r.op().(proto.Answer); !ok || a.Behavior != "deny" {
		t.Fatalf("answered %+v", a)
	}
	r.term.AwaitText(t, text+"1") // and the draft is there again
	r.term.Type("\r")
	if got := r.prompt(); got != text+"1" {
		t.Errorf("sent %q", got)
	}
}
