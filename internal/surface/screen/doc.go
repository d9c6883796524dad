// Package screen is what every interface on a terminal is made of: keys, the draft, questions, Markdown, styles,
// and the painter that keeps a frame below what was printed. The line-oriented interface and the
// full-screen one are built from it.
//
// It knows no session: what it shows it is handed, and what a person answers it returns. What a terminal would
// make of a program's output is sys/termtext; text that may not act on a terminal is made by sys/visible.
//
// Begin with [Terminal]. keys.go turns bytes into keys, editor.go is the draft, question.go what is asked and how
// it is answered, markdown.go and stream.go show answers as they come, painter.go composes what is sent.
package screen
