package headless

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// The limits of a prompt on standard input.
const (
	maxStdin   = 32 << 20         // bytes
	firstByte  = 3 * time.Second  // wait for the first byte when there is a prompt already
	stdinPause = 30 * time.Second // wait between two bytes of a writer that has begun
)

// Stdin is the standard input as a source of a prompt.
type Stdin struct {
	In  io.Reader
	TTY bool // a person sits at it: it is not read
	// First and Pause bound the waits when a prompt was given beside it; 0: 3 and 30 seconds.
	First, Pause time.Duration
}

// ErrNoPrompt says that neither argument nor standard input held a prompt.
var ErrNoPrompt = errors.New("no prompt: give it as an argument or on standard input")

// ReadPrompt joins the prompt given as an argument with what stands on standard input. Without an
// argument it reads standard input to its end. With one, an inherited pipe that nobody writes to
// and nobody closes must not hang the run: the waits are bounded, and warn is told when one of
// them ran out. It returns [ErrNoPrompt] when both are empty.
func ReadPrompt(arg string, in Stdin, warn func(string)) (string, error) {
	if in.TTY || in.In == nil {
		if arg == "" {
			return "", ErrNoPrompt
		}
		return arg, nil
	}
	piped, err := readStdin(in, arg != "", warn)
	if err != nil {
		return "", err
	}
	switch {
	case arg == "" && piped == "":
		return "", ErrNoPrompt
	case arg == "":
		return piped, nil
	case piped == "":
		return arg, nil
	}
	return arg + "\n\n" + piped, nil
}

type chunk struct {
	data []byte
	err  error
}

func readStdin(in Stdin, bounded bool, warn func(string)) (string, error) {
	chunks := make(chan chunk)
	done := make(chan struct{})
	defer close(done)
	go func() { // ends at the end of input, after the reader left, or with the process
		for {
			buf := make([]byte, 64<<10)
			n, err := in.In.Read(buf)
			select {
			case chunks <- chunk{buf[:n], err}:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	wait, pause := or0(in.First, firstByte), or0(in.Pause, stdinPause)
	var all []byte
	for {
		var timeout <-chan time.Time
		if bounded {
			timeout = time.After(wait)
		}
		select {
		case c := <-chunks:
			all = append(all, c.data...)
			if len(all) > maxStdin {
				return "", fmt.Errorf("standard input is longer than %d MB; put it in a file and name the file", maxStdin>>20)
			}
			if c.err != nil { // its end; and a closed or unreadable descriptor holds nothing more either
				return string(all), nil
			}
			if len(c.data) > 0 {
				wait = pause
			}
		case <-timeout:
			warn(stalled(wait, len(all)))
			return string(all), nil
		}
	}
}

func stalled(wait time.Duration, got int) string {
	if got == 0 {
		return fmt.Sprintf("nothing came on standard input for %v and nobody closed it; going on without (</dev/null avoids the wait)", wait)
	}
	return fmt.Sprintf("standard input stalled for %v after %d bytes; going on with those", wait, got)
}

func or0(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
