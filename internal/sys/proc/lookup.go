package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Find returns the absolute path of a program. A bare name is looked up in the folders of pathVar
// (the value of PATH); a name with a separator must be absolute. A program that would only be found
// through a relative or empty entry, which means in the current directory, is refused with
// [exec.ErrDot]; one that is nowhere with [exec.ErrNotFound].
func Find(name, pathVar string) (string, error) {
	if filepath.IsAbs(name) {
		return name, executable(name)
	}
	if name == "" || strings.ContainsAny(name, `/\`) {
		return "", fmt.Errorf("find program %q: %w", name, exec.ErrDot)
	}
	if runtime.GOOS == "windows" { // extensions and PATHEXT are the library's business
		found, err := exec.LookPath(name)
		if err != nil {
			return "", err
		}
		return found, nil
	}
	dot := false
	for _, dir := range filepath.SplitList(pathVar) {
		full := filepath.Join(dir, name)
		if executable(full) != nil {
			continue
		}
		if filepath.IsAbs(dir) {
			return full, nil
		}
		dot = true
	}
	if dot {
		return "", fmt.Errorf("find program %q: %w", name, exec.ErrDot)
	}
	return "", fmt.Errorf("find program %q: %w", name, exec.ErrNotFound)
}

func executable(path string) error {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("find program: %w", err)
	case st.IsDir(), runtime.GOOS != "windows" && st.Mode()&0o111 == 0:
		return fmt.Errorf("find program %s: %w", path, os.ErrPermission)
	}
	return nil
}

// lookupEnv returns the last value of a variable in a list of NAME=value.
func lookupEnv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// withMark returns env with the mark added to those it inherited.
func withMark(env []string, mark string) []string {
	out := make([]string, 0, len(env)+1)
	value := mark
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, MarkerVar+"="); ok {
			value = v + "," + mark
			continue
		}
		out = append(out, kv)
	}
	return append(out, MarkerVar+"="+value)
}

// carries reports whether a value of [MarkerVar] holds mark or a mark below it.
func carries(value, mark string) bool {
	for v := range strings.SplitSeq(value, ",") {
		if v == mark || strings.HasPrefix(v, mark+".") {
			return true
		}
	}
	return false
}
