package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/mount"
)

// Engine is a container engine with the command line of docker: docker itself, or podman.
type Engine struct {
	Program string // "docker", "podman" or an absolute path; empty: whichever is in PATH, podman first
	Image   string // needed; must hold the shell that is run. It is never fetched
}

// The time an engine may take.
const (
	engineAnswers = 10 * time.Second
	engineTrial   = 60 * time.Second
)

// containerGaps are what a container does not give.
var containerGaps = []string{
	"the network: there is none at all inside, allowed hosts do not apply",
	"the programs and files of this machine: the image gives the system, only the writable folders are there",
}

// startContainer runs the program in a new container. It has no network: the proxies cannot be
// handed out of it.
func (c *Command) startContainer(owner *proc.Owner, spec proc.Spec) error {
	engine, err := c.box.findEngine(c.cfg.Container.Program)
	if err != nil {
		return err
	}
	c.container = &container{engine: engine, name: "myelin-" + uuid.NewString()}
	job := containerJob{cfg: c.cfg, plan: c.plan, spec: spec, podman: filepath.Base(engine) == "podman", name: c.container.name, standIn: c.box.standsIn(c.plan)}
	args, err := job.args()
	if err != nil {
		return err
	}
	spec.Path, spec.Args, spec.Wraps, spec.Env = engine, args, true, engineEnv(spec.Env)
	if c.Process, err = owner.Start(spec); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

// container is one that runs.
type container struct{ engine, name string }

// end takes a container away whose command line was ended: that alone does not end it.
func (c *container) end() error {
	_, err := runEngine(context.Background(), engineAnswers, c.engine, "rm", "--force", c.name)
	if err != nil && !strings.Contains(strings.ToLower(err.Error()), "no such container") {
		return fmt.Errorf("the container %s may go on: %w", c.name, err)
	}
	return nil
}

func (b *Box) findEngine(program string) (string, error) {
	candidates := []string{"podman", "docker"}
	if program != "" {
		candidates = []string{program}
	}
	var last error
	for _, name := range candidates {
		path, err := b.opts.Finder.Find(name, os.Getenv("PATH"))
		if err == nil {
			return path, nil
		}
		if errors.Is(err, proc.ErrWritable) {
			last = err
		}
	}
	if last != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, last)
	}
	return "", fmt.Errorf("%w: no container engine found (looked for %s)", ErrUnavailable, strings.Join(candidates, ", "))
}

// runEngine runs the engine for an answer.
func runEngine(ctx context.Context, limit time.Duration, engine string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	host := proc.NewHost(proc.Options{})
	defer host.Close()
	out, errs := proc.NewCapture(proc.CaptureConfig{Keep: 64 << 10}), proc.NewCapture(proc.CaptureConfig{Keep: 4 << 10})
	defer out.Close()
	defer errs.Close()
	exit, err := host.Owner("container engine").Run(ctx, proc.Spec{
		Path: engine, Args: args, Env: engineEnv(nil), Stdout: out, Stderr: errs, Label: filepath.Base(engine), Wraps: true,
	})
	text, _, _ := out.Ends(64<<10, 0)
	complaint, _, _ := errs.Ends(4<<10, 0)
	switch {
	case err != nil:
		return "", err
	case exit.Stopped != "":
		return "", errors.New(exit.Stopped)
	case exit.Code != 0 || exit.Signal != "":
		return string(text), fmt.Errorf("exit %d %s: %s", exit.Code, exit.Signal, strings.TrimSpace(string(complaint)))
	}
	return string(text), nil
}

// engineEnv is what the engine itself needs of this process's environment, over what the program gets.
func engineEnv(env []string) []string {
	out := slices.Clone(env)
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if Matches(name, []string{"PATH", "HOME", "USER", "LOGNAME", "XDG_*", "DOCKER_*", "CONTAINER_*", "CONTAINERS_*", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR"}) {
			out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") })
			out = append(out, kv)
		}
	}
	return out
}

