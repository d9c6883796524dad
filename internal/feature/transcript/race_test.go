//go:build race

package transcript_test

// raceless says whether times mean anything: the race detector makes everything several times
// slower.
const raceless = false
