package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// tree makes files; a name that ends in "/" is a folder, "a -> b" a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		link, target, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func compile(t *testing.T, pattern string, opt Options) *Pattern {
	t.Helper()
	p, err := Compile(pattern, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func grepAll(t *testing.T, tr Tree, q Query) Found {
	t.Helper()
	found, err := Grep(context.Background(), tr, q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// names are the paths found, below the root, sorted.
func names(found Found) []string {
	out := []string{}
	for _, f := range found.Files {
		out = append(out, f.Rel)
	}
	slices.Sort(out)
	return out
}

func TestGrepObeysIgnoreFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		".git/HEAD": "x", ".git/info/exclude": "excluded.txt\n", ".gitignore": "*.log\n/build/\n!keep.log\n", "a.txt": "x", "a.log": "x", "keep.log": "x",
		"build/out.txt": "x", "sub/build/in.txt": "x", "sub/.gitignore": "*.txt\n!in.txt\n", "sub/b.txt": "x", "sub/deep/c.txt": "x",
		".hidden/h.md": "x", ".ignore": "ignored.md\n", "ignored.md": "x", ".rgignore": "!ignored2.md\nrg.md\n", "rg.md": "x", "excluded.txt": "x",
		".svn/x": "x", "node/.git/config": "x", "node/n.md": "x", "work/.git": "gitdir: elsewhere x",
	})
	q := Query{Pattern: compile(t, "x", Options{})}
	found := grepAll(t, Tree{Root: dir, Ignore: true}, q)
	want := []string{".hidden/h.md", "a.txt", "keep.log", "node/n.md", "sub/build/in.txt"}
	if d := cmp.Diff(want, slices.DeleteFunc(names(found), func(s string) bool { return strings.HasSuffix(s, "ignore") })); d != "" {
		t.Error(d)
	}
	if found.Missed.Ignored != 7 {
		t.Errorf("%d ignored, want 7", found.Missed.Ignored)
	}
	all := grepAll(t, Tree{Root: dir}, q)
	if n := len(all.Files); n != 13 {
		t.Errorf("without ignore files %d files match: %v, want 13", n, names(all))
	}
	below := grepAll(t, Tree{Root: filepath.Join(dir, "sub"), Ignore: true}, q)
	if d := cmp.Diff([]string{".gitignore", "build/in.txt"}, names(below)); d != "" {
		t.Error("below the root of the ignore files:", d)
	}
	visible := grepAll(t, Tree{Root: dir, Ignore: true, NoHidden: true}, q)
	if d := cmp.Diff([]string{"a.txt", "keep.log", "node/n.md", "sub/build/in.txt"}, names(visible)); d != "" {
		t.Error("without hidden files:", d)
	}
}

func TestKF021_ExplicitlyNamedIgnoredOrHiddenFolderIsSearched(t *testing.T) {
	dir := tree(t, map[string]string{".git/HEAD": "", ".gitignore": "out/\n*.log\n.cfg/\n", "out/a.txt": "x", "out/b.log": "x", ".cfg/c": "x"})
	q := Query{Pattern: compile(t, "x", Options{})}
	if d := cmp.Diff([]string{"a.txt", "b.log"}, names(grepAll(t, Tree{Root: filepath.Join(dir, "out"), Ignore: true}, q))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"c"}, names(grepAll(t, Tree{Root: filepath.Join(dir, ".cfg"), Ignore: true}, q))); d != "" {
		t.Error(d)
	}
	found, err := GrepFile(context.Background(), filepath.Join(dir, "out/b.log"), filepath.Join(dir, "out/b.log"), q)
	if err != nil || len(found.Files) != 1 {
		t.Errorf("a file: %v, %v", found, err)
	}
}

func TestKF021_WhatWasNotSearchedIsCounted(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "needle\n", "b.bin": "needle\x00", "locked/c.txt": "needle", "big.txt": strings.Repeat("needle\n", 100)})
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	sock, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer sock.Close()
	locked := filepath.Join(dir, "locked")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(locked, 0o755)
	withoutRights(t, dir)
	found := grepAll(t, Tree{Root: dir, Skip: func(p string, _ bool) bool { return filepath.Base(p) == "skipped" }}, Query{Pattern: compile(t, "needle", Options{}), MaxSize: 500})
	want := Missed{Binary: 1, TooLarge: 1, Special: 2, Unreadable: 1, Names: []string{locked + ": permission denied"}}
	if d := cmp.Diff(want, found.Missed); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"a.txt"}, names(found)); d != "" || found.Searched != 1 {
		t.Errorf("%s; searched %d", d, found.Searched)
	}
	if _, err := Grep(context.Background(), Tree{Root: locked}, Query{Pattern: compile(t, "x", Options{})}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a root that cannot be read: %v", err)
	}
}

