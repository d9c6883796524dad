// Package plain is the interactive face that writes line after line: what was printed stays where
// it is, in the terminal's own scrollback, and only the draft below it is ever redrawn.
//
// It is no full-screen interface and knows no feature: it sends operations, reads events, and
// keeps for itself what only a screen needs (draft, history position, what was shown). Without a
// terminal, on a dumb one, or when asked to, it writes plain lines without a single control
// character.
//
// Begin with [Run]. keymode.go is the loop on a terminal, linemode.go the one without, face.go what both share;
// printer.go turns events into lines. Keys, draft, questions, Markdown and the painter are surface/screen.
package plain
