package caseblind

import "golang.org/x/sys/unix"

// flagged asks the kernel: a folder has a flag for it, some file systems ignore case as a whole.
func flagged(dir string) (ignores, certain bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return false, false
	}
	switch uint32(fs.Type) {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC:
		return true, true
	case unix.EXT4_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		return flags&casefold != 0, err == nil
	case unix.BTRFS_SUPER_MAGIC:
		return false, true
	}
	return false, false
}

// casefold is FS_CASEFOLD_FL.
const casefold = 0x40000000
