package twotier

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
)

// formatVersion is the version of the files. Others are misses.
const formatVersion = 1

// maxFile bounds what is read back; a bigger file is not one of ours.
const maxFile = 64 << 20

// header is the first line of a file; the value follows.
type header struct {
	V       int       `json:"v"`
	Key     string    `json:"key"`
	Session string    `json:"session,omitempty"`
	Tool    string    `json:"tool"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires"`
	Sum     string    `json:"sha256"` // of the value
}

// disk is the second tier: a file a key.
type disk struct {
	dir    string
	name   func(Key) string
	now    func() time.Time
	report func(error)

	mu    sync.Mutex // guards the rest
	told  map[string]bool
	until time.Time // nothing is written before this: the disk refused
}

// retryDisk is how long a disk that refused is left alone.
const retryDisk = time.Minute

func (d *disk) path(key Key) string {
	if d.name != nil {
		return filepath.Join(d.dir, d.name(key))
	}
	return filepath.Join(d.dir, key.String())
}

// read returns a file's header and value. What is not there, or is not what it should be, is a
// miss.
func (d *disk) read(key Key) (header, []byte, bool) {
	path := d.path(key)
	h, data, err := readEntry(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return header{}, nil, false
	case err != nil:
		d.broken(path, err)
		return header{}, nil, false
	case h.Key != key.String() || h.Session != key.Session || h.Tool != key.Tool:
		d.broken(path, errors.New("it belongs to another key"))
		return header{}, nil, false
	case h.At.After(d.now()): // the clock was set back
		return header{}, nil, false
	}
	return h, data, true
}

func readEntry(path string) (header, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return header{}, nil, errors.Join(err, errors.New("not a cache entry"))
	}
	all, err := io.ReadAll(f)
	if err != nil {
		return header{}, nil, err
	}
	line, data, ok := bytes.Cut(all, []byte("\n"))
	var h header
	if !ok || json.Unmarshal(line, &h) != nil {
		return header{}, nil, errors.New("it has no readable first line")
	}
	if h.V != formatVersion {
		return header{}, nil, fmt.Errorf("it has version %d, expected %d", h.V, formatVersion)
	}
	if sum := sha256.Sum256(data); h.Sum != hex.EncodeToString(sum[:]) {
		return header{}, nil, errors.New("its checksum is wrong")
	}
	return h, data, nil
}

// readHeader reads the first line only.
func readHeader(path string) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, err
	}
	defer f.Close()
	buf := make([]byte, 4<<10)
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return header{}, err
	}
	line, _, ok := bytes.Cut(buf[:n], []byte("\n"))
	var h header
	if !ok || json.Unmarshal(line, &h) != nil || h.V != formatVersion {
		return header{}, errors.New("not a cache entry")
	}
	return h, nil
}

func (d *disk) write(key Key, h header, data []byte) {
	if d.resting() {
		return
	}
	sum := sha256.Sum256(data)
	h.V, h.Key, h.Session, h.Tool, h.Sum = formatVersion, key.String(), key.Session, key.Tool, hex.EncodeToString(sum[:])
	line, err := json.Marshal(h)
	if err == nil {
		err = os.MkdirAll(d.dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Write(d.path(key), append(append(line, '\n'), data...), 0o600)
	}
	if err == nil {
		return
	}
	d.mu.Lock()
	d.until = d.now().Add(retryDisk)
	d.mu.Unlock()
	d.once("disk", fmt.Errorf("cache in memory only: %w", err))
}

func (d *disk) resting() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now().Before(d.until)
}

func (d *disk) remove(key Key) {
	if err := os.Remove(d.path(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.once("disk", fmt.Errorf("forget cached value: %w", err))
	}
}

func (d *disk) removeIf(match func(header) bool) {
	if err := eachEntry(d.dir, func(path string, h header) error {
		if match(h) {
			return os.Remove(path)
		}
		return nil
	}); err != nil {
		d.once("disk", fmt.Errorf("forget cached values: %w", err))
	}
}

func (d *disk) broken(path string, err error) {
	d.once(path, fmt.Errorf("cache entry %s is not used: %w", path, err))
}

// once reports what was not reported before.
func (d *disk) once(what string, err error) {
	d.mu.Lock()
	told := d.told[what]
	if d.told == nil {
		d.told = map[string]bool{}
	}
	d.told[what] = true
	d.mu.Unlock()
	if !told && d.report != nil {
		d.report(err)
	}
}

// eachEntry calls do with every cache file of dir. Files that are none are passed over. It goes on
// after errors and returns them joined.
func eachEntry(dir string, do func(path string, h header) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		h, readErr := readHeader(path)
		if readErr != nil {
			continue
		}
		if doErr := do(path, h); doErr != nil && !errors.Is(doErr, fs.ErrNotExist) {
			errs = append(errs, doErr)
		}
	}
	return errors.Join(append(errs, err)...)
}

// Collect removes from a cache folder the files of sessions that are not alive any more, however
// they ended. Session-free files and files of others stay. It returns how many files went.
func Collect(dir string, alive func(session string) bool) (int, error) {
	n := 0
	err := eachEntry(dir, func(path string, h header) error {
		if h.Session == "" || alive(h.Session) {
			return nil
		}
		if err := os.Remove(path); err != nil {
			return err
		}
		n++
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("collect cache %s: %w", dir, err)
	}
	return n, nil
}
