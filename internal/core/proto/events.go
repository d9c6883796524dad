package proto

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// TurnStarted opens a turn, with what is in force.
type TurnStarted struct {
	Prompts []string `json:"prompts,omitempty"` // ids of the prompts it answers
	Cwd     string   `json:"cwd"`
	Model   string   `json:"model"` // provider/id
	Mode    string   `json:"mode"`
	Tools   []string `json:"tools"`
	Origin  string   `json:"origin,omitempty"`
}

// Message is a message of the conversation: one block of an answer, one tool result, a prompt, or
// something the program added. It was recorded before.
type Message struct {
	Message msg.Message `json:"message"`
	Replay  bool        `json:"replay,omitempty"` // echo of a prompt a host sent
}

// RequestStarted tells that a request goes to the model.
type RequestStarted struct {
	Model   string `json:"model"`
	Round   int    `json:"round"`   // from 1, within the turn
	Attempt int    `json:"attempt"` // from 1, within the round
}

// AnswerStarted, BlockStarted, Delta, BlockEnded and AnswerEnded follow an answer as it comes.
// The complete block comes as [Message] before its BlockEnded.
type AnswerStarted struct {
	Response string    `json:"response"`
	Model    string    `json:"model"`
	Usage    msg.Usage `json:"usage"`
	TTFTMS   int64     `json:"ttft_ms,omitempty"` // from request to first event
}

// BlockStarted opens a block of the answer.
type BlockStarted struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"`           // text, thinking, tool_use, …
	Call  string `json:"call,omitempty"` // id of a tool call
	Tool  string `json:"tool,omitempty"` // its tool
}

// Delta adds to the open block. A lagging reader gets several merged.
type Delta struct {
	Index int    `json:"index"`
	Kind  string `json:"kind"` // text, thinking, input, signature
	Text  string `json:"text"`
}

// BlockEnded closes a block.
type BlockEnded struct {
	Index int `json:"index"`
}

// AnswerEnded closes an answer.
type AnswerEnded struct {
	Response string    `json:"response"`
	Stop     msg.Stop  `json:"stop,omitempty"`
	Usage    msg.Usage `json:"usage"`
	Cut      string    `json:"cut,omitempty"` // why it is incomplete, empty when it is whole
}

// CallAnnounced tells that the model wants a tool run; authorising starts after this event.
type CallAnnounced struct {
	Call  string          `json:"call"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"` // normalised
}

// CallProgress is a sign of life of a running call. Texts of one call merge when a reader lags.
type CallProgress struct {
	Call    string  `json:"call"`
	Tool    string  `json:"tool"`
	Text    string  `json:"text,omitempty"`
	Seconds float64 `json:"seconds"`
}

// CallEnded tells how a call ended. The result itself comes as [Message].
type CallEnded struct {
	Call    string  `json:"call"`
	Tool    string  `json:"tool"`
	Outcome string  `json:"outcome"`           // ok, error, refused, interrupted, not_run
	Display string  `json:"display,omitempty"` // for people, where it differs from the result
	Seconds float64 `json:"seconds"`
}

// Ask is a question to whoever can answer. AskClosed ends it for everybody.
type Ask struct {
	ID          string             `json:"id"`
	Kind        AskKind            `json:"kind"`
	Call        string             `json:"call,omitempty"`
	Tool        string             `json:"tool,omitempty"`
	Input       json.RawMessage    `json:"input,omitempty"`
	Title       string             `json:"title"`
	Text        string             `json:"text,omitempty"`   // what exactly is asked, nothing hidden
	Reason      string             `json:"reason,omitempty"` // why it is asked
	ReasonKind  string             `json:"reason_kind,omitempty"`
	Rule        string             `json:"rule,omitempty"`       // the rule that is missing
	Path        string             `json:"path,omitempty"`       // the path that is in question
	Understood  []string           `json:"understood,omitempty"` // how a command was understood, a line a part
	Options     []Option           `json:"options,omitempty"`
	Suggestions []PermissionUpdate `json:"suggestions,omitempty"`
	Schema      json.RawMessage    `json:"schema,omitempty"` // of the answer's values
	NeedsPerson bool               `json:"needs_person,omitempty"`
}

// AskKind says what a question is about.
type AskKind string

