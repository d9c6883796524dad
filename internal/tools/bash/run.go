package bash

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// longCall is how long a call runs in the foreground before it is listed as a task.
const longCall = 3 * time.Second

// job is one command from its start to its last word, in the foreground and behind it.
type job struct {
	shell  *Shell
	in     Input
	call   tool.Call
	lim    Limits
	sight  sight
	script script
	output string // file of what it prints
	dir    string
	env    []string
	notice string // to be told with the result

	id      string // of the output file, and of the task once it is one
	capture *proc.Capture
	file    *os.File // a service writes to it itself; nil for others
	live    *liveText
	run     Run
	began   time.Time
	limit   time.Duration
	done    chan struct{} // closed when the end has been told; made when it becomes a task
	listed  bool
}

func (s *Shell) run(ctx context.Context, in Input, c tool.Call) (tool.Result, error) {
	j := &job{shell: s, in: in, call: c, lim: s.limits(), sight: look(in.Command), began: time.Now()}
	if c.Confine.Level == tool.Unconfined && j.sight.endsUs() {
		return tool.Failed("This command would end the program you run in, and with it this session. Name the process more exactly, or by its id."), nil
	}
	if in.RunInBackground && j.lim.NoBackground {
		return tool.Failed("Background work is switched off here. Run the command without run_in_background."), nil
	}
	var err error
	if j.dir, j.notice, err = s.standAt(c.Dir()); err != nil {
		return tool.Failed(err.Error()), nil
	}
	j.limit = j.lim.timeout(in)
	j.env = s.env(j.dir)
	snapshot := s.snapshotFile(ctx)
	direct, confined := false, c.Confine.Level != tool.Unconfined
	if j.script, direct = s.direct(j.sight.only, j.env, snapshot, j.lim, confined); !direct {
		if j.script, err = s.write(in, c, j.dir, snapshot, j.lim); err != nil {
			return tool.Result{}, err
		}
	}
	if ctx.Err() != nil {
		return tool.Failed("Interrupted before the command was started."), nil
	}
	err = j.start()
	if err != nil && direct { // a script without its first line, say: the shell knows what to do with it
		if j.script, err = s.write(in, c, j.dir, snapshot, j.lim); err == nil {
			err = j.start()
		}
	}
	if err != nil {
		j.script.clean()
		return tool.Failed(fmt.Sprintf("The command was not started: %v", err)), nil
	}
	if in.RunInBackground {
		return j.toBackground("")
	}
	return j.foreground(ctx)
}

// start makes sink and process.
func (j *job) start() error {
	s := j.shell
	if err := os.MkdirAll(s.world.Temp(), 0o700); err != nil {
		return fmt.Errorf("make the session's temporary folder: %w", err)
	}
	j.id = s.world.NewID()
	j.output = s.outputFile(j.id)
	j.live = newLiveText(j.call.Progress)
	j.capture = proc.NewCapture(proc.CaptureConfig{
		Keep: 4 * j.lim.MaxOutput, Path: j.output, Head: fileLimit - proc.DefaultTail,
		Limit: j.lim.MaxBytes, Quota: s.world.Quota, Seen: j.live.add,
	})
	spec := proc.Spec{
		Path: j.script.shell, Args: j.script.args, Dir: j.dir, Env: j.env,
		Stdout: j.capture, Stderr: j.capture, Label: oneLine(j.in.Command, 120), Text: j.in.Command,
	}
	if j.in.Service != "" {
		f, err := serviceFile(j.output)
		if err != nil {
			return err
		}
		j.file = f
		spec.Stdout, spec.Stderr, spec.Keep = f, f, true
	}
	run, err := s.world.Runner(spec, j.call.Confine)
	j.run = run
	return err
}

