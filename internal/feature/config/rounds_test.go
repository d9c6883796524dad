//go:build !race

package config_test

// rounds is how often each process of the concurrency test saves.
const rounds = 50