// The kinds of questions.
const (
	AskPermission AskKind = "permission"
	AskQuestion   AskKind = "question" // AskUserQuestion
	AskPlan       AskKind = "plan"
	AskTrust      AskKind = "trust"
	AskHost       AskKind = "network_host"
	AskForm       AskKind = "elicitation"
	AskDialog     AskKind = "dialog"
)

// Option is one answer a person can choose.
type Option struct {
	ID       string             `json:"id"`
	Label    string             `json:"label"`
	Detail   string             `json:"detail,omitempty"` // what it would also allow
	Open     string             `json:"open,omitempty"`   // a file that is edited before the answer is sent, where there is an editor
	Behavior string             `json:"behavior,omitempty"`
	Updates  []PermissionUpdate `json:"updates,omitempty"`
}

// AskClosed ends a question: answered by somebody, or withdrawn.
type AskClosed struct {
	ID       string `json:"id"`
	By       string `json:"by,omitempty"`
	Behavior string `json:"behavior,omitempty"`
	Why      string `json:"why,omitempty"` // withdrawn: why
}

// Denied tells of a call that was refused without asking anybody.
type Denied struct {
	Call       string `json:"call"`
	Tool       string `json:"tool"`
	Message    string `json:"message"`
	ReasonKind string `json:"reason_kind,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Rule       string `json:"rule,omitempty"` // the rule that would allow it, where one would
}

// Retry tells that a request failed and is tried again after a wait.
type Retry struct {
	Attempt int    `json:"attempt"` // from 1
	Max     int    `json:"max"`
	DelayMS int64  `json:"delay_ms"`
	Status  int    `json:"status,omitempty"`
	Kind    string `json:"kind"`
	Message string `json:"message,omitempty"`
}

// Fallback tells that another model takes over for the rest of the turn.
type Fallback struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Missed tells a reader that it was too slow, or came back too late, for the events From to To, both
// included. The state has what became of them, the transcript the messages.
type Missed struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Notice is something people should see.
type Notice struct {
	Key   string `json:"key,omitempty"` // same key replaces
	Level string `json:"level"`         // info, warning, error
	Text  string `json:"text"`
}

// ModeChanged tells the permission mode now in force, in its outward name.
type ModeChanged struct {
	Mode string `json:"mode"`
}

// ModelChanged tells the model from the next request on.
type ModelChanged struct {
	Model string `json:"model"`
}

// Activity tells whether the session works.
type Activity struct {
	State string `json:"state"` // idle, running, requires_action
}

// Queued tells the prompts that wait, all of them.
type Queued struct {
	Prompts []QueuedPrompt `json:"prompts"`
}

// QueuedPrompt is one prompt that waits.
type QueuedPrompt struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Priority Priority `json:"priority,omitempty"`
}

// Compacting tells that a compaction began or ended without result.
type Compacting struct {
	Active bool   `json:"active"`
	Error  string `json:"error,omitempty"`
}

// Compacted marks the border a compaction drew; the summary follows as [Message].
type Compacted struct {
	Trigger    string `json:"trigger"` // auto, manual, reactive
	PreTokens  int    `json:"pre_tokens"`
	PostTokens int    `json:"post_tokens,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Head       string `json:"head,omitempty"`   // first message that was replaced
	Anchor     string `json:"anchor,omitempty"` // the summary
	Tail       string `json:"tail,omitempty"`   // first message kept
}

// Shaped tells what one context shaper saved.
type Shaped struct {
	Stage       string `json:"stage"`
	Items       int    `json:"items"`
	TokensSaved int    `json:"tokens_saved"`
}

// Task is running work as surfaces see it (spec: tasks).
type Task struct {
	ID           string `json:"id"`
	Kind         string `json:"kind"` // shell, agent, teammate, workflow, monitor, remote
	Description  string `json:"description"`
	Status       string `json:"status"` // pending, running, completed, failed, killed
	Call         string `json:"call,omitempty"`
	AgentID      string `json:"agent_id,omitempty"`
	OutputFile   string `json:"output_file,omitempty"`
	Error        string `json:"error,omitempty"`
	ExitCode     *int   `json:"exit_code,omitempty"`
	Backgrounded bool   `json:"backgrounded,omitempty"`
	StartMS      int64  `json:"start_ms,omitempty"` // Unix milliseconds
	EndMS        int64  `json:"end_ms,omitempty"`
}

