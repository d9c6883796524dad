package headless

import (
	"encoding/json"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

// task is what was told of one task, and what was counted of its agent.
type task struct {
	told     proto.Task
	tools    int
	tokens   int
	started  time.Time
	lastTool string
}

// taskTypes are the outward names of the kinds of tasks.
func taskType(kind string) string {
	switch kind {
	case "shell":
		return "local_bash"
	case "agent":
		return "local_agent"
	case "teammate":
		return "in_process_teammate"
	case "workflow":
		return "local_workflow"
	case "remote":
		return "remote_agent"
	}
	return kind
}

func (m *mapper) task(e proto.Event) []object {
	switch b := e.Body.(type) {
	case proto.TaskStarted:
		return m.taskStarted(e, b.Task)
	case proto.TaskUpdated:
		return m.taskUpdated(e, b.Task)
	case proto.TaskEnded:
		return m.taskEnded(e, b)
	case proto.TasksChanged:
		tasks := make([]object, 0, len(b.Tasks))
		for _, t := range b.Tasks {
			o := object{{"task_id", t.ID}, {"task_type", taskType(t.Kind)}, {"description", t.Description}}
			tasks = append(tasks, o.optional("subagent_type", m.calls[t.Call].Agent))
		}
		return []object{m.common(object{{"type", "system"}, {"subtype", "background_tasks_changed"}, {"tasks", tasks}}, e)}
	}
	return nil
}

func (m *mapper) taskStarted(e proto.Event, t proto.Task) []object {
	if _, known := m.tasks[t.ID]; known {
		return nil
	}
	m.tasks[t.ID] = &task{told: t, started: e.Time}
	o := object{
		{"type", "system"},
		{"subtype", "task_started"},
		{"task_id", t.ID},
		{"tool_use_id", t.Call},
		{"description", t.Description},
		{"task_type", taskType(t.Kind)},
	}
	call := m.calls[t.Call]
	o = o.optional("subagent_type", call.Agent).optional("prompt", call.Prompt)
	if t.Backgrounded {
		o = o.with("is_backgrounded", true)
	}
	return []object{m.common(o, e)}
}

func (m *mapper) taskUpdated(e proto.Event, t proto.Task) []object {
	known := m.tasks[t.ID]
	if known == nil { // hosts never heard of it: what is told of an unknown task confuses them
		return m.taskStarted(e, t)
	}
	patch := taskPatch(known.told, t)
	if len(patch) == 0 {
		return nil
	}
	known.told = t
	o := object{{"type", "system"}, {"subtype", "task_updated"}, {"task_id", t.ID}, {"patch", patch}}
	return []object{m.common(o, e)}
}

// taskPatch is what changed between two states of a task.
func taskPatch(old, now proto.Task) object {
	var patch object
	if old.Status != now.Status {
		patch = patch.with("status", now.Status)
	}
	if now.EndMS != 0 && old.EndMS != now.EndMS {
		patch = patch.with("end_time", now.EndMS)
	}
	if now.Error != "" && old.Error != now.Error {
		patch = patch.with("error", now.Error)
	}
	if old.Backgrounded != now.Backgrounded {
		patch = patch.with("is_backgrounded", now.Backgrounded)
	}
	if old.Description != now.Description {
		patch = patch.with("description", now.Description)
	}
	return patch
}

// taskEnded tells the change of state, if nobody has, and then the end itself.
func (m *mapper) taskEnded(e proto.Event, b proto.TaskEnded) []object {
	var out []object
	if m.tasks[b.Task.ID] == nil {
		out = m.taskStarted(e, proto.Task{ID: b.Task.ID, Kind: b.Task.Kind, Call: b.Task.Call, Description: b.Task.Description, Status: "running"})
	}
	out = append(out, m.taskUpdated(e, b.Task)...)
	status := b.Task.Status
	if status == "killed" {
		status = "stopped"
	}
	o := object{
		{"type", "system"},
		{"subtype", "task_notification"},
		{"task_id", b.Task.ID},
		{"tool_use_id", b.Task.Call},
		{"status", status},
		{"output_file", b.Task.OutputFile},
		{"summary", b.Summary},
	}
	if known := m.tasks[b.Task.ID]; b.Task.Kind == "agent" {
		o = o.with("usage", known.usage(e.Time))
	}
	delete(m.tasks, b.Task.ID)
	return append(out, m.common(o, e))
}

func (t *task) usage(now time.Time) object {
	ms := int64(0)
	if !t.started.IsZero() && now.After(t.started) {
		ms = now.Sub(t.started).Milliseconds()
	}
	return object{{"total_tokens", t.tokens}, {"tool_uses", t.tools}, {"duration_ms", ms}}
}

// agentTask finds the task of the agent an event came from.
func (m *mapper) agentTask(e proto.Event) *task {
	for _, t := range m.tasks {
		if t.told.AgentID == e.Agent && e.Agent != "" || t.told.Call != "" && t.told.Call == e.Parent {
			return t
		}
	}
	return nil
}

func (m *mapper) agentTokens(e proto.Event, end proto.AnswerEnded) {
	if e.Agent == "" {
		return
	}
	if t := m.agentTask(e); t != nil {
		t.tokens += end.Usage.Context()
	}
}

// callAnnounced tells the progress of a subagent by its tool calls.
func (m *mapper) callAnnounced(e proto.Event, b proto.CallAnnounced) []object {
	if e.Agent == "" {
		return nil
	}
	t := m.agentTask(e)
	if t == nil {
		return nil
	}
	t.tools++
	t.lastTool = b.Tool
	o := object{
		{"type", "system"},
		{"subtype", "task_progress"},
		{"task_id", t.told.ID},
		{"tool_use_id", t.told.Call},
		{"description", "Running " + callTitle(b)},
	}
	o = o.optional("subagent_type", m.calls[t.told.Call].Agent).
		with("usage", t.usage(e.Time)).
		with("last_tool_name", b.Tool)
	return []object{m.common(o, e)}
}

// callTitle is what a call says of itself, else its tool.
func callTitle(b proto.CallAnnounced) string {
	var in struct {
		Description string `json:"description"`
	}
	if err := json.Unmarshal(b.Input, &in); err == nil && in.Description != "" {
		return firstLine(in.Description)
	}
	return b.Tool
}

// heartbeat is the time between two signs of life of one call, in seconds.
const heartbeat = 10

// callProgress tells hosts that a long call lives, not what it prints.
func (m *mapper) callProgress(e proto.Event, b proto.CallProgress) []object {
	if b.Seconds < m.progress[b.Call]+heartbeat {
		return nil
	}
	m.progress[b.Call] = b.Seconds
	return []object{m.common(object{
		{"type", "tool_progress"},
		{"tool_use_id", b.Call},
		{"tool_name", b.Tool},
		{"parent_tool_use_id", parent(e)},
		{"elapsed_time_seconds", b.Seconds},
	}, e)}
}
