package transcript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// TestMain lets the test program play the session that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("TRANSCRIPT_CHILD"); path != "" {
		writeForEver(path)
	}
	if path := os.Getenv("TRANSCRIPT_FULL"); path != "" {
		os.Exit(writeOnFullDisk(path))
	}
	os.Exit(m.Run())
}

func noticeTexts(l *transcript.Loaded) string {
	var out []string
	for _, n := range l.Notices {
		out = append(out, n.Text)
	}
	return strings.Join(out, "\n")
}

// TestKF001_TornLastRecord: all complete exchanges are there, one notice names what is lost, the
// next record stands on a fresh line, and all is well the second time.
func TestKF001_TornLastRecord(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	for i := range 5 {
		write(t, tr, k.user(fmt.Sprint("p", i)), k.says(fmt.Sprint("a", i)))
	}
	// No Close: it would write the last prompt behind the record that is to be torn.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-20); err != nil {
		t.Fatal(err)
	}
	shut(t, tr)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(raw, []byte(`{"type":"last-prompt"`))
	put(t, path, string(raw[:at])) // as if it had been killed before

	second, got := open(t, path)
	if want := "p0 | a0 | p1 | a1 | p2 | a2 | p3 | a3 | p4"; texts(got.Messages) != want {
		t.Errorf("%s, want %s", texts(got.Messages), want)
	}
	if n := noticeTexts(got); len(got.Notices) != 1 || !strings.Contains(n, "line 10: the last record was cut off") {
		t.Errorf("notices: %s", n)
	}
	write(t, second, k.user("p5"))
	shut(t, second)
	third, got := open(t, path)
	if want := "p0 | a0 | p1 | a1 | p2 | a2 | p3 | a3 | p4 | p5"; texts(got.Messages) != want {
		t.Errorf("second resume: %s, want %s", texts(got.Messages), want)
	}
	if n := noticeTexts(got); len(got.Notices) != 1 || !strings.Contains(n, "line 10: ") {
		t.Errorf("notices: %s", n)
	}
	shut(t, third)
}

// TestKF002_TornOrGluedInTheMiddle: only the fragments are lost, and the file stays as it is.
func TestKF002_TornOrGluedInTheMiddle(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	for i := range 10 {
		write(t, tr, k.user(fmt.Sprint("p", i)), k.says(fmt.Sprint("a", i)))
	}
	shut(t, tr)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := texts(load(t, path, transcript.LoadOptions{}).Messages)
	lines := strings.SplitAfter(string(raw), "\n")
	lines[7] = `{"type":"assistant","mes` + lines[7]
	lines[12] += `{"type":"user","message":{"role":"user","content":"half {\"type\":\"text\"` + "\n"
	lines[15] = strings.TrimSuffix(lines[15], "\n") + lines[16] // two good ones on one line
	lines[16] = "\x00\x00\x00\n"
	broken := strings.Join(lines, "")
	put(t, path, broken)
	got := load(t, path, transcript.LoadOptions{})
	if texts(got.Messages) != want {
		t.Errorf("%s, want %s", texts(got.Messages), want)
	}
	if n := noticeTexts(got); n != "line 8: 24 bytes cannot be read and are left out\nline 14: 74 bytes cannot be read and are left out" {
		t.Errorf("notices: %s", n)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != broken {
		t.Errorf("loading changed the file (%v)", err)
	}
}

// TestKF003_ParentThatDoesNotExist: the chain is mended by the order of the file, with a notice.
func TestKF003_ParentThatDoesNotExist(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	for i := range 20 {
		write(t, tr, k.user(fmt.Sprint("p", i)), k.says(fmt.Sprint("a", i)))
	}
	shut(t, tr)
	want := texts(load(t, path, transcript.LoadOptions{}).Messages)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, strings.Replace(string(raw), `"uuid":"id-0012","parentUuid":"id-0011"`, `"uuid":"id-0012","parentUuid":"nobody"`, 1))
	got := load(t, path, transcript.LoadOptions{})
	if texts(got.Messages) != want || len(got.Messages) != 40 {
		t.Errorf("%s, want %s", texts(got.Messages), want)
	}
	if n := noticeTexts(got); len(got.Notices) != 1 || got.Notices[0].Line != 12 || !strings.Contains(n, "parent") {
		t.Errorf("notices: %s", n)
	}
	// A circle is a parent that does not exist, too.
	put(t, path, strings.Replace(string(raw), `"uuid":"id-0001","parentUuid":null`, `"uuid":"id-0001","parentUuid":"id-0040"`, 1))
	if got := load(t, path, transcript.LoadOptions{}); texts(got.Messages) != want {
		t.Errorf("circle: %s", texts(got.Messages))
	}
}

