//go:build windows

package config

import "io/fs"

// ownedByOther knows no owners here.
func ownedByOther(string) bool { return false }

func ownerOf(fs.FileInfo) (uid int, ok bool) { return 0, false }
