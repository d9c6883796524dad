package app

import (
	"fmt"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// outcome is how the end of a turn is told in the public words: the subtype of the result, whether
// it is an error, and the sentences that say why.
func outcome(e proto.Ended, o Options) (subtype string, isError bool, errors []string) {
	switch e.Reason {
	case "", proto.EndCompleted, proto.EndHook, proto.EndDeferred, proto.EndStructured, proto.EndRefusal:
		return "success", false, nil
	case proto.EndAPI, proto.EndOverflow: // the service failed: the text says so
		return "success", true, nil
	case proto.EndMaxRounds:
		return "error_max_turns", true, []string{fmt.Sprintf("Reached maximum number of turns (%d)", o.MaxTurns)}
	case proto.EndBudget:
		return "error_max_budget_usd", true, []string{e.Detail}
	case proto.EndStructRetry:
		return "error_max_structured_output_retries", true, []string{e.Detail}
	}
	if e.Detail != "" {
		errors = []string{e.Detail}
	}
	return "error_during_execution", true, errors
}
