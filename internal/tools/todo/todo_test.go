package todo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/store"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/todo"
	tools "github.com/myelin-agent/myelin/internal/tools/todo"
)

// bench holds the tools over real lists, one an agent.
type bench struct {
	t      *testing.T
	lists  map[string]todo.Slice
	world  tools.World
	scopes map[string]*tool.Scope
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, lists: map[string]todo.Slice{}, scopes: map[string]*tool.Scope{}}
	b.world.List = func(s *tool.Scope) todo.Slice {
		if b.lists[s.Agent] == nil {
			b.lists[s.Agent] = list()
		}
		return b.lists[s.Agent]
	}
	return b
}

// call does what the loop does: normalise, look at the traits, run.
func (b *bench) call(agent, name, input string) tool.Result {
	b.t.Helper()
	for _, tl := range append(tools.Tasks(b.world), tools.Write(b.world)) {
		if tl.Spec().Name != name {
			continue
		}
		call, err := tl.Normalise(tool.Call{ID: "c", Literal: json.RawMessage(input), Scope: tool.NewScope(agent, "/w")})
		if err != nil {
			return tool.Misuse(err.Error())
		}
		if !tl.Traits(call).NoEffect {
			b.t.Errorf("%s would ask", name)
		}
		res, err := tl.Run(b.t.Context(), call)
		if err != nil {
			b.t.Fatalf("%s %s: %v", name, input, err)
		}
		return res
	}
	b.t.Fatalf("no tool %s", name)
	return tool.Result{}
}

func (b *bench) want(agent, name, input, structured, text string) {
	b.t.Helper()
	res := b.call(agent, name, input)
	if string(res.Structured) != structured {
		b.t.Errorf("%s %s\n got %s\nwant %s", name, input, res.Structured, structured)
	}
	if got := msg.TextOf(res.Content); !strings.Contains(got, text) {
		b.t.Errorf("%s %s tells the model %q, want %q in it", name, input, got, text)
	}
	if failed := strings.Contains(structured, `"success":false`); res.IsError != failed {
		b.t.Errorf("%s %s: IsError %v", name, input, res.IsError)
	}
}

// TestAListIsWorkedOff goes through a life of a list, in the published output shapes.
func TestAListIsWorkedOff(t *testing.T) {
	b := newBench(t)
	b.want("", "TaskList", `{}`, `{"tasks":[]}`, "empty")
	b.want("", "TaskCreate", `{"subject":"Fix","description":"the parser","activeForm":"Fixing","metadata":{"file":"a.go"}}`, `{"task":{"id":"1","subject":"Fix"}}`, "Task #1 created")
	b.want("", "TaskCreate", `{"subject":"Test","description":""}`, `{"task":{"id":"2","subject":"Test"}}`, "Task #2 created")
	b.want("", "TaskUpdate", `{"taskId":2,"addBlockedBy":["1"]}`, `{"success":true,"taskId":"2","updatedFields":["blockedBy"]}`, "Updated task #2: blockedBy")
	b.want("", "TaskUpdate", `{"taskId":"1","status":"in_progress","owner":"me"}`, `{"success":true,"taskId":"1","updatedFields":["owner","status"],"statusChange":{"from":"pending","to":"in_progress"}}`, "pending → in_progress")
	b.want("", "TaskList", `{}`, `{"tasks":[{"id":"1","subject":"Fix","status":"in_progress","owner":"me","blockedBy":[]},{"id":"2","subject":"Test","status":"pending","blockedBy":["1"]}]}`, "#2 [pending] Test [waits for #1]")
	b.want("", "TaskGet", `{"taskId":"1"}`, `{"task":{"id":"1","subject":"Fix","description":"the parser","status":"in_progress","blocks":["2"],"blockedBy":[]}}`, "Blocks: #2")
	b.want("", "TaskUpdate", `{"taskId":"1","addBlockedBy":["2"]}`, `{"success":false,"taskId":"1","updatedFields":[],"error":"item 1 cannot wait for item 2: that would close a circle (1 → 2 → 1)"}`, "circle")
	b.want("", "TaskUpdate", `{"taskId":"9","status":"completed"}`, `{"success":false,"taskId":"9","updatedFields":[],"error":"no such item with the id 9"}`, "no such item")
	b.want("", "TaskUpdate", `{"taskId":"1","status":"completed","metadata":{"file":null}}`, `{"success":true,"taskId":"1","updatedFields":["status","metadata"],"statusChange":{"from":"in_progress","to":"completed"}}`, "Next that waits for nothing: #2 Test")
	b.want("", "TaskUpdate", `{"taskId":"1","status":"completed"}`, `{"success":true,"taskId":"1","updatedFields":[]}`, "nothing to change")
	b.want("", "TaskUpdate", `{"taskId":"1","status":"deleted"}`, `{"success":true,"taskId":"1","updatedFields":["deleted"],"statusChange":{"from":"completed","to":"deleted"}}`, "deleted")
	b.want("", "TaskGet", `{"taskId":"1"}`, `{"task":null}`, "no task with the id 1")
	b.want("", "TaskCreate", `{"subject":"Again","description":""}`, `{"task":{"id":"3","subject":"Again"}}`, "#3")
}

