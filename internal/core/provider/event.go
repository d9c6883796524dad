package provider

import (
	"errors"
	"fmt"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Event is one piece of a streamed answer: [Start], [BlockStart], [Delta], [BlockDone], [Ping] or
// [Done].
type Event interface{ event() }

// Start opens an answer.
type Start struct {
	ID    string    // the provider's id of the answer, made up by the client when there is none
	Model string    // the id of the model that answers, as the provider reports it
	Usage msg.Usage // what is known of the input already
}

// BlockStart opens block number Index. Block has its kind and what is known at once (for a tool
// call id and name); its text is still empty.
type BlockStart struct {
	Index int
	Block msg.Block
}

// Delta adds to the open block. Text is valid UTF-8: a client holds back half a character.
type Delta struct {
	Index int
	Kind  DeltaKind
	Text  string
}

// DeltaKind says what a delta adds to.
type DeltaKind string

// The kinds of deltas.
const (
	TextDelta      DeltaKind = "text"
	ThinkingDelta  DeltaKind = "thinking"
	InputDelta     DeltaKind = "input" // JSON text of a tool call's input
	SignatureDelta DeltaKind = "signature"
)

// BlockDone closes block number Index with its whole content. Partial says that the stream broke
// inside it: a partial tool call must not be run.
type BlockDone struct {
	Index   int
	Block   msg.Block
	Partial bool
}

// Ping says that the connection lives. It is no progress.
type Ping struct{}

// Done closes an answer. Usage is the final count of the whole request.
type Done struct {
	Stop  msg.Stop
	Usage msg.Usage
}

func (Start) event()      {}
func (BlockStart) event() {}
func (Delta) event()      {}
func (BlockDone) event()  {}
func (Ping) event()       {}
func (Done) event()       {}

// Kind is what a caller can do about an error.
type Kind string

// The kinds of errors the loop and the surfaces tell apart.
const (
	KindAuth        Kind = "authentication_failed" // key missing, wrong or without rights
	KindBilling     Kind = "billing_error"
	KindRateLimit   Kind = "rate_limit"         // 429
	KindOverloaded  Kind = "overloaded"         // 529, 503
	KindServer      Kind = "server_error"       // other 5xx
	KindInvalid     Kind = "invalid_request"    // 400 and relatives; sending it again changes nothing
	KindTooLong     Kind = "prompt_too_long"    // the prompt does not fit the window
	KindMaxTokens   Kind = "max_tokens_too_big" // input and max_tokens together pass the window
	KindMedia       Kind = "media_too_large"    // an image or document was refused
	KindNotFound    Kind = "model_not_found"
	KindNetwork     Kind = "network"      // no connection, broken before the first event
	KindUnreachable Kind = "unreachable"  // no connection, and none before a name, a certificate or a proxy is set right
	KindStream      Kind = "stream"       // broken, ended without its end marker, or malformed in the middle
	KindEnd         Kind = "abnormal_end" // the answer ended with a word that is no good end, or was empty
	KindIdle        Kind = "stream_idle"  // no real data for too long
	KindSignature   Kind = "signature"    // a thinking signature or tool pairing was refused
	KindUnsupported Kind = "unsupported"  // the request asks for what this provider cannot do
	KindScript      Kind = "script"       // a script's expectation was missed or its turns ran out (exit code 70)
	KindUnknown     Kind = "unknown"      //
)

// Error is a failed request.
type Error struct {
	Kind       Kind
	Provider   string
	Status     int           // HTTP status, 0 when there was none
	Type       string        // the service's own error type
	Message    string        // the service's own words, or ours; never holds a key
	RetryAfter time.Duration // how long the service told to wait, 0: not told
	RequestID  string
	Max        int   // KindMaxTokens, KindTooLong: the limit in tokens, when told
	Input      int   // KindMaxTokens, KindTooLong: the tokens of the input, when told; Max-Input is then left for the answer
	Cause      error // underlying error, may be nil
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Provider
	if e.Status != 0 {
		s += fmt.Sprintf(": %d", e.Status)
	}
	if e.Type != "" {
		s += " " + e.Type
	}
	if e.Message != "" {
		return s + ": " + e.Message
	}
	if e.Cause != nil {
		return s + ": " + e.Cause.Error()
	}
	return s + ": " + string(e.Kind)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of err, KindUnknown when it is not an [Error].
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindUnknown
}
