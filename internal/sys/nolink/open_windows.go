package nolink

import (
	"io/fs"
	"os"
)

const (
	nonBlocking = 0
	noFollow    = 0
)

func openFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return walkFile(path, flag, perm)
}

func openDir(path string) (*os.Root, error) { return walkDir(path) }

func lstat(path string) (fs.FileInfo, error) { return walkLstat(path) }

func lookAt(path string) (fs.FileInfo, error) { return walkLstat(path) }

// Rename moves the entry at one absolute, clean path to another one. No sandbox is here that would run
// meanwhile.
func Rename(from, to string) error { return os.Rename(from, to) }
