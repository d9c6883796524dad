package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/myelin-agent/myelin/internal/surface/headless"
	"github.com/myelin-agent/myelin/internal/sys/nearest"
)

// usageError says that the arguments cannot be carried out as they are.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// statusError ends the program with a code of its own; an empty text says nothing.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// exitCoder is an error that knows the exit code it calls for, such as one of settings or trust.
type exitCoder interface{ ExitCode() int }

// fail writes an error as one line for people and returns the exit code it calls for.
func (c *command) fail(err error) int {
	var status *statusError
	if errors.As(err, &status) {
		if status.text != "" {
			fmt.Fprintf(c.process.Err, "error: %s\n", status.text)
		}
		return status.code
	}
	fmt.Fprintf(c.process.Err, "error: %s\n", strings.TrimSpace(err.Error()))
	return c.exitCode(err)
}

// exitCode is the code of an error: hosts of the published protocol know failures as 1 only.
func (c *command) exitCode(err error) int {
	if streamJSON(c.args) || c.process.sdk() {
		return headless.ExitOther
	}
	var coded exitCoder
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	var usage *usageError
	if errors.As(err, &usage) || isFlagError(err) {
		return headless.ExitUsage
	}
	return headless.ExitOther
}

func isFlagError(err error) bool {
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	var unknown *pflag.NotExistError
	return errors.As(err, &missing) || errors.As(err, &invalid) || errors.As(err, &syntax) || errors.As(err, &unknown)
}

// flagError turns an error of the flag parser into a sentence.
func flagError(err error, flags *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return usagef("unknown option '-%s'", name)
		}
		text := fmt.Sprintf("unknown option '--%s'", name)
		if near := near(name, flagNames(flags)); near != "" {
			text += fmt.Sprintf(" (did you mean --%s?)", near)
		}
		return &usageError{text}
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return usagef("option '--%s' needs a value", missing.GetFlag().Name)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		f := invalid.GetFlag()
		return usagef("option '--%s': %q is no %s", f.Name, invalid.GetValue(), typeName(f.Value.Type()))
	}
	return &usageError{err.Error()}
}

func typeName(t string) string {
	switch t {
	case "int":
		return "whole number"
	case "float64":
		return "number"
	case "bool":
		return "truth value (true or false)"
	}
	return t
}

func flagNames(flags *pflag.FlagSet) []string {
	var out []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			out = append(out, f.Name)
		}
	})
	return out
}

// near is the name most like the given one, empty when none is near enough to be meant.
func near(name string, names []string) string { return nearest.Name(name, names, len(name)/3+1) }
