// Package plain is the interactive face that writes line after line: what was printed stays where
// it is, in the terminal's own scrollback, and only the draft below it is ever redrawn.
//
// It is no full-screen interface and knows no feature: it sends operations, reads events, and
// keeps for itself what only a screen needs (draft, history position, what was shown). Without a
// terminal, on a dumb one, or when asked to, it writes plain lines without a single control
// character.
//
// Begin with [Run]. printer.go turns events into lines, markdown.go and stream.go answers as they
// come, keys.go bytes into keys, editor.go is the draft, painter.go the only writer to the
// terminal, ask.go the questions.
package plain