// TaskStarted tells of new running work.
type TaskStarted struct {
	Task Task `json:"task"`
}

// TaskUpdated tells a change of state.
type TaskUpdated struct {
	Task Task `json:"task"`
}

// TaskEnded tells, exactly once, that a task is over.
type TaskEnded struct {
	Task    Task   `json:"task"`
	Summary string `json:"summary"`
}

// TasksChanged tells the whole set of background work after it changed.
type TasksChanged struct {
	Tasks []Task `json:"tasks"`
}

// Todos tells the model's list after it changed.
type Todos struct {
	Items []Todo `json:"items"`
}

// Todo is one item of the model's list.
type Todo struct {
	ID         string `json:"id"`
	Subject    string `json:"subject"`
	ActiveForm string `json:"active_form,omitempty"`
	Status     string `json:"status"` // pending, in_progress, completed
}

// HookStarted and HookEnded follow one hook handler.
type HookStarted struct {
	ID    string `json:"id"`
	Name  string `json:"name"` // Event:match
	Event string `json:"event"`
}

// HookEnded tells how a hook handler ended.
type HookEnded struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Event    string `json:"event"`
	Outcome  string `json:"outcome"` // success, error, cancelled
	ExitCode *int   `json:"exit_code,omitempty"`
	Stdout   string `json:"stdout,omitempty"`
	Stderr   string `json:"stderr,omitempty"`
	MS       int64  `json:"ms"`
}

// Terminal is an escape sequence that a hook has for the user's terminal: a title or a notification,
// nothing that moves the cursor or reads.
type Terminal struct {
	Sequence string `json:"sequence"`
}

// LocalOutput is what a slash command printed; no model was asked.
type LocalOutput struct {
	Command string `json:"command"`
	Text    string `json:"text"`
	Error   bool   `json:"error,omitempty"`
}

// SessionReset tells that the session goes on under another id.
type SessionReset struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	Trigger string `json:"trigger"` // clear, resume, branch
}

// Ended closes a run of the loop: why, and what the last answer said.
type Ended struct {
	Reason EndReason `json:"reason"`
	Text   string    `json:"text,omitempty"` // text of the last assistant message
	Stop   msg.Stop  `json:"stop,omitempty"`
	Rounds int       `json:"rounds"`
	Detail string    `json:"detail,omitempty"` // a sentence for people
	API    *APIError `json:"api,omitempty"`    // EndAPI, EndOverflow: what the service said
}

// EndReason says why a turn ended.
type EndReason string

// The stop reasons of a turn.
const (
	EndCompleted   EndReason = "completed"         // the model called no tool
	EndMaxRounds   EndReason = "max_turns"         //
	EndBudget      EndReason = "budget_exhausted"  //
	EndOverflow    EndReason = "prompt_too_long"   // the context does not fit, also after compaction
	EndHook        EndReason = "hook_stopped"      //
	EndDeferred    EndReason = "tool_deferred"     //
	EndStreaming   EndReason = "aborted_streaming" // interrupted while the model spoke
	EndTools       EndReason = "aborted_tools"     // interrupted while tools ran, or a denial ended the turn
	EndAPI         EndReason = "api_error"         //
	EndRefusal     EndReason = "refusal"           // the model declined
	EndStructured  EndReason = "structured_output" //
	EndRepetition  EndReason = "repetition"        // the same call again and again
	EndMaxOutput   EndReason = "max_output_tokens" // still cut after the last recovery
	EndStructRetry EndReason = "structured_output_retry_exhausted"
)

// APIError is a failure of the model's service as hosts see it.
type APIError struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
	Script  bool   `json:"script,omitempty"` // a script's expectation was missed or its turns ran out
}

