package conversation

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// keeper keeps a conversation in its transcript.
type keeper struct {
	log  atomic.Pointer[transcript.Transcript] // nil: nothing is kept
	tell func(proto.EventBody)
}

// record keeps a message in the transcript.
func (k *keeper) record(_ context.Context, m msg.Message) error {
	return k.Transcript().Append(m)
}

// Transcript is the file in use; nil keeps nothing.
func (k *keeper) Transcript() *transcript.Transcript { return k.log.Load() }

// Durable makes the transcript durable.
func (k *keeper) Durable() error {
	if err := k.Transcript().Sync(); err != nil {
		return fmt.Errorf("make the transcript durable: %w", err)
	}
	return nil
}

// Keep keeps the newest value under a key beside the messages, where it outlives compactions. One
// that cannot be written is not worth a turn.
func (k *keeper) Keep(kind, key string, data any) {
	if err := k.Transcript().Keep(kind, key, data); err != nil {
		k.tell(proto.Notice{Level: "warning", Key: "note", Text: err.Error()})
	}
}
