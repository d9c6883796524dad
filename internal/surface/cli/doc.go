// Package cli is the command line: it reads the arguments, starts the face that fits them (an
// interactive session, a headless run, a command that prints something) and ends with its exit
// code.
//
// It decides nothing about a session and holds no logic of a command beyond its arguments and the
// form of its output: what commands do comes in as the functions of [Deps], and a command whose
// function is nil does not exist. Begin with [Main]; flags.go is the table of flags, a file each
// holds the commands.
package cli