// foreground waits for the command, its time limit, an interrupt, or the wish to have it in the
// background.
func (j *job) foreground(ctx context.Context) (tool.Result, error) {
	me := j.shell.enter(j.call.ID)
	defer j.shell.leave(j.call.ID)
	timeout := time.NewTimer(j.limit)
	defer timeout.Stop()
	long := time.NewTimer(longCall)
	defer long.Stop()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	background := me.background
	for {
		select {
		case <-j.run.Process.Done():
			return j.finished(j.run.Process.Exit(), ending{})
		case <-ctx.Done():
			return j.finished(j.run.Process.Stop("interrupted: "+context.Cause(ctx).Error()), ending{interrupted: true})
		case <-j.capture.Over():
			return j.finished(j.run.Process.Stop("it printed too much"), ending{flooded: true})
		case <-timeout.C:
			if !j.lim.NoBackground && j.sight.mayGoOn() {
				return j.toBackground(j.timeoutText())
			}
			return j.finished(j.run.Process.Stop("its time was over"), ending{timedOut: true})
		case <-background:
			if !j.lim.NoBackground {
				return j.toBackground("The command was moved to the background by the user.")
			}
			background = nil
		case <-long.C:
			if err := j.list(false); err != nil {
				j.notice = joinNotes(j.notice, err.Error())
			}
		case <-tick.C:
			j.live.flush()
		}
	}
}

func (j *job) timeoutText() string {
	text := fmt.Sprintf("Command did not complete within its %s timeout and was moved to the background.", seconds(j.limit))
	if j.sight.moves {
		text += fmt.Sprintf(" Session cwd remains %s; directory changes made by the backgrounded command do not apply to subsequent commands.", j.dir)
	}
	return text
}

// seconds writes a duration as people say it: 120s, 1.5s, 250ms.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
}

// ending is how a foreground call came to its end when it was not by itself.
type ending struct{ interrupted, timedOut, flooded bool }

// finished makes the result of a command that has ended in the foreground.
func (j *job) finished(exit proc.Exit, how ending) (tool.Result, error) {
	j.live.flush()
	left := j.run.Process.Left()
	after := j.after(exit)
	cwd, note := j.newCwd()
	j.script.clean()
	j.notice = joinNotes(j.notice, note)
	if len(left) > 0 {
		j.notice = joinNotes(j.notice, j.keepLeft(left))
	}
	res := j.result(exit, how, joinNotes(j.changedReads(), after))
	if j.notice != "" && cwd == "" && j.dir != j.call.Dir() {
		cwd = j.dir // the old one is gone
	}
	res.Cwd = cwd
	if len(left) == 0 {
		_ = j.capture.Close() // a fault of the file was told when it was needed
	}
	if j.listed {
		j.tell(exit, how)
	}
	return res, nil
}

// after lets the runner finish (look for what the sandbox refused).
func (j *job) after(exit proc.Exit) string {
	if j.run.After == nil {
		return ""
	}
	front, end, _ := j.capture.Ends(16<<10, 16<<10)
	return j.run.After(exit, clean(append(front, end...)))
}

// newCwd is the agent's new working directory, empty when it stays, and what to tell of it. Only the
// main conversation moves, and only to where it may stand.
func (j *job) newCwd() (dir, note string) {
	dir = j.script.newDir()
	if dir == "" || dir == j.dir {
		return "", ""
	}
	main := j.call.Scope.Agent == "" && !j.lim.FixedCwd
	if main && (j.shell.world.MayStand == nil || j.shell.world.MayStand(dir)) {
		return dir, ""
	}
	return "", "Shell cwd was reset to " + j.dir
}

// list enters the running command as a task.
func (j *job) list(background bool) error {
	j.done = make(chan struct{})
	j.listed = true
	out := ""
	if background {
		out = j.outputPath()
	}
	err := j.shell.world.Board.Start(task.Task{
		ID: j.id, Kind: task.Shell, Description: j.describe(), OutputFile: out, Backgrounded: background,
		ToolUseID: j.call.ID, ParentAgentID: j.call.Scope.Agent, Service: j.service(), StartTime: j.startTime(),
	})
	if err != nil {
		j.listed = false
		return err
	}
	id := j.call.ID
	j.shell.world.Live.Enter(j.id, task.Control{
		Stop: j.stopTask, Done: j.done, Output: j.newest, Command: j.in.Command, Keep: j.keep,
		Background: func() bool { return j.shell.ToBackground(id) > 0 },
	})
	return nil
}

func (j *job) startTime() time.Time { return j.shell.now().Add(-time.Since(j.began)) }

func (j *job) describe() string {
	if j.in.Description != "" {
		return oneLine(j.in.Description, 120)
	}
	return oneLine(j.in.Command, 120)
}

func oneLine(s string, max int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > max {
		return string(r[:max-1]) + "…"
	}
	return string(r)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
