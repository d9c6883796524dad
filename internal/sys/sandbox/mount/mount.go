// Package mount makes the file system of a confined program with the kernel's own calls: a mount then costs
// some microseconds, however many there are, where bubblewrap reads the table of all mounts again for
// each. It runs in the helper, inside the namespaces that bubblewrap made, before the program. What is
// mounted where is decided elsewhere. Begin with [Make].
package mount

// Step is one mount. Parents come before what lies in them; later ones lie on top.
type Step struct {
	Kind Kind   `json:"k"`
	Path string `json:"p"`
	From string `json:"f,omitempty"` // what is mounted there; empty: the path itself
	Size int64  `json:"s,omitempty"` // of memory, in bytes; 0: the system's bound
}

// Kind says what is mounted.
type Kind int

// The kinds, in order of what wins at the same path.
const (
	Writable   Kind = iota // can be written
	ReadOnly               // as it is, read-only
	HiddenDir              // a folder in which names are seen and nothing can be opened
	HiddenFile             // a file that cannot be opened
	Memory                 // an empty folder in memory
)
