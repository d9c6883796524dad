//go:build race

package config_test

// rounds is smaller here: the race detector sees one process and only slows the others down.
const rounds = 8
