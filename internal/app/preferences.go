package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

// efforts are the levels of effort settings and variables may name.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// effort is the level of effort a session begins with: of the environment, of the flag, of the settings.
func effort(o Options, s *settings) string {
	if v := strings.ToLower(strings.TrimSpace(s.variable("MYELIN_EFFORT_LEVEL"))); slices.Contains(efforts, v) {
		return v
	}
	if o.Effort != "" {
		return o.Effort
	}
	return setting(s.now(), "effortLevel", "")
}

// thinking is how much a model thinks where nobody has said so for this session: tokens; 0: by default,
// negative: not at all.
func thinking(s *settings) int {
	if n, err := strconv.Atoi(strings.TrimSpace(s.variable("MAX_THINKING_TOKENS"))); err == nil && n >= 0 {
		if n == 0 {
			return -1
		}
		return n
	}
	if !setting(s.now(), "alwaysThinkingEnabled", true) {
		return -1
	}
	return 0
}

// pageTime is how long a page that was fetched is kept.
func pageTime(s *settings) time.Duration {
	return time.Duration(numbered(s.env(), "MYELIN_WEBFETCH_CACHE_TTL_MS", 15*60*1000)) * time.Millisecond
}

// appended is what stands at the end of the system prompt: wishes of the settings, then what was given.
func appended(o Options, s *settings) string {
	var out []string
	if language := setting(s.now(), "language", ""); language != "" {
		out = append(out, fmt.Sprintf("Answer in this language: %s. Code, identifiers and commands stay as they are.", language))
	}
	trailer := func(key, name, none, some string) {
		switch text, _, set := config.Value[string](s.now(), key); {
		case set && text == "":
			out = append(out, none)
		case set:
			out = append(out, fmt.Sprintf(some, text))
		}
	}
	if commit, _, set := config.Value[string](s.now(), "attribution.commit"); !set && !setting(s.now(), "includeCoAuthoredBy", true) || set && commit == "" {
		out = append(out, "Add no trailer that names a tool or model to commit messages.")
	} else {
		trailer("attribution.commit", "commits", "", "End commit messages with this trailer:\n%s")
	}
	trailer("attribution.pr", "pull requests", "Do not mention a tool or model in pull requests.", "End the text of pull requests with this line:\n%s")
	if o.AppendSystemPrompt != "" {
		out = append(out, o.AppendSystemPrompt)
	}
	return strings.Join(out, "\n\n")
}