// TestASubagentHasItsOwnList.
func TestASubagentHasItsOwnList(t *testing.T) {
	b := newBench(t)
	b.want("", "TaskCreate", `{"subject":"A","description":""}`, `{"task":{"id":"1","subject":"A"}}`, "#1")
	b.want("child", "TaskList", `{}`, `{"tasks":[]}`, "empty")
	b.want("child", "TaskCreate", `{"subject":"B","description":""}`, `{"task":{"id":"1","subject":"B"}}`, "#1")
	b.want("", "TaskList", `{}`, `{"tasks":[{"id":"1","subject":"A","status":"pending","blockedBy":[]}]}`, "A")
}

func TestTodoWrite(t *testing.T) {
	b := newBench(t)
	first := `[{"content":"Fix","status":"in_progress","activeForm":"Fixing"},{"content":"Test","status":"pending","activeForm":"Testing"}]`
	second := `[{"content":"Test","status":"completed","activeForm":"Testing"}]`
	b.want("", "TodoWrite", `{"todos":`+first+`}`, `{"oldTodos":[],"newTodos":`+first+`}`, "2 items, 2 of them open")
	b.want("", "TodoWrite", `{"todos":`+second+`}`, `{"oldTodos":`+first+`,"newTodos":`+second+`}`, "1 items, 0 of them open")
	b.want("", "TodoWrite", `{"todos":[]}`, `{"oldTodos":`+second+`,"newTodos":[]}`, "0 items")
}

// TestHooks: a guard can undo a new item and prevent a completion; what it says is told.
func TestHooks(t *testing.T) {
	b := newBench(t)
	var asked []string
	guard := func(kind string) func(context.Context, *tool.Scope, todo.Item) (string, bool) {
		return func(_ context.Context, s *tool.Scope, it todo.Item) (string, bool) {
			asked = append(asked, fmt.Sprint(kind, " ", s.Agent, it.ID, " ", it.Status))
			return kind + ": not like this", strings.Contains(it.Subject, "bad")
		}
	}
	b.world.Created, b.world.Completed = guard("created"), nil
	if res := b.call("", "TaskCreate", `{"subject":"bad","description":""}`); !res.IsError || msg.TextOf(res.Content) != "created: not like this" {
		t.Errorf("%+v", res)
	}
	b.want("", "TaskList", `{}`, `{"tasks":[]}`, "empty")
	b.world.Created = nil
	b.want("", "TaskCreate", `{"subject":"bad","description":""}`, `{"task":{"id":"2","subject":"bad"}}`, "#2")
	b.world.Completed = guard("completed")
	b.want("", "TaskUpdate", `{"taskId":"2","status":"completed","subject":"good"}`, `{"success":false,"taskId":"2","updatedFields":[],"error":"completed: not like this"}`, "not like this")
	b.want("", "TaskUpdate", `{"taskId":"2","subject":"good"}`, `{"success":true,"taskId":"2","updatedFields":["subject"]}`, "subject")
	b.want("", "TaskUpdate", `{"taskId":"2","status":"completed"}`, `{"success":true,"taskId":"2","updatedFields":["status"],"statusChange":{"from":"pending","to":"completed"}}`, "completed")
	b.want("", "TaskUpdate", `{"taskId":"2","status":"completed"}`, `{"success":true,"taskId":"2","updatedFields":[]}`, "nothing")
	if got := strings.Join(asked, ", "); got != "created 1 pending, completed 2 pending, completed 2 pending" {
		t.Errorf("asked %s", got)
	}
}

func TestWrongInput(t *testing.T) {
	b := newBench(t)
	for name, tc := range map[string]struct{ tool, in, want string }{
		"no subject":      {"TaskCreate", `{"description":"x"}`, "`subject` is missing"},
		"empty subject":   {"TaskCreate", `{"subject":"","description":"x"}`, "at least 1"},
		"unknown status":  {"TaskUpdate", `{"taskId":"1","status":"done"}`, "`status` must be one of"},
		"no id":           {"TaskGet", `{}`, "`taskId` is missing"},
		"todo unfinished": {"TodoWrite", `{"todos":[{"content":"x"}]}`, "`todos[0].status` is missing"},
	} {
		res := b.call("", tc.tool, tc.in)
		if got := msg.TextOf(res.Content); !res.IsError || !strings.HasPrefix(got, "<tool_use_error>") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	var names []string
	for _, tl := range tools.Tasks(tools.World{}) {
		names = append(names, tl.Spec().Name)
		if tl.Spec().Description == "" {
			t.Errorf("%s says nothing of itself", tl.Spec().Name)
		}
	}
	if got := strings.Join(names, " "); got != "TaskCreate TaskGet TaskList TaskUpdate" {
		t.Error(got)
	}
}

// list is a list of its own.
func list() todo.Slice {
	type root struct{ list *todo.State }
	s := store.New(root{&todo.State{}}, nil, nil)
	return store.Focus(s, func(r *root) *todo.State { return r.list }, func(_ *root, l *todo.State) *root { return &root{l} })
}
