package app

// Exit codes an error of [Open] may choose (docs/exit-codes.md).
const (
	codeSignIn   = 3
	codeSettings = 8
)

// ExitError is an error that knows the exit code of the program.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode is the code.
func (e *ExitError) ExitCode() int { return e.Code }
