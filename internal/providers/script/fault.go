package script

import (
	"net/http"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Err is the fault as the loop sees it, sorted into kinds as a client of the real services does.
func (f Fault) Err() *provider.Error {
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Status)
	}
	return &provider.Error{
		Kind: f.kind(), Provider: "script", Status: f.Status, Type: f.Type,
		Message: message, RetryAfter: f.RetryAfter,
	}
}

func (f Fault) kind() provider.Kind {
	switch f.Type {
	case "authentication_error", "permission_error":
		return provider.KindAuth
	case "billing_error":
		return provider.KindBilling
	case "rate_limit_error":
		return provider.KindRateLimit
	case "overloaded_error":
		return provider.KindOverloaded
	case "api_error":
		return provider.KindServer
	case "not_found_error":
		return provider.KindNotFound
	}
	switch {
	case f.Status == 0:
		return provider.KindNetwork
	case f.Status == 401 || f.Status == 403:
		return provider.KindAuth
	case f.Status == 402:
		return provider.KindBilling
	case f.Status == 404:
		return provider.KindNotFound
	case f.Status == 429:
		return provider.KindRateLimit
	case f.Status == 503 || f.Status == 529:
		return provider.KindOverloaded
	case f.Status >= 500:
		return provider.KindServer
	default:
		return f.invalidKind()
	}
}

// invalidKind tells the refusals apart that a loop can do something about; services only do so in
// words.
func (f Fault) invalidKind() provider.Kind {
	words := strings.ToLower(f.Message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(words, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("max_tokens") && has("exceed", "context"):
		return provider.KindMaxTokens
	case has("prompt is too long", "context window", "context length", "maximum context"):
		return provider.KindTooLong
	case has("image", "document", "pdf") && has("too large", "exceed", "dimension", "could not process"):
		return provider.KindMedia
	case f.Status == 413:
		return provider.KindTooLong
	case has("signature") || (has("tool_use") && has("tool_result")):
		return provider.KindSignature
	default:
		return provider.KindInvalid
	}
}
