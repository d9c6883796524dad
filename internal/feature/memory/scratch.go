package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sizes of a scratchpad, in bytes.
const (
	scratchShown = 8 << 10  // what is told again after a compaction
	scratchMost  = 64 << 10 // what may be written
)

// Scratchpad is a file in which an agent keeps notes for itself. It lies beside its transcript and
// outlives compactions, resumes and forks of the conversation.
type Scratchpad struct{ Path string }

// Announce is what the agent is told of its notes: their beginning, and where the rest is. It is
// empty when there are none. What stands there is read as it is now; a link is not followed.
func (s Scratchpad) Announce() string {
	text, size, err := readHead(s.Path, scratchShown)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return fmt.Sprintf("Your scratchpad %s cannot be read: %v.", s.Path, err)
	case strings.TrimSpace(text) == "":
		return ""
	}
	out := fmt.Sprintf("Your scratchpad %s, the notes you keep for yourself:\n\n%s", s.Path, text)
	if size > scratchShown {
		out += fmt.Sprintf("\n\n[the first %d bytes of %d; Read the file for the rest]", scratchShown, size)
	}
	return out
}

// Check says why so many bytes may not be written; empty: they may.
func (s Scratchpad) Check(size int) string {
	if size <= scratchMost {
		return ""
	}
	return fmt.Sprintf("The scratchpad may hold %d bytes, and this would be %d. Nothing was written: keep what you need to go on, and drop the rest.", scratchMost, size)
}

// Written is what the agent is told after it wrote so many bytes; empty: nothing.
func (s Scratchpad) Written(size int) string {
	if size <= scratchShown {
		return ""
	}
	return fmt.Sprintf("The scratchpad has %d bytes now. After a compaction you are shown the first %d; put what matters first.", size, scratchShown)
}

// CopyTo copies the notes for a copy of the conversation. Without notes it does nothing.
func (s Scratchpad) CopyTo(path string) error {
	text, _, err := readHead(s.Path, scratchMost)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		return fmt.Errorf("copy the scratchpad: %w", err)
	}
	return nil
}

// readHead reads at most so many bytes of a regular file that is no link, as text for a model.
func readHead(path string, most int) (text string, size int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() {
		return "", 0, errors.New("it is no ordinary file")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close() // it was only read
	if now, err := file.Stat(); err != nil || !os.SameFile(info, now) {
		return "", 0, errors.New("it was exchanged while it was opened")
	}
	raw, err := io.ReadAll(io.LimitReader(file, int64(most)))
	if err != nil {
		return "", 0, err
	}
	text, _ = withoutInvisible(strings.ToValidUTF8(string(raw), ""))
	return strings.ReplaceAll(text, "\x00", ""), info.Size(), nil
}
