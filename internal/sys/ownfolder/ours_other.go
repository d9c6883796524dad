//go:build !unix

package ownfolder

import "io/fs"

// Temporary folders are a user's own there.
func ours(fs.FileInfo) bool { return true }

func others(fs.FileInfo) bool { return false }
