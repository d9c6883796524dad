package confine

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// The bounds of what a cache takes over from the machine's; what is missing is fetched again.
const (
	smallFile  = 64 << 10  // bytes: larger files are linked
	maxSeed    = 512 << 20 // bytes that are copied
	maxEntries = 30_000
)

// seed fills a folder that is not there yet with parts of another. It is made beside the cache, where no
// command can write, and moved in when it is whole.
func seed(from, to string, parts []string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at, err := os.MkdirTemp(filepath.Dir(filepath.Dir(to)), ".seed-")
	if err != nil {
		return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
	}
	defer os.RemoveAll(at) // moved away when all went well
	s := seeding{bytes: maxSeed, entries: maxEntries}
	for _, part := range parts {
		if err := s.tree(filepath.Join(from, part), filepath.Join(at, part)); err != nil {
			return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
		}
	}
	if err := os.Rename(at, to); err != nil && !errors.Is(err, fs.ErrExist) { // another command was quicker
		return fmt.Errorf("make a copy of %s for the sandbox: %w", from, err)
	}
	return nil
}

// seeding is what may still be taken over.
type seeding struct {
	bytes   int64
	entries int
}

// tree takes over a file or a folder: folders are made, small files are copied, for programs write to them,
// and large ones and links are linked to. What cannot be read is left out.
func (s *seeding) tree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil
		case err != nil:
			return err
		case s.entries <= 0:
			return fs.SkipAll
		}
		s.entries--
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return s.entry(path, filepath.Join(to, rel), d)
	})
}

func (s *seeding) entry(from, to string, d fs.DirEntry) error {
	if d.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	st, err := d.Info()
	if err != nil || strings.HasSuffix(from, ".lock") || strings.HasSuffix(from, ".lck") {
		return nil // gone meanwhile, or another's
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	if !st.Mode().IsRegular() || st.Size() > smallFile || st.Size() > s.bytes {
		return os.Symlink(from, to)
	}
	data, err := nolink.ReadFile(from, smallFile)
	if errors.Is(err, nolink.ErrTooLarge) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	s.bytes -= int64(len(data))
	if err := nolink.WriteFile(to, data); err != nil {
		return err
	}
	return os.Chmod(to, st.Mode().Perm()|0o600) // programs stay programs
}

// settled is what a file of lines NAME=value says of a name.
func settled(file, name string) string {
	data, err := nolink.ReadFile(file, smallFile)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}

// mirrors writes the mirrors of maven's settings, without the passwords of their addresses, to a file that is
// not there yet. Settings that cannot be read have none.
func mirrors(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	type mirror struct {
		ID       string `xml:"id,omitempty"`
		Name     string `xml:"name,omitempty"`
		URL      string `xml:"url"`
		MirrorOf string `xml:"mirrorOf"`
		Blocked  string `xml:"blocked,omitempty"`
	}
	var settings struct {
		XMLName xml.Name `xml:"settings"`
		Mirrors []mirror `xml:"mirrors>mirror"`
	}
	if data, err := nolink.ReadFile(from, maxSettings); err == nil && xml.Unmarshal(data, &settings) != nil {
		settings.Mirrors = nil
	}
	settings.XMLName = xml.Name{Local: "settings"}
	for i, m := range settings.Mirrors {
		if signsIn(m.URL) {
			settings.Mirrors[i].URL = redacted(m.URL)
		}
	}
	text, err := xml.Marshal(settings)
	if err != nil {
		return fmt.Errorf("write maven's settings for the sandbox: %w", err)
	}
	if err := nolink.WriteFile(to, text); err != nil {
		return fmt.Errorf("write maven's settings for the sandbox: %w", err)
	}
	return nil
}

const maxSettings = 1 << 20 // bytes
