//go:build unix

package ownfolder_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/ownfolder"
)

func TestMake(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(ownfolder.Make(at("new")))
	must(ownfolder.Make(at("new"))) // it is there now
	if st, err := os.Stat(at("new")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	must(os.Symlink(at("new"), at("link")))
	must(os.WriteFile(at("file"), nil, 0o600))
	must(os.Mkdir(at("open"), 0o700))
	must(os.Chmod(at("open"), 0o777))
	refused := []string{"link", "file", "open", "no/where"}
	if os.Geteuid() == 0 {
		must(os.Mkdir(at("theirs"), 0o700))
		must(os.Chown(at("theirs"), 65534, 65534))
		refused = append(refused, "theirs")
	}
	for _, name := range refused {
		if err := ownfolder.Make(at(name)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
