//go:build windows || (linux && !amd64 && !arm64)

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

func helper(string, []string) int {
	fmt.Fprintln(os.Stderr, "sandbox: there is none for this system")
	return 126
}

func (c *Command) startLinux(*proc.Owner, proc.Spec, Level) error {
	return fmt.Errorf("%w: there is no sandbox for %s on %s", ErrUnavailable, runtime.GOOS, runtime.GOARCH)
}

func (c *Command) startSeatbelt(*proc.Owner, proc.Spec) error {
	return fmt.Errorf("%w: this is no macOS", ErrUnavailable)
}

func (b *Box) probe(context.Context, Config) Status {
	st := Status{Reason: fmt.Sprintf("there is no sandbox for %s on %s", runtime.GOOS, runtime.GOARCH)}
	if runtime.GOOS == "windows" {
		st.Fix = "run this program in WSL2"
	}
	return st
}
