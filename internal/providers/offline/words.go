package offline

import (
	"regexp"
	"sync"
)

// Words in results that decide how work goes on.
var (
	missing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)does not exist|not found|no such file|not exist|no file`)
	})
	truncated = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)truncated|more (?:files|results|matches)|first \d+`)
	})
	totalFiles = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bof (\d+)\b|\b(\d+) (?:files )?in (?:all|total)`)
	})
	background = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:moved to|running in) the background|in background with`)
	})
	exitCode = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^Exit code (\d+)`)
	})
	unchangedNote = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^\W*(?:the )?file (?:is )?unchanged\b`)
	})
	todoWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)^(todo|fixme)s?(?:\s+comments?)?$`)
	})
)
