//go:build unix

package screen

import (
	"runtime"
	"testing"

	"github.com/creack/pty"
)

// What was typed before keys came one by one is what it would have been after: Enter is Enter.
func TestKeysTypedBeforeTheTerminalIsTaken(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	tty, err := OpenTerminal(slave, slave)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("go on\r"); err != nil {
		t.Fatal(err)
	}
	for waiting(int(slave.Fd())) < len("go on\r") { // until the terminal has it
		runtime.Gosched()
	}
	if err := tty.Raw(true); err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString("a\nb\r"); err != nil {
		t.Fatal(err)
	}
	got, buf := "", make([]byte, 64)
	for len(got) < len("go on\ra\nb\r") {
		n, err := tty.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got += string(buf[:n])
	}
	if got != "go on\ra\nb\r" {
		t.Errorf("%q", got)
	}
	if err := tty.Raw(false); err != nil {
		t.Fatal(err)
	}
}
