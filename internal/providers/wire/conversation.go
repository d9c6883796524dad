package wire

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// A conversation goes out whole with every request, and only its end is new. So what was encoded for the
// request before is kept, and taken as it is where the new one goes on from there.

// Writer encodes the turns of one conversation, in order, as values of the list the service reads. It may
// remember what later turns need; a turn that it is handed again must come out the same.
type Writer interface {
	Turn(t Turn) ([]json.RawMessage, error)
}

// Written is a turn as it goes out.
type Written struct {
	Turn
	Values []json.RawMessage
	// Ended says that the request before this one, to the same model, ended with this turn.
	Ended bool
}

// Conversation is a whole one as it goes out.
type Conversation struct {
	Front  []byte // the values of the older turns, joined by commas
	Recent []Written
	Media  bool // it holds pictures or documents
}

// Raw are the values that [MarshalLists] joins to the list.
func (c Conversation) Raw() []json.RawMessage {
	var out []json.RawMessage
	if len(c.Front) > 0 {
		out = append(out, c.Front)
	}
	for _, w := range c.Recent {
		out = append(out, w.Values...)
	}
	return out
}

// Way is how a service is written to: what of a block it can be shown (nil: nothing), and in which form.
type Way struct {
	// Key tells ways apart; what was encoded in another way is encoded anew. It must be comparable.
	Key    any
	Keep   func(Said) msg.Block
	Writer func() Writer
}

// Conversations keeps what a model was sent, lane by lane. The zero value keeps nothing yet. It is safe for
// concurrent use: while one request of a lane has what was kept, another begins anew.
type Conversations struct {
	mu    sync.Mutex
	lanes map[provider.Lane]*log // guarded by mu
}

// What is kept at most: lanes, and bytes of one of them. A longer conversation is encoded anew each time.
const (
	mostLanes = 4
	mostKept  = 16 << 20
)

// recentTurns is how many turns are kept one by one at least: services mark the end of some.
const recentTurns = 4

// log is what was encoded of a conversation.
type log struct {
	key    any
	writer Writer
	source msg.Prefix // what became front
	front  []byte     // appended to, never changed
	media  bool       // of the source
	recent []Written  // what came behind it in the request before
	end    int        // messages of the request before
	size   int
}

// Write encodes the messages of a request.
func (c *Conversations) Write(req provider.Request, way Way) (Conversation, error) {
	l := c.take(req.Lane)
	if l == nil || l.key != way.Key || !l.source.Begins(req.Messages) {
		l = &log{key: way.Key, writer: way.Writer()}
	}
	out, ok, err := l.write(req.Messages, way)
	if err == nil && !ok { // what is new joins what was kept
		l = &log{key: way.Key, writer: way.Writer()}
		out, _, err = l.write(req.Messages, way)
	}
	if err == nil && l.size <= mostKept {
		c.put(req.Lane, l)
	}
	return out, err
}

func (c *Conversations) take(lane provider.Lane) *log {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[lane]
	delete(c.lanes, lane)
	return l
}

func (c *Conversations) put(lane provider.Lane, l *log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lanes == nil {
		c.lanes = map[provider.Lane]*log{}
	}
	for other := range c.lanes {
		if len(c.lanes) < mostLanes {
			break
		}
		if other != provider.LaneMain {
			delete(c.lanes, other)
		}
	}
	c.lanes[lane] = l
}

// write encodes what stands behind the front, and moves what is old enough to it. ok is false when it
// cannot stand behind the front.
func (l *log) write(messages []msg.Message, way Way) (out Conversation, ok bool, err error) {
	at := l.source.Len()
	list := turns(messages[at:], way.Keep, at == 0)
	if at > 0 && (len(list) == 0 || list[0].Role != msg.Assistant) {
		return out, false, nil
	}
	recent := make([]Written, len(list))
	same := true // so far: a turn may be written by what stood before it
	for i, t := range list {
		recent[i] = Written{Turn: t, Ended: at+t.last == l.end-1}
		if same = same && i < len(l.recent) && sameTurn(l.recent[i].Turn, t); same {
			recent[i].Values = l.recent[i].Values
		} else if recent[i].Values, err = l.writer.Turn(t); err != nil {
			return out, false, err
		}
	}
	l.size = len(l.front)
	for _, w := range recent {
		for _, v := range w.Values {
			l.size += len(v)
		}
	}
	out = Conversation{Front: slices.Clip(l.front), Recent: recent, Media: l.media || hasMedia(messages[at:])}
	l.recent, l.end = recent, len(messages)
	l.settle(messages, at)
	return out, true, nil
}

// settle moves all but the newest turns to the front.
func (l *log) settle(messages []msg.Message, at int) {
	cut := 0
	for i := len(l.recent) - recentTurns; i > 0; i-- {
		if l.recent[i].Role == msg.Assistant {
			cut = i
			break
		}
	}
	if cut == 0 {
		return
	}
	for _, w := range l.recent[:cut] {
		for _, v := range w.Values {
			if len(l.front) > 0 {
				l.front = append(l.front, ',')
			}
			l.front = append(l.front, v...)
		}
	}
	to := at + l.recent[cut].first
	l.media = l.media || hasMedia(messages[at:to])
	l.source, l.recent = msg.PrefixOf(messages[:to]), l.recent[cut:]
	for i := range l.recent {
		l.recent[i].first -= to - at
		l.recent[i].last -= to - at
	}
}

func sameTurn(a, b Turn) bool {
	return a.Role == b.Role && slices.EqualFunc(a.Content, b.Content, func(a, b Said) bool {
		return a.Model == b.Model && msg.Equal(a.Block, b.Block)
	})
}