// withoutRights makes this process an ordinary user until the test ends, since root may read
// everything. dir and what it lies in stay reachable.
func withoutRights(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o5 != 0o5 {
			if err := os.Chmod(d, info.Mode().Perm()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := syscall.Setresuid(-1, 65534, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setresuid(-1, 0, 0); err != nil {
			t.Fatal(err)
		}
	})
}

func TestKF042_SkippedFilesAreLeftOut(t *testing.T) {
	dir := tree(t, map[string]string{".env": "KEY=1", "sub/.env": "KEY=2", "a.txt": "KEY=3", "secret/x": "KEY=4"})
	skip := func(p string, isDir bool) bool {
		return filepath.Base(p) == ".env" || isDir && filepath.Base(p) == "secret"
	}
	found := grepAll(t, Tree{Root: dir, Skip: skip}, Query{Pattern: compile(t, "KEY", Options{})})
	if d := cmp.Diff([]string{"a.txt"}, names(found)); d != "" || found.Missed.Skipped != 3 {
		t.Errorf("%s; %d skipped", d, found.Missed.Skipped)
	}
	globbed, err := Glob(context.Background(), Tree{Root: dir, Skip: skip}, "**/*", 0)
	if err != nil || len(globbed.Files) != 1 || globbed.Missed.Skipped != 3 {
		t.Errorf("glob: %v, %v", globbed, err)
	}
	literal, err := Glob(context.Background(), Tree{Root: dir, Skip: skip}, "[.]env", 0)
	if err != nil || len(literal.Files) != 0 {
		t.Errorf("glob: %v, %v", literal, err)
	}
}

func TestKF041_SkipSeesRealPaths(t *testing.T) {
	dir := tree(t, map[string]string{"vault/key": "x", "vault/open": "x", "link -> vault": "", "way/link -> ../vault": ""})
	skip := func(p string, _ bool) bool { return p == filepath.Join(dir, "vault/key") }
	for _, root := range []string{"vault", "link", "way/link", "link/"} {
		found := grepAll(t, Tree{Root: filepath.Join(dir, root), Skip: skip}, Query{Pattern: compile(t, "x", Options{})})
		if d := cmp.Diff([]string{"open"}, names(found)); d != "" {
			t.Errorf("%s: %s", root, d)
		}
	}
}

func TestKF041_LinksInsideATreeAreNotFollowed(t *testing.T) {
	outside := tree(t, map[string]string{"secret.txt": "x"})
	dir := tree(t, map[string]string{"a/b.txt": "x", "loop -> .": "", "a/up -> ..": "", "out -> " + outside: "", "file.txt -> " + outside + "/secret.txt": "", "dead -> nowhere": ""})
	found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "x", Options{})})
	if d := cmp.Diff([]string{"a/b.txt"}, names(found)); d != "" {
		t.Error(d)
	}
	viaLink := grepAll(t, Tree{Root: filepath.Join(dir, "out")}, Query{Pattern: compile(t, "x", Options{})})
	if d := cmp.Diff([]string{"secret.txt"}, names(viaLink)); d != "" {
		t.Error("a root that is a link:", d)
	}
}

func TestGrepLines(t *testing.T) {
	text := "one\ntwo foo\nthree\nfour\nfive\nsix foo\nfoo seven\neight\nnine\n"
	cases := []struct {
		name string
		q    Query
		want string // number, ":" or "-", text; "--" for a gap
	}{
		{"plain", Query{}, "2:two foo|6:six foo|7:foo seven"},
		{"before", Query{Before: 1}, "1-one|2:two foo|--|5-five|6:six foo|7:foo seven"},
		{"after", Query{After: 1}, "2:two foo|3-three|--|6:six foo|7:foo seven|8-eight"},
		{"around, meeting", Query{Before: 2, After: 2}, "1-one|2:two foo|3-three|4-four|5-five|6:six foo|7:foo seven|8-eight|9-nine"},
		{"kept", Query{Keep: 2}, "2:two foo|6:six foo"},
		{"only", Query{Only: true, Before: 1}, "2:foo|6:foo|7:foo"},
	}
	for _, ends := range []string{"\n", "\r\n"} {
		dir := tree(t, map[string]string{"f": strings.ReplaceAll(text, "\n", ends)})
		for _, c := range cases {
			c.q.Pattern, c.q.Mode = compile(t, "foo", Options{}), Lines
			found := grepAll(t, Tree{Root: dir}, c.q)
			if got := render(found.Files[0].Lines); got != c.want {
				t.Errorf("%s, %q: got %s, want %s", c.name, ends, got, c.want)
			}
		}
	}
}

