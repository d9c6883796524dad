package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Engine is a container engine with the command line of docker: docker itself, or podman.
type Engine struct {
	Program string // "docker", "podman" or an absolute path; empty: whichever is in PATH, podman first
	Image   string // needed; must hold the shell that is run
}

// startContainer runs the program in a new container. It has no network: the proxies cannot be
// handed out of it.
func (c *Command) startContainer(owner *proc.Owner, spec proc.Spec) error {
	engine, err := findEngine(c.cfg.Container.Program)
	if err != nil {
		return err
	}
	args, err := containerArgs(c.cfg, c.plan, spec, filepath.Base(engine) == "podman")
	if err != nil {
		return err
	}
	spec.Path, spec.Args, spec.Wraps = engine, args, true
	if c.Process, err = owner.Start(spec); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

func findEngine(program string) (string, error) {
	candidates := []string{"podman", "docker"}
	if program != "" {
		candidates = []string{program}
	}
	for _, name := range candidates {
		if path, err := proc.Find(name, os.Getenv("PATH")); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: no container engine found (looked for %s)", ErrUnavailable, strings.Join(candidates, ", "))
}

// containerArgs is the command line of the engine. The image gives the system; of the host only the
// writable roots are there, and what of them is protected is read-only.
func containerArgs(cfg Config, p *plan, spec proc.Spec, podman bool) ([]string, error) {
	if cfg.Container.Image == "" {
		return nil, fmt.Errorf("%w: no image is named for the container", ErrUnavailable)
	}
	if p.free {
		return nil, fmt.Errorf("%w: a container cannot leave files unconfined", ErrUnavailable)
	}
	args := []string{
		"run", "--rm", "--interactive=false", "--init", "--network=none", "--read-only", "--tmpfs=/tmp",
		"--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=4096",
		fmt.Sprintf("--user=%d:%d", os.Getuid(), os.Getgid()),
	}
	if podman {
		args = append(args, "--userns=keep-id")
	}
	for _, m := range p.mounted {
		if strings.ContainsAny(m.path, ",\n") {
			return nil, fmt.Errorf("%w: a container cannot be given the path %q", ErrUnavailable, m.path)
		}
		switch m.kind {
		case bindRW:
			args = append(args, "--mount=type=bind,source="+m.path+",target="+m.path)
		case bindRO:
			args = append(args, "--mount=type=bind,source="+m.path+",target="+m.path+",readonly")
		case hideDir:
			if p.writable(m.path) { // what lies outside is not there at all
				args = append(args, "--mount=type=tmpfs,target="+m.path+",tmpfs-mode=0555,tmpfs-size=0")
			}
		case hideFile:
			if p.writable(m.path) {
				args = append(args, "--mount=type=bind,source=/dev/null,target="+m.path+",readonly")
			}
		}
	}
	if spec.Dir != "" {
		args = append(args, "--workdir="+spec.Dir)
	}
	for _, kv := range spec.Env {
		name, _, _ := strings.Cut(kv, "=")
		if name == "PATH" || name == "HOME" || name == "PWD" || name == "HOSTNAME" || strings.ContainsAny(kv, "\n") {
			continue // those are the image's
		}
		args = append(args, "--env="+kv)
	}
	return append(append(args, cfg.Container.Image, spec.Path), spec.Args...), nil
}
