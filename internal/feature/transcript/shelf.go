package transcript

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
	"unicode/utf16"
)

// ErrNotFound is returned when no session has the id or title asked for.
var ErrNotFound = errors.New("no such conversation")

// Shelf is where transcripts are: below projects/ of the home, which is written, and of guests,
// which are only read. Lists and everything that opens a session go through the same functions, so
// what is listed is found.
type Shelf struct {
	Home   string   // absolute
	Guests []string // homes of other programs whose sessions are shown too, absolute
	// Public makes every folder's name its bare [Key], as the Agent SDKs expect it. Otherwise a folder
	// whose key another one took first gets a name of its own.
	Public bool
}

type folder struct {
	path  string
	guest bool
}

// Key is the name of the folder in which the sessions of a working directory are: its real path
// with every character but ASCII letters and digits replaced by "-"; a name over 200 characters is
// cut and ends with a hash. (Published by the Agent SDKs, which compute it themselves.)
func Key(cwd string) string {
	cwd = realPath(cwd)
	units := utf16.Encode([]rune(cwd)) // the reference counts in them
	name := make([]byte, len(units))
	hash := int32(0)
	for i, u := range units {
		hash = hash<<5 - hash + int32(u)
		name[i] = '-'
		if u < 0x80 && (u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9') {
			name[i] = byte(u)
		}
	}
	if len(name) <= 200 {
		return string(name)
	}
	h := int64(hash)
	if h < 0 {
		h = -h
	}
	return string(name[:200]) + "-" + strconv.FormatInt(h, 36)
}

// realPath resolves links; a path that is gone stays as it is.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Dir is the folder of the sessions of a working directory. It need not exist. Different paths can
// have the same [Key]: the one that came second gets a folder with a hash of its path in the name.
func (s Shelf) Dir(cwd string) string {
	dir := filepath.Join(s.Home, "projects", Key(cwd))
	if s.Public || !ofAnother(dir, cwd) {
		return dir
	}
	return dir + ownSuffix(cwd)
}

func ownSuffix(cwd string) string {
	sum := sha256.Sum256([]byte(realPath(cwd)))
	return "-" + hex.EncodeToString(sum[:4])
}

// ofAnother reports whether a folder holds sessions of a path with the same key, and none of cwd.
func ofAnother(dir, cwd string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	other := false
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".jsonl") {
			continue
		}
		info, err := ReadInfo(filepath.Join(dir, e.Name()))
		switch {
		case err != nil || info.Cwd == "":
		case sameKeyOnly(info, cwd):
			other = true
		default:
			return false
		}
	}
	return other
}

// sameKeyOnly reports whether a session began in another folder that merely has the key of cwd.
func sameKeyOnly(i Info, cwd string) bool {
	if i.Cwd == "" || i.Cwd == cwd {
		return false
	}
	began, now := realPath(i.Cwd), realPath(cwd)
	return began != now && Key(began) == Key(now)
}

// Path is the transcript of a session of a working directory. It need not exist.
func (s Shelf) Path(cwd, session string) string {
	return filepath.Join(s.Dir(cwd), session+".jsonl")
}

// SessionDir is the folder beside a transcript that holds what belongs to the session: sidechains,
// large results.
func SessionDir(path string) string { return strings.TrimSuffix(path, ".jsonl") }

// folders of a working directory; of all of them when cwd is empty.
func (s Shelf) folders(cwd string) ([]folder, error) {
	var out []folder
	for i, home := range append([]string{s.Home}, s.Guests...) {
		projects := filepath.Join(home, "projects")
		if cwd != "" {
			key := filepath.Join(projects, Key(cwd))
			out = append(out, folder{key, i > 0}, folder{key + ownSuffix(cwd), i > 0})
			continue
		}
		entries, err := os.ReadDir(projects)
		if err != nil && !os.IsNotExist(err) {
			return nil, fmt.Errorf("list transcripts: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				out = append(out, folder{filepath.Join(projects, e.Name()), i > 0})
			}
		}
	}
	return out, nil
}

