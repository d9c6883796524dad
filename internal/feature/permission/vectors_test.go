package permission

import (
	"os"
	"testing"
)

func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/bash-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	report, err := RunVectors(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range report.Lines {
		t.Error(l)
	}
	if report.Right+report.Wrong != 623 {
		t.Errorf("%d vectors decided, want 623", report.Right+report.Wrong)
	}
	t.Log(report.Summary())
}
