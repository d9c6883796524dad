package summary

import (
	"strconv"
	"time"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/shaping"
)

// Stages are the stages of shaping that the settings leave on.
func Stages(state *config.State) shaping.Stages {
	on := func(name string, otherwise bool) bool {
		v, _, set := config.Value[string](state, "shaping."+name)
		return v == "on" || !set && otherwise
	}
	out := shaping.Stages{Budget: on("budget", true), Snip: on("snip", false), Microcompact: on("microcompact", true), Collapse: on("collapse", true)}
	if minutes, _, _ := config.Value[float64](state, "shaping.microcompactAfter"); minutes != 0 {
		out.ColdAfter = time.Duration(minutes * float64(time.Minute))
	}
	return out
}

// Auto says when the conversation is summarised unasked.
func Auto(state *config.State, env config.Environ) shaping.Auto {
	off := func(name string) bool {
		v, set, err := env.Bool(name)
		return v && set && err == nil
	}
	enabled, _, set := config.Value[bool](state, "autoCompactEnabled")
	window, _, _ := config.Value[int](state, "autoCompactWindow")
	if n, err := strconv.Atoi(env.Value("MYELIN_AUTO_COMPACT_WINDOW")); err == nil && n > 0 {
		window = n
	}
	percent, err := strconv.Atoi(env.Value("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"))
	if err != nil { // what is no number lowers nothing
		percent = 0
	}
	return shaping.Auto{Off: set && !enabled || off("DISABLE_AUTO_COMPACT") || off("DISABLE_COMPACT"), Window: window, Percent: percent}
}
