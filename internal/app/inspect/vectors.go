package inspect

import (
	"fmt"
	"os"
	"slices"

	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// VectorReport is what a run of expected decisions found.
type VectorReport struct {
	Categories []VectorCategory // in the order of the file
	Summary    string           // "N right, N wrong, N wrongly allowed"
	Wrong      int
}

// VectorCategory is one category of them.
type VectorCategory struct {
	Name         string
	Right, Wrong int
	Lines        []string // one for each wrong one
}

// TestVectors decides every call of a file of expected decisions (format 1) and compares. Each brings
// its rules, its mode and its folders: nothing of the settings in force counts.
func TestVectors(path string) (VectorReport, error) {
	f, err := os.Open(path)
	if err != nil {
		return VectorReport{}, usage("%w", err)
	}
	defer f.Close()
	file, err := permission.ReadVectors(f)
	if err != nil {
		return VectorReport{}, usage("%s: %w", path, err)
	}
	var out VectorReport
	var total permission.Report
	for _, v := range file.Vectors {
		req, policy, err := v.Case(file.Defaults)
		if err != nil {
			return out, usage("%s: vector %s: %w", path, v.ID, err)
		}
		c := out.category(v.Category)
		got := permission.Decide(req, policy)
		if got.Behavior == v.Expect || slices.Contains(v.AlsoOK, got.Behavior) {
			c.Right++
			total.Right++
			continue
		}
		c.Wrong++
		total.Wrong++
		if got.Behavior == permission.Allow {
			total.WronglyAllowed++
		}
		c.Lines = append(c.Lines, fmt.Sprintf("%s: %q in %s: %s (%s), expected %s: %s", v.ID, v.Command, v.Mode, got.Behavior, got.Reason.Text, v.Expect, v.Why))
	}
	out.Summary, out.Wrong = total.Summary(), total.Wrong
	return out, nil
}

func (r *VectorReport) category(name string) *VectorCategory {
	for i := range r.Categories {
		if r.Categories[i].Name == name {
			return &r.Categories[i]
		}
	}
	r.Categories = append(r.Categories, VectorCategory{Name: name})
	return &r.Categories[len(r.Categories)-1]
}
