// Package todo holds the tools with which a model keeps its list of what is to do: TaskCreate,
// TaskGet, TaskList and TaskUpdate, and TodoWrite, which is offered in their place where somebody
// asks for the older form. The list itself is in feature/todo.
//
// Begin with [Tasks] or [Write].
package todo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/todo"
)

// World is what the tools are built with.
type World struct {
	// List returns the list of the agent a call belongs to: the session's for the main
	// conversation, a private one for a subagent. It returns the same one for the same scope.
	List func(*tool.Scope) todo.Slice
	// Created and Completed are asked about an item that was just made, or is about to be
	// completed (hooks TaskCreated and TaskCompleted). Blocked undoes the one and prevents the
	// other; feedback is told to the model. Nil: nobody is asked.
	Created, Completed func(ctx context.Context, scope *tool.Scope, item todo.Item) (feedback string, blocked bool)
}

// Tasks returns TaskCreate, TaskGet, TaskList and TaskUpdate.
func Tasks(w World) []tool.Tool {
	reads := tool.Traits{ReadOnly: true, Beside: true, NoEffect: true}
	writes := tool.Traits{Beside: true, NoEffect: true}
	return []tool.Tool{
		tool.New(tool.Spec{Name: "TaskCreate", Description: createText, Schema: json.RawMessage(createSchema), Keywords: "todo plan step"}, w.create, tool.Always[createInput](writes)),
		tool.New(tool.Spec{Name: "TaskGet", Deferred: true, Description: getText, Schema: json.RawMessage(getSchema), Keywords: "todo plan step"}, w.get, tool.Always[getInput](reads)),
		tool.New(tool.Spec{Name: "TaskList", Description: listText, Schema: json.RawMessage(listSchema), Keywords: "todo plan step"}, w.list, tool.Always[struct{}](reads)),
		tool.New(tool.Spec{Name: "TaskUpdate", Description: updateText, Schema: json.RawMessage(updateSchema), Keywords: "todo plan step"}, w.update, tool.Always[updateInput](writes)),
	}
}

const createText = `Adds an item to your todo list. Keep one for work of three or more steps, or when you are given several things at once. subject: short, imperative. description: what it takes to call it done. activeForm: shown while it is worked on ("Fixing the parser").`

const createSchema = `{"type":"object","required":["subject","description"],"properties":{
"subject":{"type":"string","minLength":1},"description":{"type":"string"},"activeForm":{"type":"string"},"metadata":{"type":"object"}}}`

const getText = `Shows one item of your list with all its details: description, status, what it waits for and what waits for it.`

const getSchema = `{"type":"object","required":["taskId"],"properties":{"taskId":{"type":"string","description":"Id of the item"}}}`

const listText = `Lists all items with id, status and what each waits for. Look here for what to do next.`

const listSchema = `{"type":"object","properties":{}}`

const updateText = `Changes an item. Set it in_progress before you begin, one at a time, and completed only when it is really done; deleted removes it. addBlockedBy names items that must be completed first, addBlocks items that wait for this one. metadata is merged; null removes a key.`

const updateSchema = `{"type":"object","required":["taskId"],"properties":{
"taskId":{"type":"string"},"status":{"type":"string","enum":["pending","in_progress","completed","deleted"]},
"subject":{"type":"string","minLength":1},"description":{"type":"string"},"activeForm":{"type":"string"},"owner":{"type":"string"},
"addBlocks":{"type":"array","items":{"type":"string"}},"addBlockedBy":{"type":"array","items":{"type":"string"}},"metadata":{"type":"object"}}}`

type createInput struct {
	Subject     string                     `json:"subject"`
	Description string                     `json:"description"`
	ActiveForm  string                     `json:"activeForm,omitempty"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty"`
}

func (w World) create(ctx context.Context, in createInput, call tool.Call) (tool.Result, error) {
	list := w.List(call.Scope)
	item := todo.Create(list, todo.Item{Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: in.Metadata})
	if w.Created != nil {
		if feedback, blocked := w.Created(ctx, call.Scope, item); blocked {
			gone := todo.Deleted
			if _, err := todo.Update(list, item.ID, todo.Change{Status: &gone}); err != nil {
				return tool.Result{}, fmt.Errorf("take back item %s: %w", item.ID, err)
			}
			return tool.Failed(feedback), nil
		}
	}
	type made struct {
		ID      string `json:"id"`
		Subject string `json:"subject"`
	}
	return with(fmt.Sprintf("Task #%s created: %s", item.ID, item.Subject), struct {
		Task made `json:"task"`
	}{made{item.ID, item.Subject}})
}

type getInput struct {
	TaskID string `json:"taskId"`
}

// shown is an item as TaskGet shows it.
type shown struct {
	ID          string      `json:"id"`
	Subject     string      `json:"subject"`
	Description string      `json:"description"`
	Status      todo.Status `json:"status"`
	Blocks      []string    `json:"blocks"`
	BlockedBy   []string    `json:"blockedBy"`
}

