// Package bash is the tool that runs shell commands: one new shell a call, with a working directory
// that persists, a time limit, bounded output, and a background for what takes long.
//
// It decides nothing about what may run: permission does, before a call starts, and a [Runner]
// carries out the confinement that was decided. It starts no process itself and reads no setting;
// its [World] is handed in. Begin with [New].
//
// script.go writes what the shell is given, run.go waits for a call, background.go keeps what goes
// on behind it, result.go says what came of it.
package bash

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// Name is the tool's name.
const Name = "Bash"

// Runner starts a prepared program under a confinement. An error means that it did not start, with
// the reason for the model: a command that cannot be confined as decided must not run.
type Runner func(spec proc.Spec, how tool.Confinement) (Run, error)

// Run is a started command.
type Run struct {
	Process *proc.Process
	// After is called once when the command's whole tree is gone, or when what it left behind is
	// left alone, and returns what the model must be told (what the sandbox refused). output is what
	// the command printed, shortened. Nil: nothing to do.
	After func(exit proc.Exit, output string) string
}

// Unconfined is the [Runner] that starts programs for owner as they are. It refuses a call that is
// to be confined.
func Unconfined(owner *proc.Owner) Runner {
	return func(spec proc.Spec, how tool.Confinement) (Run, error) {
		if how.Level != tool.Unconfined {
			return Run{}, fmt.Errorf("the command must run %s, and there is no sandbox here", how.Level)
		}
		p, err := owner.Start(spec)
		return Run{Process: p}, err
	}
}

// World is all the tool needs to know. Runner, Dir, Board, Live and NewID are needed; functions that are
// nil mean what their comment says. All functions may be called from several goroutines at once.
type World struct {
	Runner Runner
	Dir    func() string // the present session's folder for output files, made when missing
	Temp   func() string // folder commands may write to, confined or not; made when missing. nil: Dir
	Board  task.Board    // where work in the background is entered
	Live   *task.Live    // where its controls are left
	NewID  func() string // a new task id; needed
	Quota  *proc.Quota   // bounds the bytes of all output files of the session together; nil: no bound

	Finder   proc.Finder                               // of bash, where it is not in its usual place
	Env      func() []string                           // environment of commands; nil: this process's
	EnvFiles func(confined bool) []string              // shell files to source before each command, in order (CLAUDE_ENV_FILE); nil: none
	Limits   func() Limits                             // read before each call; nil: the defaults
	Judge    func(command, cwd string) Effects         // what is known of a command's effects; nil: nothing
	Root     func() string                             // where a vanished working directory falls back to; nil: the user's home
	MayStand func(dir string) bool                     // whether the working directory may persist there; nil: everywhere
	Snapshot func(ctx context.Context) (string, error) // shell file with the user's aliases and functions; nil or "": none
}

// Effects is what the analysis of a command tells of it. The zero Effects is: it may do anything.
type Effects struct {
	ReadOnly    bool // changes nothing
	Beside      bool // has no effects that another command could notice
	Destructive bool // a checkpoint is due before it
	Waits       bool // only lets time pass
}

// Input is what the model gives.
type Input struct {
	Command         string   `json:"command"`
	Timeout         *float64 `json:"timeout,omitempty"` // milliseconds
	Description     string   `json:"description,omitempty"`
	RunInBackground bool     `json:"run_in_background,omitempty"`
	Service         string   `json:"service,omitempty"`
	NoSandbox       bool     `json:"dangerouslyDisableSandbox,omitempty"`
}

const description = `Runs a command in a new bash and returns its output (stdout and stderr together).
The working directory persists between calls; variables and functions do not. Standard input is empty.
Quote paths with spaces. For files prefer Read, Edit, Write, Grep and Glob over cat, sed, echo, grep and find.
Long output is cut in the middle and kept whole in a file. Do not use & for servers and long jobs: set run_in_background, then Read the output file or stop it with TaskStop; you are told when it ends, so do not poll with sleep.`

