package headless

import (
	"os"
	"syscall"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// The exit codes of text and JSON output. A stream of JSON lines, and a process that an Agent SDK
// started, end with [ExitDone], [ExitOther] or [ExitTerm] only.
const (
	ExitDone      = 0
	ExitOther     = 1
	ExitUsage     = 2
	ExitSignIn    = 3  // no key, a wrong one, or an account that may not
	ExitBusy      = 4  // rate limit or overload
	ExitNetwork   = 5  // no connection, or a service that does not work
	ExitBudget    = 6  //
	ExitMaxTurns  = 7  //
	ExitSettings  = 8  // settings or trust
	ExitScript    = 70 // a script's expectation was missed, or its turns ran out
	ExitHangup    = 129
	ExitInterrupt = 130
	ExitTerm      = 143
)

// exitCode is the status a result ends with.
func exitCode(r proto.Result, wire bool) int {
	failed := r.IsError || r.Ended.API != nil
	switch {
	case !failed:
		return ExitDone
	case wire:
		return ExitOther
	case r.Ended.API != nil && r.Ended.API.Script:
		return ExitScript
	}
	switch r.Ended.Reason {
	case proto.EndBudget:
		return ExitBudget
	case proto.EndMaxRounds:
		return ExitMaxTurns
	case proto.EndStreaming:
		return ExitInterrupt
	}
	if r.Ended.API != nil {
		return apiExit(*r.Ended.API)
	}
	return ExitOther
}

func apiExit(e proto.APIError) int {
	switch provider.Kind(e.Kind) {
	case provider.KindAuth, provider.KindBilling:
		return ExitSignIn
	case provider.KindRateLimit, provider.KindOverloaded:
		return ExitBusy
	case provider.KindNetwork, provider.KindUnreachable, provider.KindStream, provider.KindEnd, provider.KindIdle, provider.KindServer:
		return ExitNetwork
	case provider.KindScript:
		return ExitScript
	}
	return ExitOther
}

// signalExit is the status after a signal ended the run.
func signalExit(sig os.Signal, wire bool) int {
	switch {
	case sig == syscall.SIGINT && wire:
		return ExitDone
	case sig == syscall.SIGINT:
		return ExitInterrupt
	case sig == syscall.SIGHUP && !wire:
		return ExitHangup
	}
	return ExitTerm
}

// category is a failure of the model's service in the words of the wire.
func category(kind string, status int) string {
	switch provider.Kind(kind) {
	case provider.KindAuth, provider.KindBilling, provider.KindRateLimit, provider.KindOverloaded:
		return kind
	case provider.KindNotFound:
		return "model_not_found"
	case provider.KindServer:
		return "server_error"
	case provider.KindInvalid, provider.KindTooLong, provider.KindMaxTokens, provider.KindMedia, provider.KindSignature:
		if status == 400 || status == 0 {
			return "unknown" // what the reference reports for a plain 400
		}
		return "invalid_request"
	}
	return "unknown"
}
