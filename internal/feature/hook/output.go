package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// maxText bounds each text a hook adds for the model or the user, in characters.
const maxText = 10_000

// answer is what one handler answered, read from its output by the rules of the public format.
type answer struct {
	handler  *Handler
	order    int    // in which it finished
	failure  string // why it gave no usable answer; empty: it did
	unsafe   bool   // failure is that the program was kept from running, for it may not be what it was
	soft     bool   // failure is the public non-blocking error also on a guard event
	blocks   bool   // it blocks: exit 2, or a blocking decision
	endsTurn bool   // a model said no and the turn ends with it
	reason   string
	plain    string // plain text output

	decision   string // PreToolUse: allow, deny, ask, defer
	stop       bool
	stopReason string
	message    string // for the user
	context    string // for the model
	specific   specific
	request    *PermissionAnswer
}

// universal are the fields every event knows.
type universal struct {
	Continue         *bool           `json:"continue"`
	StopReason       string          `json:"stopReason"`
	SystemMessage    string          `json:"systemMessage"`
	SuppressOutput   bool            `json:"suppressOutput"`
	TerminalSequence string          `json:"terminalSequence"`
	Decision         string          `json:"decision"`
	Reason           string          `json:"reason"`
	Async            bool            `json:"async"`
	Specific         json.RawMessage `json:"hookSpecificOutput"`
	Misplaced        json.RawMessage `json:"permissionDecision"` // belongs into hookSpecificOutput
}

// specific are the fields of hookSpecificOutput, of all events together.
type specific struct {
	Event             string          `json:"hookEventName"`
	Permission        string          `json:"permissionDecision"`
	PermissionReason  string          `json:"permissionDecisionReason"`
	UpdatedInput      json.RawMessage `json:"updatedInput"`
	Context           string          `json:"additionalContext"`
	InitialMessage    string          `json:"initialUserMessage"`
	Title             string          `json:"sessionTitle"`
	WatchPaths        *[]string       `json:"watchPaths"`
	ReloadSkills      bool            `json:"reloadSkills"`
	SuppressPrompt    bool            `json:"suppressOriginalPrompt"`
	Decision          json.RawMessage `json:"decision"`
	Retry             bool            `json:"retry"`
	UpdatedOutput     json.RawMessage `json:"updatedToolOutput"`
	UpdatedMCPOutput  json.RawMessage `json:"updatedMCPToolOutput"`
	ClassifierContext string          `json:"classifierContext"`
	Action            string          `json:"action"`
	Content           json.RawMessage `json:"content"`
	WorktreePath      string          `json:"worktreePath"`
	DisplayContent    *string         `json:"displayContent"`
	terminal          string
}

// PermissionAnswer is how a PermissionRequest hook answers the question.
type PermissionAnswer struct {
	Behavior  string                   `json:"behavior"` // allow, deny
	Input     json.RawMessage          `json:"updatedInput"`
	Updates   []proto.PermissionUpdate `json:"updatedPermissions"`
	Message   string                   `json:"message"`
	Interrupt bool                     `json:"interrupt"`
}

// readOutput reads what a program printed. code is its exit code.
func readOutput(spec Spec, stdout, stderr string, code int) answer {
	var a answer
	text := strings.TrimSpace(strings.TrimLeft(stdout, "\ufeff\u200b")) // marks that editors and shells put in front
	looksJSON := strings.HasPrefix(text, "{")
	var u universal
	var problem error
	if looksJSON {
		problem = json.Unmarshal(strictest([]byte(text)), &u)
		if problem != nil && !json.Valid([]byte(text)) && !spec.Guard { // no JSON at all: plain text
			looksJSON, problem = false, nil
		}
	}
	switch {
	case !spec.Guard:
	case strings.HasPrefix(text, "["):
		looksJSON, problem = true, fmt.Errorf("the output is a list, not an object")
	case strings.ContainsRune(text, 0) || strings.HasPrefix(text, "\ufffd"):
		looksJSON, problem = true, fmt.Errorf("the output is not in an encoding that can be read")
	}
	switch {
	case looksJSON && problem == nil:
		problem = a.take(spec, u)
	case !looksJSON:
		a.plain = text
	}
	switch {
	case code == 2:
		a.blocks = spec.Blocks || spec.Feeds
		if !a.blocks { // nothing to stop any more: the user is told
			a.message = joinText(a.message, strings.TrimSpace(stderr))
		}
		if a.reason == "" || a.decision == "allow" {
			a.reason = strings.TrimSpace(stderr)
		}
		a.decision = ""
	case problem != nil:
		a.failure = fmt.Sprintf("its output cannot be used: %v", problem)
	case code != 0 && !looksJSON:
		a.failure, a.soft = fmt.Sprintf("Failed with non-blocking status code: %s", orText(firstLine(stderr), fmt.Sprintf("exit %d without output", code))), true
		a.plain = ""
	}
	return a
}

