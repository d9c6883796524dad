package gitrepo_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// git runs the real git as a person would, with a configuration of its own.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

// tempDir is a folder without symbolic links in its name.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func repo(t *testing.T, dir string) string {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	git(t, dir, "init", "-q", "-b", "trunk")
	put(t, filepath.Join(dir, "f"), "1\n")
	git(t, dir, "add", "f")
	git(t, dir, "commit", "-q", "-m", "first commit")
	return dir
}

func find(t *testing.T, dir string) gitrepo.Repo {
	t.Helper()
	r, err := gitrepo.Find(dir)
	must(t, err)
	return r
}

func TestFindOrdinary(t *testing.T) {
	dir := repo(t, filepath.Join(tempDir(t), "r"))
	sub := filepath.Join(dir, "a", "b")
	must(t, os.MkdirAll(sub, 0o755))
	dot := filepath.Join(dir, ".git")
	want := gitrepo.Repo{Root: dir, GitDir: dot, CommonDir: dot, Main: dir}
	if diff := cmp.Diff(want, find(t, sub)); diff != "" {
		t.Error(diff)
	}
	branch, detached, err := want.Branch()
	if branch != "trunk" || detached || err != nil {
		t.Errorf("branch %q %t %v", branch, detached, err)
	}
	git(t, dir, "checkout", "-q", "--detach")
	if branch, detached, _ = want.Branch(); !detached || branch != git(t, dir, "rev-parse", "HEAD") {
		t.Errorf("branch %q %t", branch, detached)
	}
}

