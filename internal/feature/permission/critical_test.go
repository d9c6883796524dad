package permission

import "testing"

// A removal of what a command prints is critical where that command prints a working directory, the
// top of a repository, home or a parent; no mode approves it.
func TestKF151_RemovalsOfPrintedFolders(t *testing.T) {
	for command, want := range map[string]Behavior{
		"rm -rf $(pwd)":                                  Ask,
		`rm -rf "$(pwd)"`:                                Ask,
		"rm -rf `pwd`":                                   Ask,
		"rm -rf $(pwd -P)/":                              Ask,
		"rm -rf $(pwd)/*":                                Ask,
		`rm -rf "$(pwd)"/{*,.*}`:                         Ask,
		"rm -rf $(/bin/pwd)/..":                          Ask,
		"rm -rf $(command pwd)":                          Ask,
		`rm -rf "$(git rev-parse --show-toplevel)"`:      Ask,
		"rm -rf $(git -C . rev-parse --show-toplevel)/*": Ask,
		"rm -rf $(dirname $PWD)":                         Ask,
		"rm -rf $(realpath .)":                           Ask,
		"rm -rf $(readlink -f .)/*":                      Ask,
		"rm -rf $(echo ~)":                               Ask,
		"rm -rf $(echo $HOME)":                           Ask,
		"rmdir $(cd .. && pwd)":                          Ask,
		"rm -rf $(pwd)/build":                            Allow,
		"rm -rf $(find . -name '*.tmp')":                 Allow,
		"rm -f $(git ls-files -o)":                       Allow,
		"rm -rf $(mktemp -d)":                            Allow,
	} {
		pol := plainPolicy()
		pol.Mode = Bypass
		d := decideShell(command, pol)
		if d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, d.Behavior, d.Reason.Text, want)
		}
	}
}
