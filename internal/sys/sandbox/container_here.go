package sandbox

import "os"

// InContainer reports whether this program runs in a container, as far as those leave a sign of
// themselves: Docker and Podman a file each, systemd and LXC a variable. None is no proof of the opposite.
func InContainer() bool {
	for _, sign := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(sign); err == nil {
			return true
		}
	}
	return os.Getenv("container") != ""
}
