package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// Print is what one file was like. Two prints with the same Digest are of the same content under the
// same name, links and all. The zero Print is of a file that is not there.
type Print struct {
	Digest  string    // empty: nothing is there
	Changed time.Time // when content, name or link last changed, by a clock that programs cannot set back
}

// maxHashed bounds what is read of one file; a larger one is told by its size and its times.
const maxHashed = 32 << 20

// Take looks at files.
func Take(files []string) map[string]Print {
	out := make(map[string]Print, len(files))
	for _, path := range files {
		out[path] = take(path)
	}
	return out
}

func take(path string) Print {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		st, lerr := os.Lstat(path)
		if lerr != nil {
			return Print{}
		}
		return Print{Digest: "leads nowhere", Changed: changed(st)}
	}
	if err != nil {
		return Print{Digest: "cannot be looked at: " + err.Error(), Changed: time.Now()}
	}
	var p Print
	for at := path; ; at = filepath.Dir(at) { // a link on the way may have been put there
		if st, err := os.Lstat(at); err == nil && (st.Mode()&fs.ModeSymlink != 0 || at == path) {
			p.Changed = later(p.Changed, changed(st))
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	if real != path {
		p.Digest = "at " + real + " "
	}
	st, err := os.Lstat(real)
	switch {
	case err != nil:
		return Print{Digest: "cannot be looked at: " + err.Error(), Changed: time.Now()}
	case !st.Mode().IsRegular():
		p.Digest += st.Mode().Type().String()
		return p
	}
	p.Changed = later(p.Changed, changed(st))
	sum, err := hash(real)
	if err != nil {
		sum = fmt.Sprintf("unread %d %d", st.Size(), changed(st).UnixNano())
	}
	p.Digest += sum
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func hash(path string) (string, error) {
	data, err := nolink.ReadFile(path, maxHashed)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
