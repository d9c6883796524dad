// Package headless is the face of the program for scripts and hosts: it sends one prompt, writes
// what the session tells as text, JSON or a stream of JSON lines, and ends with a status that says
// what became of it.
//
// It asks nobody anything and draws nothing. The wire shapes are those the public Agent SDKs read
// (npm @anthropic-ai/claude-agent-sdk, PyPI claude-agent-sdk). Begin with [Run]; mapper.go is the
// pure translation from events to wire objects, exit.go the table of exit codes.
//
// Input as a stream of JSON lines is a matter of its own: whoever adds it drives the same mapper
// and writer from the lines of the host.
package headless
