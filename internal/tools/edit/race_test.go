//go:build race

package edit_test

// mostAllocated is how many times the file an edit may allocate; the race detector allocates beside it.
const mostAllocated = 5.5
