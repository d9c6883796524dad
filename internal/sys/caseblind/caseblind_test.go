package caseblind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func put(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The other name is a hard link here, which looks to the probe as a folder does that ignores case.
func TestKF128_NamesTell(t *testing.T) {
	dir := t.TempDir()
	if ignores, certain := byNames(dir); certain {
		t.Errorf("an empty folder is certain to be %v", ignores)
	}
	put(t, filepath.Join(dir, "123"))
	put(t, filepath.Join(dir, "abc"))
	if ignores, certain := byNames(dir); ignores || !certain {
		t.Error("a folder that keeps names apart ignores case")
	}
	if err := os.Link(filepath.Join(dir, "abc"), filepath.Join(dir, "ABC")); err != nil {
		t.Fatal(err)
	}
	if ignores, certain := byNames(dir); !ignores || !certain {
		t.Error("both names lead to one file, and the folder keeps them apart")
	}
	if _, certain := byNames(filepath.Join(dir, "none")); certain {
		t.Error("a folder that is not there is certain")
	}
}

func TestKF128_AFolderIsProbedOnce(t *testing.T) {
	dir := t.TempDir()
	var f Folders
	want := f.Ignores(dir)
	f.known.Store(dir, !want)
	if f.Ignores(dir) == want {
		t.Error("the folder was probed again")
	}
	later := filepath.Join(dir, "later")
	if f.Ignores(later) == want {
		t.Error("a folder that is not there is not taken for the one it would lie in")
	}
	if err := os.Mkdir(later, 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(later, "a"))
	if f.Ignores(later) != want {
		t.Error("what was said of a folder that was not there stays when it is")
	}
}

func TestKF128_Key(t *testing.T) {
	for _, same := range [][]string{
		{".env", ".ENV", ".Env", ".e\u200dnv", ".\u1d31nv", ".ENV\ufe0f"},
		{"~/.ssh/id", "~/.SSH/ID", "~/.\u017f\u017fh/id", "~/.\u00dfh/id", "~/.\u1e9eh/ID"},
		{"kelvin", "\u212aelvin", "KELVIN"},
		{"caf\u00e9", "cafe\u0301", "CAF\u00c9"},
		{"\ufb01le", "FILE"},
		{"\u03c3", "\u03c2", "\u03a3"},
	} {
		for _, s := range same {
			if Key(s) != Key(same[0]) {
				t.Errorf("%q and %q have the keys %q and %q", s, same[0], Key(s), Key(same[0]))
			}
		}
	}
	if Key("a/b") != "a/b" || Key(".env") == Key(".env2") {
		t.Error("different names share a key")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "name")
		k := Key(s)
		if Key(k) != k || Key(strings.ToUpper(s)) != k && Key(strings.ToLower(s)) != k {
			t.Fatalf("%q has the keys %q, %q, %q", s, k, Key(strings.ToUpper(s)), Key(strings.ToLower(s)))
		}
	})
}
