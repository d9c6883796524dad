package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestResolver finds what the standard library finds, with what it remembers and without.
func TestResolver(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a/f"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"la": "a", "c/lb": "../la/b", "lf": "a/f", "gone": "nowhere", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := resolver{}
	for range 2 {
		for _, name := range []string{"", "a", "a/b", "a/f", "a/f/x", "la", "la/b", "la/f", "c/lb", "c/lb/x", "lf", "gone", "gone/x", "round", "none", "none/x", "c/../la/b", "c/lb/..", "a/b/"} {
			path := dir + "/" + name
			want, wantErr := filepath.EvalSymlinks(path)
			got, err := r.real(path)
			if got != want || (err == nil) != (wantErr == nil) || os.IsNotExist(err) != os.IsNotExist(wantErr) {
				t.Errorf("%s: %q, %v; want %q, %v", name, got, err, want, wantErr)
			}
		}
	}
	for _, path := range []string{"/", "", ".", "relative/x"} {
		want, wantErr := filepath.EvalSymlinks(path)
		if got, err := r.real(path); got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%q: %q, %v; want %q, %v", path, got, err, want, wantErr)
		}
	}
	if got, ok := r[dir+"/la"]; !ok || filepath.Base(got) != "a" {
		t.Errorf("remembers %v", r)
	}
}