// TestKF004_UnicodeLineSeparators: records are split at LF alone; the prompt comes back byte for byte.
func TestKF004_UnicodeLineSeparators(t *testing.T) {
	path := file(t)
	prompt := "a\u2028b\u2029c\u0085d\re\x00f\r\ng\x0b\x0c\x1c"
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	m := k.user(prompt)
	write(t, tr, m, k.says("ok"))
	shut(t, tr)
	same(t, []msg.Message{m}, load(t, path, transcript.LoadOptions{}).Messages[:1])
	// Another program may have written them as they are.
	put(t, path, `{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"x`+"\u2028y\u2029z\u0085"+`"}}`+"\n")
	if got := load(t, path, transcript.LoadOptions{}); texts(got.Messages) != "x\u2028y\u2029z\u0085" || got.Notices != nil {
		t.Errorf("%q %v", texts(got.Messages), got.Notices)
	}
}

// TestKF005_CutThroughACharacter: text cut inside a character is stored as valid UTF-8.
func TestKF005_CutThroughACharacter(t *testing.T) {
	for cut := range 4 {
		path := file(t)
		k := &talk{}
		tr := create(t, path, transcript.Options{})
		write(t, tr, k.call("r", "c"), k.result("c", "x"))
		write(t, tr, k.user("x"+strings.Repeat("😀", 5)[:17+cut]))
		shut(t, tr)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if !json.Valid([]byte(line)) || strings.ToValidUTF8(line, "?") != line {
				t.Errorf("cut %d: %q", cut, line)
			}
		}
		if got := load(t, path, transcript.LoadOptions{}); len(got.Messages) != 3 {
			t.Errorf("cut %d: %d messages", cut, len(got.Messages))
		}
	}
}

// TestKF007_KilledBetweenCallAndResult: each call without a result gets one that says so, at its
// place, once.
func TestKF007_KilledBetweenCallAndResult(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("go"), k.call("r1", "c1"), k.call("r1", "c2"), k.call("r1", "c3"), k.result("c2", "b"))
	shut(t, tr)
	unknown := "The call was interrupted, its outcome is unknown"
	second, got := open(t, path)
	said := texts(got.Messages)
	if !strings.HasPrefix(said, "go | call c1 | call c2 | call c3 | result c2: b | result c1: "+unknown) || strings.Count(said, unknown) != 2 || strings.Count(said, "result c3") != 1 {
		t.Errorf("%s", said)
	}
	write(t, second, k.user("on"), k.says("fine"))
	shut(t, second)
	third, got := open(t, path)
	shut(t, third)
	if now := texts(got.Messages); now != said+" | on | fine" {
		t.Errorf("second resume: %s\nfirst: %s", now, said)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), `"filled":true`) != 2 {
		t.Errorf("%v, results put in:\n%s", err, raw)
	}
}