// containerJob is one program to be run in a container.
type containerJob struct {
	cfg     Config
	plan    *plan
	spec    proc.Spec
	podman  bool
	name    string
	standIn func(path string, dir bool, open []string) (string, error) // what is seen in place of a hidden path
}

// standsIn is what is seen in place of the hidden paths of a plan.
func (b *Box) standsIn(p *plan) func(path string, dir bool, open []string) (string, error) {
	return func(path string, dir bool, open []string) (string, error) {
		return b.standIn(path, dir, slices.Contains(p.closed, path), open)
	}
}

// args is the command line of the engine. The image gives the system; of the host only the writable
// roots are there, and what of them is protected is read-only. Values of variables are not in it,
// where other users could see them: the engine takes them from its own environment.
func (j containerJob) args() ([]string, error) {
	if j.cfg.Container.Image == "" {
		return nil, fmt.Errorf("%w: no image is named for the container (sandbox.image)", ErrUnavailable)
	}
	if strings.HasPrefix(j.cfg.Container.Image, "-") {
		return nil, fmt.Errorf("%w: %q is no name of an image", ErrUnavailable, j.cfg.Container.Image)
	}
	if j.plan.free {
		return nil, fmt.Errorf("%w: a container cannot leave files unconfined", ErrUnavailable)
	}
	args := []string{
		"run", "--rm", "--name=" + j.name, "--pull=never", "--interactive=false", "--init", "--network=none", "--read-only", "--tmpfs=/tmp",
		"--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=4096",
		fmt.Sprintf("--user=%d:%d", os.Getuid(), os.Getgid()),
	}
	if j.podman {
		args = append(args, "--userns=keep-id")
	}
	mounts, err := j.mounts()
	if err != nil {
		return nil, err
	}
	args = append(args, mounts...)
	if j.spec.Dir != "" {
		args = append(args, "--workdir="+j.spec.Dir)
	}
	for _, kv := range j.spec.Env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "PATH", "HOME", "PWD", "HOSTNAME": // those are the image's
		case "TMPDIR": // the engine has one of its own
			args = append(args, "--env="+kv)
		default:
			args = append(args, "--env="+name)
		}
	}
	return append(append(args, j.cfg.Container.Image, j.spec.Path), j.spec.Args...), nil
}

func (j containerJob) mounts() ([]string, error) {
	var out []string
	bind := func(from, to, more string) error {
		if strings.ContainsAny(from+to, ",\n") {
			return fmt.Errorf("%w: a container cannot be given the path %q", ErrUnavailable, to)
		}
		out = append(out, "--mount=type=bind,source="+from+",target="+to+more)
		return nil
	}
	var errs []error
	seen := j.cfg.Show
	if j.cfg.ReadOnly { // nothing of it may be written, and all of it is to be seen
		seen = append(append([]string{j.cfg.Dir}, j.cfg.Write...), seen...)
	}
	var shown []string
	for _, path := range seen {
		if real, err := filepath.EvalSymlinks(clean(path)); err == nil && !slices.Contains(shown, real) {
			shown = append(shown, real)
			errs = append(errs, bind(real, real, ",readonly"))
		}
	}
	for _, m := range j.plan.mounted {
		switch m.kind {
		case mount.Writable:
			errs = append(errs, bind(m.path, m.path, ""))
		case mount.ReadOnly:
			errs = append(errs, bind(m.path, m.path, ",readonly"))
		case mount.HiddenDir, mount.HiddenFile:
			if !j.plan.writable(m.path) && !slices.ContainsFunc(shown, func(s string) bool { return within(m.path, s) }) {
				continue // what lies outside is not there at all
			}
			from, err := j.standIn(m.path, m.kind == mount.HiddenDir, j.plan.ways(m))
			if err == nil {
				err = bind(from, m.path, ",readonly")
			}
			errs = append(errs, err)
		case mount.Memory:
		}
	}
	return out, errors.Join(errs...)
}

