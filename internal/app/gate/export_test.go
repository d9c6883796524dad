package gate

import "github.com/myelin-agent/myelin/internal/feature/permission"

// Accounts are the accounts of command lines, for tests that count them.
func (g *Gate) Accounts() *permission.Accounts { return &g.accounts }
