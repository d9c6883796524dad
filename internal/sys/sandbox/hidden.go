package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What may not be read is there and cannot be opened: over a file lies an empty one that nobody may
// open, over a folder one in which the same names are seen and nothing can be opened. So a program that
// compares sees something unreadable and not something that was deleted.
//
// These stand-ins are made once, in the folder of the box, and named after what they hold, so that
// sessions share them and nothing has to be taken away after a command, or after a crash.

// The bounds of what stands in.
const (
	maxStandIns  = 1000 // names in one folder; of a folder with more none is seen
	keepStandIns = 300  // folders that are kept; older than a week go when there are more
)

// standIns is the folder of the stand-ins.
func (b *Box) standIns() string { return filepath.Join(b.opts.StateDir, "hidden") }

// standIn makes what is seen in the place of a hidden path and returns where it lies. open is what of a
// folder can be reached all the same: then it needs a way through, and its names can be looked at, too.
// A closed folder shows nothing but that.
func (b *Box) standIn(path string, dir, closed bool, open []string) (string, error) {
	if !dir && closed {
		return b.madeOnce("file", emptyFile)
	}
	if !dir {
		return likeFile(b, path)
	}
	var names []string
	if !closed {
		names = fileNames(path)
	}
	var ways []string
	for _, o := range open {
		st, err := os.Lstat(o)
		if err != nil {
			continue // gone meanwhile: nothing is mounted there
		}
		rel, err := filepath.Rel(path, o)
		if err != nil {
			return "", fmt.Errorf("hide %s: %w", path, err)
		}
		if st.IsDir() {
			rel += "/"
		}
		ways = append(ways, rel)
	}
	slices.Sort(ways)
	if closed {
		ways = append(ways, "./") // so that it can be listed
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\x00") + "\x00\x00" + strings.Join(ways, "\x00")))
	return b.madeOnce(hex.EncodeToString(sum[:16]), func(at string) error { return standInFolder(at, names, ways) })
}

// likeFile stands in for a file that a rule forbids to read. It has the size and the times of what it stands for,
// so that git, told to go by these, takes a file that did not change for unchanged, and goes on.
func likeFile(b *Box, path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return b.madeOnce("file", emptyFile) // gone meanwhile
	}
	mode := st.Mode() & 0o111 // git compares it; it holds nothing to run
	return b.madeOnce(fmt.Sprintf("file-%d-%d-%o", st.Size(), st.ModTime().UnixNano(), mode), func(at string) error {
		return errors.Join(unreadable(at, st.Size()), os.Chmod(at, mode), os.Chtimes(at, st.ModTime(), st.ModTime()))
	})
}

// byTimes has git go by the sizes and times of files alone, where the program cannot read one that git may keep.
// It adds to the configuration that the environment gives.
func byTimes(env []string) []string {
	n := 0
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "GIT_CONFIG_COUNT="); ok {
			if count, err := strconv.Atoi(value); err == nil && count > 0 { // git itself refuses others
				n = count
			}
		}
	}
	env = append(without(env, "GIT_CONFIG_COUNT"), fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+2))
	for i, kv := range [][2]string{{"core.checkStat", "minimal"}, {"core.trustctime", "false"}} {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n+i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n+i, kv[1]))
	}
	return env
}

// hidesFiles says whether a rule forbids to read a file that can lie in a repository.
func hidesFiles(p *plan) bool {
	return slices.ContainsFunc(p.hide, func(path string) bool { return !slices.Contains(p.closed, path) && !isDir(path) })
}

// madeOnce returns what is called name among the stand-ins, made by fill if it is not there.
func (b *Box) madeOnce(name string, fill func(at string) error) (string, error) {
	to := filepath.Join(b.standIns(), name)
	if exists(to) {
		return to, nil
	}
	if err := os.MkdirAll(b.standIns(), 0o700); err != nil {
		return "", fmt.Errorf("make what stands in for hidden files: %w", err)
	}
	b.dropOldStandIns()
	at := to + "." + uuid.NewString()
	err := fill(at)
	if err == nil {
		err = os.Rename(at, to)
	}
	if err != nil {
		removeStandIn(at)
		if exists(to) { // another was quicker
			return to, nil
		}
		return "", fmt.Errorf("make what stands in for hidden files: %w", err)
	}
	return to, nil
}

// dropOldStandIns bounds how many there are. No command runs for a week.
func (b *Box) dropOldStandIns() {
	entries, err := os.ReadDir(b.standIns())
	if err != nil || len(entries) <= keepStandIns {
		return
	}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && time.Since(changeTime(st)) > 7*24*time.Hour {
			removeStandIn(filepath.Join(b.standIns(), e.Name()))
		}
	}
}

func removeStandIn(path string) {
	_ = os.Chmod(path, 0o700) // so that it can be emptied; not there: nothing to remove
	_ = os.RemoveAll(path)
}

// fileNames lists the files of a folder that is to be hidden, sorted; none: there are none, more than
// can stand in, or they cannot be listed.
func fileNames(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []string
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if !e.IsDir() {
				out = append(out, e.Name())
			}
		}
		if len(out) > maxStandIns {
			return nil
		}
		if err != nil {
			slices.Sort(out)
			return out
		}
	}
}

// standInFolder fills a folder with names, and with ways to what stays open: folders end in a slash.
func standInFolder(at string, names, ways []string) error {
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	for _, way := range ways {
		to := filepath.Join(at, way)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		var err error
		if strings.HasSuffix(way, "/") {
			err = os.MkdirAll(to, 0o755)
		} else {
			err = emptyFile(to)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := emptyFile(filepath.Join(at, name)); err != nil {
			return err
		}
	}
	mode := os.FileMode(0o444)
	switch {
	case len(ways) > 0:
		mode = 0o555
	case len(names) == 0:
		mode = 0
	}
	return os.Chmod(at, mode)
}

// emptyFile makes a file that nobody may open. One that is there already will do.
func emptyFile(path string) error { return unreadable(path, 0) }

// unreadable is [emptyFile] with a size: it holds nothing, and takes no room.
func unreadable(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}
