// Package taskctl holds the pair of tools by which a model reads and stops running work: TaskOutput
// and TaskStop. They know tasks of every kind (shells, agents, monitors, remote jobs) by id, by the
// name of an agent or of a service.
//
// They run nothing: the work is entered elsewhere, with its controls in [task.Live]. Begin with
// [Output] and [Stop].
package taskctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/termtext"
)

// The bounds of waiting, and the characters of output shown when MaxOutput is 0.
const (
	defaultWait   = 30 * time.Second
	maxWait       = 10 * time.Minute
	defaultOutput = 30_000
)

// World is what the tools need to know. All of it is needed.
type World struct {
	Board     task.Board
	Live      *task.Live
	MaxOutput func() int // characters of output shown, as it is now; 0: 30,000 (TASK_MAX_OUTPUT_LENGTH)
}

type outputInput struct {
	TaskID  string   `json:"task_id"`
	Block   *bool    `json:"block,omitempty"`
	Timeout *float64 `json:"timeout,omitempty"` // milliseconds
}

// Output returns the tool TaskOutput.
func Output(w World) tool.Tool {
	spec := tool.Spec{
		Deferred:    true,
		Name:        "TaskOutput",
		Description: "Returns status and newest output of a task. Prefer Read of its output file.",
		Schema: json.RawMessage(`{"type":"object","properties":{
"task_id":{"type":"string","minLength":1},
"block":{"type":"boolean","description":"wait for its end; default true"},
"timeout":{"type":"number","minimum":0,"description":"longest wait in milliseconds; default 30000, at most 600000"}
},"required":["task_id"]}`),
		Keywords: "background shell agent output wait",
	}
	return old{tool.New(spec, w.output, tool.Always[outputInput](tool.Traits{ReadOnly: true, Beside: true, NoEffect: true})), []string{"bash_id", "agentId"}}
}

// outputResult is the public shape.
type outputResult struct {
	Retrieval string   `json:"retrieval_status"` // success: it is over; timeout: it still runs; not_ready: nobody waited
	Task      taskView `json:"task"`
}

type taskView struct {
	ID          string `json:"task_id"`
	Kind        string `json:"task_type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Output      string `json:"output"`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Error       string `json:"error,omitempty"`
}

func (w World) output(ctx context.Context, in outputInput, _ tool.Call) (tool.Result, error) {
	state := w.Board.Slice.Get()
	t, ok := state.Find(in.TaskID)
	if !ok {
		return tool.Failed(state.Unknown(in.TaskID)), nil
	}
	r := outputResult{Retrieval: "success"}
	wait := in.Block == nil || *in.Block
	if !t.Ended() && wait {
		w.wait(ctx, t.ID, in.Timeout)
	}
	if now, ok := w.Board.Slice.Get().Tasks.Get(t.ID); ok {
		t = now
	}
	switch {
	case t.Ended():
	case wait:
		r.Retrieval = "timeout"
	default:
		r.Retrieval = "not_ready"
	}
	r.Task = taskView{
		ID: t.ID, Kind: string(t.Kind), Status: string(t.Status), Description: t.Description,
		Output: w.newest(t), ExitCode: t.ExitCode, Error: t.Error,
	}
	return r.result(t)
}

// wait returns at the end of the task, of the time, or of the call.
func (w World) wait(ctx context.Context, id string, timeout *float64) {
	c, ok := w.Live.Get(id)
	if !ok {
		return
	}
	limit := defaultWait
	if timeout != nil {
		limit = time.Duration(min(*timeout, float64(maxWait.Milliseconds()))) * time.Millisecond
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.Done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// newest is the end of a task's output: of the running work, else of its file.
func (w World) newest(t task.Task) string {
	most := w.MaxOutput()
	if most <= 0 {
		most = defaultOutput
	}
	if c, ok := w.Live.Get(t.ID); ok && c.Output != nil {
		return c.Output(most)
	}
	if t.OutputFile == "" {
		return ""
	}
	text, err := tail(t.OutputFile, most)
	if errors.Is(err, fs.ErrNotExist) {
		return "[the output file is gone]"
	}
	if err != nil {
		return fmt.Sprintf("[the output cannot be read: %v]", err)
	}
	return text
}

// tail reads the last characters of a file, cut between characters.
func tail(path string, most int) (string, error) {
	f, err := nolink.Regular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	size := min(st.Size(), int64(4*most))
	buf := make([]byte, size)
	n, err := f.ReadAt(buf, st.Size()-size)
	if n == 0 && size > 0 {
		return "", err
	}
	buf = buf[:n]
	if size < st.Size() {
		for i := 0; i < 3 && len(buf) > 0 && !utf8.RuneStart(buf[0]); i++ {
			buf = buf[1:]
		}
	}
	text := []rune(termtext.Final(strings.ReplaceAll(strings.ToValidUTF8(string(buf), "\uFFFD"), "\x00", "\u2400")))
	if len(text) <= most && size == st.Size() {
		return strings.TrimRight(string(text), "\n"), nil
	}
	text = text[max(0, len(text)-most):]
	left := st.Size() - int64(len(string(text)))
	return fmt.Sprintf("[%d bytes left out]\n%s", left, strings.TrimRight(string(text), "\n")), nil
}

func (r outputResult) result(t task.Task) (tool.Result, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write result of TaskOutput: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Task %s (%s): ", t.ID, t.Kind)
	switch {
	case !t.Ended():
		b.WriteString("still " + string(t.Status))
	case t.Error != "":
		fmt.Fprintf(&b, "%s (%s)", t.Status, t.Error)
	default:
		b.WriteString(string(t.Status))
	}
	if t.ExitCode != nil {
		fmt.Fprintf(&b, ", exit code %d", *t.ExitCode)
	}
	if t.OutputFile != "" {
		b.WriteString("\nOutput file: " + t.OutputFile)
	}
	if r.Task.Output == "" {
		b.WriteString("\n(no output)")
	} else {
		b.WriteString("\n" + r.Task.Output)
	}
	res := tool.Text(b.String())
	res.Structured = raw
	return res, nil
}

type stopInput struct {
	TaskID string `json:"task_id,omitempty"`
}

// Stop returns the tool TaskStop.
func Stop(w World) tool.Tool {
	spec := tool.Spec{
		Name:        "TaskStop",
		Description: "Stops a running task, by its id or the name of its agent or service.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"task_id":{"type":"string","minLength":1}},"required":["task_id"]}`),
		Keywords:    "kill end background shell agent",
	}
	return old{tool.New(spec, w.stop, tool.Always[stopInput](tool.Traits{Beside: true, NoEffect: true})), []string{"shell_id"}}
}

