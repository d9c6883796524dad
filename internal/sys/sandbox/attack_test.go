//go:build linux

package sandbox_test

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attackMain is what the test program does when it is started inside a sandbox as an attacker: one
// attempt, whose outcome it prints. Attempts are made by system calls, so that no tool has to be
// installed.
func attackMain() bool {
	if len(os.Args) < 3 || os.Args[1] != "attack" {
		return false
	}
	f, ok := attacks[os.Args[2]]
	if !ok {
		fmt.Println("no such attack")
		os.Exit(99)
	}
	if err := f(os.Args[3:]); err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println("it worked")
	return true
}

func errnoErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

var attacks = map[string]func(args []string) error{
	"write":   func(a []string) error { return os.WriteFile(a[0], []byte("attacked"), 0o644) },
	"open":    func(a []string) error { f, err := os.OpenFile(a[0], os.O_RDWR, 0); return closed(f, err) },
	"read":    func(a []string) error { _, err := os.ReadFile(a[0]); return err },
	"link":    func(a []string) error { return os.Link(a[0], a[1]) },
	"rename":  func(a []string) error { return os.Rename(a[0], a[1]) },
	"remount": func([]string) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"umount":  func(a []string) error { return unix.Unmount(a[0], unix.MNT_DETACH) },
	"movemount": func(a []string) error {
		return unix.Mount(a[0], a[1], "", unix.MS_MOVE, "")
	},
	"newmount": func(a []string) error {
		_, _, e := unix.Syscall(unix.SYS_FSOPEN, uintptr(unsafe.Pointer(&[]byte("tmpfs\x00")[0])), 0, 0)
		return errnoErr(e)
	},
	"opentree": func([]string) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	},
	"setattr": func([]string) error {
		return unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	},
	"cgroup": func(a []string) error { return unix.Mount("cgroup", a[0], "cgroup2", 0, "") },
	"unshare": func([]string) error {
		return unix.Unshare(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	},
	"clone": func([]string) error {
		pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if e == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		}
		return errnoErr(e)
	},
	"exchange": func(a []string) error {
		for {
			if err := unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE); err != nil {
				return err
			}
		}
	},
	"crowd": func([]string) error {
		for range 20_000 {
			pid, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
			for e == 0 && pid == 0 {
				unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
			if e != 0 {
				return e
			}
		}
		return nil
	},
	"clone3": func([]string) error {
		args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
		pid, _, e := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if e == 0 && pid == 0 {
			unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		}
		return errnoErr(e)
	},
	"mknod": func(a []string) error { return unix.Mknod(a[0], unix.S_IFBLK|0o600, int(unix.Mkdev(8, 0))) },
	"chmod": func(a []string) error {
		mode, err := strconv.ParseUint(a[1], 8, 32)
		if err != nil {
			return err
		}
		return unix.Chmod(a[0], uint32(mode))
	},
	"fchmodat2": func(a []string) error {
		p, err := unix.BytePtrFromString(a[0])
		if err != nil {
			return err
		}
		_, _, e := unix.Syscall6(452, unix.AT_FDCWD&(1<<64-1), uintptr(unsafe.Pointer(p)), 0o4755, 0, 0, 0)
		return errnoErr(e)
	},
	"opensuid": func(a []string) error {
		fd, err := unix.Open(a[0], unix.O_CREAT|unix.O_WRONLY, 0o4755)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	},
	"openat2suid": func(a []string) error {
		fd, err := unix.Openat2(unix.AT_FDCWD, a[0], &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	},
	"connect": func(a []string) error {
		c, err := net.DialTimeout(a[0], a[1], 2*time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	},
	"udp": func(a []string) error {
		c, err := net.Dial("udp", a[0])
		if err != nil {
			return err
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := c.Write([]byte("ask")); err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 10))
		return err
	},
	"lookup": func(a []string) error { _, err := net.LookupHost(a[0]); return err },
	"get":    attackGet,
	"raw":    attackRaw,
	"socket": func(a []string) error {
		family, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		_, _, e := unix.Syscall(unix.SYS_SOCKET, uintptr(family), unix.SOCK_STREAM, 0)
		return errnoErr(e)
	},
	"sockethigh": func([]string) error { // the kernel looks at the lower half of the family
		_, _, e := unix.Syscall(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return errnoErr(e)
	},
	"x32": func([]string) error {
		_, _, e := unix.RawSyscall(0x40000000|unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return errnoErr(e)
	},
	"iouring": func([]string) error {
		var params [120]byte
		_, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		return errnoErr(e)
	},
	"unixpath": func(a []string) error {
		c, err := net.Dial("unix", a[0])
		if err == nil {
			_ = c.Close()
		}
		return err
	},
	"ptrace": func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_ATTACH, uintptr(pid), 0, 0, 0, 0)
		return errnoErr(e)
	},
	"vmwrite": func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		b := []byte("x")
		local := []unix.Iovec{{Base: &b[0], Len: 1}}
		_, err = unix.ProcessVMWritev(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 1}}, 0)
		return err
	},
	"kill": func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return unix.Kill(pid, unix.SIGKILL)
	},
	"signal0": func(a []string) error {
		pid, err := strconv.Atoi(a[0])
		if err != nil {
			return err
		}
		return unix.Kill(pid, 0)
	},
	"tiocsti": func([]string) error {
		b := byte('x')
		for fd := range 3 {
			if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&b))); e != unix.EPERM {
				return nil
			}
		}
		_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		return err
	},
	"fds": func([]string) error {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		var open []string
		for _, e := range entries {
			to, err := os.Readlink("/proc/self/fd/" + e.Name())
			if err == nil && e.Name() > "2" && !strings.Contains(to, "/fd") && !strings.Contains(to, "eventpoll") && !strings.Contains(to, "eventfd") && !strings.HasPrefix(to, "/sys/fs/cgroup") { // the last are of this program's own runtime
				open = append(open, e.Name()+"="+to)
			}
		}
		if len(open) == 0 {
			return fmt.Errorf("none is open")
		}
		fmt.Println(open)
		return nil
	},
}

func closed(f *os.File, err error) error {
	if err != nil {
		return err
	}
	return f.Close()
}

// attackGet fetches a URL as programs do, through the proxies that the environment names.
func attackGet(a []string) error {
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	res, err := (&http.Client{Transport: tr, Timeout: 5 * time.Second}).Get(a[0])
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	fmt.Println(res.StatusCode, strings.TrimSpace(string(body)))
	if res.StatusCode == http.StatusForbidden {
		return fmt.Errorf("403")
	}
	return nil
}

// attackRaw sends bytes (hex; "_" waits for an answer) to an address and prints what comes back.
func attackRaw(a []string) error {
	c, err := net.DialTimeout("tcp", a[0], 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Second))
	var all bytes.Buffer
	for _, part := range a[1:] {
		if part == "_" {
			buf := make([]byte, 4096)
			n, err := c.Read(buf)
			all.Write(buf[:n])
			if err != nil {
				break
			}
			continue
		}
		data, err := hex.DecodeString(part)
		if err != nil {
			return err
		}
		if _, err := c.Write(data); err != nil {
			break
		}
	}
	rest, _ := io.ReadAll(c)
	all.Write(rest)
	fmt.Printf("%q\n", all.String())
	return nil
}
