package cli

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// versionLine answers -v and --version. SDKs read the first, whose beginning must be the
// protocol's version; the second is for people.
func versionLine(arg string) (string, bool) {
	switch arg {
	case "-v":
		return fmt.Sprintf("%s (myelin %s)", Protocol, Version()), true
	case "--version":
		return fmt.Sprintf("myelin %s (protocol %s)", Version(), Protocol), true
	}
	return "", false
}

// Version is the product's version as the version control system knows it, "dev" where the build
// holds none. Safe for concurrent use.
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
})

func (c *command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			text, _ := versionLine("--version")
			fmt.Fprintln(c.process.Out, text)
		},
	}
}
