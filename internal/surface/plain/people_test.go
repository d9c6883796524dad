package plain

import "testing"

func TestKF170_PeopleReadTheirOwnSentence(t *testing.T) {
	for name, tc := range map[string]struct{ how, text, want string }{
		"unknown tool":      {"error", "<tool_use_error>Error: No such tool available: Nope</tool_use_error>", "No such tool available: Nope"},
		"wrong input":       {"error", "<tool_use_error>old_string is not in the file.\nRead it again.</tool_use_error>", "old_string is not in the file.\nRead it again."},
		"refused":           {"refused", "The user said no. Do not work around the refusal by other means. Choose a safer way.", "The user said no"},
		"refused, lines":    {"refused", "A rule denies rm.\nDo something else", "A rule denies rm"},
		"a file's name":     {"refused", "a.go may not be changed. Ask.", "a.go may not be changed"},
		"output of its own": {"ok", "1. first. Second", "1. first. Second"},
		"nothing":           {"refused", "", ""},
	} {
		if got := forPeople(tc.how, tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
