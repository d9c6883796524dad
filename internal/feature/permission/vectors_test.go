package permission

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
)

func TestVectors(t *testing.T) {
	for file, count := range map[string]int{"testdata/bash-vectors.json": 623, "testdata/bash-vectors-2.json": 425, "testdata/bash-vectors-3.json": 192} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		report, err := runVectors(f)
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

// runVectors decides every vector of a file and compares.
func runVectors(r io.Reader) (Report, error) {
	file, err := ReadVectors(r)
	if err != nil {
		return Report{}, err
	}
	var out Report
	for _, v := range file.Vectors {
		req, pol, err := v.Case(file.Defaults)
		if err != nil {
			return out, fmt.Errorf("vector %s: %w", v.ID, err)
		}
		got := Decide(req, pol)
		if got.Behavior == v.Expect || slices.Contains(v.AlsoOK, got.Behavior) {
			out.Right++
			continue
		}
		out.Wrong++
		if got.Behavior == Allow {
			out.WronglyAllowed++
		}
		out.Lines = append(out.Lines, fmt.Sprintf("%s: %q in %s: %s (%s), expected %s: %s", v.ID, v.Command, v.Mode, got.Behavior, got.Reason.Text, v.Expect, v.Why))
	}
	return out, nil
}
