package named

import (
	"slices"
	"strings"
	"testing"
)

func TestLeading(t *testing.T) {
	for text, want := range map[string]string{
		"rm":                         "rm",
		"rm x":                       "rm",
		"-c rm":                      "rm",
		"--run=rm x":                 "rm",
		"cd /x && rm y; ls":          "cd rm ls",
		"nice -n 5 rm x":             "nice rm x",
		"sudo env A=b rm":            "sudo env b rm",
		"EXEC:rm x,pty":              "rm pty",
		`target.x.runner="rm x"`:     "rm",
		`{"cmd":["rm","x"]}`:         "cmd rm x",
		"please rm x":                "please",
		"fix: rm x":                  "",
		"https://x.test/rm":          "",
		"git@rm:x/y":                 "x/y",
		"$rm ${rm} $(rm)":            "rm",
		"!rm x":                      "rm",
		"ls\n\trm x":                 "ls rm",
		"rm(x) 5 1.2":                "x",
		"a, rm":                      "a",
		`\rm x`:                      "rm",
		"/bin/rm x":                  "/bin/rm",
		"exec rm":                    "exec rm",
		"ps aux | grep x | xargs rm": "ps grep xargs rm",
	} {
		if got := strings.Join(slices.Collect(func(yield func(string) bool) { Leading(text, yield) }), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestAll(t *testing.T) {
	const text = `import os; os.system("please rm x") or 5 --rm rm=1 $rm`
	if got := strings.Join(slices.Collect(func(yield func(string) bool) { All(text, yield) }), " "); got != "import os please rm x or" {
		t.Errorf("%q", got)
	}
}

// FuzzNamed looks for a word at a place where a command begins that is not found.
func FuzzNamed(f *testing.F) {
	for _, s := range []string{"", "ls; ", "a && ", "x=", "'", "$(", "nice ", "{\"cmd\":\"", "é "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		if strings.ContainsAny(before, "$") {
			return
		}
		for _, op := range []string{"; ", "|", "&&", "\n", "\"", "'", "(", "=", "`"} {
			found := false
			Leading(before+op+"rm x", func(name string) bool {
				found = found || name == "rm"
				return !found
			})
			if !found {
				t.Errorf("rm is not found in %q", before+op+"rm x")
			}
		}
	})
}
