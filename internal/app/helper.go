package app

import "github.com/myelin-agent/myelin/internal/sys/proc"

// HelperMain answers the modes in which the program is its own helper: the watcher that ends orphaned
// commands. It must be called before anything else in main; handled tells that the process has done
// its work.
func HelperMain() (handled bool) { return proc.HelperMain() }