// stopResult is the public shape.
type stopResult struct {
	Message string `json:"message"`
	ID      string `json:"task_id"`
	Kind    string `json:"task_type"`
	Command string `json:"command,omitempty"`
}

func (w World) stop(_ context.Context, in stopInput, _ tool.Call) (tool.Result, error) {
	state := w.Board.Slice.Get()
	t, ok := state.Find(in.TaskID)
	if !ok {
		return tool.Failed(state.Unknown(in.TaskID)), nil
	}
	if t.Ended() {
		return tool.Failed(fmt.Sprintf("Task %s is not running: it is %s.", t.ID, t.Status)), nil
	}
	c, ok := w.Live.Get(t.ID)
	if !ok {
		return tool.Failed(fmt.Sprintf("Task %s does not run in this process and cannot be stopped from here.", t.ID)), nil
	}
	c.Stop("stopped by the model")
	r := stopResult{ID: t.ID, Kind: string(t.Kind), Command: c.Command}
	r.Message = fmt.Sprintf("Stopped task %s (%s)", t.ID, t.Description)
	if now, ok := w.Board.Slice.Get().Tasks.Get(t.ID); ok && now.Ended() && now.Status != task.Killed {
		r.Message = fmt.Sprintf("Task %s had ended by itself: %s", t.ID, now.Status)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write result of TaskStop: %w", err)
	}
	res := tool.Text(r.Message)
	res.Structured = raw
	return res, nil
}

// old accepts the names that task_id had before.
type old struct {
	tool.Tool
	names []string
}

// Normalise implements [tool.Tool].
func (o old) Normalise(call tool.Call) (tool.Call, error) {
	var m map[string]json.RawMessage
	if json.Unmarshal(call.Literal, &m) != nil || m["task_id"] != nil {
		return o.Tool.Normalise(call)
	}
	for _, n := range o.names {
		v, ok := m[n]
		if !ok {
			continue
		}
		m["task_id"] = v
		delete(m, n)
		literal, err := json.Marshal(m)
		if err != nil {
			return call, fmt.Errorf("InputValidationError: %s failed: %w", o.Spec().Name, err)
		}
		mended := call
		mended.Literal = literal
		mended, err = o.Tool.Normalise(mended)
		mended.Literal = call.Literal
		return mended, err
	}
	return o.Tool.Normalise(call)
}
