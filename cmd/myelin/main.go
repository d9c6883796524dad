// Command myelin is a coding agent for the terminal.
package main

import (
	"os"

	"github.com/myelin-agent/myelin/internal/surface/cli"
)

func main() { os.Exit(cli.Main(os.Args, cli.OS(), cli.Wired())) }
