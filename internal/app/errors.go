package app

// Exit codes an error of [Open] may choose (docs/exit-codes.md).
const (
	codeSignIn   = 3
	codeNetwork  = 5
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

// RefusedError says that a conversation cannot be gone on with; hosts get it as a result.
type RefusedError struct {
	Session string // id that was asked for
	Err     error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// ResumeRefused is the id that was asked for.
func (e *RefusedError) ResumeRefused() string { return e.Session }

// published is an error in the very words that hosts of the public protocol look for.
type published string

// Error implements error.
func (p published) Error() string { return string(p) }