func render(lines []Line) string {
	var out []string
	for _, l := range lines {
		if l.Gap {
			out = append(out, "--")
		}
		mark := "-"
		if l.Match {
			mark = ":"
		}
		out = append(out, fmt.Sprintf("%d%s%s", l.Number, mark, l.Text))
	}
	return strings.Join(out, "|")
}

func TestGrepMultiline(t *testing.T) {
	text := "a\nstart\nmid\nend\nb\nstart end\nc\n"
	cases := []struct {
		pattern string
		q       Query
		want    string
	}{
		{`start.*?end`, Query{}, "2:start|3:mid|4:end|6:start end"},
		{`start.*?end`, Query{Before: 1, After: 1}, "1-a|2:start|3:mid|4:end|5-b|6:start end|7-c"},
		{`start\nmid`, Query{After: 1}, "2:start|3:mid|4-end"},
		{`^end$`, Query{}, "4:end"},
		{`d\nb`, Query{Only: true}, "4:d|5:b"},
		{`nothing\nhere`, Query{}, ""},
	}
	for _, ends := range []string{"\n", "\r\n"} {
		dir := tree(t, map[string]string{"f": strings.ReplaceAll(text, "\n", ends)})
		for _, c := range cases {
			c.q.Pattern, c.q.Mode = compile(t, c.pattern, Options{Multiline: true}), Lines
			found := grepAll(t, Tree{Root: dir}, c.q)
			got := ""
			if len(found.Files) > 0 {
				got = render(found.Files[0].Lines)
			}
			if got != c.want {
				t.Errorf("%s, %q: got %s, want %s", c.pattern, ends, got, c.want)
			}
		}
	}
}

func TestKF015_SearchInOtherEncodings(t *testing.T) {
	utf16 := func(s string, bom bool) string {
		out := ""
		if bom {
			out = "\xFF\xFE"
		}
		for _, r := range s {
			out += string([]byte{byte(r), byte(r >> 8)})
		}
		return out
	}
	dir := tree(t, map[string]string{
		"latin1": "x caf\xE9 y\n", "utf8": "café\n", "utf8bom": "\uFEFFcafé\n", "utf16": utf16("nix\r\ncafé da\r\n", true), "utf16bare": utf16("ein café\n", false),
		"stray": "日本 é café \xE9\n", "cr": "a\rcafé\rb", "none": "cafe\n",
	})
	for _, pattern := range []string{`café`, `^.*caf\w( |$)`, `(?i)CAFÉ`, `\bcaf[é]`, `[^\x00-\x7F]`} {
		found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, pattern, Options{}), Mode: Lines})
		want := []string{"cr", "latin1", "stray", "utf16", "utf16bare", "utf8", "utf8bom"}
		got := names(found)
		if pattern == `[^\x00-\x7F]` || pattern == `café` {
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", pattern, d)
			}
		}
		for _, f := range found.Files {
			for _, l := range f.Lines {
				if strings.Contains(l.Text, "\uFFFD") || strings.Contains(l.Text, "\uFEFF") {
					t.Errorf("%s: %s shows %q", pattern, f.Rel, l.Text)
				}
			}
			if f.Rel == "utf16" && f.Lines[0].Number != 2 {
				t.Errorf("%s: line %d in %s", pattern, f.Lines[0].Number, f.Rel)
			}
		}
	}
	bom := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, `^café`, Options{}), Mode: Lines})
	if d := cmp.Diff([]string{"cr", "utf16", "utf8", "utf8bom"}, names(bom)); d != "" {
		t.Error("behind a byte order mark or a line end:", d)
	}
}

