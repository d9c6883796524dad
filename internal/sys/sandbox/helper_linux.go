//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/myelin-agent/myelin/internal/sys/sandbox/hostproxy"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/mount"
	"github.com/myelin-agent/myelin/internal/sys/sandbox/seccomp"
)

// Exit codes of the helper, as shells use them.
const (
	helperFailed = 126
	notFound     = 127
)

func helper(mode string, args []string) int {
	var err error
	switch mode {
	case "run":
		err = helperRun(args)
	case "connect":
		err = helperConnect(args)
	case "probe":
		err = helperProbe(args)
	default:
		err = fmt.Errorf("unknown mode %q", mode)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "sandbox: %v\n", err)
	var no notFoundError
	if errors.As(err, &no) {
		return notFound
	}
	return helperFailed
}

type notFoundError struct{ error }

// helperRun prepares the process that the program will be, tells the program outside, and becomes it.
// It returns only when that fails.
func helperRun(args []string) error {
	runtime.LockOSThread() // filter and rules hold for the thread that becomes the program
	if len(args) < 3 || args[1] != "--" {
		return errors.New("helper called without orders")
	}
	var o orders
	if err := o.read(args[0]); err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	argv := args[2:]
	if o.Version != helperVersion {
		return errors.New("the program was replaced while it runs; start it again")
	}
	fds, err := o.listen()
	if err != nil {
		return fmt.Errorf("make proxy sockets: %w", err)
	}
	if err := o.confine(); err != nil {
		return err
	}
	if err := report(o.Socket, fds); err != nil {
		return fmt.Errorf("report to the program outside: %w", err)
	}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	path := argv[0]
	if o.Name != "" {
		argv[0] = o.Name // programs put it before what they have to say
	}
	if err := syscall.Exec(path, argv, os.Environ()); err != nil {
		return notFoundError{fmt.Errorf("run %s: %w", path, err)}
	}
	return nil
}

// read takes the orders from the descriptor that text names.
func (o *orders) read(text string) error {
	fd, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "orders")
	if f == nil {
		return fmt.Errorf("%d is no descriptor", fd)
	}
	defer f.Close()
	return json.NewDecoder(f).Decode(o)
}

// listen makes the sockets of the proxies in the network of the sandbox.
func (o orders) listen() ([]int, error) {
	if !o.Listen {
		return nil, nil
	}
	var out []int
	for _, port := range []int{o.HTTP, o.SOCKS} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		}
		if err == nil {
			err = unix.Listen(fd, 128)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, fd)
	}
	return out, nil
}

// confine makes the file system of the program if bubblewrap has not, gives up what that took, and lays
// Landlock under it; or does all there is.
func (o orders) confine() error {
	if o.Alone {
		return onlyLayer(o)
	}
	made := len(o.Mounts) > 0
	if made {
		if err := o.makeFiles(); err != nil {
			return err
		}
	}
	if !o.Free {
		if err := secondLayer(o.Write); err != nil {
			return err
		}
	}
	if !made {
		return nil
	}
	if err := mount.DropCapabilities(); err != nil {
		return err
	}
	prog, err := seccomp.Full(o.UnixSockets)
	if err != nil {
		return err
	}
	return seccomp.Load(prog)
}

// makeFiles makes the file system and enters the working directory in it.
func (o orders) makeFiles() error {
	if !o.Nested { // there /proc is somebody else's
		if err := mount.CloseNamespaces(); err != nil {
			return err
		}
	}
	if err := mount.Make(o.Shared, o.Mounts); err != nil {
		return err
	}
	if err := os.Chdir(o.Dir); err != nil {
		return fmt.Errorf("enter the working directory: %w", err)
	}
	return nil
}

// report sends the greeting with the sockets and waits for the word to go on.
func report(socket int, fds []int) error {
	if err := unix.Sendmsg(socket, []byte{'H', helperVersion}, unix.UnixRights(fds...), nil, 0); err != nil {
		return err
	}
	var word [1]byte
	n, err := unix.Read(socket, word[:])
	if err == nil && n != 1 {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// closeOnExec marks everything but the three standard descriptors. Closing them would take the
// runtime's own away before it is done.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0)>>1&0x7fffffff, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, derr := os.ReadDir("/proc/self/fd")
	if derr != nil {
		return errors.Join(err, derr)
	}
	for _, e := range entries {
		var fd int
		if _, serr := fmt.Sscan(e.Name(), &fd); serr == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// helperConnect is a tunnel for ssh: it asks the HTTP proxy for a connection and copies both ways.
func helperConnect(args []string) error {
	if len(args) != 3 {
		return errors.New("connect needs proxy, host and port")
	}
	c, err := net.DialTimeout("tcp", args[0], 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	to := net.JoinHostPort(strings.Trim(args[1], "[]"), args[2])
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("connect to %s: %s", to, res.Status)
	}
	go func() { // ends with the input or the connection
		_, _ = io.Copy(c, os.Stdin)
		hostproxy.CloseWrite(c)
	}()
	_, err = io.Copy(os.Stdout, r)
	return err
}

// helperProbe tries what must fail and what must not, and prints the checks as JSON.
func helperProbe(args []string) error {
	if len(args) != 1 {
		return errors.New("probe needs its trials")
	}
	var t trials
	if err := json.Unmarshal([]byte(args[0]), &t); err != nil {
		return fmt.Errorf("read trials: %w", err)
	}
	must := func(name string, err error) Check {
		if err == nil {
			return Check{Name: name, OK: true}
		}
		return Check{Name: name, Got: err.Error()}
	}
	mustNot := func(name string, err error) Check {
		if err == nil {
			return Check{Name: name, Got: "it worked"}
		}
		return Check{Name: name, OK: true, Got: short(err)}
	}
	checks := []Check{
		mustNot("write outside is refused", os.WriteFile(t.Outside, []byte("x"), 0o600)),
		must("write inside works", os.WriteFile(t.Inside, []byte("x"), 0o600)),
		mustNot("direct connection is refused", tryConnect(t.Address)),
		mustNot("local sockets are refused", trySocket(unix.AF_UNIX)),
		mustNot("kernel switches are read-only", tryOpen("/proc/sys/kernel/core_pattern")),
		mustNot("new user namespace is refused", unix.Unshare(unix.CLONE_NEWUSER)),
		mustNot("mounts are refused", unix.Mount("tmpfs", "/", "tmpfs", 0, "")),
	}
	return json.NewEncoder(os.Stdout).Encode(checks)
}

func short(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func tryConnect(addr string) error {
	c, err := net.DialTimeout("tcp", addr, 2*time.Second)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func trySocket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func tryOpen(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}
