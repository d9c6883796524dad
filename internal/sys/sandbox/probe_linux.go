//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

func (c *Command) startSeatbelt(*proc.Owner, proc.Spec) error {
	return fmt.Errorf("%w: this is no macOS", ErrUnavailable)
}

// probeTime bounds a probe.
const probeTime = 30 * time.Second

// probeKey is everything the result of a probe depends on; empty: it cannot be said.
func (b *Box) probeKey(cfg Config) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	parts := []string{strings.TrimSpace(string(boot)), strconv.Itoa(os.Getuid()), strconv.FormatBool(cfg.Nested)}
	helper, err := b.helper()
	if err != nil {
		return ""
	}
	bwrap, _ := b.findBwrap(cfg.Bwrap) // none: the result says so
	for _, path := range []string{helper, bwrap} {
		if st, err := os.Stat(path); err == nil {
			parts = append(parts, path, strconv.FormatInt(st.Size(), 10), strconv.FormatInt(st.ModTime().UnixNano(), 10), strconv.FormatUint(inode(st), 10))
		}
	}
	// Namespaces may be switched off while the machine runs, and a container has its own.
	for _, path := range []string{"/proc/sys/user/max_user_namespaces", "/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"} {
		data, _ := os.ReadFile(path) // not there: nothing to say
		parts = append(parts, strings.TrimSpace(string(data)))
	}
	for _, ns := range []string{"user", "mnt", "pid"} {
		link, _ := os.Readlink("/proc/self/ns/" + ns)
		parts = append(parts, link)
	}
	return strings.Join(parts, "|")
}

// probe tries the full profile, then the lesser level.
func (b *Box) probe(ctx context.Context, cfg Config) Status {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	st := Status{ABI: landlockABI()}
	why := b.probeBwrap(ctx, cfg, &st)
	if why == nil {
		st.Level, st.Backend = Full, "bubblewrap"
		return st
	}
	st.Reason, st.Fix = oneReason(why), fixFor(why)
	if st.ABI == 0 {
		st.Reason += "; and the kernel has no Landlock"
		return st
	}
	if err := b.tryProfile(ctx, cfg, Partial, &st); err != nil {
		st.Reason += "; Landlock: " + oneReason(err)
		return st
	}
	st.Level, st.Backend, st.Missing = Partial, "landlock", slices.Concat(partialGaps, st.Missing)
	if st.ABI < abiTCP {
		st.Missing = append([]string{"no network at all: this kernel's Landlock does not know TCP"}, st.Missing...)
	}
	return st
}

func oneReason(err error) string {
	text := strings.TrimPrefix(err.Error(), ErrUnavailable.Error()+": ")
	return strings.TrimSpace(strings.TrimPrefix(text, "bwrap: "))
}

// fixFor says what helps against a failure of bubblewrap.
func fixFor(err error) string {
	text := err.Error()
	switch {
	case strings.Contains(text, "not installed"):
		return "apt-get install bubblewrap"
	case apparmorRestricts() && strings.Contains(text, "ermission denied"):
		return "allow bwrap to make user namespaces: an AppArmor profile with the rule userns"
	case strings.Contains(text, "namespace") || strings.Contains(text, "uid map"):
		return "allow user namespaces (sysctl user.max_user_namespaces), or, in a container, set sandbox.enableWeakerNestedSandbox"
	case strings.Contains(text, "proc"):
		return "in a container, set sandbox.enableWeakerNestedSandbox"
	}
	return ""
}

func apparmorRestricts() bool {
	data, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	return err == nil && strings.TrimSpace(string(data)) == "1"
}

