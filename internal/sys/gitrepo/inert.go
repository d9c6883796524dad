package gitrepo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The most that is read of a repository before it counts as not inert.
const (
	maxConfig = 256 << 10
	maxHooks  = 256
)

// Obstacle is something in a repository that could make even a reading git command run a program,
// fetch, or work on another place.
type Obstacle struct {
	File string // where it stands
	Line int    // 0: it is about the whole file
	Key  string // the key as git names it, "core.fsmonitor"; empty: it is not about a key
	Why  string // a clause for people: "may run a program"
}

// String is one line: the place, the key and the reason.
func (o Obstacle) String() string {
	place := o.File
	if o.Line > 0 {
		place = fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	if o.Key != "" {
		return place + ": " + o.Key + " " + o.Why
	}
	return place + " " + o.Why
}

// Inert returns the first obstacle to running a reading git command in dir although nobody trusts
// the folder; nil means there is none, or no repository. It reads files as data, runs nothing,
// follows no link to them and reads no more than a bounded part of anything. It sees what git would
// find from dir: the repository's configuration, its hooks, and the submodules that status would look
// into. The person's own configuration of git is not looked at.
func Inert(dir string) *Obstacle {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // git, too, begins at the real place
	}
	if err != nil {
		return &Obstacle{File: dir, Why: "cannot be resolved: " + err.Error()}
	}
	for {
		found, o := inertAt(dir)
		if o != nil || found {
			return o
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}

// inertAt looks at one folder on the way up. found tells that git stops here for certain; what git
// might pass over is looked at and passed over, too.
func inertAt(dir string) (found bool, o *Obstacle) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Lstat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, &Obstacle{File: dot, Why: "cannot be read: " + err.Error()}
	case info.Mode()&fs.ModeSymlink != 0:
		return false, &Obstacle{File: dot, Why: "is a symbolic link"}
	default:
		if r, ok := at(dir); ok {
			if o := r.obstacle(); o != nil {
				return true, o
			}
			return certainHead(r.GitDir), nil
		}
		if !info.IsDir() {
			return false, &Obstacle{File: dot, Why: "does not lead to a repository"}
		}
		if _, err := os.Lstat(filepath.Join(dot, "HEAD")); err == nil {
			return false, &Obstacle{File: dot, Why: "is no whole repository"}
		}
	}
	if isGitDir(dir) { // a folder that is itself the metadata: git takes it for a bare repository
		return true, &Obstacle{File: dir, Why: "looks like a bare repository"}
	}
	return false, nil
}

// certainHead tells whether git accepts the HEAD of a repository. Where it does not, it looks
// further up.
func certainHead(gitDir string) bool {
	text, err := readRegular(filepath.Join(gitDir, "HEAD"), 4<<10)
	if err != nil {
		return false
	}
	text = strings.TrimRight(text, "\r\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t"), "refs/")
	}
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// obstacle looks at the metadata of one repository.
func (r Repo) obstacle() *Obstacle {
	if r.Doubt != "" {
		return &Obstacle{File: filepath.Join(r.Root, ".git"), Why: "is doubtful: " + r.Doubt}
	}
	file := filepath.Join(r.CommonDir, "config")
	text, err := readRegular(file, maxConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return &Obstacle{File: file, Why: "cannot be read as data: " + err.Error()}
	default:
		if o := inertConfig(text); o != nil {
			o.File = file
			return o
		}
	}
	if o := hooks(filepath.Join(r.CommonDir, "hooks")); o != nil {
		return o
	}
	return submodules(filepath.Join(r.GitDir, "index"))
}

// hooks finds a hook that git would run; status alone runs post-index-change.
func hooks(dir string) *Obstacle {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Obstacle{File: dir, Why: "cannot be read: " + err.Error()}
	}
	defer f.Close()
	names, err := f.Readdirnames(maxHooks)
	if err != nil && !errors.Is(err, io.EOF) {
		return &Obstacle{File: dir, Why: "cannot be read: " + err.Error()}
	}
	if len(names) == maxHooks {
		return &Obstacle{File: dir, Why: "holds too many files to look at"}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sample") {
			return &Obstacle{File: filepath.Join(dir, name), Why: "is a hook, which git runs"}
		}
	}
	return nil
}

// readRegular reads a file that is no link, no pipe and no device, and not larger than most.
func readRegular(file string, most int64) (string, error) {
	before, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // should it become a pipe meanwhile
	if err != nil {
		return "", err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !os.SameFile(before, now) {
		return "", errors.New("it was exchanged while it was read")
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > most {
		return "", fmt.Errorf("it is larger than %d bytes", most)
	}
	return string(data), nil
}