// List returns the sessions of a working directory, the newest first; those of all when cwd is
// empty. It reads only the ends of the files. What cannot be read is left out.
func (s Shelf) List(cwd string) ([]Info, error) {
	folders, err := s.folders(cwd)
	if err != nil {
		return nil, err
	}
	return listOf(folders, cwd)
}

// listOf lists folders without the sessions of paths that merely have the key of cwd.
func listOf(folders []folder, cwd string) ([]Info, error) {
	all, err := list(folders)
	if err != nil || cwd == "" {
		return all, err
	}
	return slices.DeleteFunc(all, func(i Info) bool { return sameKeyOnly(i, cwd) }), nil
}

// Newest returns the session of a working directory that was written last, for --continue.
// [ErrNotFound] when there is none in which somebody spoke.
func (s Shelf) Newest(cwd string) (Info, error) {
	all, err := s.List(cwd)
	if err != nil {
		return Info{}, err
	}
	for _, i := range all {
		if i.FirstPrompt != "" || i.LastPrompt != "" {
			return i, nil
		}
	}
	return Info{}, fmt.Errorf("%w in this folder", ErrNotFound)
}

// Resolve finds a session by its id, the path of its transcript, its title, or the beginning of its
// id: first among those of the working directory, then among all. A title that several sessions
// have is an error that names them; an unknown one is [ErrNotFound].
func (s Shelf) Resolve(query, cwd string) (Info, error) {
	if query == "" {
		return Info{}, fmt.Errorf("%w: No conversation found with session ID: (none given)", ErrNotFound)
	}
	if info, ok, err := s.byPath(query); ok || err != nil {
		return info, err
	}
	for _, where := range []string{cwd, ""} {
		folders, err := s.folders(where)
		if err != nil {
			return Info{}, err
		}
		if info, ok := byID(folders, query); ok {
			return info, nil
		}
		all, err := listOf(folders, where)
		if err != nil {
			return Info{}, err
		}
		for _, same := range []func(Info) bool{
			func(i Info) bool { return strings.EqualFold(i.CustomTitle, query) },
			func(i Info) bool { return strings.EqualFold(i.AITitle, query) },
			func(i Info) bool { return len(query) >= 6 && strings.HasPrefix(i.ID, query) },
		} {
			if info, ok, err := only(all, query, same); ok || err != nil {
				return info, err
			}
		}
	}
	return Info{}, fmt.Errorf("%w: No conversation found with session ID: %s", ErrNotFound, query)
}

func (s Shelf) byPath(query string) (Info, bool, error) {
	if !filepath.IsAbs(query) || filepath.Ext(query) != ".jsonl" {
		return Info{}, false, nil
	}
	info, err := ReadInfo(query)
	if err != nil {
		return Info{}, false, err
	}
	rel, err := filepath.Rel(s.Home, query)
	info.Guest = err != nil || !filepath.IsLocal(rel)
	return info, true, nil
}

func byID(folders []folder, id string) (Info, bool) {
	if id == "" || strings.ContainsAny(id, `/\`) {
		return Info{}, false
	}
	for _, f := range folders {
		if info, err := ReadInfo(filepath.Join(f.path, id+".jsonl")); err == nil {
			info.Guest = f.guest
			return info, true
		}
	}
	return Info{}, false
}

// only returns the one session that is the same.
func only(all []Info, query string, same func(Info) bool) (Info, bool, error) {
	found := slices.DeleteFunc(slices.Clone(all), func(i Info) bool { return !same(i) })
	switch len(found) {
	case 0:
		return Info{}, false, nil
	case 1:
		return found[0], true, nil
	}
	ids := make([]string, len(found))
	for i, f := range found {
		ids[i] = f.ID
	}
	return Info{}, false, fmt.Errorf("several conversations are called %q: %s", query, strings.Join(ids, ", "))
}
