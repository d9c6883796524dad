package headless

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
)

// mapOptions say what a mapper tells.
type mapOptions struct {
	Partial      bool             // answers piece by piece
	HookEvents   bool             // hooks of every event, not of SessionStart and Setup only
	Replay       bool             // echo the prompts a host sent
	StateEvents  bool             // whether the session works
	SubagentText bool             // what subagents say and think
	Init         func() Init      // nil: nothing beside what the turn tells
	NewID        func() string    // nil: random UUIDs
	Now          func() time.Time // nil: the clock; for events without a time
}

// mapper translates the events of one session into wire objects. It is a pure state machine: the
// same events give the same objects, but for the ids and times it is handed. Not for concurrent
// use.
type mapper struct {
	opt mapOptions

	answers    map[string]proto.AnswerStarted // by response id: an answer's opening usage
	recent     []string                       // their ids, oldest first, at most keepAnswers
	calls      map[string]agentCall           // calls of the subagent tool, by call id
	tasks      map[string]*task               // by task id
	progress   map[string]float64             // by call id: seconds at the last sign of life told
	compacting bool
	synthetic  bool  // this turn's failure was already told as a message
	ttft       int64 // milliseconds to the first event of this turn, 0: not told
}

// keepAnswers is how many answers' opening usage is kept. A message may come after its answer's
// end (what there was of an interrupted one), and agents answer side by side.
const keepAnswers = 64

func (m *mapper) answerStarted(a proto.AnswerStarted) {
	if len(m.recent) == keepAnswers {
		delete(m.answers, m.recent[0])
		m.recent = m.recent[1:]
	}
	m.recent = append(m.recent, a.Response)
	m.answers[a.Response] = a
}

// agentCall is what messages from inside a subagent say of it.
type agentCall struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Agent       string `json:"subagent_type"`
}

func newMapper(o mapOptions) *mapper {
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Init == nil {
		o.Init = func() Init { return Init{} }
	}
	return &mapper{
		opt:      o,
		answers:  map[string]proto.AnswerStarted{},
		calls:    map[string]agentCall{},
		tasks:    map[string]*task{},
		progress: map[string]float64{},
	}
}

// Map returns the wire objects of one event, in order; often none.
func (m *mapper) Map(e proto.Event) []object {
	switch b := e.Body.(type) {
	case proto.TurnStarted:
		return m.turnStarted(e, b)
	case proto.Message:
		return m.message(e, b)
	case proto.RequestStarted, proto.AnswerStarted, proto.BlockStarted, proto.Delta, proto.BlockEnded, proto.AnswerEnded:
		return m.stream(e)
	case proto.CallAnnounced:
		return m.callAnnounced(e, b)
	case proto.CallProgress:
		return m.callProgress(e, b)
	case proto.LocalOutput:
		return m.localOutput(e, b)
	case proto.Ended:
		return m.ended(e, b)
	case proto.Result:
		return m.result(e, b)
	case proto.TaskStarted, proto.TaskUpdated, proto.TaskEnded, proto.TasksChanged:
		return m.task(e)
	case proto.Ask, proto.AskClosed, proto.CallEnded, proto.ModelChanged, proto.Queued, proto.Shaped, proto.Todos, proto.Terminal, proto.Other:
		return nil // the wire has no word for these; what hosts need of them is in messages
	default:
		return m.system(e)
	}
}

func (m *mapper) turnStarted(e proto.Event, b proto.TurnStarted) []object {
	m.synthetic, m.ttft = false, 0
	m.progress = map[string]float64{}
	if e.Agent != "" {
		return nil
	}
	return []object{m.init(e, b)}
}

// common adds what every message has.
func (m *mapper) common(o object, e proto.Event) object {
	return o.with("session_id", e.Session).with("uuid", m.opt.NewID())
}

