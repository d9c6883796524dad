package gitrepo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strconv"
)

// maxIndex is the largest index that is looked through for submodules.
const maxIndex = 64 << 20

// submodules finds an entry of the index that is another repository: status and diff would run git
// there, with that repository's configuration (gitformat-index(5)).
func submodules(file string) *Obstacle {
	text, err := readRegular(file, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Obstacle{File: file, Why: "cannot be read as data: " + err.Error()}
	}
	name, ok := firstSubmodule([]byte(text))
	switch {
	case !ok:
		return &Obstacle{File: file, Why: "is an index of a kind that is not understood"}
	case name != "":
		return &Obstacle{File: file, Why: "holds the submodule " + strconv.Quote(name) + ", in which git would run as well"}
	}
	return nil
}

// firstSubmodule goes through the entries of an index of version 2, 3 or 4 and its extensions. It
// reports false for what it cannot follow, among it an index that is split over two files.
func firstSubmodule(b []byte) (name string, ok bool) {
	const hash = 20 // an index with longer names needs an extension in the configuration
	if len(b) < 12+hash || string(b[:4]) != "DIRC" {
		return "", false
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 {
		return "", false
	}
	end := len(b) - hash
	pos, last := 12, []byte(nil)
	for range count {
		const fixed = 40 + hash
		if pos+fixed+2 > end {
			return "", false
		}
		mode, flags := binary.BigEndian.Uint32(b[pos+24:]), binary.BigEndian.Uint16(b[pos+fixed:])
		at := pos + fixed + 2
		if flags&0x4000 != 0 {
			at += 2
		}
		keep := 0
		if version == 4 {
			strip, n := stripLength(b[min(at, end):end])
			if n == 0 || strip > len(last) {
				return "", false
			}
			at, keep = at+n, len(last)-strip
		}
		n := bytes.IndexByte(b[min(at, end):end], 0)
		if n < 0 {
			return "", false
		}
		last = append(last[:keep:keep], b[at:at+n]...)
		if mode&0o170000 == 0o160000 {
			return string(last), true
		}
		if at += n + 1; version < 4 {
			at = pos + (at-pos+7)/8*8
		}
		pos = at
	}
	for pos < end {
		if pos+8 > end || string(b[pos:pos+4]) == "link" {
			return "", false
		}
		size := binary.BigEndian.Uint32(b[pos+4:])
		if int64(size) > int64(end-pos-8) {
			return "", false
		}
		pos += 8 + int(size)
	}
	return "", pos == end
}

// stripLength reads the number before a name of version 4: how many bytes of the last name are dropped.
func stripLength(b []byte) (value, n int) {
	for n < len(b) && n < 5 {
		c := b[n]
		n++
		value |= int(c & 0x7f)
		if c&0x80 == 0 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}