func TestGrepCarriageReturns(t *testing.T) {
	dir := tree(t, map[string]string{"crlf": "foo\r\n\r\nbar\r\n", "lf": "foo\n\nbar\n"})
	for pattern, want := range map[string][]string{`foo$`: {"crlf", "lf"}, `^$`: {"crlf", "lf"}, `\r$`: {"crlf"}, `foo\r`: {"crlf"}, `o\s*$`: {"crlf", "lf"}, `\s$`: {}} {
		if d := cmp.Diff(want, names(grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, pattern, Options{})}))); d != "" {
			t.Errorf("%s: %s", pattern, d)
		}
	}
}

func TestGrepCutsLongLines(t *testing.T) {
	dir := tree(t, map[string]string{"f": strings.Repeat("é", 3000) + "needle" + strings.Repeat("x", 3000) + "\n"})
	found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "needle", Options{}), Mode: Lines, Columns: 500})
	got := found.Files[0].Lines[0].Text
	if !strings.Contains(got, "needle") || len([]rune(got)) > 550 || !strings.Contains(got, "6006 characters") {
		t.Errorf("got %q", got)
	}
}

// A file larger than what is held at once must give the same as a small one.
func TestGrepLargeFile(t *testing.T) {
	var b strings.Builder
	want := 0
	for n := 1; b.Len() < 3*maxWindow; n++ {
		if n%50_000 == 0 {
			b.WriteString("needle here\n")
			want++
			continue
		}
		b.WriteString("an ordinary line of text\n")
	}
	dir := tree(t, map[string]string{"f": b.String()})
	for _, pattern := range []string{`needle`, `n\w{5} h`, `^[m-o]e+d`} {
		q := Query{Pattern: compile(t, pattern, Options{}), Mode: Lines, Before: 2, After: 1}
		found := grepAll(t, Tree{Root: dir}, q)
		if found.Files[0].Count != want || len(found.Files[0].Lines) != 4*want {
			t.Fatalf("%s: %d matches in %d lines, want %d in %d", pattern, found.Files[0].Count, len(found.Files[0].Lines), want, 4*want)
		}
		for i, l := range found.Files[0].Lines {
			if number := 50_000*(i/4+1) + i%4 - 2; l.Number != number || l.Match != (i%4 == 2) || l.Gap != (i%4 == 0 && i > 0) {
				t.Fatalf("%s: line %d is %+v, want number %d", pattern, i, l, number)
			}
		}
	}
}

func TestGrepOrderAndCounts(t *testing.T) {
	dir := tree(t, map[string]string{"old": "x\nx\n", "new": "x", "b": "y"})
	now := time.Now()
	for name, age := range map[string]time.Duration{"old": time.Hour, "new": 0} {
		if err := os.Chtimes(filepath.Join(dir, name), now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "x", Options{})})
	if found.Files[0].Rel != "new" || found.Files[1].Rel != "old" {
		t.Errorf("files are not newest first: %v", found.Files)
	}
	counts := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "x", Options{}), Mode: Counts})
	if counts.Files[0].Rel != "new" || counts.Files[0].Count != 1 || counts.Files[1].Count != 2 {
		t.Errorf("counts: %v", counts.Files)
	}
}

func TestGrepKeepsBoundedMuch(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("f%03d", i)] = strings.Repeat("x\n", 100)
	}
	dir := tree(t, files)
	found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "x", Options{}), Mode: Lines, Keep: 250})
	lines := 0
	for i, f := range found.Files {
		if f.Rel != fmt.Sprintf("f%03d", i) {
			t.Fatalf("file %d is %s", i, f.Rel)
		}
		lines += len(f.Lines)
	}
	if lines < 250 || lines > 2500 || found.Total != 300 || found.Cut {
		t.Errorf("%d lines kept, %d files in all, cut %v", lines, found.Total, found.Cut)
	}
}

func TestKF023_CancelStopsTheSearch(t *testing.T) {
	dir := tree(t, map[string]string{"a/b/c/d": "x", "e/f": "x"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	found, err := Grep(ctx, Tree{Root: dir}, Query{Pattern: compile(t, "x", Options{})})
	if err != nil || !found.Missed.Stopped {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestKF023_SparseFile(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "x"})
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(4 << 30); err != nil {
		t.Fatal(err)
	}
	for _, opt := range []Options{{}, {Multiline: true}} {
		found := grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "x", opt), MaxSize: 1 << 40})
		if d := cmp.Diff([]string{"a.txt"}, names(found)); d != "" || found.Missed.Binary != 1 {
			t.Error(d, found.Missed)
		}
	}
}

