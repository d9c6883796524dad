package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/hostproxy"
)

const sandboxExec = "/usr/bin/sandbox-exec"

func helper(string, []string) int {
	fmt.Fprintln(os.Stderr, "sandbox: this system needs no helper")
	return 126
}

func (c *Command) startLinux(*proc.Owner, proc.Spec, Level) error {
	return fmt.Errorf("%w: this is no Linux", ErrUnavailable)
}

func (c *Command) startSeatbelt(owner *proc.Owner, spec proc.Spec) error {
	c.net = hostproxy.New(c.cfg.Network)
	http, err := c.listenHere(c.net.HandleHTTP)
	var socks int
	if err == nil {
		socks, err = c.listenHere(c.net.HandleSOCKS)
	}
	if err != nil {
		c.net.Close()
		return fmt.Errorf("%w: make the proxies: %w", ErrUnavailable, err)
	}
	path, err := proc.Find(spec.Path, os.Getenv("PATH"))
	if err != nil {
		c.net.Close()
		return err
	}
	job := seatbeltJob{plan: c.plan, http: http, socks: socks, unixSockets: c.cfg.UnixSockets}
	spec.Env = append(spec.Env[:len(spec.Env):len(spec.Env)], proxyEnv(http, socks, "")...)
	spec.Args = append([]string{"-p", job.profile(), path}, spec.Args...)
	spec.Path = sandboxExec
	if c.Process, err = owner.Start(spec); err != nil {
		c.net.Close()
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

func (c *Command) listenHere(handle func(net.Conn)) (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(errors.New("no TCP address"), l.Close())
	}
	c.net.Serve(l, handle)
	return addr.Port, nil
}

// probe: whether sandbox-exec is there. What its profile refuses is tried on machines that have it.
func (b *Box) probe(context.Context, Config) Status {
	if _, err := os.Stat(sandboxExec); err != nil {
		return Status{Reason: sandboxExec + " is missing"}
	}
	return Status{Level: Seatbelt, Backend: "seatbelt"}
}