func TestFindNone(t *testing.T) {
	dir := tempDir(t)
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755)) // empty: git does not take it either
	if r, err := gitrepo.Find(dir); !errors.Is(err, gitrepo.ErrNone) {
		t.Errorf("%+v, %v", r, err)
	}
	put(t, filepath.Join(dir, "x", ".git"), "not a gitfile")
	if r, err := gitrepo.Find(filepath.Join(dir, "x")); !errors.Is(err, gitrepo.ErrNone) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestFindWorktreeAndSubmodule(t *testing.T) {
	base := tempDir(t)
	main := repo(t, filepath.Join(base, "main"))
	tree := filepath.Join(base, "tree")
	git(t, main, "worktree", "add", "-q", "-b", "side", tree)
	r := find(t, tree)
	want := gitrepo.Repo{
		Root: tree, GitDir: filepath.Join(main, ".git", "worktrees", "tree"),
		CommonDir: filepath.Join(main, ".git"), Main: main, Linked: true,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if branch, _, _ := r.Branch(); branch != "side" {
		t.Errorf("branch %q", branch)
	}
	other := repo(t, filepath.Join(base, "other"))
	git(t, main, "-c", "protocol.file.allow=always", "submodule", "add", "-q", other, "sub")
	s := find(t, filepath.Join(main, "sub"))
	if s.Root != filepath.Join(main, "sub") || s.Main != s.Root || s.Linked || s.Doubt != "" {
		t.Errorf("submodule: %+v", s)
	}
}

// A folder that says it belongs to a trusted repository is not that repository.
func TestKF049_ClaimsOfAForeignFolder(t *testing.T) {
	base := tempDir(t)
	trusted := repo(t, filepath.Join(base, "trusted"))
	tree := filepath.Join(base, "tree")
	git(t, trusted, "worktree", "add", "-q", "-b", "side", tree)
	dot := filepath.Join(trusted, ".git")

	hostile := func(name string) string { return filepath.Join(base, name) }
	put(t, filepath.Join(hostile("points-at-worktree"), ".git"), "gitdir: "+filepath.Join(dot, "worktrees", "tree")+"\n")
	put(t, filepath.Join(hostile("points-at-main"), ".git"), "gitdir: "+dot+"\n")
	fake := filepath.Join(hostile("own-metadata"), "meta")
	put(t, filepath.Join(fake, "HEAD"), "ref: refs/heads/trunk\n")
	put(t, filepath.Join(fake, "commondir"), dot+"\n")
	put(t, filepath.Join(fake, "gitdir"), filepath.Join(hostile("own-metadata"), ".git")+"\n")
	put(t, filepath.Join(hostile("own-metadata"), ".git"), "gitdir: meta\n")
	put(t, filepath.Join(hostile("real-folder"), ".git", "HEAD"), "ref: refs/heads/trunk\n")
	put(t, filepath.Join(hostile("real-folder"), ".git", "commondir"), dot+"\n")

	must(t, os.MkdirAll(hostile("link"), 0o755))
	must(t, os.Symlink(dot, filepath.Join(hostile("link"), ".git")))

	for _, name := range []string{"points-at-worktree", "points-at-main", "own-metadata", "real-folder", "link"} {
		r := find(t, hostile(name))
		if r.Root != hostile(name) || r.Main != r.Root || r.Linked {
			t.Errorf("%s: %+v", name, r)
		}
		if name != "points-at-main" && name != "link" && r.Doubt == "" {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

func TestStatusAndLog(t *testing.T) {
	ctx := context.Background()
	g := gitrepo.Git{}
	dir := filepath.Join(tempDir(t), "r")
	must(t, os.MkdirAll(dir, 0o755))
	git(t, dir, "init", "-q", "-b", "trunk")
	if log, err := g.Log(ctx, dir, 5); err != nil || log != nil {
		t.Errorf("log of nothing: %v %v", log, err)
	}
	if s, err := g.Status(ctx, dir, 0); err != nil || !s.Clean() || s.Commit != "" || s.Branch != "trunk" {
		t.Errorf("status of nothing: %+v %v", s, err)
	}
	repo(t, dir)
	git(t, dir, "mv", "f", "new name")
	put(t, filepath.Join(dir, "ö\nü"), "x")
	put(t, filepath.Join(dir, "staged"), "x")
	git(t, dir, "add", "staged")
	s, err := g.Status(ctx, dir, 0)
	must(t, err)
	want := []gitrepo.Change{{Code: "R ", Path: "new name", From: "f"}, {Code: "A ", Path: "staged"}, {Code: "??", Path: "ö\nü"}}
	if diff := cmp.Diff(want, s.Changes); diff != "" || s.Cut {
		t.Errorf("cut %t (-want +got):\n%s", s.Cut, diff)
	}
	if s, _ = g.Status(ctx, dir, 2); !s.Cut || len(s.Changes) != 2 {
		t.Errorf("bounded: %+v", s)
	}
	if s, _ = (gitrepo.Git{Limit: 100}).Status(ctx, dir, 0); !s.Cut {
		t.Errorf("cut output: %+v", s)
	}
	log, err := g.Log(ctx, dir, 5)
	if err != nil || len(log) != 1 || !strings.HasSuffix(log[0], " first commit") {
		t.Errorf("log %v %v", log, err)
	}
	for path, want := range map[string]bool{"staged": true, "ö\nü": false, filepath.Join(dir, "new name"): true} {
		if got, err := g.Tracked(ctx, dir, path); got != want || err != nil {
			t.Errorf("tracked %q: %t %v", path, got, err)
		}
	}
	if _, err := g.Tracked(ctx, t.TempDir(), "x"); err == nil {
		t.Error("tracked outside of a repository: no error")
	}
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	dir := repo(t, filepath.Join(tempDir(t), "r"))
	mark := filepath.Join(tempDir(t), "ran")
	script := filepath.Join(dir, "evil.sh")
	put(t, script, "#!/bin/sh\ntouch "+mark+"\ncat\n")
	must(t, os.Chmod(script, 0o755))
	for _, key := range []string{"core.fsmonitor", "core.pager", "diff.external", "core.editor", "core.sshCommand", "core.askPass"} {
		git(t, dir, "config", key, script)
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "pre-commit"} {
		put(t, filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\ntouch "+mark+"\n")
		must(t, os.Chmod(filepath.Join(dir, ".git", "hooks", hook), 0o755))
	}
	put(t, filepath.Join(dir, "f"), "2\n")
	g := gitrepo.Git{}
	_, err := g.Status(context.Background(), dir, 0)
	must(t, err)
	_, err = g.Log(context.Background(), dir, 1)
	must(t, err)
	_, err = g.Tracked(context.Background(), dir, "f")
	must(t, err)
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of the repository ran")
	}
	// The trap works: without our flags it would have run.
	cmd := exec.Command("git", "status")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error("the trap of this test does not work")
	}
}

func TestEnvironmentCannotPointElsewhere(t *testing.T) {
	a := repo(t, filepath.Join(tempDir(t), "a"))
	b := repo(t, filepath.Join(tempDir(t), "b"))
	put(t, filepath.Join(a, "only in a"), "")
	g := gitrepo.Git{Env: append(os.Environ(), "GIT_DIR="+filepath.Join(b, ".git"), "GIT_WORK_TREE="+b, "GIT_EXTERNAL_DIFF=false")}
	s, err := g.Status(context.Background(), a, 0)
	if err != nil || len(s.Changes) != 1 || s.Changes[0].Path != "only in a" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := (gitrepo.Git{}).Run(ctx, t.TempDir(), "status"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	if _, err := (gitrepo.Git{Program: "/nowhere/git"}).Run(context.Background(), t.TempDir(), "status"); err == nil {
		t.Error("a program that is not there ran")
	}
}

func TestGlobalExcludes(t *testing.T) {
	home := tempDir(t)
	g := gitrepo.Git{Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	got, err := g.GlobalExcludes(context.Background(), home)
	if want := filepath.Join(home, ".config", "git", "ignore"); got != want || err != nil {
		t.Errorf("default: %q %v", got, err)
	}
	g.Env = append(g.Env, "XDG_CONFIG_HOME="+filepath.Join(home, "xdg"))
	if got, _ = g.GlobalExcludes(context.Background(), home); got != filepath.Join(home, "xdg", "git", "ignore") {
		t.Errorf("XDG: %q", got)
	}
	put(t, filepath.Join(home, ".gitconfig"), "[core]\n\texcludesFile = ~/my-ignores\n")
	got, err = g.GlobalExcludes(context.Background(), home)
	if got != filepath.Join(home, "my-ignores") || err != nil {
		t.Errorf("configured: %q %v", got, err)
	}
	for range 2 {
		must(t, gitrepo.AddPattern(got, "**/.x/settings.local.json"))
	}
	put(t, got+"2", "a")
	must(t, gitrepo.AddPattern(got+"2", "b"))
	one, _ := os.ReadFile(got)
	two, _ := os.ReadFile(got + "2")
	if string(one) != "**/.x/settings.local.json\n" || string(two) != "a\nb\n" {
		t.Errorf("files hold %q and %q", one, two)
	}
}
