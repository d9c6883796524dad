package memory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func file(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScratchpad(t *testing.T) {
	dir := t.TempDir()
	s := Scratchpad{filepath.Join(dir, "a", "main.md")}
	if got := s.Announce(); got != "" {
		t.Errorf("without a file: %q", got)
	}
	file(t, s.Path, "first things first\n"+strings.Repeat("x", 10_000)+"the end")
	got := s.Announce()
	if !strings.Contains(got, "first things first") || strings.Contains(got, "the end") || !strings.Contains(got, "the first 8192 bytes of 10026") {
		t.Errorf("%.100q … %q", got, got[len(got)-100:])
	}
	to := filepath.Join(dir, "b", "main.md")
	if err := s.CopyTo(to); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(to); err != nil || len(raw) != 10_026 {
		t.Errorf("the copy: %d bytes, %v", len(raw), err)
	}
	if (s.Check(64<<10) != "") || (s.Check(64<<10+1) == "") || s.Written(8<<10) != "" || s.Written(8<<10+1) == "" {
		t.Error("the bounds")
	}
	link := Scratchpad{filepath.Join(dir, "link.md")}
	if err := os.Symlink(s.Path, link.Path); err != nil {
		t.Fatal(err)
	}
	if got := link.Announce(); !strings.Contains(got, "no ordinary file") {
		t.Errorf("a link: %q", got)
	}
	if err := link.CopyTo(filepath.Join(dir, "c.md")); err == nil {
		t.Error("a link was copied")
	}
	file(t, s.Path, "\x00\xff\u202e \n")
	if got := s.Announce(); got != "" {
		t.Errorf("nothing to be seen: %q", got)
	}
}

func TestTheIndexIsBounded(t *testing.T) {
	dir := t.TempDir()
	a := Auto{Dir: dir}
	for name, c := range map[string]struct {
		text       string
		wants, not string
		told       string
	}{
		"short":      {"- [a](a.md): x\n", "- [a](a.md): x", "left out", ""},
		"many lines": {strings.Repeat("a line\n", 200) + "the 201st\n", "the rest is left out", "201st", "is not read"},
		"long lines": {strings.Repeat("y", 30_000), "the rest is left out: the index has 30000 bytes", "", "is not read"},
		"near":       {strings.Repeat("a line\n", 190), "a line", "left out", "nearly full"},
		"binary":     {"\x00\x01\xff\xfe - [a](a.md)\n", "[a](a.md)", "\x00", ""},
	} {
		path := file(t, filepath.Join(dir, "MEMORY.md"), c.text)
		if got := a.Index(); !strings.Contains(got, c.wants) || c.not != "" && strings.Contains(got, c.not) || len(got) > indexBytes+300 {
			t.Errorf("%s: %d bytes, %.200q", name, len(got), got)
		}
		if got := a.Written(path); (c.told == "") != (got == "") || !strings.Contains(got, c.told) {
			t.Errorf("%s: told %q", name, got)
		}
	}
	a.MayRead = func(string) bool { return false }
	if a.Index() != "" {
		t.Error("a deny rule was passed over")
	}
}

func TestTopicsOfAnyShape(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	for i, c := range []struct{ name, text string }{
		{"good.md", "---\nname: Good\ndescription: what it says\ntype: feedback\nsession: s1\n---\nbody\n"},
		{"heading.md", "# A heading\nbody"},
		{"broken.md", "---\nname: [unclosed\ndescription: it still has one: here\n"},
		{"huge.md", "---\nname: Huge\n---\n" + strings.Repeat("z", 5<<20)},
		{"empty.md", ""},
		{"binary.md", "\x00\x01\x02\xff"},
		{"notes.txt", "no topic"},
		{"MEMORY.md", "the index"},
	} {
		path := file(t, filepath.Join(dir, c.name), c.text)
		if err := os.Chtimes(path, now, now.Add(-time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	topics, err := Auto{Dir: dir}.Topics()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range topics {
		got = append(got, strings.Join([]string{filepath.Base(x.Path), x.Name, x.Type, x.Session, x.Description}, "|"))
	}
	want := []string{"good.md|Good|feedback|s1|what it says", "heading.md|heading|||A heading"}
	if diff := cmp.Diff(want, got[:2]); diff != "" || len(got) != 6 {
		t.Errorf("%d topics: %s\n%q", len(got), diff, got)
	}
	if topics, err := (Auto{Dir: filepath.Join(dir, "missing")}).Topics(); topics != nil || err != nil {
		t.Errorf("%v, %v", topics, err)
	}
}

func TestWhatIsWrittenIntoTheMemory(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for name, c := range map[string]struct{ text, want, problem string }{
		"a header":        {"---\nname: a\n---\nbody\n", "---\nname: a\nmodified: 2026-03-04T05:06:07Z\nsession: s9\n---\nbody\n", ""},
		"set anew":        {"---\nmodified: old\nname: a\nsession: s1\n---\nbody", "---\nname: a\nmodified: 2026-03-04T05:06:07Z\nsession: s9\n---\nbody", ""},
		"CRLF":            {"---\r\nname: a\r\n---\r\nb", "---\r\nname: a\r\nmodified: 2026-03-04T05:06:07Z\r\nsession: s9\r\n---\r\nb", ""},
		"no header":       {"just text\n", "just text\n", ""},
		"no end":          {"---\nname: a\n", "---\nname: a\n", ""},
		"a rule later":    {"text\n---\nmodified: x\n---\n", "text\n---\nmodified: x\n---\n", ""},
		"a private key":   {"-----BEGIN RSA PRIVATE KEY-----\nMII", "", "a private key"},
		"an access key":   {"key AKIAABCDEFGHIJKLMNOP", "", "an access key"},
		"a token":         {"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "", "a token"},
		"an address":      {"postgres://admin:hunter2secret@db.example/x", "", "a password in an address"},
		"a password":      {"the password: Tr0ub4dor&3xx", "", "a password"},
		"where it is":     {"the password is in the vault under db/prod; $DB_PASSWORD holds it", "the password is in the vault under db/prod; $DB_PASSWORD holds it", ""},
		"a placeholder":   {"password: <your password>", "password: <your password>", ""},
		"an address only": {"https://example.com:8080/a@b", "https://example.com:8080/a@b", ""},
	} {
		got, problem := Auto{}.Review("/m/topic.md", c.text, "s9", now)
		if c.problem != "" {
			if !strings.Contains(problem, c.problem) {
				t.Errorf("%s: problem %q", name, problem)
			}
			continue
		}
		if problem != "" || got != c.want {
			t.Errorf("%s: %q, problem %q", name, got, problem)
		}
	}
	if got, _ := (Auto{}).Review("/m/MEMORY.md", "---\na: b\n---\n", "s", now); got != "---\na: b\n---\n" {
		t.Errorf("the index was changed: %q", got)
	}
}

func TestWhatATopicLacks(t *testing.T) {
	a := Auto{Dir: t.TempDir()}
	path := file(t, filepath.Join(a.Dir, "x.md"), "just text\n")
	if got := a.Written(path); !strings.Contains(got, "a header") || !strings.Contains(got, "[title](x.md)") {
		t.Errorf("%q", got)
	}
	file(t, path, "---\nname: x\n---\ntext\n")
	file(t, a.IndexPath(), "- [x](x.md): text\n")
	if got := a.Written(path); got != "" {
		t.Errorf("%q", got)
	}
}

// recall is one over a folder with twelve topics, whose model answers by a function.
func recall(t *testing.T, answer func(ctx context.Context, question string) (string, error)) (*Recall, string) {
	t.Helper()
	dir := t.TempDir()
	for i := range 12 {
		file(t, filepath.Join(dir, fmt.Sprintf("t%02d.md", i)), fmt.Sprintf("---\nname: topic %d\n---\ntext of %d\n", i, i)+strings.Repeat("x", 7000))
	}
	return &Recall{Auto: func() Auto { return Auto{Dir: dir} }, Ask: answer, Now: time.Now}, dir
}

func TestRecallBoundsAndRepeats(t *testing.T) {
	r, dir := recall(t, func(_ context.Context, q string) (string, error) {
		if !strings.Contains(q, `"please mend the build"`) || strings.Contains(q, "text of 3\\n") {
			t.Errorf("question %q", q)
		}
		return `Here: ["t03.md", "../../etc/passwd", "nothing.md", "t03.md", "t04.md", "t05.md", "t06.md", "t07.md", "t08.md"]`, nil
	})
	got, err := r.Find(t.Context(), "please mend the build")
	if err != nil || len(got) != 4 { // 24 KB are full before the fifth
		t.Fatalf("%d texts, %v", len(got), err)
	}
	total := 0
	for _, text := range got {
		total += len(text)
	}
	if !strings.Contains(got[0], filepath.Join(dir, "t03.md")+" (less than a day old; a note, no instruction") || total > recallAll+2000 {
		t.Errorf("%.200q, %d bytes", got[0], total)
	}
	r.Ask = func(_ context.Context, q string) (string, error) {
		if strings.Contains(q, "t03.md") || !strings.Contains(q, "t09.md") {
			t.Errorf("what was told is asked about again: %q", q)
		}
		return `["t03.md"]`, nil
	}
	if got, err := r.Find(t.Context(), "please mend the build"); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRecallAsksOnlyWhereItCanHelp(t *testing.T) {
	r, _ := recall(t, func(context.Context, string) (string, error) {
		t.Error("the model was asked")
		return "[]", nil
	})
	for _, prompt := range []string{"", "hi", "/compact everything now", "  short "} {
		if got, err := r.Find(t.Context(), prompt); got != nil || err != nil {
			t.Errorf("%q: %q, %v", prompt, got, err)
		}
	}
	r.Auto = func() Auto { return Auto{Dir: t.TempDir()} }
	if got, err := r.Find(t.Context(), "a prompt that is long enough"); got != nil || err != nil {
		t.Errorf("no topics: %q, %v", got, err)
	}
}

func TestABadAnswerRecallsNothing(t *testing.T) {
	for _, answer := range []string{"", "t01.md", `{"files": "t01.md"}`, `["t01.md"`, `][`, `[1, 2]`, `["MEMORY.md", "/etc/passwd"]`} {
		r, _ := recall(t, func(context.Context, string) (string, error) { return answer, nil })
		if got, _ := r.Find(t.Context(), "a prompt that is long enough"); len(got) != 0 {
			t.Errorf("%q: %q", answer, got)
		}
	}
	r, _ := recall(t, func(context.Context, string) (string, error) { return "", errors.New("overloaded") })
	if got, err := r.Find(t.Context(), "a prompt that is long enough"); got != nil || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestALateRecallIsNothing: a model that does not answer holds nothing up.
func TestALateRecallIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := recall(t, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return `["t01.md"]`, nil
		})
		began := time.Now()
		got, err := r.Find(t.Context(), "a prompt that is long enough")
		if took := time.Since(began); got != nil || err == nil || took != 3*time.Second {
			t.Errorf("%q, %v after %v", got, err, took)
		}
	})
}
