package permission

import (
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

// keptAccounts is how many command lines [Accounts] remembers: those of calls side by side.
const keptAccounts = 16

// Accounts remembers what the newest command lines do, so that all who ask about one call (its traits, its
// decision, the conditions of hooks) read its text once. An account depends on nothing but the text and
// the directories, so it cannot grow old. The zero value is ready, nil remembers nothing; it is safe for
// concurrent use.
type Accounts struct {
	// Analyse reads a command line; nil: shellsyntax.Analyse. It must be set before the first use.
	Analyse func(command string, opts shellsyntax.Options) *shellsyntax.Account

	mu   sync.Mutex // guards the rest
	kept [keptAccounts]account
	next int
}

type account struct {
	command, cwd, home string
	acc                *shellsyntax.Account
}

// of is the account of a command line; it must not be changed.
func (a *Accounts) of(command, cwd, home string) *shellsyntax.Account {
	if a == nil {
		return shellsyntax.Analyse(command, shellsyntax.Options{Cwd: cwd, Home: home})
	}
	if acc := a.find(command, cwd, home); acc != nil {
		return acc
	}
	analyse := a.Analyse
	if analyse == nil {
		analyse = shellsyntax.Analyse
	}
	acc := analyse(command, shellsyntax.Options{Cwd: cwd, Home: home})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept[a.next] = account{command: command, cwd: cwd, home: home, acc: acc}
	a.next = (a.next + 1) % keptAccounts
	return acc
}

func (a *Accounts) find(command, cwd, home string) *shellsyntax.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.kept {
		if k := &a.kept[i]; k.acc != nil && k.cwd == cwd && k.home == home && k.command == command {
			return k.acc
		}
	}
	return nil
}
