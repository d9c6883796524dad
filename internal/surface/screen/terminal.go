package screen

// Terminal is the terminal a person sits at. The package's own [OpenTerminal] is the real one;
// tests use a screen grid.
type Terminal interface {
	// Read returns what was typed, as bytes. It waits while the terminal is not raw, so that a
	// program that was handed the terminal gets its own keys.
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	// Size is the window in cells; 80 by 24 where it cannot be known.
	Size() (width, height int)
	// Raw turns raw mode on, or off again as it was found. Doing it twice is no error.
	Raw(on bool) error
}

// What is switched on while a person types here, and off again in reverse order.
const (
	ModesOn  = "\x1b[?2004h"                // bracketed paste
	ModesOff = "\x1b[?2004l\x1b[?25h\x1b[m" // and the cursor shown, no style left
)
