package todo

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/todo"
)

// Write returns TodoWrite, which replaces the whole list. Offer it instead of [Tasks], never
// beside.
func Write(w World) tool.Tool {
	return tool.New(tool.Spec{Name: "TodoWrite", Description: writeText, Schema: json.RawMessage(writeSchema), Keywords: "task plan step"},
		w.write, tool.Always[writeInput](tool.Traits{NoEffect: true}))
}

const writeText = `Replaces your list of what is to do. Keep such a list for work of three or more steps, or when the user gives you several things at once; not for a single simple step.
Give the whole list each time. content says what to do ("Fix the parser"), activeForm how it is shown while you work on it ("Fixing the parser"). Have exactly one item in_progress while you work, and mark each one completed as soon as it is really done.`

const writeSchema = `{"type":"object","required":["todos"],"properties":{"todos":{"type":"array","items":{"type":"object",
"required":["content","status","activeForm"],"properties":{
"content":{"type":"string","minLength":1},
"status":{"type":"string","enum":["pending","in_progress","completed"]},
"activeForm":{"type":"string","minLength":1}}}}}}`

type writeInput struct {
	Todos []written `json:"todos"`
}

type written struct {
	Content    string      `json:"content"`
	Status     todo.Status `json:"status"`
	ActiveForm string      `json:"activeForm"`
}

func (w World) write(_ context.Context, in writeInput, call tool.Call) (tool.Result, error) {
	items := make([]todo.Item, len(in.Todos))
	open := 0
	for i, t := range in.Todos {
		items[i] = todo.Item{Subject: t.Content, ActiveForm: t.ActiveForm, Status: t.Status}
		if t.Status != todo.Completed {
			open++
		}
	}
	before, after := todo.Replace(w.List(call.Scope), items)
	return with(fmt.Sprintf("The list now has %d items, %d of them open. Go on with the one in progress.", len(after), open), struct {
		OldTodos []written `json:"oldTodos"`
		NewTodos []written `json:"newTodos"`
	}{asWritten(before), asWritten(after)})
}

func asWritten(items []todo.Item) []written {
	out := make([]written, len(items))
	for i, it := range items {
		out[i] = written{it.Subject, it.Status, it.ActiveForm}
	}
	return out
}

func sortedKeys(m map[string]json.RawMessage) []string { return slices.Sorted(maps.Keys(m)) }