// TestResultsOnOtherBranches: other programs hang the results of calls made side by side on
// branches of their own; they are found, not made up.
func TestResultsOnOtherBranches(t *testing.T) {
	path := file(t)
	lines := []string{
		`{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"go"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"u","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"X","input":{}}],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"c2","name":"X","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":7,"output_tokens":9}}}`,
		`{"type":"user","uuid":"r1","parentUuid":"a1","toolUseResult":"text","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"}]}}`,
		`{"type":"progress","uuid":"p1","parentUuid":"a2","data":{}}`,
		`{"type":"user","uuid":"r2","parentUuid":"p1","toolUseResult":{"k":1},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"two"}]}}`,
		`{"type":"assistant","uuid":"x","parentUuid":"u","isSidechain":true,"message":{"role":"assistant","content":[{"type":"text","text":"sidechain"}]}}`,
		`{"type":"assistant","uuid":"a3","parentUuid":"r2","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"done"}]}}`,
	}
	put(t, path, strings.Join(lines, "\n")+"\n")
	got := load(t, path, transcript.LoadOptions{})
	if want := "go | call c1 | call c2 | result c2: two | result c1: one | done"; texts(got.Messages) != want || got.Notices != nil {
		t.Errorf("%s, want %s (%v)", texts(got.Messages), want, got.Notices)
	}
	if got.Messages[1].Usage != nil || got.Messages[2].Usage == nil || got.Messages[2].Usage.Output != 9 {
		t.Error("the usage of an answer is not on its last block alone")
	}
	if at := load(t, path, transcript.LoadOptions{At: "a2"}); !strings.HasPrefix(texts(at.Messages), "go | call c1 | call c2 | result c1: one | result c2: two") {
		t.Errorf("up to a call: %s", texts(at.Messages))
	}
}

// TestKF008_EmptyTextBlock: empty blocks are neither stored nor read.
func TestKF008_EmptyTextBlock(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	empty := k.says("")
	mixed := k.user("x")
	mixed.Content = []msg.Block{msg.Text{}, msg.Text{Text: "a"}, msg.Text{}, msg.Text{Text: "b"}}
	write(t, tr, empty, mixed)
	shut(t, tr)
	got := load(t, path, transcript.LoadOptions{})
	if len(got.Messages) != 1 || len(got.Messages[0].Content) != 2 || texts(got.Messages) != "a | b" {
		t.Errorf("%+v", got.Messages)
	}
	put(t, path, `{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":[{"type":"text","text":""}]}}`+"\n"+
		`{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[{"type":"text","text":""},{"type":"text","text":"x"}]}}`+"\n")
	if got := load(t, path, transcript.LoadOptions{}); len(got.Messages) != 1 || len(got.Messages[0].Content) != 1 {
		t.Errorf("%+v", got.Messages)
	}
}

// rounds is how long the huge transcript is.
var rounds = map[bool]int{true: 3_000, false: 600}[raceless]

