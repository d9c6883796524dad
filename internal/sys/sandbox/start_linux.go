//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/hostproxy"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/seccomp"
)

// greetTime bounds how long the confinement may take to stand.
const greetTime = 20 * time.Second

// Descriptors of the child, as [proc.Spec.Files] numbers them.
const (
	lineFD    = 3
	ordersFD  = 4
	seccompFD = 5
)

func (c *Command) startLinux(owner *proc.Owner, spec proc.Spec, level Level) error {
	ours, theirs, err := line()
	if err != nil {
		return err
	}
	defer ours.Close()
	defer theirs.Close() // a second time does no harm
	o := orders{Version: helperVersion, Socket: lineFD, Write: c.plan.write, Free: c.plan.free}
	c.net = hostproxy.New(c.cfg.Network)
	if level == Partial {
		err = c.preparePartial(&spec, &o, theirs)
	} else {
		err = c.prepareBwrap(&spec, &o, theirs)
	}
	if err != nil {
		c.net.Close()
		return err
	}
	setup := &setupOutput{}
	setup.wrap(&spec)
	c.Process, err = owner.Start(spec)
	closeFiles(spec.Files)
	if err != nil {
		c.net.Close()
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	ready := func() {
		c.bound()
		setup.pass()
	}
	if err := c.greet(ours, o.Listen, ready); err != nil {
		c.unbound()
		exit := c.Process.Stop("the sandbox could not be set up")
		c.net.Close()
		return setup.failure(err, exit)
	}
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // the child has its own
	}
}

// line is the socket pair between this program and the helper.
func line() (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: make a socket pair: %w", ErrUnavailable, err)
	}
	return os.NewFile(uintptr(pair[0]), "sandbox line"), os.NewFile(uintptr(pair[1]), "sandbox line"), nil
}

// filterFD is the filter as a file in memory, from which bubblewrap reads it.
func filterFD(unixSockets, mounts bool) (*os.File, error) {
	make := seccomp.Full
	if mounts {
		make = seccomp.Setup
	}
	prog, err := make(unixSockets)
	if err != nil {
		return nil, err
	}
	return memoryFile("seccomp", prog)
}

// file is the orders as a file in memory, from which the helper reads them: they may be longer than an
// argument can be.
func (o orders) file() (*os.File, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write orders of the helper: %w", err)
	}
	return memoryFile("orders", raw)
}

func memoryFile(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%w: make a file in memory: %w", ErrUnavailable, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.Write(data); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("write %s of the sandbox: %w", name, err), f.Close())
	}
	return f, nil
}

// command is what the helper becomes.
func command(spec proc.Spec) (path string, args []string, err error) {
	if spec.Path == helperInside {
		return spec.Path, append([]string{spec.Path}, spec.Args...), nil
	}
	path, err = proc.Find(spec.Path, pathOf(spec.Env))
	return path, append([]string{path}, spec.Args...), err
}

func pathOf(env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], "PATH="); ok {
			return v
		}
	}
	return ""
}

func (c *Command) prepareBwrap(spec *proc.Spec, o *orders, theirs *os.File) error {
	bwrap, err := c.box.findBwrap(c.cfg.Bwrap)
	if err != nil {
		return err
	}
	helper, err := c.box.helper()
	if err != nil {
		return err
	}
	o.Listen, o.HTTP, o.SOCKS = true, httpPort, socksPort
	_, argv, err := command(*spec)
	if err != nil {
		return err
	}
	o.Name = spec.Path
	dir := cmp.Or(spec.Dir, c.cfg.Dir, "/")
	st := c.probing
	if st == nil {
		known := c.box.Probe(context.Background(), c.cfg)
		st = &known
	}
	major, minor := version("bubblewrap " + st.Version)
	job := bwrapJob{
		plan: c.plan, dir: dir, helper: helper, seccompFD: seccompFD, nested: c.cfg.Nested, stays: spec.Keep, root: os.Getuid() == 0, exists: exists,
		tmpSize: tmpSize(), noUserns: major > 0 || minor >= 8, mounts: st.Mounts, show: append([]string{dir, c.cfg.Dir}, c.cfg.visible()...),
		standIn:    c.box.standsIn(c.plan),
		helperArgs: append([]string{helperArg, "run", strconv.Itoa(ordersFD), "--"}, argv...),
	}
	steps, err := job.steps()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if job.mounts {
		o.Shared = job.tmpSize
		o.Mounts, o.Dir, o.Nested, o.UnixSockets = steps, dir, c.cfg.Nested, c.cfg.UnixSockets
	}
	told, err := o.file()
	if err != nil {
		return err
	}
	filter, err := filterFD(c.cfg.UnixSockets, job.mounts)
	if err != nil {
		return errors.Join(err, told.Close())
	}
	spec.Env = append(spec.Env[:len(spec.Env):len(spec.Env)], proxyEnv(httpPort, socksPort, helperInside)...)
	spec.Path, spec.Args, spec.Wraps = bwrap, job.args(steps), true
	spec.Files = []*os.File{theirs, told, filter}
	spec.Dir = "/" // the real one may be hidden from bubblewrap itself
	return nil
}