const schema = `{"type":"object","properties":{
"command":{"type":"string","minLength":1},
"timeout":{"type":"number","minimum":1,"description":"milliseconds; default 120000, at most 600000 (in the background 1800000, at most 7200000)"},
"description":{"type":"string","description":"what it does, 5-10 words"},
"run_in_background":{"type":"boolean"},
"service":{"type":"string","description":"with run_in_background: name of a server the user may keep"},
"dangerouslyDisableSandbox":{"type":"boolean","description":"only after the sandbox refused something the user wants"}
},"required":["command"]}`

// Shell is the tool. It is safe for concurrent use.
type Shell struct {
	tool.Tool
	world World

	mu      sync.Mutex // guards all below
	running map[string]*call
	snap    *snapshot
	names   map[string]bool // aliases and functions of the snapshot namesOf
	namesOf string

	programs map[string]program // those that need no shell, by name
}

// New returns the tool.
func New(w World) *Shell {
	s := &Shell{world: w, running: map[string]*call{}}
	if s.world.Temp == nil {
		s.world.Temp = w.Dir
	}
	spec := tool.Spec{Name: Name, Description: description, Schema: json.RawMessage(schema), Keywords: "shell terminal command run execute", Repeatable: true, Argument: "command"}
	s.Tool = tool.New(spec, s.run, tool.Normaliser(s.normalise), tool.Traiter(s.traits))
	return s
}

func (s *Shell) normalise(in Input, _ tool.Call) (Input, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return in, fmt.Errorf("InputValidationError: Bash failed: `command` is empty")
	case strings.ContainsRune(in.Command, 0):
		return in, fmt.Errorf("InputValidationError: Bash failed: `command` holds a NUL byte; remove it")
	case in.Service != "" && !in.RunInBackground:
		return in, fmt.Errorf("InputValidationError: Bash failed: `service` needs run_in_background")
	}
	return in, nil
}

func (s *Shell) traits(in Input, c tool.Call) tool.Traits {
	var e Effects
	if s.world.Judge != nil {
		e = s.world.Judge(in.Command, c.Dir())
	}
	return tool.Traits{
		Command: in.Command, Shell: true,
		ReadOnly: e.ReadOnly, Beside: (e.ReadOnly || e.Beside) && !in.RunInBackground, Snapshot: e.Destructive, Waits: e.Waits,
	}
}

// call is one call while it runs in the foreground.
type call struct {
	id         string
	background chan struct{} // closed by ToBackground
	once       sync.Once
}

// ToBackground moves the running call with that id, or all of them for "", to the background, and
// returns how many it has told. A call that may not run in the background goes on.
func (s *Shell) ToBackground(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.running {
		if id == "" || c.id == id {
			c.once.Do(func() { close(c.background) })
			n++
		}
	}
	return n
}

func (s *Shell) enter(id string) *call {
	c := &call{id: id, background: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = c
	return c
}

func (s *Shell) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}

// standAt returns the directory a call runs in, and a notice when the one it was decided for is gone.
func (s *Shell) standAt(dir string) (_, notice string, err error) {
	if isDir(dir) {
		return dir, "", nil
	}
	fallback, err := os.UserHomeDir()
	if s.world.Root != nil {
		fallback, err = s.world.Root(), nil
	}
	if err != nil || !isDir(fallback) {
		return "", "", fmt.Errorf("working directory %s does not exist any more, nor does %s", dir, fallback)
	}
	return fallback, fmt.Sprintf("The working directory %s does not exist any more. Shell cwd was reset to %s", dir, fallback), nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func (s *Shell) limits() Limits {
	if s.world.Limits == nil {
		return Limits{}.withDefaults()
	}
	return s.world.Limits().withDefaults()
}

func (s *Shell) env(dir string) []string {
	env := os.Environ()
	if s.world.Env != nil {
		env = s.world.Env()
	}
	// An editor would wait for a person who is not there.
	return append(env[:len(env):len(env)], "PWD="+dir, "GIT_EDITOR=true")
}

func (s *Shell) outputFile(id string) string { return filepath.Join(s.world.Dir(), id+".output") }

// now is the clock of the board, so that times in the state and here agree.
func (s *Shell) now() time.Time { return s.world.Board.Now() }