func (b *Box) probeBwrap(ctx context.Context, cfg Config, st *Status) error {
	path, err := b.findBwrap(cfg.Bwrap)
	if err != nil {
		return err
	}
	host := proc.NewHost(proc.Options{})
	defer host.Close()
	var out bytes.Buffer
	exit, err := host.Owner("probe").Run(ctx, proc.Spec{Path: path, Args: []string{"--version"}, Stdout: &out})
	if err != nil || exit.Code != 0 {
		return errors.Join(fmt.Errorf("%w: %s --version does not answer", ErrUnavailable, path), err)
	}
	st.Version = strings.TrimPrefix(strings.TrimSpace(out.String()), "bubblewrap ")
	st.Mounts = true
	if err = b.tryProfile(ctx, cfg, Full, st); err == nil {
		return nil
	}
	st.Mounts, st.Checks, st.Slow = false, nil, oneReason(err)
	return b.tryProfile(ctx, cfg, Full, st)
}

// tryProfile runs the helper's trials in the profile itself and on this machine.
func (b *Box) tryProfile(ctx context.Context, cfg Config, level Level, st *Status) error {
	dir, err := os.MkdirTemp(b.probeRoot(), "probe-")
	if err != nil {
		return fmt.Errorf("make a folder to try in: %w", err)
	}
	defer os.RemoveAll(dir)
	inside, outside := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := errors.Join(os.Mkdir(inside, 0o700), os.Mkdir(outside, 0o700)); err != nil {
		return fmt.Errorf("make a folder to try in: %w", err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("make a listener to try with: %w", err)
	}
	defer listener.Close()
	raw, err := json.Marshal(trials{Outside: filepath.Join(outside, "x"), Inside: filepath.Join(inside, "x"), Address: listener.Addr().String()})
	if err != nil {
		return fmt.Errorf("write trials: %w", err)
	}
	checks, err := b.runTrials(ctx, cfg, level, inside, string(raw), st)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(outside, "x")); err == nil {
		checks = append(checks, Check{Name: "nothing was written outside", Got: "it was"})
	}
	st.Checks = checks
	var failed []string
	for _, c := range checks {
		if !c.OK {
			failed = append(failed, c.Name+" ("+c.Got+")")
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%w: it does not hold: %s", ErrUnavailable, strings.Join(failed, ", "))
	}
	return nil
}

// probeRoot is where the trials happen: not below /tmp, which is private inside in any case.
func (b *Box) probeRoot() string {
	if os.MkdirAll(b.opts.StateDir, 0o700) == nil {
		return b.opts.StateDir
	}
	return ""
}

func (b *Box) runTrials(ctx context.Context, cfg Config, level Level, inside, trials string, st *Status) ([]Check, error) {
	host := proc.NewHost(proc.Options{})
	defer host.Close()
	try := Config{Dir: inside, Write: []string{inside}, Bwrap: cfg.Bwrap, Nested: cfg.Nested, Network: Network{}}
	real, err := filepath.EvalSymlinks(inside)
	if err != nil {
		return nil, err
	}
	p := &plan{write: []string{real}, far: &farGuards{}}
	p.mounted = p.mounts()
	c := &Command{box: b, cfg: try, plan: p, probing: st}
	helper, err := b.helper()
	if err != nil {
		return nil, err
	}
	if level == Full {
		helper = helperInside
	}
	var out, errs bytes.Buffer
	spec := proc.Spec{Path: helper, Args: []string{helperArg, "probe", trials}, Dir: inside, Env: os.Environ(), Stdout: &out, Stderr: &errs}
	if err := c.startLinux(host.Owner("probe"), spec, level); err != nil {
		return nil, err
	}
	defer c.net.Close()
	select {
	case <-c.Process.Done():
	case <-ctx.Done():
		c.Process.Stop("the probe took too long")
		return nil, fmt.Errorf("%w: the probe took too long", ErrUnavailable)
	}
	var checks []Check
	if err := json.Unmarshal(out.Bytes(), &checks); err != nil {
		return nil, fmt.Errorf("%w: the probe did not answer: %s", ErrUnavailable, strings.TrimSpace(errs.String()))
	}
	return checks, nil
}
