//go:build !windows

package read

import (
	"os"
	"os/exec"
)

// given is the name under which a program finds the open file it is handed: by its own name it could
// meet another one.
const given = "/dev/fd/3"

func give(cmd *exec.Cmd, f *os.File) { cmd.ExtraFiles = []*os.File{f} }
