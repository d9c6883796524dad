// Package script is a model that says what a file tells it to say: for tests, for authors of
// hooks, plugins and policies, and for bug reports that somebody else can run.
//
// [Parse] reads the file, a [Player] decides which turn answers a request and checks what the turn
// expects of it, and [Model] plays it in process behind provider.Model. The parser and the player
// know nothing of provider.Model's stream, so a server can play the same files over HTTP. No
// network, no clock and no chance is in here but what [Options] hands in.
package script

import (
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Script is a parsed file. It is immutable once parsed.
type Script struct {
	Name   string            // of the file, for messages
	Model  provider.Info     // what the catalog would say of the model; Provider is always "script"
	Turns  []Turn            // answers of the main conversation; never empty
	Lanes  map[string][]Turn // answers for other callers, by lane ("title", "agent:*"); never nil
	Quirks []Quirk           // how a service that serves the script differs from the one it stands for
	Loop   bool              // start again after the last turn instead of running out
}

// Turn is one answer. Exactly one of Content, Raw and Error says what it is; an answer without any
// block has an empty, non-nil Content.
type Turn struct {
	Line    int     // where it stands in the file, from 1; 0 for an answer no file holds
	When    string  // used out of order for the first request whose messages contain this; empty: in order
	Expect  *Expect // what the request must be like; nil: anything
	Content []Block
	Raw     []byte        // an answer as it would come on the wire, Anthropic's event stream
	Error   *Fault        // the request fails with this
	Usage   *msg.Usage    // nil in a parsed file: estimated; a [Player] always fills it in
	Stop    msg.Stop      // empty in a parsed file: by content; a [Player] always fills it in
	Chunk   int           // characters of one delta
	Delay   time.Duration // between two deltas
	Then    Then          // what happens to the connection after the answer
}

// Then says how a connection ends badly. With Content it takes effect after the last delta: the
// block that is open then is never closed, and no end of the answer is sent. With Raw it takes
// effect after the last byte.
type Then string

// The ends of a connection.
const (
	ThenEnd  Then = ""     // in good order
	ThenDrop Then = "drop" // cut
	ThenHang Then = "hang" // nothing more is sent, and it stays open
)

// BlockKind says what a block of an answer is.
type BlockKind string

// The kinds of blocks.
const (
	TextBlock     BlockKind = "text"
	ThinkingBlock BlockKind = "thinking"
	ToolBlock     BlockKind = "tool"
)

// Block is one block of an answer.
type Block struct {
	Kind  BlockKind
	Text  string // of a text or thinking block
	Tool  string // name of the called tool
	ID    string // of the call; empty in a parsed file: a [Player] makes one up
	Input string // of the call, JSON text; written as a string in the file it is taken as it is, also when it is no JSON
}

// Expect is what a turn demands of the request it answers.
type Expect struct {
	Line       int
	Contains   []string // each stands somewhere in the system prompt or the messages
	Absent     []string // none stands there
	Tools      []string // each is declared; more may be
	LastResult *LastResult
}

// LastResult is what a turn demands of the newest tool result.
type LastResult struct {
	Tool     string // id or name of the call it answers; empty: any
	Error    *bool  // whether it is an error; nil: either
	Contains string // part of its text
}

// Fault is an error of the service.
type Fault struct {
	Status     int // HTTP status; 0: there was no answer at all
	Type       string
	Message    string
	RetryAfter time.Duration
}

// DefaultChunk is the number of characters of a delta where the file does not say.
const DefaultChunk = 24
