//go:build !linux

package tree

import "errors"

// told is one notification: what happened to an entry of a folder.
type told struct {
	dir, name string
	entries   bool // an entry came or went
}

// notifier hears of changes in folders, where the kernel can tell of whole trees.
type notifier struct{}

func newNotifier(string) (*notifier, error) { return nil, errors.New("not on this system") }

func (*notifier) add(string) (int, error) { return 0, errors.New("not on this system") }
func (*notifier) watches(int) bool        { return false }
func (*notifier) remove(int)              {}
func (*notifier) close()                  {}
func (*notifier) drain() ([]told, error)  { return nil, errors.New("not on this system") }
