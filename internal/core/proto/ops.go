package proto

import (
	"encoding/json"

	"github.com/myelin-agent/myelin/internal/core/msg"
)

// Prompt gives the conversation a user message. While a turn runs it is queued.
type Prompt struct {
	ID       string      `json:"id,omitempty"` // becomes the message's id; empty: a new one
	Content  []msg.Block `json:"content"`
	Priority Priority    `json:"priority,omitempty"`
	NoQuery  bool        `json:"no_query,omitempty"` // append only, do not ask the model
	Literal  bool        `json:"literal,omitempty"`  // no slash commands, no @file expansion
	Origin   string      `json:"origin,omitempty"`   // echoed on the result
}

// Priority says when a queued prompt is taken.
type Priority string

// The priorities of a prompt that arrives while a turn runs.
const (
	Next  Priority = ""      // beside the results at the next tool boundary, else it opens the next turn
	Now   Priority = "now"   // interrupts the turn
	Later Priority = "later" // after the turn
)

// Interrupt ends the running turn; background tasks go on.
type Interrupt struct {
	CancelQueued bool `json:"cancel_queued,omitempty"`
}

// Answer answers an open question; the first answer wins.
type Answer struct {
	ID        string             `json:"id"`
	Behavior  string             `json:"behavior,omitempty"`  // allow, deny; empty for questions that are not about a right
	Option    string             `json:"option,omitempty"`    // id of the chosen option
	Message   string             `json:"message,omitempty"`   // what the person said with it
	Input     json.RawMessage    `json:"input,omitempty"`     // replaces the input of the call
	Updates   []PermissionUpdate `json:"updates,omitempty"`   // rules, modes and directories granted with it
	Values    json.RawMessage    `json:"values,omitempty"`    // answers to a form or to AskUserQuestion
	Interrupt bool               `json:"interrupt,omitempty"` // a denial that ends the turn
	By        string             `json:"by,omitempty"`        // who answered: user, host, hook, classifier, timeout
}

// SetMode changes the permission mode.
type SetMode struct {
	Mode string `json:"mode"`
}

// SetModel changes the model from the next request on; empty means the default.
type SetModel struct {
	Model string `json:"model"`
}

// SetThinking changes the thinking budget in tokens; nil means the default, 0 off.
type SetThinking struct {
	Budget *int `json:"budget"`
}

// Unqueue takes a queued prompt back.
type Unqueue struct {
	ID string `json:"id"`
}

// StopTask ends a task.
type StopTask struct {
	ID string `json:"id"`
}

// ToBackground moves a running call to the background; an empty CallID means all of them.
type ToBackground struct {
	CallID string `json:"call_id,omitempty"`
}

// Attach tells the session of a surface, Detach takes it away.
type Attach struct {
	Surface string `json:"surface"` // id
	Kind    string `json:"kind"`    // plain, headless, tui, web, editor, sdk
	Answers bool   `json:"answers"` // whether somebody behind it can answer questions
}

// Detach takes a surface away.
type Detach struct {
	Surface string `json:"surface"`
}

// End ends the session.
type End struct {
	Reason string `json:"reason,omitempty"`
}

// PermissionUpdate is one change to the permission settings, in the public shape of the Agent SDKs.
type PermissionUpdate struct {
	Type        string      `json:"type"` // addRules, replaceRules, removeRules, setMode, addDirectories, removeDirectories
	Rules       []RuleValue `json:"rules,omitempty"`
	Behavior    string      `json:"behavior,omitempty"` // allow, deny, ask
	Mode        string      `json:"mode,omitempty"`
	Directories []string    `json:"directories,omitempty"`
	Destination string      `json:"destination"` // session, localSettings, projectSettings, userSettings, cliArg
}

// RuleValue is one permission rule, taken apart.
type RuleValue struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// String is the rule as it stands in a settings file.
func (r RuleValue) String() string {
	if r.RuleContent == "" {
		return r.ToolName
	}
	return r.ToolName + "(" + r.RuleContent + ")"
}

// MarshalJSON writes the content in the public block shape.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type plain Prompt
	content, err := msg.MarshalBlocks(p.Content)
	if err != nil {
		return nil, err
	}
	return encode(struct {
		plain
		Content json.RawMessage `json:"content"`
	}{plain(p), content})
}

// UnmarshalJSON reads what MarshalJSON writes, and content given as a plain string.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	type plain Prompt
	var in struct {
		*plain
		Content json.RawMessage `json:"content"`
	}
	in.plain = (*plain)(p)
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	var err error
	p.Content, err = msg.UnmarshalBlocks(in.Content)
	return err
}

func (Prompt) opKind() string       { return "prompt" }
func (Interrupt) opKind() string    { return "interrupt" }
func (Answer) opKind() string       { return "answer" }
func (SetMode) opKind() string      { return "set_mode" }
func (SetModel) opKind() string     { return "set_model" }
func (SetThinking) opKind() string  { return "set_thinking" }
func (Unqueue) opKind() string      { return "unqueue" }
func (StopTask) opKind() string     { return "stop_task" }
func (ToBackground) opKind() string { return "to_background" }
func (Attach) opKind() string       { return "attach" }
func (Detach) opKind() string       { return "detach" }
func (End) opKind() string          { return "end" }

// OpBodies returns a zero value of every kind of operation.
func OpBodies() []OpBody {
	return []OpBody{
		Prompt{},
		Interrupt{},
		Answer{},
		SetMode{},
		SetModel{},
		SetThinking{},
		Unqueue{},
		StopTask{},
		ToBackground{},
		Attach{},
		Detach{},
		End{},
	}
}
