package tool

import (
	"slices"
	"testing"
)

func TestKF121_OneTableOfNames(t *testing.T) {
	for _, older := range OlderNames() {
		now := Current(older)
		if now == older || Current(now) != now {
			t.Errorf("%s leads to %s, which is no name of today", older, now)
		}
		if !slices.Contains(Older(now), older) {
			t.Errorf("%s is not among the older names of %s", older, now)
		}
	}
	if Current("Bash") != "Bash" || Current("LS") != "LS" || Older("Bash") != nil {
		t.Error("a name that is none of the table does not stay what it is")
	}
	if !Widened("MultiEdit") || Widened("Task") || Widened("Edit") {
		t.Error("Widened")
	}
}
