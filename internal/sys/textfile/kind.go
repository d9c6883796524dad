package textfile

import (
	"bytes"
	"strings"
)

// magic is the beginning of a file by which its kind is known.
type magic struct {
	at    int
	bytes string
	kind  string
}

func magics() []magic {
	return []magic{
		{0, "\x89PNG\r\n\x1a\n", "PNG image"},
		{0, "\xff\xd8\xff", "JPEG image"},
		{0, "GIF87a", "GIF image"},
		{0, "GIF89a", "GIF image"},
		{8, "WEBP", "WebP image"},
		{0, "BM", "BMP image"},
		{0, "II*\x00", "TIFF image"},
		{0, "MM\x00*", "TIFF image"},
		{0, "\x00\x00\x01\x00", "icon"},
		{4, "ftypavif", "AVIF image"},
		{4, "ftypheic", "HEIC image"},
		{0, "%PDF-", "PDF document"},
		{0, "\x7fELF", "ELF program or library"},
		{0, "MZ", "Windows program"},
		{0, "\xcf\xfa\xed\xfe", "Mach-O program"},
		{0, "\xca\xfe\xba\xbe", "Java class or universal Mach-O program"},
		{0, "\x00asm", "WebAssembly module"},
		{0, "PK\x03\x04", "ZIP archive (or Office document, JAR)"},
		{0, "PK\x05\x06", "ZIP archive"},
		{0, "\x1f\x8b", "gzip data"},
		{0, "BZh", "bzip2 data"},
		{0, "\xfd7zXZ\x00", "xz data"},
		{0, "\x28\xb5\x2f\xfd", "Zstandard data"},
		{0, "7z\xbc\xaf\x27\x1c", "7-Zip archive"},
		{0, "Rar!\x1a\x07", "RAR archive"},
		{257, "ustar", "tar archive"},
		{0, "!<arch>\n", "static library"},
		{0, "SQLite format 3\x00", "SQLite database"},
		{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"},
		{0, "ID3", "MP3 audio"},
		{0, "fLaC", "FLAC audio"},
		{0, "OggS", "Ogg audio or video"},
		{8, "WAVE", "WAV audio"},
		{4, "ftyp", "MP4 audio or video"},
		{0, "\x1a\x45\xdf\xa3", "Matroska or WebM video"},
		{0, "wOFF", "WOFF font"},
		{0, "wOF2", "WOFF2 font"},
		{0, "\x00\x01\x00\x00\x00", "TrueType font"},
		{0, "OTTO", "OpenType font"},
		{0, "\x00\x00\xfe\xff", "UTF-32 text"},
	}
}

// Kind names what the bytes at the beginning of a file seem to be, by the well-known magic numbers;
// empty when none fits, as with text. It needs the first 512 bytes.
func Kind(head []byte) string {
	m, _ := findMagic(head)
	return m.kind
}

// certainKind is Kind without the magic numbers that text may well begin with ("BM", "MZ").
func certainKind(head []byte) string {
	m, ok := findMagic(head)
	if ok && (m.bytes == "%PDF-" || strings.ContainsFunc(m.bytes, func(r rune) bool { return r < ' ' || r > '~' })) {
		return m.kind
	}
	return ""
}

func findMagic(head []byte) (magic, bool) {
	for _, m := range magics() {
		if len(head) < m.at+len(m.bytes) || string(head[m.at:m.at+len(m.bytes)]) != m.bytes {
			continue
		}
		if m.at == 8 && !bytes.HasPrefix(head, []byte("RIFF")) {
			continue
		}
		return m, true
	}
	return magic{}, false
}

func kindOr(head []byte, other string) string {
	if k := Kind(head); k != "" {
		return k
	}
	return other
}

// IsBinary tells from the beginning of a file whether it is binary, as a quick answer for who only
// looks at many files: it holds a NUL byte and is no UTF-16.
func IsBinary(head []byte) bool {
	if bytes.HasPrefix(head, bomUTF16LE) || bytes.HasPrefix(head, bomUTF16BE) {
		return false
	}
	return bytes.IndexByte(head[:min(len(head), sniffLen)], 0) >= 0
}
