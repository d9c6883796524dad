package transcript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// TestKey: the names of folders are those the Agent SDKs compute.
func TestKey(t *testing.T) {
	for cwd, want := range map[string]string{
		"/home/me/my.project_1":                "-home-me-my-project-1",
		"/tmp/é𝄞x":                             "-tmp----x", // a character outside the BMP counts twice
		"/" + strings.Repeat("a", 199):         "-" + strings.Repeat("a", 199),
		"/" + strings.Repeat("abcdefghij", 25): "-" + strings.Repeat("abcdefghij", 19) + "abcdefghi-w4aff0",
	} {
		if got := transcript.Key(cwd); got != want {
			t.Errorf("%.40s… gives %s, want %s", cwd, got, want)
		}
	}
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if transcript.Key(link) != transcript.Key(real) {
		t.Error("a link has sessions of its own")
	}
}

// stocked is a shelf with sessions of several folders and a guest.
type stocked struct {
	transcript.Shelf
	k   talk
	now time.Time
}

func stock(t *testing.T) *stocked {
	return &stocked{Shelf: transcript.Shelf{Home: t.TempDir(), Guests: []string{t.TempDir()}}, now: time.Now().Add(-time.Hour)}
}

// put makes a session that was written last so many minutes after the others began.
func (s *stocked) put(t *testing.T, shelf transcript.Shelf, cwd, id string, minutes int, more func(*transcript.Transcript)) string {
	t.Helper()
	path := shelf.Path(cwd, id)
	tr := create(t, path, transcript.Options{Cwd: func() string { return cwd }, Branch: func() string { return "main" }})
	write(t, tr, s.k.user("prompt of "+id), s.k.says("answer"))
	if more != nil {
		more(tr)
	}
	shut(t, tr)
	at := s.now.Add(time.Duration(minutes) * time.Minute)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

func title(s string) func(*transcript.Transcript) {
	return func(tr *transcript.Transcript) {
		if err := tr.SetTitle(s); err != nil {
			panic(err)
		}
	}
}

func ids(all []transcript.Info) string {
	var out []string
	for _, i := range all {
		out = append(out, i.ID)
	}
	return strings.Join(out, " ")
}

func TestList(t *testing.T) {
	s := stock(t)
	guest := transcript.Shelf{Home: s.Guests[0]}
	s.put(t, s.Shelf, "/a", "a1", 1, title("first title"))
	path := s.put(t, s.Shelf, "/a", "a2", 5, func(tr *transcript.Transcript) {
		for _, err := range []error{tr.SetAITitle("made"), tr.SetTag("x"), tr.SetTitle("mine"), tr.SetTitle("mine too"), tr.SetTag("")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		write(t, tr, s.k.user("last words"))
	})
	s.put(t, guest, "/a", "g1", 3, nil)
	s.put(t, guest, "/a", "a1", 9, nil) // the guest's copy of a session of ours
	s.put(t, s.Shelf, "/b", "b1", 4, nil)
	put(t, filepath.Join(s.Dir("/a"), "agent-7.jsonl"), "{}\n")
	put(t, filepath.Join(s.Dir("/a"), "empty.jsonl"), "")
	put(t, filepath.Join(s.Dir("/a"), "a2", "tool-results", "x.txt"), "")

	all, err := s.List("/a")
	if err != nil || ids(all) != "a2 g1 a1" || !all[1].Guest || all[0].Guest || all[2].Guest {
		t.Errorf("%s, %v", ids(all), err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	want := transcript.Info{
		ID: "a2", Path: path, Cwd: "/a", Branch: "main", CustomTitle: "mine too", AITitle: "made", FirstPrompt: "prompt of a2", LastPrompt: "last words",
		Started: time.Date(2026, 11, 30, 12, 0, 3, 0, time.UTC), Modified: info.ModTime(), Size: info.Size(),
	}
	if d := cmp.Diff(want, all[0]); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if all, err := s.List(""); err != nil || ids(all) != "a2 b1 g1 a1" {
		t.Errorf("all: %s, %v", ids(all), err)
	}
	if all, err := s.List("/nowhere"); err != nil || len(all) != 0 {
		t.Errorf("nowhere: %v, %v", all, err)
	}
	if newest, err := s.Newest("/a"); err != nil || newest.ID != "a2" {
		t.Errorf("newest: %v, %v", newest, err)
	}
	if _, err := s.Newest("/nowhere"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("newest of nowhere: %v", err)
	}
}

func TestResolve(t *testing.T) {
	s := stock(t)
	s.put(t, s.Shelf, "/a", "0b5e0b5e-aaaa", 1, title("Parser"))
	s.put(t, s.Shelf, "/b", "0b5e0b5e-bbbb", 2, title("parser"))
	s.put(t, s.Shelf, "/b", "77777777-bbbb", 3, title("twice"))
	s.put(t, s.Shelf, "/b", "88888888-bbbb", 4, title("Twice"))
	guest := s.put(t, transcript.Shelf{Home: s.Guests[0]}, "/c", "99999999-cccc", 5, nil)
	for name, tc := range map[string]struct{ query, cwd, want string }{
		"by id":                      {"0b5e0b5e-aaaa", "/a", "0b5e0b5e-aaaa"},
		"by id, in another folder":   {"0b5e0b5e-bbbb", "/a", "0b5e0b5e-bbbb"},
		"by id, of a guest":          {"99999999-cccc", "/a", "99999999-cccc"},
		"by path":                    {guest, "/a", "99999999-cccc"},
		"by title, here first":       {"PARSER", "/a", "0b5e0b5e-aaaa"},
		"by title, there":            {"parser", "/b", "0b5e0b5e-bbbb"},
		"by the beginning of its id": {"999999", "/a", "99999999-cccc"},
	} {
		got, err := s.Resolve(tc.query, tc.cwd)
		if err != nil || got.ID != tc.want || got.Guest != strings.HasPrefix(tc.want, "99") {
			t.Errorf("%s: %+v, %v; want %s", name, got, err, tc.want)
		}
	}
	for name, tc := range map[string]struct{ query, want string }{
		"unknown":          {"11111111-1111", "No conversation found with session ID: 11111111-1111"},
		"two of one title": {"twice", `several conversations are called "twice": 88888888-bbbb, 77777777-bbbb`},
		"short beginning":  {"0b5e", "No conversation found"},
		"out of the shelf": {"../../x", "No conversation found"},
		"nothing":          {"", "No conversation found"},
		"no such file":     {"/nowhere/x.jsonl", "no such file"},
	} {
		if got, err := s.Resolve(tc.query, "/a"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v; want %q", name, got, err, tc.want)
		}
	}
	if _, err := s.Resolve("11111111-1111", "/a"); !errors.Is(err, transcript.ErrNotFound) {
		t.Errorf("kind of %v", err)
	}
}

// TestTitlesStayInSight: however much is said after it, lists find the title at the end.
func TestTitlesStayInSight(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("first"))
	for _, err := range []error{tr.SetTitle("mine"), tr.SetTag("x")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		write(t, tr, k.says(strings.Repeat("x", 30<<10)))
		if err := tr.Sync(); err != nil {
			t.Fatal(err)
		}
		got, err := transcript.ReadInfo(path)
		if err != nil || got.CustomTitle != "mine" || got.Tag != "x" || got.FirstPrompt != "first" || got.LastPrompt != "first" {
			t.Fatalf("at %d bytes: %+v, %v", got.Size, got, err)
		}
	}
	shut(t, tr)
	second, _ := open(t, path) // and it goes on knowing them
	for range 4 {
		write(t, second, k.says(strings.Repeat("x", 30<<10)))
	}
	shut(t, second)
	if got, err := transcript.ReadInfo(path); err != nil || got.CustomTitle != "mine" || got.Tag != "x" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRenamedByAnother: a title another program appends while the session runs is not undone.
func TestRenamedByAnother(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("first"))
	if err := tr.SetTitle("mine"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"type":"custom-title","customTitle":"theirs","sessionId":"s"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		write(t, tr, k.says(strings.Repeat("x", 100<<10)))
		if err := tr.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, tr)
	if got, err := transcript.ReadInfo(path); err != nil || got.CustomTitle != "theirs" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestPromptsInLists: what a list shows as first prompt is what a person said.
func TestPromptsInLists(t *testing.T) {
	user := func(content, more string) string {
		return fmt.Sprintf(`{"type":"user","uuid":"u","parentUuid":null%s,"message":{"role":"user","content":%s}}`, more, content)
	}
	for name, tc := range map[string]struct{ line, want string }{
		"plain":            {user(`"hello\n  there"`, ""), "hello there"},
		"blocks":           {user(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"look"}]`, ""), "look"},
		"meta":             {user(`"x"`, `,"isMeta":true`), ""},
		"summary":          {user(`"x"`, `,"isCompactSummary":true`), ""},
		"sidechain's team": {user(`"x"`, `,"teamName":"t"`), ""},
		"command":          {user(`"<command-name>/model</command-name>"`, ""), ""},
		"result":           {user(`[{"type":"tool_result","tool_use_id":"a","content":"x"}]`, ""), ""},
		"long":             {user(`"`+strings.Repeat("é", 300)+`"`, ""), strings.Repeat("é", 200) + "…"},
		"torn":             {`{"type":"user","uuid":"u","message":{"ro`, ""},
	} {
		path := file(t)
		put(t, path, tc.line+"\n")
		got, err := transcript.ReadInfo(path)
		if err != nil || got.FirstPrompt != tc.want {
			t.Errorf("%s: %q, %v; want %q", name, got.FirstPrompt, err, tc.want)
		}
	}
	if _, err := transcript.ReadInfo(t.TempDir()); err == nil {
		t.Error("a folder was read as a transcript")
	}
}

func TestFork(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "old.jsonl")
	k := &talk{}
	tr := create(t, from, transcript.Options{})
	write(t, tr, k.user("one"), k.says("two"))
	if err := tr.SetTitle("mine"); err != nil {
		t.Fatal(err)
	}
	tr.Boundary(transcript.Boundary{FirstKept: "id-0002"})
	write(t, tr, k.summary("sum"), k.user("three"))
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	foreign := `{"later":{"a":[1]},"type":"user","uuid":"f","parentUuid":"id-0004","sessionId": "old","message":{"role":"user","content":"foreign"},"x":null}` + "\n"
	shut(t, tr)
	put(t, from, string(raw)+foreign+`{"type":"user","uu`)
	before, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}

	to := filepath.Join(dir, "p", "new.jsonl")
	if err := transcript.Fork(from, to, "new", ""); err != nil {
		t.Fatal(err)
	}
	if got := load(t, to, transcript.LoadOptions{}); texts(got.Messages) != "sum | two | three | foreign" || got.Notices != nil {
		t.Errorf("%s %v", texts(got.Messages), got.Notices)
	}
	after, err := os.ReadFile(from)
	if err != nil || string(after) != string(before) {
		t.Errorf("the old one changed (%v)", err)
	}
	forked, err := os.ReadFile(to)
	if err != nil || strings.Contains(string(forked), `"old"`) || strings.Contains(string(forked), "custom-title") || !strings.Contains(string(forked), strings.Replace(foreign, `"old"`, `"new"`, 1)) {
		t.Errorf("%v\n%s", err, forked)
	}
	if err := transcript.Fork(from, to, "new", ""); !errors.Is(err, transcript.ErrExists) {
		t.Errorf("over one that exists: %v", err)
	}

	part := filepath.Join(dir, "p", "part.jsonl")
	if err := transcript.Fork(from, part, "part", "id-0002"); err != nil {
		t.Fatal(err)
	}
	second, got := open(t, part)
	if texts(got.Messages) != "one | two" {
		t.Errorf("%s", texts(got.Messages))
	}
	write(t, second, k.user("else"))
	shut(t, second)
	if got := load(t, part, transcript.LoadOptions{}); texts(got.Messages) != "one | two | else" {
		t.Errorf("%s", texts(got.Messages))
	}
	none := filepath.Join(dir, "p", "none.jsonl")
	if err := transcript.Fork(from, none, "none", "nobody"); !errors.Is(err, transcript.ErrNoMessage) || !strings.Contains(err.Error(), "No message found with message.uuid of: nobody") {
		t.Errorf("at an unknown message: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "p"))
	if err != nil || len(left) != 2 {
		t.Errorf("%v, left %v", err, left)
	}
	if err := transcript.Adopt(from, none, "old"); err != nil {
		t.Fatal(err)
	}
	if info, err := transcript.ReadInfo(none); err != nil || info.CustomTitle != "mine" {
		t.Errorf("adopted: %+v, %v", info, err)
	}
}

func TestResumeAt(t *testing.T) {
	path := file(t)
	k := &talk{}
	tr := create(t, path, transcript.Options{})
	write(t, tr, k.user("one"), k.says("two"), k.user("three"), k.says("four"))
	shut(t, tr)
	second, got, err := transcript.Open(path, transcript.LoadOptions{At: "id-0002"}, transcript.Options{Session: "s"})
	if err != nil || texts(got.Messages) != "one | two" {
		t.Fatalf("%v, %v", got, err)
	}
	write(t, second, k.user("five"))
	shut(t, second)
	if got := load(t, path, transcript.LoadOptions{}); texts(got.Messages) != "one | two | five" {
		t.Errorf("%s", texts(got.Messages))
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"id-0001", "id-0003", "id-0004", "id-0005"} { // also what the branch left behind
		if !strings.Contains(string(raw), id) {
			t.Errorf("%s is gone from the file", id)
		}
	}
	if _, err := transcript.Load(path, transcript.LoadOptions{At: "nobody"}); !errors.Is(err, transcript.ErrNoMessage) {
		t.Errorf("an unknown message: %v", err)
	}
}

func TestKF123_TwoFoldersWithOneKeyShareNothing(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{{"a/b-c", "a-b/c"}, {"a_b/c", "a.b.c"}, {"x y", "x-y"}, {"é", "ö"}} {
		shelf := transcript.Shelf{Home: t.TempDir()}
		var dirs, ids []string
		for _, name := range pair {
			cwd := filepath.Join(root, name)
			if err := os.MkdirAll(cwd, 0o755); err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", len(ids)+1)
			path := shelf.Path(cwd, id)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			record := fmt.Sprintf(`{"type":"user","uuid":"u%s","sessionId":%q,"cwd":%q,"message":{"role":"user","content":"in %s"}}`+"\n", id, id, cwd, name)
			if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
				t.Fatal(err)
			}
			dirs, ids = append(dirs, cwd), append(ids, id)
		}
		if transcript.Key(dirs[0]) != transcript.Key(dirs[1]) {
			t.Fatalf("%v have different keys", pair)
		}
		if shelf.Dir(dirs[0]) == shelf.Dir(dirs[1]) {
			t.Errorf("%v share %s", pair, shelf.Dir(dirs[0]))
		}
		for n, cwd := range dirs {
			for _, s := range []transcript.Shelf{shelf, {Home: shelf.Home, Public: true}, {Home: t.TempDir(), Guests: []string{shelf.Home}}} {
				all, err := s.List(cwd)
				if err != nil || len(all) != 1 || all[0].ID != ids[n] {
					t.Errorf("list of %s: %+v, %v", cwd, all, err)
				}
				if newest, err := s.Newest(cwd); err != nil || newest.ID != ids[n] {
					t.Errorf("newest of %s: %+v, %v", cwd, newest, err)
				}
				if found, err := s.Resolve(ids[1-n], cwd); err != nil || found.ID != ids[1-n] {
					t.Errorf("an id of the other folder: %+v, %v", found, err)
				}
			}
		}
	}
}
