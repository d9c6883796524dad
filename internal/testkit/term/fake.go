package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fake is a terminal one can type into and look at. It is safe for concurrent use.
type Fake struct {
	mu     sync.Mutex // guards everything below
	cond   *sync.Cond
	grid   *Grid
	input  [][]byte
	closed bool
	raw    bool
	log    []byte
	writes int
	stuck  bool // nobody reads what is written
}

// Open makes a fake terminal with an empty screen.
func Open(w, h int, reflow bool) *Fake {
	f := &Fake{grid: New(w, h, reflow)}
	f.cond = sync.NewCond(&f.mu)
	return f
}

// Type sends bytes as one read of the program.
func (f *Fake) Type(parts ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range parts {
		f.input = append(f.input, []byte(p))
	}
	f.cond.Broadcast()
}

// Hangup ends the input, as a terminal that goes away does.
func (f *Fake) Hangup() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.cond.Broadcast()
}

// Stick stops or resumes taking what is written.
func (f *Fake) Stick(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stuck = on
	f.cond.Broadcast()
}

// Read implements the program's side.
func (f *Fake) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if len(f.input) > 0 && f.raw {
			n := copy(p, f.input[0])
			if f.input[0] = f.input[0][n:]; len(f.input[0]) == 0 {
				f.input = f.input[1:]
			}
			return n, nil
		}
		if f.closed {
			return 0, io.EOF
		}
		f.cond.Wait()
	}
}

// Write implements the program's side.
func (f *Fake) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.stuck {
		f.cond.Wait()
	}
	f.log = append(f.log, p...)
	f.writes++
	f.cond.Broadcast()
	return f.grid.Write(p)
}

// Size implements the program's side.
func (f *Fake) Size() (int, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.grid.Size()
}

// Raw implements the program's side.
func (f *Fake) Raw(on bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.raw = on
	f.cond.Broadcast()
	return nil
}

// IsRaw reports whether the program has the terminal in raw mode.
func (f *Fake) IsRaw() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raw
}

// Resize changes the window. The program learns of it by a signal, which is the test's to send.
func (f *Fake) Resize(w, h int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grid.Resize(w, h)
	f.cond.Broadcast()
}

// Log is everything that was written.
func (f *Fake) Log() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]byte(nil), f.log...)
}

// Writes is how often something was written.
func (f *Fake) Writes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writes
}

// Look gives the grid to a function while nothing is written.
func (f *Fake) Look(see func(g *Grid)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	see(f.grid)
}

// Await waits until the grid looks as it should, or fails the test with what it looks like.
func (f *Fake) Await(t testing.TB, what string, ok func(g *Grid) bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(10*time.Second, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		late = true
		f.cond.Broadcast()
	})
	defer timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !ok(f.grid) {
		if late {
			t.Fatalf("%s never came; the terminal shows\n%s", what, dump(f.grid))
		}
		f.cond.Wait()
	}
}

// AwaitText waits until a text stands on the screen.
func (f *Fake) AwaitText(t testing.TB, text string) {
	t.Helper()
	f.Await(t, fmt.Sprintf("%q", text), func(g *Grid) bool { return strings.Contains(strings.Join(g.Lines(), "\n"), text) })
}

func dump(g *Grid) string {
	var b strings.Builder
	for _, l := range g.Scrollback() {
		b.WriteString("  ^ " + l + "\n")
	}
	for _, l := range g.Screen() {
		b.WriteString("  | " + l + "\n")
	}
	y, x := g.Cursor()
	fmt.Fprintf(&b, "  cursor %d,%d", y, x)
	return b.String()
}
