package permission

import (
	"os"
	"testing"
)

func TestVectors(t *testing.T) {
	for file, count := range map[string]int{"testdata/bash-vectors.json": 623, "testdata/bash-vectors-2.json": 425, "testdata/bash-vectors-3.json": 192} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		report, err := RunVectors(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range report.Lines {
			t.Error(l)
		}
		if report.Right+report.Wrong != count {
			t.Errorf("%s: %d vectors decided, want %d", file, report.Right+report.Wrong, count)
		}
		t.Log(file, report.Summary())
	}
}