// Result closes a turn; there is exactly one a turn.
type Result struct {
	Subtype    string                `json:"subtype"` // success, error_max_turns, error_max_budget_usd, error_during_execution, …
	IsError    bool                  `json:"is_error"`
	Text       string                `json:"text,omitempty"`
	Errors     []string              `json:"errors,omitempty"`
	Ended      Ended                 `json:"ended"`
	Turns      int                   `json:"num_turns"`
	DurationMS int64                 `json:"duration_ms"`
	APIMS      int64                 `json:"duration_api_ms"`
	Usage      msg.Usage             `json:"usage"`    // of this turn, main loop
	CostUSD    float64               `json:"cost_usd"` // of the process so far
	Models     map[string]ModelUsage `json:"models"`   // of the process so far, by model
	Denials    []Denial              `json:"denials,omitempty"`
	Structured json.RawMessage       `json:"structured,omitempty"`
	Deferred   *DeferredCall         `json:"deferred,omitempty"`
	Origin     string                `json:"origin,omitempty"`
}

// ModelUsage is what one model used.
type ModelUsage struct {
	msg.Usage
	Requests      int     `json:"requests"`
	CostUSD       float64 `json:"cost_usd"`
	ContextWindow int     `json:"context_window,omitempty"`
	MaxOutput     int     `json:"max_output,omitempty"`
}

// Denial is a call that was refused, for the result.
type Denial struct {
	Tool  string          `json:"tool"`
	Call  string          `json:"call"`
	Input json.RawMessage `json:"input"`
}

// DeferredCall is a call a hook deferred to the host.
type DeferredCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

func (TurnStarted) eventKind() string    { return "turn_started" }
func (Message) eventKind() string        { return "message" }
func (RequestStarted) eventKind() string { return "request_started" }
func (AnswerStarted) eventKind() string  { return "answer_started" }
func (BlockStarted) eventKind() string   { return "block_started" }
func (Delta) eventKind() string          { return "delta" }
func (BlockEnded) eventKind() string     { return "block_ended" }
func (AnswerEnded) eventKind() string    { return "answer_ended" }
func (CallAnnounced) eventKind() string  { return "call_announced" }
func (CallProgress) eventKind() string   { return "call_progress" }
func (CallEnded) eventKind() string      { return "call_ended" }
func (Ask) eventKind() string            { return "ask" }
func (AskClosed) eventKind() string      { return "ask_closed" }
func (Denied) eventKind() string         { return "denied" }
func (Retry) eventKind() string          { return "retry" }
func (Fallback) eventKind() string       { return "fallback" }
func (Missed) eventKind() string         { return "missed" }
func (Notice) eventKind() string         { return "notice" }
func (ModeChanged) eventKind() string    { return "mode_changed" }
func (ModelChanged) eventKind() string   { return "model_changed" }
func (Activity) eventKind() string       { return "activity" }
func (Queued) eventKind() string         { return "queued" }
func (Compacting) eventKind() string     { return "compacting" }
func (Compacted) eventKind() string      { return "compacted" }
func (Shaped) eventKind() string         { return "shaped" }
func (TaskStarted) eventKind() string    { return "task_started" }
func (TaskUpdated) eventKind() string    { return "task_updated" }
func (TaskEnded) eventKind() string      { return "task_ended" }
func (TasksChanged) eventKind() string   { return "tasks_changed" }
func (Todos) eventKind() string          { return "todos" }
func (HookStarted) eventKind() string    { return "hook_started" }
func (HookEnded) eventKind() string      { return "hook_ended" }
func (Terminal) eventKind() string       { return "terminal" }
func (LocalOutput) eventKind() string    { return "local_output" }
func (SessionReset) eventKind() string   { return "session_reset" }
func (Ended) eventKind() string          { return "ended" }
func (Result) eventKind() string         { return "result" }

// EventBodies returns a zero value of every kind of event.
func EventBodies() []EventBody {
	return []EventBody{
		TurnStarted{},
		Message{},
		RequestStarted{},
		AnswerStarted{},
		BlockStarted{},
		Delta{},
		BlockEnded{},
		AnswerEnded{},
		CallAnnounced{},
		CallProgress{},
		CallEnded{},
		Ask{},
		AskClosed{},
		Denied{},
		Retry{},
		Fallback{},
		Missed{},
		Notice{},
		ModeChanged{},
		ModelChanged{},
		Activity{},
		Queued{},
		Compacting{},
		Compacted{},
		Shaped{},
		TaskStarted{},
		TaskUpdated{},
		TaskEnded{},
		TasksChanged{},
		Todos{},
		HookStarted{},
		HookEnded{},
		Terminal{},
		LocalOutput{},
		SessionReset{},
		Ended{},
		Result{},
	}
}
