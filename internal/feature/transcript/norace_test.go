//go:build !race

package transcript_test

const raceless = true