func (m *mapper) timestamp(e proto.Event) string {
	t := e.Time
	if t.IsZero() {
		t = m.opt.Now()
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// parent is the call that started the agent an event belongs to, null for the main conversation.
func parent(e proto.Event) any {
	if e.Parent == "" {
		return nil
	}
	return e.Parent
}

func (m *mapper) message(e proto.Event, b proto.Message) []object {
	if len(b.Message.Content) == 0 {
		return nil
	}
	if b.Message.Role == msg.Assistant {
		return m.assistant(e, b.Message)
	}
	return m.user(e, b)
}

func (m *mapper) assistant(e proto.Event, a msg.Message) []object {
	var out []object
	for _, block := range a.Content { // one block a message, whatever came
		call, isCall := block.(msg.ToolCall)
		if e.Agent != "" && !isCall && !m.opt.SubagentText {
			continue
		}
		if isCall && tool.Current(call.Name) == "Agent" {
			var in agentCall
			if err := json.Unmarshal(call.Input, &in); err == nil { // else the model's mistake; its result says so
				m.calls[call.ID] = in
			}
		}
		o := object{
			{"type", "assistant"},
			{"message", object{
				{"id", a.Response},
				{"type", "message"},
				{"role", "assistant"},
				{"model", wireModel(a.Model)},
				{"content", []any{wireBlock(block)}},
				{"stop_reason", nil},
				{"stop_sequence", nil},
				{"usage", startUsage(m.answers[a.Response].Usage)},
				{"context_management", nil},
			}},
			{"parent_tool_use_id", parent(e)},
			{"session_id", e.Session},
			{"uuid", a.ID},
			{"timestamp", m.timestamp(e)},
		}
		if a.Partial {
			o = o.with("aborted", true)
		}
		out = append(out, m.inAgent(o, e))
	}
	return out
}

// inAgent adds whose message it is, where it came from inside a subagent.
func (m *mapper) inAgent(o object, e proto.Event) object {
	if e.Agent == "" {
		return o
	}
	call := m.calls[e.Parent]
	return o.optional("subagent_type", call.Agent).optional("task_description", call.Description).with("agent_id", e.Agent)
}

func (m *mapper) user(e proto.Event, b proto.Message) []object {
	u := b.Message
	switch {
	case u.Origin == msg.FromTask:
		return nil // the model is told; hosts had the task's own events
	case u.Origin == msg.FromHuman && e.Agent == "" && !(b.Replay && m.opt.Replay):
		return nil // the host said it itself
	}
	o := object{
		{"type", "user"},
		{"message", object{{"role", "user"}, {"content", wireBlocks(u.Content)}}},
		{"parent_tool_use_id", parent(e)},
		{"session_id", e.Session},
		{"uuid", u.ID},
		{"timestamp", m.timestamp(e)},
	}
	switch u.Origin {
	case msg.FromTool:
		if e.Agent == "" {
			o = o.with("tool_use_result", toolUseResult(u))
		}
	case msg.FromHarness, msg.FromSummary:
		o = o.with("isSynthetic", true)
	case msg.FromHuman:
		if b.Replay {
			o = o.with("isReplay", true)
		}
	}
	return []object{m.inAgent(o, e)}
}

// toolUseResult is a tool's structured output, or in words what went wrong.
func toolUseResult(u msg.Message) any {
	if len(u.Structured) > 0 && json.Valid(u.Structured) {
		return u.Structured
	}
	for _, b := range u.Content {
		r, ok := b.(msg.ToolResult)
		if !ok {
			continue
		}
		text := msg.TextOf(r.Content)
		if r.IsError {
			return "Error: " + text
		}
		return text
	}
	return ""
}

func (m *mapper) localOutput(e proto.Event, b proto.LocalOutput) []object {
	if e.Agent != "" || b.Text == "" {
		return nil
	}
	return []object{m.syntheticMessage(e, b.Text)}
}

// syntheticMessage is an assistant message no model wrote.
func (m *mapper) syntheticMessage(e proto.Event, text string) object {
	return object{
		{"type", "assistant"},
		{"message", object{
			{"id", m.opt.NewID()},
			{"container", nil},
			{"model", "<synthetic>"},
			{"role", "assistant"},
			{"stop_reason", "stop_sequence"},
			{"stop_sequence", ""},
			{"type", "message"},
			{"usage", syntheticUsage()},
			{"content", []any{object{{"type", "text"}, {"text", text}}}},
			{"context_management", nil},
		}},
		{"parent_tool_use_id", nil},
		{"session_id", e.Session},
		{"uuid", m.opt.NewID()},
		{"timestamp", m.timestamp(e)},
	}
}

// ended tells a failure of the model's service as a message; everything else is in the result.
func (m *mapper) ended(e proto.Event, b proto.Ended) []object {
	if b.API == nil || m.synthetic || e.Agent != "" {
		return nil
	}
	m.synthetic = true
	o := m.syntheticMessage(e, apiErrorText(*b.API)).
		with("error", category(b.API.Kind, b.API.Status)).
		with("is_api_error_message", true)
	if b.API.Status != 0 {
		o = o.with("api_error_status", b.API.Status)
	}
	return []object{o}
}

// apiErrorText is a failure of the model's service in one line.
func apiErrorText(a proto.APIError) string {
	text := a.Message
	if text == "" {
		text = a.Kind
	}
	if a.Status != 0 {
		return fmt.Sprintf("API Error: %d %s", a.Status, text)
	}
	return "API Error: " + text
}