func (w World) get(_ context.Context, in getInput, call tool.Call) (tool.Result, error) {
	item, ok := todo.Get(w.List(call.Scope), in.TaskID)
	if !ok {
		return with("There is no task with the id "+in.TaskID+".", struct {
			Task *shown `json:"task"`
		}{})
	}
	text := fmt.Sprintf("#%s [%s] %s", item.ID, item.Status, item.Subject)
	for _, line := range []struct{ name, value string }{
		{"Owner", item.Owner}, {"Waits for", numbers(item.BlockedBy)}, {"Blocks", numbers(item.Blocks)}, {"Description", item.Description},
	} {
		if line.value != "" {
			text += "\n" + line.name + ": " + line.value
		}
	}
	for _, k := range sortedKeys(item.Metadata) {
		text += fmt.Sprintf("\n%s: %s", k, item.Metadata[k])
	}
	return with(text, struct {
		Task *shown `json:"task"`
	}{&shown{item.ID, item.Subject, item.Description, item.Status, orEmpty(item.Blocks), orEmpty(item.BlockedBy)}})
}

// listed is an item as TaskList shows it.
type listed struct {
	ID        string      `json:"id"`
	Subject   string      `json:"subject"`
	Status    todo.Status `json:"status"`
	Owner     string      `json:"owner,omitempty"`
	BlockedBy []string    `json:"blockedBy"`
}

func (w World) list(_ context.Context, _ struct{}, call tool.Call) (tool.Result, error) {
	state := w.List(call.Scope).Get()
	out := struct {
		Tasks []listed `json:"tasks"`
	}{Tasks: []listed{}}
	var lines []string
	for _, it := range state.Items {
		open := state.OpenBlockers(it)
		out.Tasks = append(out.Tasks, listed{it.ID, it.Subject, it.Status, it.Owner, orEmpty(open)})
		line := fmt.Sprintf("#%s [%s] %s", it.ID, it.Status, it.Subject)
		if it.Owner != "" {
			line += " (" + it.Owner + ")"
		}
		if len(open) > 0 {
			line += " [waits for " + numbers(open) + "]"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{"The list is empty."}
	}
	return with(strings.Join(lines, "\n"), out)
}

type updateInput struct {
	TaskID       string                     `json:"taskId"`
	Status       *todo.Status               `json:"status,omitempty"`
	Subject      *string                    `json:"subject,omitempty"`
	Description  *string                    `json:"description,omitempty"`
	ActiveForm   *string                    `json:"activeForm,omitempty"`
	Owner        *string                    `json:"owner,omitempty"`
	AddBlocks    []string                   `json:"addBlocks,omitempty"`
	AddBlockedBy []string                   `json:"addBlockedBy,omitempty"`
	Metadata     map[string]json.RawMessage `json:"metadata,omitempty"`
}

// updated is what TaskUpdate returns.
type updated struct {
	Success       bool     `json:"success"`
	TaskID        string   `json:"taskId"`
	UpdatedFields []string `json:"updatedFields"`
	Error         string   `json:"error,omitempty"`
	StatusChange  *moved   `json:"statusChange,omitempty"`
}

type moved struct {
	From todo.Status `json:"from"`
	To   todo.Status `json:"to"`
}

func (w World) update(ctx context.Context, in updateInput, call tool.Call) (tool.Result, error) {
	list := w.List(call.Scope)
	refuse := func(why string) (tool.Result, error) {
		res, err := with(why, updated{TaskID: in.TaskID, UpdatedFields: []string{}, Error: why})
		res.IsError = true
		return res, err
	}
	if feedback, blocked := w.mayComplete(ctx, in, call); blocked {
		return refuse(feedback)
	}
	u, err := todo.Update(list, in.TaskID, todo.Change{
		Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Status: in.Status, Owner: in.Owner,
		AddBlocks: in.AddBlocks, AddBlockedBy: in.AddBlockedBy, Metadata: in.Metadata,
	})
	if err != nil {
		return refuse(err.Error())
	}
	out := updated{Success: true, TaskID: in.TaskID, UpdatedFields: orEmpty(u.Fields)}
	text := fmt.Sprintf("Task #%s: nothing to change.", in.TaskID)
	if len(u.Fields) > 0 {
		text = fmt.Sprintf("Updated task #%s: %s", in.TaskID, strings.Join(u.Fields, ", "))
	}
	if u.From != u.To {
		out.StatusChange = &moved{u.From, u.To}
		text += fmt.Sprintf(" (%s → %s)", u.From, u.To)
	}
	if u.To == todo.Completed {
		text += nextUp(list.Get())
	}
	return with(text, out)
}

// mayComplete asks whoever has a say before an item becomes completed.
func (w World) mayComplete(ctx context.Context, in updateInput, call tool.Call) (feedback string, blocked bool) {
	if w.Completed == nil || in.Status == nil || *in.Status != todo.Completed {
		return "", false
	}
	item, ok := todo.Get(w.List(call.Scope), in.TaskID)
	if !ok || item.Status == todo.Completed {
		return "", false
	}
	return w.Completed(ctx, call.Scope, item)
}

// nextUp names the first item that can be begun now, so that the model need not ask.
func nextUp(s *todo.State) string {
	for _, it := range s.Items {
		if it.Status == todo.Pending && len(s.OpenBlockers(it)) == 0 {
			return fmt.Sprintf("\nNext that waits for nothing: #%s %s", it.ID, it.Subject)
		}
	}
	return ""
}

// with is a result with a face for the model and one for programs.
func with(text string, structured any) (tool.Result, error) {
	raw, err := json.Marshal(structured)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write structured result: %w", err)
	}
	res := tool.Text(text)
	res.Structured = raw
	return res, nil
}

func numbers(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return "#" + strings.Join(ids, ", #")
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