// huge writes a transcript of 150 MB: 9,000 messages, one result of 12 MB, 30,000 progress records;
// a fifth of it where everything is slow.
func huge(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	parent, n := "null", 0
	text := strings.Repeat(`\tif err != nil { return fmt.Errorf(\"x: %w\", err) }\n`, 250)
	add := func(format string, args ...any) {
		n++
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		fmt.Fprintf(&buf, `{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.0","gitBranch":"main","uuid":%q,"timestamp":"2026-11-30T12:00:00.000Z",`, parent, id)
		fmt.Fprintf(&buf, format, args...)
		buf.WriteString("}\n")
		parent = fmt.Sprintf("%q", id)
	}
	for i := range rounds {
		add(`"type":"user","message":{"role":"user","content":"prompt %d"}`, i)
		add(`"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, i, i)
		for range 10 {
			n++
			fmt.Fprintf(&buf, `{"type":"progress","uuid":"00000000-0000-4000-8000-%012d","parentUuid":%s,"data":{"type":"bash_progress","output":"line","elapsed":3},"sessionId":"s"}`+"\n", n, parent)
		}
		out := text
		if i == rounds/2 {
			out = strings.Repeat("x", 12<<20)
		}
		add(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]},"toolUseResult":{"stdout":"","interrupted":false}`, i, out)
		if buf.Len() > 1<<20 {
			if _, err := f.Write(buf.Bytes()); err != nil {
				t.Fatal(err)
			}
			buf.Reset()
		}
	}
	for range 12 { // the rest of the 150 MB, in results like these
		add(`"type":"user","message":{"role":"user","content":"and on"}`)
	}
	if _, err := f.Write(buf.Bytes()); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	fill := (50<<10*int64(rounds) - info.Size()) / 12
	for i := range 12 {
		if _, err := fmt.Fprintf(f, `{"type":"progress","uuid":"f%d","data":"%s"}`+"\n", i, strings.Repeat("y", int(fill)-40)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// best is the shortest of several runs in processor time, which others that use the machine do not
// make longer.
func best(t testing.TB, runs int, f func()) time.Duration {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	least := time.Hour
	for range runs {
		before := used()
		f()
		least = min(least, used()-before)
	}
	return least
}

// TestKF010_HugeTranscript: 150 MB are usable in under a second, in memory of the order of what is
// in sight; two gigabytes in a thousand transcripts are listed in under 0.3 s.
func TestKF010_HugeTranscript(t *testing.T) {
	path := huge(t)
	var got *transcript.Loaded
	took := best(t, 3, func() { got = load(t, path, transcript.LoadOptions{}) })
	if len(got.Messages) != 3*rounds+12 || got.Notices != nil {
		t.Errorf("%d messages, notices %v", len(got.Messages), got.Notices)
	}
	live := 0
	for _, m := range got.Messages {
		live += len(msg.TextOf(m.Content))
		for _, b := range m.Content {
			if r, ok := b.(msg.ToolResult); ok {
				live += len(msg.TextOf(r.Content))
			}
		}
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%d MB in %v, %d MB in sight, %d MB held", got.Bytes>>20, took, live>>20, mem.HeapAlloc>>20)
	if raceless && took > time.Second {
		t.Errorf("loading took %v", took)
	}
	if int(mem.HeapAlloc) > 3*live+32<<20 {
		t.Errorf("%d MB are held for %d MB in sight", mem.HeapAlloc>>20, live>>20)
	}
	runtime.KeepAlive(got)

	many := rounds / 3
	home := manyTranscripts(t, many, 2<<20)
	var all []transcript.Info
	took = best(t, 5, func() {
		var err error
		if all, err = (transcript.Shelf{Home: home}).List(""); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d transcripts of 2 MB listed in %v", many, took)
	if len(all) != many || all[0].Title() == "" || all[many-1].FirstPrompt == "" {
		t.Errorf("%d listed, the first %+v", len(all), all[0])
	}
	if raceless && took > 300*time.Millisecond {
		t.Errorf("listing took %v", took)
	}
}

// manyTranscripts makes transcripts of a size each, with a hole in the middle.
func manyTranscripts(t testing.TB, n, size int) (home string) {
	home = t.TempDir()
	k := &talk{}
	model := filepath.Join(t.TempDir(), "model.jsonl")
	tr := create(t, model, transcript.Options{Cwd: func() string { return "/w" }})
	for j := range 80 {
		write(t, tr, k.user(fmt.Sprintf("prompt %d of NUMBER %s", j, strings.Repeat("word ", 50))), k.says(strings.Repeat("answer ", 200)))
	}
	if err := tr.SetTitle("title NUMBER"); err != nil {
		t.Fatal(err)
	}
	shut(t, tr)
	raw, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.LastIndexByte(raw[:len(raw)/2], '\n') + 1
	for i := range n {
		path := filepath.Join(home, "projects", fmt.Sprintf("-w%d", i%10), fmt.Sprintf("00000000-0000-4000-8000-%012d.jsonl", i))
		number := []byte(fmt.Sprintf("%06d", i))
		head, tail := bytes.ReplaceAll(raw[:half], []byte("NUMBER"), number), bytes.ReplaceAll(raw[half:], []byte("NUMBER"), number)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		_, errHead := f.Write(head)
		_, errTail := f.WriteAt(append([]byte("\n"), tail...), int64(size-len(tail)-1))
		if err := errors.Join(errHead, errTail, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestKF011_OldConversationsStay: nothing goes by itself; with a retention it is announced, moved
// and logged.
func TestKF011_OldConversationsStay(t *testing.T) {
	home, guest := t.TempDir(), t.TempDir()
	shelf := transcript.Shelf{Home: home, Guests: []string{guest}}
	k := &talk{}
	now := time.Now()
	for days, in := range map[int]string{1: home, 60: home, 400: home, 500: guest} {
		path := transcript.Shelf{Home: in}.Path("/w", fmt.Sprintf("s%d", days))
		tr := create(t, path, transcript.Options{})
		write(t, tr, k.user("x"))
		shut(t, tr)
		if err := os.Chtimes(path, now, now.AddDate(0, 0, -days)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // two starts and exits
		if _, err := shelf.List("/w"); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := shelf.List(""); err != nil || len(all) != 4 {
		t.Fatalf("%d left, %v", len(all), err)
	}
	expired, err := shelf.Expired(now.AddDate(0, 0, -30))
	if err != nil || len(expired) != 2 || expired[0].ID != "s60" || expired[1].ID != "s400" {
		t.Fatalf("announced: %v, %v", expired, err)
	}
	// Meanwhile one goes on.
	tr, _, err := transcript.Open(expired[0].Path, transcript.LoadOptions{}, transcript.Options{Session: "s60"})
	if err != nil {
		t.Fatal(err)
	}
	write(t, tr, k.user("still alive"))
	side := filepath.Join(transcript.SessionDir(expired[1].Path), "subagents", "agent-a.jsonl")
	put(t, side, "{}\n")
	trash := filepath.Join(home, "trash")
	var log bytes.Buffer
	if err := shelf.Retire(expired, trash, &log); err != nil {
		t.Fatal(err)
	}
	shut(t, tr)
	if left, err := shelf.List(""); err != nil || len(left) != 3 {
		t.Errorf("%d left, %v", len(left), err)
	}
	moved := filepath.Join(trash, transcript.Key("/w"), "s400.jsonl")
	for _, p := range []string{moved, filepath.Join(transcript.SessionDir(moved), "subagents", "agent-a.jsonl")} {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	if strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), expired[1].Path) || !strings.Contains(log.String(), moved) {
		t.Errorf("log: %s", log.String())
	}
}

// TestKF012_ListedIsFound: after a compaction a session is opened by the list and by its id alike.
func TestKF012_ListedIsFound(t *testing.T) {
	shelf := transcript.Shelf{Home: t.TempDir()}
	cwd := t.TempDir()
	k := &talk{}
	tr := create(t, shelf.Path(cwd, "7d3f-a"), transcript.Options{Cwd: func() string { return cwd }})
	write(t, tr, k.user("first"), k.says("one"))
	tr.Boundary(transcript.Boundary{Trigger: "manual"})
	write(t, tr, k.summary("the story so far"), k.user("second"))
	shut(t, tr)
	listed, err := shelf.List(cwd)
	if err != nil || len(listed) != 1 || listed[0].Title() != "first" {
		t.Fatalf("%+v, %v", listed, err)
	}
	for _, query := range []string{listed[0].ID, listed[0].Path, "7d3f-a"} {
		found, err := shelf.Resolve(query, cwd)
		if err != nil || found.Path != listed[0].Path {
			t.Errorf("%s: %+v, %v", query, found, err)
		}
		if got := load(t, found.Path, transcript.LoadOptions{}); texts(got.Messages) != "the story so far | second" || !got.Summary {
			t.Errorf("%s", texts(got.Messages))
		}
	}
}

// writeForEver is the session that is killed: it says on its output what it is about to write and
// what it has written.
func writeForEver(path string) {
	tr, loaded, err := transcript.Open(path, transcript.LoadOptions{}, transcript.Options{Session: "s"})
	if errors.Is(err, os.ErrNotExist) {
		tr, err = transcript.Create(path, transcript.Options{Session: "s"})
		loaded = &transcript.Loaded{}
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for i := len(loaded.Messages); ; i++ {
		m := msg.Message{ID: fmt.Sprintf("m%d-%d", os.Getpid(), i), Role: msg.User, Content: []msg.Block{msg.Text{Text: strings.Repeat("x", rand.IntN(3_000)) + fmt.Sprint(" ", i)}}}
		if i%7 == 6 {
			m.Origin = msg.FromSummary
			tr.Boundary(transcript.Boundary{Trigger: "auto", FirstKept: tr.LastID()})
		}
		err := tr.Append(m)
		if err == nil && i%5 == 0 {
			err = tr.Sync()
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		fmt.Println("wrote", m.ID)
	}
}

// TestKilledAtAnyMoment kills a writing process at random points, again and again on one file: what
// it had written is there each time, nothing is torn, and the next process goes on.
func TestKilledAtAnyMoment(t *testing.T) {
	path := file(t)
	for round := range 15 {
		last := killWriter(t, path)
		got := load(t, path, transcript.LoadOptions{})
		if got.Notices != nil {
			t.Fatalf("round %d: %v", round, got.Notices)
		}
		found := last == ""
		for _, m := range got.Messages {
			found = found || m.ID == last
		}
		if !found || len(got.Messages) == 0 {
			t.Fatalf("round %d: %s was written and is not there", round, last)
		}
	}
}

// killWriter starts a writer, kills it at some moment after it wrote, and returns what it wrote last.
func killWriter(t *testing.T, path string) (last string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), "TRANSCRIPT_CHILD="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	stop := 1 + rand.IntN(8_000) // bytes of its reports
	if _, err := io.CopyN(&said, out, int64(stop)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&said, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended by itself")
	}
	lines := strings.Split(said.String(), "\n")
	for _, line := range lines[:len(lines)-1] { // the last may be cut off
		if id, ok := strings.CutPrefix(line, "wrote "); ok {
			last = id
		} else {
			t.Fatalf("the writer says %q", line)
		}
	}
	return last
}

// writeOnFullDisk writes until nothing more can be written, and again when there is room.
func writeOnFullDisk(path string) int {
	fail := func(err error) int { fmt.Println(err); return 1 }
	signal.Ignore(syscall.SIGXFSZ)
	tr, err := transcript.Create(path, transcript.Options{Session: "s"})
	if err != nil {
		return fail(err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return fail(err)
	}
	all := limit.Cur
	limit.Cur = 3_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return fail(err)
	}
	k, failed := &talk{}, 0
	for i := range 20 {
		if err := tr.Append(k.user(fmt.Sprint("m", i, " ", strings.Repeat("x", 100)))); err != nil {
			failed++
		}
	}
	if failed < 10 {
		return fail(fmt.Errorf("only %d writes failed", failed))
	}
	limit.Cur = all
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return fail(err)
	}
	if err := errors.Join(tr.Append(k.user("room again")), tr.Close()); err != nil {
		return fail(err)
	}
	return 0
}

// TestFullDisk: a record that was written in part is an error at once, and the next one that can be
// written does not stick to it.
func TestFullDisk(t *testing.T) {
	path := file(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TRANSCRIPT_FULL="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := load(t, path, transcript.LoadOptions{})
	said := texts(got.Messages)
	if !strings.HasPrefix(said, "m0 ") || !strings.HasSuffix(said, " | room again") || len(got.Messages) < 5 || len(got.Notices) != 1 {
		t.Errorf("%d messages, %v: %s", len(got.Messages), got.Notices, said)
	}
}

// TestRecordsThatSayNothing: a record that is whole but cannot be understood is told of and left
// out; its children stay.
func TestRecordsThatSayNothing(t *testing.T) {
	path := file(t)
	put(t, path, strings.Join([]string{
		`{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"one"}}`,
		`{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":[{"type":"text","text":5}]}}`,
		`{"type":"assistant","uuid":"c","parentUuid":"b","message":"no object"}`,
		`{"type":"assistant","uuid":"d","parentUuid":"c","message":{"role":"assistant","content":[{"type":"text","text":"two"}],"usage":{"input_tokens":"many"}}}`,
		`{"type":"user","uuid":"e","parentUuid":"d","myelin":7,"message":{"role":"user","content":"three"}}`,
		`{"type":"user","uuid":"f","parentUuid":"e","timestamp":"yesterday","message":{"role":"user","content":"four"}}`,
	}, "\n"))
	got := load(t, path, transcript.LoadOptions{})
	if texts(got.Messages) != "one | four" || len(got.Notices) != 4 || got.Notices[0].Line != 2 || got.Notices[3].Line != 5 {
		t.Errorf("%s\n%s", texts(got.Messages), noticeTexts(got))
	}
	if _, err := transcript.Load(t.TempDir(), transcript.LoadOptions{}); err == nil {
		t.Error("a folder was loaded")
	}
}

// TestBoundariesOfOthers: whatever a boundary says it kept, as much as can be found is shown.
func TestBoundariesOfOthers(t *testing.T) {
	before := `{"type":"user","uuid":"a","parentUuid":null,"message":{"role":"user","content":"one"}}
{"type":"assistant","uuid":"b","parentUuid":"a","message":{"role":"assistant","content":"two"}}
`
	after := `{"type":"user","uuid":"s","parentUuid":"x","isCompactSummary":true,"message":{"role":"user","content":"sum"}}
{"type":"user","uuid":"c","parentUuid":"s","message":{"role":"user","content":"three"}}
`
	boundary := func(more string) string {
		return `{"type":"system","subtype":"compact_boundary","uuid":"x","parentUuid":null` + more + "}\n"
	}
	for name, tc := range map[string]struct {
		file, want string
		notices    int
	}{
		"nothing kept":         {before + boundary("") + after, "sum | three", 0},
		"kept":                 {before + boundary(`,"head":"b","anchor":"s","tail":"b"`) + after, "sum | two | three", 0},
		"no tail, but a place": {before + boundary(`,"logicalParentUuid":"b","head":"b"`) + after, "sum | two | three", 0},
		"tail is nowhere":      {before + boundary(`,"head":"a","tail":"q"`) + after, "sum | one | two | three", 0},
		"head is nowhere":      {before + boundary(`,"head":"q","tail":"b"`) + after, "sum | one | two | three", 1},
		"anchor is nowhere":    {before + boundary(`,"head":"b","anchor":"q","tail":"b"`) + after, "sum | two | three", 0},
		"keeps itself":         {before + boundary(`,"head":"q","tail":"c"`) + after, "", -1},
		"no summary":           {before + boundary(`,"head":"b","tail":"b"`), "one | two", 0},
		"only a boundary":      {boundary(""), "", 0},
	} {
		path := file(t)
		put(t, path, tc.file)
		got := load(t, path, transcript.LoadOptions{})
		if tc.notices < 0 { // it must end, and lose nothing that came after
			if !strings.Contains(texts(got.Messages), "three") {
				t.Errorf("%s: %s", name, texts(got.Messages))
			}
			continue
		}
		if texts(got.Messages) != tc.want || len(got.Notices) != tc.notices {
			t.Errorf("%s: %s %v, want %s", name, texts(got.Messages), got.Notices, tc.want)
		}
	}
}

// FuzzLoad: no file makes the reader fail other than by an error, and reading changes nothing.
func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "s.jsonl")
	k := &talk{}
	tr, err := transcript.Create(path, transcript.Options{Session: "s"})
	if err != nil {
		f.Fatal(err)
	}
	for _, m := range []msg.Message{k.user("p"), k.call("r", "c"), k.result("c", "x"), k.summary("s"), k.says("a")} {
		if err := tr.Append(m); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(tr.Rewind("id-0003"), tr.SetTitle("t"), tr.Close()); err != nil {
		f.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(raw[:len(raw)-9])
	f.Add(bytes.ReplaceAll(raw, []byte("}\n"), []byte("}")))
	f.Add([]byte("{\"type\":\"system\",\"subtype\":\"compact_boundary\",\"uuid\":\"b\",\"parentUuid\":null,\"head\":\"b\",\"tail\":\"u\"}\n{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":\"b\",\"message\":{\"content\":\"x\"}}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := transcript.Load(path, transcript.LoadOptions{})
		if err != nil {
			return
		}
		if _, err := transcript.ReadInfo(path); err != nil {
			t.Fatalf("loaded, but not listed: %v", err)
		}
		for _, n := range got.Notices {
			if n.Line < 1 || n.Line > bytes.Count(raw, []byte("\n"))+1 {
				t.Fatalf("line %d of %d", n.Line, bytes.Count(raw, []byte("\n"))+1)
			}
		}
		// Going on in it works, and what was in sight still is.
		tr, first, err := transcript.Open(path, transcript.LoadOptions{}, transcript.Options{Session: "s"})
		if err != nil {
			t.Fatal(err)
		}
		if err := tr.Append(msg.Message{ID: "fresh-id", Role: msg.User, Content: []msg.Block{msg.Text{Text: "more"}}}); err != nil {
			t.Fatal(err)
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		second, err := transcript.Load(path, transcript.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if want := texts(first.Messages) + " | more"; strings.TrimPrefix(want, " | ") != texts(second.Messages) {
			t.Fatalf("%q, then %q", texts(first.Messages), texts(second.Messages))
		}
	})
}