func TestKF022_OddNames(t *testing.T) {
	odd := []string{"[id].tsx", "a b.txt", "-n", "x\ny", "e\u0301.txt", "é.txt", strings.Repeat("n", 250), "*.md", "{a,b}"}
	files := map[string]string{}
	for _, n := range odd {
		files[n] = "needle " + n
	}
	dir := tree(t, files)
	slices.Sort(odd)
	if d := cmp.Diff(odd, names(grepAll(t, Tree{Root: dir}, Query{Pattern: compile(t, "needle", Options{})}))); d != "" {
		t.Error(d)
	}
	for _, n := range odd {
		found, err := Glob(context.Background(), Tree{Root: dir}, n, 0)
		if err != nil || len(found.Files) != 1 || found.Files[0].Path != filepath.Join(dir, n) {
			t.Errorf("Glob(%q) = %v, %v", n, found.Files, err)
		}
	}
}

func TestGlob(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.go": "", "b.ts": "", "c.tsx": "", ".hidden.go": "", "src/d.go": "", "src/x/e.go": "", "src/x/y/f.go": "", ".git/g.go": "", "link.go -> a.go": "",
		"dirlink -> src": "", "dead.go -> gone": "", "build/h.go": "", ".gitignore": "build/\n",
	})
	cases := map[string]string{
		"*.go":              ".hidden.go a.go dead.go link.go",
		"**/*.go":           ".hidden.go a.go build/h.go dead.go link.go src/d.go src/x/e.go src/x/y/f.go",
		"*.{ts,tsx}":        "b.ts c.tsx",
		"src/*.go":          "src/d.go",
		"src/*/*.go":        "src/x/e.go",
		"src/**/f.go":       "src/x/y/f.go",
		"./src/d.go":        "src/d.go",
		"src/**":            "src/d.go src/x/e.go src/x/y/f.go",
		"[ab].*":            "a.go b.ts",
		"?.ts":              "b.ts",
		"nowhere/**":        "",
		"a.go/**":           "",
		"{src,build}/*.go":  "build/h.go src/d.go",
		"src/{d,x/e}.go":    "src/d.go src/x/e.go",
		"../" + "nothing/*": "",
	}
	for pattern, want := range cases {
		found, err := Glob(context.Background(), Tree{Root: dir}, pattern, 0)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		var got []string
		for _, f := range found.Files {
			rel, _ := filepath.Rel(dir, f.Path)
			got = append(got, rel)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", pattern, got, want)
		}
	}
	ignoring, err := Glob(context.Background(), Tree{Root: dir, Ignore: true, NoHidden: true}, "**/*.go", 0)
	if err != nil || ignoring.Total != 6 {
		t.Errorf("ignoring: %v, %v", ignoring, err)
	}
	for pattern, want := range map[string]string{"[a": "[ is not closed", "{a": "{ is not closed", "": "empty", "a\x00": "NUL", `a\`: "backslash"} {
		var g *GlobError
		if _, err := Glob(context.Background(), Tree{Root: dir}, pattern, 0); !errors.As(err, &g) || !strings.Contains(err.Error(), want) {
			t.Errorf("Glob(%q) = %v, want a GlobError about %s", pattern, err, want)
		}
	}
	if _, err := Glob(context.Background(), Tree{Root: filepath.Join(dir, "none")}, "*", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing root: %v", err)
	}
}

func TestGlobNewestFirst(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("f%02d", i)] = ""
	}
	dir := tree(t, files)
	base := time.Now()
	for i := range 20 {
		at := base.Add(-time.Duration(i*7%20) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, fmt.Sprintf("f%02d", i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Glob(context.Background(), Tree{Root: dir}, "*", 5)
	if err != nil || found.Total != 20 || len(found.Files) != 5 {
		t.Fatalf("got %v, %v", found, err)
	}
	for i, f := range found.Files {
		if n := 0; filepath.Base(f.Path) != fmt.Sprintf("f%02d", func() int {
			for n*7%20 != i {
				n++
			}
			return n
		}()) {
			t.Errorf("place %d has %s", i, f.Path)
		}
	}
}

func TestFilter(t *testing.T) {
	cases := []struct {
		globs, kind string
		yes, no     []string
	}{
		{"", "", []string{"a", "a/b"}, nil},
		{"*.go", "", []string{"a.go", "x/a.go"}, []string{"a.ts", "a.go.bak"}},
		{"*.{ts,tsx}", "", []string{"a.ts", "x/b.tsx"}, []string{"a.js"}},
		{"*.ts,*.js", "", []string{"a.ts", "b.js"}, []string{"c.go"}},
		{"*.ts *.js", "", []string{"a.ts", "b.js"}, []string{"c.go"}},
		{"!*.min.js", "", []string{"a.js"}, []string{"a.min.js", "x/a.min.js"}},
		{"*.js,!*.min.js", "", []string{"a.js"}, []string{"a.min.js", "a.ts"}},
		{"src/**/*.go", "", []string{"src/a.go", "src/x/y.go"}, []string{"a.go", "lib/src/a.go"}},
		{"src", "", []string{"src/a.go", "lib/src/x"}, []string{"a.go"}},
		{"./src/*.go", "", []string{"src/a.go"}, []string{"a.go"}},
		{"a b.txt", "", []string{"a b.txt"}, []string{"a", "b.txt"}},
		{`\[id\].tsx`, "", []string{"app/[id].tsx"}, []string{"app/i.tsx"}},
		{"{a,{b,c}}.x", "", []string{"a.x", "b.x", "c.x"}, []string{"d.x"}},
		{"", "go", []string{"x/a.go"}, []string{"a.rs"}},
		{"", "python", []string{"a.py", "b.pyi"}, []string{"a.rb"}},
		{"", "make", []string{"Makefile", "x/GNUmakefile"}, []string{"make.txt"}},
		{"*_test*", "go", []string{"a_test.go"}, []string{"a.go", "a_test.rs"}},
	}
	for _, c := range cases {
		f, err := NewFilter(c.globs, c.kind)
		if err != nil {
			t.Errorf("%q %q: %v", c.globs, c.kind, err)
			continue
		}
		for _, s := range c.yes {
			if !f.Match(s) {
				t.Errorf("%q %q leaves out %s", c.globs, c.kind, s)
			}
		}
		for _, s := range c.no {
			if f.Match(s) {
				t.Errorf("%q %q lets through %s", c.globs, c.kind, s)
			}
		}
	}
	for _, bad := range []struct{ globs, kind, want string }{{"[a", "", "not closed"}, {"", "tsx", "ts"}, {"", "klingon", "glob"}} {
		if _, err := NewFilter(bad.globs, bad.kind); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("NewFilter(%q, %q) = %v", bad.globs, bad.kind, err)
		}
	}
	for name := range fileTypes() {
		if _, err := NewFilter("", name); err != nil {
			t.Errorf("type %s: %v", name, err)
		}
	}
}

// The search as a whole must find what a plain loop over lines finds.
func TestPropertyGrepIsALoopOverLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	atoms := []string{"foo", "ba", "x", `\w`, `\d+`, ".", "[a-f]", "(o|ar)", `\b`, "^", "$", `\s`, "é", "[^b]", "(?i:FO)", "q?"}
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(rapid.SampledFrom(atoms), 1, 5).Draw(t, "pattern"), "")
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"foo", "bar", "x", "1", "é", " ", "FOO", "ſ", "K", "k"}), 0, 6)
		lines := rapid.SliceOfN(words, 0, 12).Draw(t, "lines")
		text, want := "", []string{}
		p, err := Compile(pattern, Options{IgnoreCase: rapid.Bool().Draw(t, "fold")})
		if err != nil {
			t.Fatal(err)
		}
		full, err := translate(pattern, false)
		if err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(p.opt.flags() + full)
		for i, l := range lines {
			line := strings.Join(l, "")
			text += line + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
			if re.MatchString(line) {
				want = append(want, fmt.Sprintf("%d:%s", i+1, line))
			}
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		found, err := GrepFile(context.Background(), path, path, Query{Pattern: p, Mode: Lines})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(found.Files) > 0 {
			got = render(found.Files[0].Lines)
		}
		if got != strings.Join(want, "|") {
			t.Fatalf("%q in %q: got %s, want %s", pattern, text, got, strings.Join(want, "|"))
		}
	})
}