// take applies a JSON answer. An error means that it does not fit the event.
func (a *answer) take(spec Spec, u universal) error {
	if spec.Guard && len(u.Misplaced) > 0 {
		return errors.New("permissionDecision stands outside of hookSpecificOutput")
	}
	if len(u.Specific) > 0 && string(u.Specific) != "null" {
		if err := json.Unmarshal(u.Specific, &a.specific); err != nil {
			return fmt.Errorf("hookSpecificOutput: %w", err)
		}
		if a.specific.Event != "" && a.specific.Event != string(spec.Name) {
			return fmt.Errorf("hookEventName is %q, the event is %s", a.specific.Event, spec.Name)
		}
		if spec.Name == PreToolUse && len(a.specific.Decision) > 0 && a.specific.Permission == "" {
			return errors.New("hookSpecificOutput has a decision, expected permissionDecision")
		}
	}
	a.stop = u.Continue != nil && !*u.Continue
	a.stopReason, a.message = u.StopReason, u.SystemMessage
	a.context = a.specific.Context
	if allowedSequence(u.TerminalSequence) {
		a.specific.terminal = u.TerminalSequence
	}
	switch u.Decision {
	case "":
	case "block":
		a.reason = u.Reason
		a.blocks = a.blocks || spec.Blocks || spec.Feeds
		if spec.Name == PreToolUse {
			a.blocks, a.decision = false, "deny"
		}
	case "approve":
		if spec.Name == PreToolUse {
			a.decision, a.reason = "allow", u.Reason
		}
	default:
		return fmt.Errorf("decision %q: expected block", u.Decision)
	}
	return a.takeSpecific(spec)
}

func (a *answer) takeSpecific(spec Spec) error {
	s := a.specific
	switch spec.Name {
	case PreToolUse, PreModelSwitch, PreSkillShellCommand:
		if s.Permission == "" {
			return nil
		}
		if !slices.Contains([]string{"allow", "deny", "ask", "defer"}, s.Permission) {
			return fmt.Errorf("permissionDecision %q: expected allow, deny, ask or defer", s.Permission)
		}
		if strictness(s.Permission) < strictness(a.decision) { // the older name for it says something stricter
			return nil
		}
		a.decision = s.Permission
		if s.PermissionReason != "" {
			a.reason = s.PermissionReason
		}
	case PermissionRequest:
		if len(s.Decision) == 0 {
			return nil
		}
		var p PermissionAnswer
		if err := json.Unmarshal(s.Decision, &p); err != nil {
			return fmt.Errorf("decision: %w", err)
		}
		if p.Behavior != "allow" && p.Behavior != "deny" {
			return fmt.Errorf("decision.behavior %q: expected allow or deny", p.Behavior)
		}
		a.request = &p
	case Elicitation, ElicitationResult:
		if s.Action != "" && !slices.Contains([]string{"accept", "decline", "cancel"}, s.Action) {
			return fmt.Errorf("action %q: expected accept, decline or cancel", s.Action)
		}
	}
	return nil
}

// readVerdict reads the answer of a model: {"ok": bool, "reason"?, "impossible"?}, also with prose
// around it.
func readVerdict(spec Spec, h *Handler, text string) answer {
	var v struct {
		OK         *bool  `json:"ok"`
		Reason     string `json:"reason"`
		Impossible bool   `json:"impossible"`
	}
	object := firstObject(text)
	if object == "" || json.Unmarshal(strictest([]byte(object)), &v) != nil || v.OK == nil {
		return answer{failure: "the model gave no usable answer"}
	}
	if *v.OK {
		return answer{}
	}
	a := answer{reason: orText(v.Reason, "the check said no")}
	switch spec.Name {
	case Stop, SubagentStop:
		a.blocks = !v.Impossible
	case PreToolUse:
		a.decision, a.endsTurn = "deny", !h.ContinueOnBlock
	case PostToolUse, TeammateIdle:
		a.blocks, a.endsTurn = true, !h.ContinueOnBlock
	case PostToolBatch, UserPromptSubmit, UserPromptExpansion:
		a.blocks, a.endsTurn = true, true
	case PostToolUseFailure, TaskCreated, TaskCompleted:
		a.blocks = true
	}
	return a
}

// firstObject cuts the first complete JSON object out of a text.
func firstObject(text string) string {
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return ""
	}
	var raw json.RawMessage
	if json.NewDecoder(strings.NewReader(text[start:])).Decode(&raw) != nil {
		return ""
	}
	return string(raw)
}

var sequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f]*(?:\x07|\x1b\\))+$`)
})

// allowedSequence reports whether a terminal sequence only sets a title, notifies or rings.
func allowedSequence(s string) bool { return s != "" && sequence().MatchString(s) }

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