// probeContainer says what an engine can do here: whether it is there, answers, has the image, and
// whether a trial in the full profile holds.
func (b *Box) probeContainer(ctx context.Context, cfg Config) Status {
	engine, err := b.findEngine(cfg.Container.Program)
	if err != nil {
		return Status{Reason: reason(err), Fix: "install it, or choose another sandbox.backend."}
	}
	name := filepath.Base(engine)
	st := Status{Backend: name, Version: cfg.Container.Image}
	if cfg.Container.Image == "" {
		st.Reason, st.Fix = "no image is named for the container", "name one with sandbox.image."
		return st
	}
	format := "{{.Server.Version}}"
	if name == "podman" { // it has no server
		format = "{{.Client.Version}}"
	}
	version, err := runEngine(ctx, engineAnswers, engine, "version", "--format", format)
	if err != nil {
		st.Reason, st.Fix = name+" does not answer: "+err.Error(), "start it, or choose another sandbox.backend."
		return st
	}
	st.Version = strings.TrimSpace(version) + ", image " + cfg.Container.Image
	if _, err := runEngine(ctx, engineAnswers, engine, "image", "inspect", "--format", "{{.Id}}", "--", cfg.Container.Image); err != nil {
		st.Reason, st.Fix = "the image "+cfg.Container.Image+" is not there ("+err.Error()+")", name+" pull "+cfg.Container.Image+"."
		return st
	}
	if st.Checks, err = b.tryContainer(ctx, cfg); err != nil {
		st.Reason, st.Fix = "a trial in the container failed: "+reason(err), "the image must have /bin/sh."
		return st
	}
	for _, c := range st.Checks {
		if !c.OK {
			st.Reason, st.Fix = "the container does not hold: "+c.Name, "choose another sandbox.backend."
			return st
		}
	}
	st.Level, st.Missing = Container, containerGaps
	return st
}

func reason(err error) string {
	return strings.TrimPrefix(err.Error(), ErrUnavailable.Error()+": ")
}

// trialScript tries in a container what must fail; each line tells what went through.
const trialScript = `
: >"$1/inside" && echo inside
(: >/myelin-trial) 2>/dev/null && echo outside
(: >"$1/.git/hooks/x") 2>/dev/null && echo protected
while read -r name rest; do
	case $name in Inter*|face*|lo:*) ;; *) echo network ;; esac
done </proc/net/dev
echo end
`

// tryContainer runs the trial in a folder of its own.
func (b *Box) tryContainer(ctx context.Context, cfg Config) ([]Check, error) {
	if err := os.MkdirAll(b.opts.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder to try in: %w", err)
	}
	dir, err := os.MkdirTemp(b.opts.StateDir, "probe-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to try in: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder to try in: %w", err)
	}
	try := Config{Dir: dir, Write: []string{dir}, Container: cfg.Container, Quarantine: filepath.Join(dir, "quarantine")}
	p, err := b.plan(ctx, try)
	if err != nil {
		return nil, err
	}
	engine, err := b.findEngine(cfg.Container.Program)
	if err != nil {
		return nil, err
	}
	job := containerJob{
		cfg: try, plan: p, podman: filepath.Base(engine) == "podman", name: "myelin-trial-" + uuid.NewString(), standIn: b.standsIn(p),
		spec: proc.Spec{Path: "/bin/sh", Args: []string{"-c", trialScript, "sh", dir}, Dir: dir},
	}
	args, err := job.args()
	if err != nil {
		return nil, err
	}
	text, err := runEngine(ctx, engineTrial, engine, args...)
	if err != nil {
		return nil, errors.Join(err, (&container{engine, job.name}).end())
	}
	said := strings.Fields(text)
	if !slices.Contains(said, "end") {
		return nil, fmt.Errorf("it said %q", text)
	}
	return []Check{
		{Name: "write outside is refused", OK: !slices.Contains(said, "outside")},
		{Name: "write inside works", OK: slices.Contains(said, "inside")},
		{Name: "protected paths are read-only", OK: !slices.Contains(said, "protected")},
		{Name: "there is no network", OK: !slices.Contains(said, "network")},
	}, nil
}
