//go:build !race

package edit_test

// mostAllocated is how many times the file an edit may allocate.
const mostAllocated = 3.5
