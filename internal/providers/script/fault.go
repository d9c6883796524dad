package script

import (
	"net/http"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// Err is the fault as the loop sees it, sorted into kinds by the same words as the refusals of the
// real services. Status 0 with a type no service uses is a connection that was never made.
func (f Fault) Err() *provider.Error {
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Status)
	}
	e := wire.Fault{Status: f.Status, Type: f.Type, Message: message, RetryAfter: f.RetryAfter}.Error("script")
	if e.Kind == provider.KindUnknown && f.Status == 0 {
		e.Kind = provider.KindNetwork
	}
	return e
}
