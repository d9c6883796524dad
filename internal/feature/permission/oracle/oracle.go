// Package oracle holds the decisions about shell commands to what the real programs do. Its tests make
// random commands for bash, sed, awk, jq, find and git, decide each, and run those that are allowed
// under strace in a sandbox that cannot be written: a command that "only reads" must start no
// program that it does not name, open nothing for writing and nothing outside of the project; a command that
// passed a deny rule must not do what the rule denies. There is no code here but tests; a command that
// once broke a promise is kept in testdata/seeds.
//
// Begin with TestRandomCommands. A longer run:
//
//	go test ./internal/feature/permission/oracle -run Random -oracle.time 10m
package oracle
