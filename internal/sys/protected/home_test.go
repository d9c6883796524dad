package protected_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/protected"
)

// What a home holds that signs in, or starts by itself, is closed when the home is the working folder.
func TestKF152_StartFilesAndCredentialsInHome(t *testing.T) {
	table := protected.InHome()
	for _, path := range []string{
		".ssh/authorized_keys", ".ssh/rc", ".config/systemd/user/x.service", ".config/autostart/x.desktop", ".config/environment.d/x.conf", ".npmrc", ".claude.json", ".myelin/settings.json",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".config/fish/config.fish", ".config/nushell/env.nu",
		".gitconfig", ".config/git/config", ".aws/config", ".gnupg/gpg.conf", ".cargo/config.toml", ".local/bin/ls", ".pam_environment", ".vimrc", ".netrc", ".git-credentials",
	} {
		if !slices.ContainsFunc(table, func(held string) bool { return path == held || strings.HasPrefix(path, held+"/") }) {
			t.Errorf("%s is open", path)
		}
	}
}
