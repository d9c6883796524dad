package bash

import (
	"strconv"
	"strings"
	"time"
)

// Limits bound calls. A zero field means its default.
type Limits struct {
	Timeout           time.Duration // of a call that names none; default 2 minutes
	MaxTimeout        time.Duration // the most a call may name; default 10 minutes, never below Timeout
	BackgroundTimeout time.Duration // of work in the background; default 30 minutes
	MaxBackground     time.Duration // the most a background call may name; default 2 hours
	MaxOutput         int           // characters of a result; default 30,000, at most 150,000
	MaxBytes          int64         // output after which a command is ended; default 5 GB
	NoBackground      bool          // nothing goes to the background
	FixedCwd          bool          // the working directory does not persist
	Shell             string        // absolute path of the shell; default /bin/bash where there is one, else /bin/sh
	Prefix            string        // program that runs the command, which is its one argument
}

const (
	hardOutput = 150_000
	// failureOutput is how much of the output of a failed command the model sees, in characters.
	failureOutput = 10_000
	// previewHead and previewTail are how much it sees of output that is kept in a file.
	previewHead, previewTail = 2_000, 1_000
	// fileLimit bounds the file that keeps the output, in bytes.
	fileLimit = 64 << 20
)

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&l.Timeout, 2*time.Minute)
	set(&l.MaxTimeout, 10*time.Minute)
	l.MaxTimeout = max(l.MaxTimeout, l.Timeout)
	set(&l.BackgroundTimeout, 30*time.Minute)
	set(&l.MaxBackground, 2*time.Hour)
	if l.MaxOutput <= 0 {
		l.MaxOutput = 30_000
	}
	l.MaxOutput = min(l.MaxOutput, hardOutput)
	if l.MaxBytes <= 0 {
		l.MaxBytes = 5_000_000_000
	}
	return l
}

// LimitsFrom reads the public variables: BASH_DEFAULT_TIMEOUT_MS, BASH_MAX_TIMEOUT_MS,
// BASH_MAX_OUTPUT_LENGTH, CLAUDE_CODE_DISABLE_BACKGROUND_TASKS,
// CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR, CLAUDE_CODE_SHELL and CLAUDE_CODE_SHELL_PREFIX, the
// CLAUDE_CODE_ ones also as MYELIN_, which wins. What is no positive number counts as not set.
func LimitsFrom(getenv func(string) string) Limits {
	ms := func(name string) time.Duration { return time.Duration(positive(getenv(name))) * time.Millisecond }
	either := func(name string) string {
		if v := getenv("MYELIN_" + name); v != "" {
			return v
		}
		return getenv("CLAUDE_CODE_" + name)
	}
	return Limits{
		Timeout: ms("BASH_DEFAULT_TIMEOUT_MS"), MaxTimeout: ms("BASH_MAX_TIMEOUT_MS"),
		MaxOutput:    positive(getenv("BASH_MAX_OUTPUT_LENGTH")),
		NoBackground: isOn(either("DISABLE_BACKGROUND_TASKS")),
		FixedCwd:     isOn(getenv("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR")),
		Shell:        either("SHELL"), Prefix: either("SHELL_PREFIX"),
	}
}

func positive(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

func isOn(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// timeout is the time limit of a call; asking for more than the most gives the most.
func (l Limits) timeout(in Input) time.Duration {
	def, most := l.Timeout, l.MaxTimeout
	if in.RunInBackground {
		def, most = l.BackgroundTimeout, l.MaxBackground
	}
	if in.Timeout == nil {
		return def
	}
	if *in.Timeout > float64(most.Milliseconds()) {
		return most
	}
	return time.Duration(*in.Timeout * float64(time.Millisecond))
}