// preparePartial runs the helper directly; the proxies listen on the host's own loopback.
func (c *Command) preparePartial(spec *proc.Spec, o *orders, theirs *os.File) error {
	helper, err := c.box.helper()
	if err != nil {
		return err
	}
	_, argv, err := command(*spec)
	if err != nil {
		return err
	}
	o.Name = spec.Path
	o.Alone = true
	if landlockABI() >= abiTCP {
		if o.HTTP, err = c.listenHere(c.net.HandleHTTP); err == nil {
			o.SOCKS, err = c.listenHere(c.net.HandleSOCKS)
		}
		if err != nil {
			return fmt.Errorf("%w: make the proxies: %w", ErrUnavailable, err)
		}
		spec.Env = append(spec.Env[:len(spec.Env):len(spec.Env)], proxyEnv(o.HTTP, o.SOCKS, "")...)
	}
	told, err := o.file()
	if err != nil {
		return err
	}
	spec.Path, spec.Args = helper, append([]string{helperArg, "run", strconv.Itoa(ordersFD), "--"}, argv...)
	spec.Files = []*os.File{theirs, told}
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

// greet waits until the helper says that the confinement stands, takes the proxies' sockets, and lets
// it go on. What is printed from before that word on is the program's: pass is called first.
func (c *Command) greet(ours *os.File, sockets bool, pass func()) error {
	conn, err := net.FileConn(ours)
	if err != nil {
		return err
	}
	defer conn.Close()
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("the line to the helper is no local socket")
	}
	if err := u.SetDeadline(time.Now().Add(greetTime)); err != nil {
		return err
	}
	word, rights := make([]byte, 8), make([]byte, unix.CmsgSpace(8*4))
	n, rn, _, _, err := u.ReadMsgUnix(word, rights)
	if err != nil {
		return err
	}
	fds, err := descriptors(rights[:rn])
	if err != nil {
		return err
	}
	if n != 2 || word[0] != 'H' || sockets != (len(fds) == 2) {
		closeAll(fds)
		return errors.New("the helper ended before the confinement stood")
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "proxy")
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has its own
		if err != nil {
			closeAll(fds[i+1:])
			return err
		}
		c.net.Serve(l, []func(net.Conn){c.net.HandleHTTP, c.net.HandleSOCKS}[i])
	}
	pass()
	_, err = u.Write([]byte{'G'})
	return err
}

func descriptors(rights []byte) ([]int, error) {
	if len(rights) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var out []int
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			closeAll(out)
			return nil, err
		}
		out = append(out, fds...)
	}
	return out, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// setupOutput keeps what is printed before the confinement stands, which is bubblewrap's own word,
// from the program's output.
type setupOutput struct {
	mu      sync.Mutex // guards all below
	text    bytes.Buffer
	passing bool
}

// setupStream is one of the program's outputs behind it. Two that were the same stay the same.
type setupStream struct {
	setup *setupOutput
	to    io.Writer
}

func (s *setupOutput) wrap(spec *proc.Spec) {
	same := sameWriter(spec.Stdout, spec.Stderr)
	wrap := func(w io.Writer) io.Writer {
		if _, file := w.(*os.File); file {
			return w
		}
		return &setupStream{s, w}
	}
	spec.Stdout, spec.Stderr = wrap(spec.Stdout), wrap(spec.Stderr)
	if same {
		spec.Stderr = spec.Stdout
	}
}

func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil { // types that cannot be compared
			same = false
		}
	}()
	return a == b
}

// Write implements [io.Writer].
func (s *setupStream) Write(p []byte) (int, error) {
	s.setup.mu.Lock()
	if !s.setup.passing {
		s.setup.text.Write(p[:min(len(p), max(0, 4096-s.setup.text.Len()))])
		s.setup.mu.Unlock()
		return len(p), nil
	}
	s.setup.mu.Unlock()
	if s.to == nil {
		return len(p), nil
	}
	return s.to.Write(p)
}

// pass lets everything through from now on. It is called before the helper is given the word to go on,
// and the program cannot print before that, so nothing of it is kept here.
func (s *setupOutput) pass() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passing = true
}

func (s *setupOutput) failure(err error, exit proc.Exit) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(s.text.String())
	if text == "" {
		text = fmt.Sprintf("%v (exit code %d)", err, exit.Code)
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, strings.ReplaceAll(text, "\n", "; "))
}

// findBwrap finds bubblewrap, never in the current directory nor where confined programs may write.
func (b *Box) findBwrap(path string) (string, error) {
	if path == "" {
		path = "bwrap"
	}
	found, err := b.opts.Finder.Find(path, os.Getenv("PATH"))
	if errors.Is(err, proc.ErrWritable) {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return "", fmt.Errorf("%w: bubblewrap is not installed (apt-get install bubblewrap)", ErrUnavailable)
	}
	return found, nil
}
