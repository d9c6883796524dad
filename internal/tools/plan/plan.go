// Package plan holds EnterPlanMode and ExitPlanMode: the model plans before it changes anything,
// writes the plan into a file, and puts it before the person.
//
// What plan mode forbids is decided by the permission gate; the mode itself is changed through the
// functions of [World]. Begin with [Tools].
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// The names of the tools.
const (
	EnterName = "EnterPlanMode"
	ExitName  = "ExitPlanMode"
)

// World is what the tools are built with. All functions are needed.
type World struct {
	// Planning tells whether plan mode is in force for the agent.
	Planning func(*tool.Scope) bool
	// Enter turns plan mode on.
	Enter func(*tool.Scope) error
	// Leave ends plan mode and returns the mode in force then: the one the person picked in the
	// approval, else the one before.
	Leave func(*tool.Scope) (mode string, err error)
	// File is the agent's plan file, absolute, in the plans directory. It need not exist.
	File func(*tool.Scope) string
}

const enterDescription = `Turns plan mode on: you look and think, change nothing, and write a plan for the person to approve. For larger or unclear changes, where several ways are open or a wrong start would cost much; not for small ones or for questions.`

const exitDescription = `Puts your plan before the person and ends plan mode when they approve it. Write the plan into the plan file first; it is read from there. Only for plans of changes, and only once nothing is left to ask.`

const emptySchema = `{"type":"object","properties":{}}`

// maxPlan bounds a plan file, in bytes.
const maxPlan = 1 << 20

// Tools returns EnterPlanMode and ExitPlanMode.
func Tools(w World) []tool.Tool {
	return []tool.Tool{
		tool.New(
			tool.Spec{Name: EnterName, Description: enterDescription, Schema: json.RawMessage(emptySchema), NeedsPerson: true, Deferred: true, Keywords: "design think before"},
			w.enter, tool.Always[struct{}](tool.Traits{NoEffect: true}),
		),
		tool.New(
			tool.Spec{Name: ExitName, Description: exitDescription, Schema: json.RawMessage(emptySchema), NeedsPerson: true, Deferred: true, Keywords: "approve plan done", Asks: tool.AsksPlan, Plans: true},
			w.exit, tool.Normaliser(w.normalise), tool.Always[exitInput](tool.Traits{NoEffect: true, NeedsPerson: true}),
		),
	}
}

// Instructions are what a model in plan mode is told, with every request of it.
func Instructions(file string) string {
	return `Plan mode is on. Change nothing: no edits, no commits, no commands with effects; the plan file is the only file you may write.
1. Understand the request and read the code it touches.
2. Ask what only the person can decide.
3. Write the plan into ` + file + `: what will be changed where and why, in order, and how it will be verified. Short enough to be read, exact enough to be carried out.
4. Call ` + ExitName + `. End your turn with that call or with a question, with nothing else.`
}

func (w World) enter(_ context.Context, _ struct{}, call tool.Call) (tool.Result, error) {
	if !w.Planning(call.Scope) {
		if err := w.Enter(call.Scope); err != nil {
			return tool.Result{}, fmt.Errorf("enter plan mode: %w", err)
		}
	}
	return tool.Text(Instructions(w.File(call.Scope))), nil
}

// exitInput is what hooks and the approval see. The model writes none of it: plan and file are
// filled in, and an approval may hand back a changed plan.
type exitInput struct {
	Plan string `json:"plan"`
	File string `json:"planFilePath"`
}

// normalise fills in the plan. A plan in the input goes before the file: a person edited it, or a
// model of the older kind wrote it there.
func (w World) normalise(in exitInput, call tool.Call) (exitInput, error) {
	if !w.Planning(call.Scope) {
		return in, errors.New("plan mode is not on: there is nothing to approve. Begin with the work, or turn it on with " + EnterName)
	}
	in.File = w.File(call.Scope)
	if strings.TrimSpace(in.Plan) != "" {
		return in, nil
	}
	var err error
	if in.Plan, err = readPlan(in.File); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Plan) == "" {
		return in, fmt.Errorf("there is no plan yet: write it into %s first", in.File)
	}
	return in, nil
}

func readPlan(file string) (string, error) {
	data, err := nolink.ReadFile(file, maxPlan)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case errors.Is(err, nolink.ErrSpecial), errors.Is(err, nolink.ErrTooLarge):
		return "", fmt.Errorf("the plan file %s is not a file of at most %d bytes", file, maxPlan)
	case err != nil:
		return "", fmt.Errorf("read the plan: %w", err)
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), nil
}

// exitOutput is the structured output.
type exitOutput struct {
	Plan    string `json:"plan"`
	IsAgent bool   `json:"isAgent"`
	File    string `json:"filePath,omitempty"`
	Edited  bool   `json:"planWasEdited,omitempty"`
}

// exit runs once the plan is approved.
func (w World) exit(_ context.Context, in exitInput, call tool.Call) (tool.Result, error) {
	written, err := readPlan(in.File)
	if err != nil {
		return tool.Result{}, err
	}
	edited := written != in.Plan
	if edited { // the file is what is read again after a compaction
		if err := writePlan(in.File, in.Plan); err != nil {
			return tool.Result{}, err
		}
	}
	mode, err := w.Leave(call.Scope)
	if err != nil {
		return tool.Result{}, fmt.Errorf("leave plan mode: %w", err)
	}
	text := fmt.Sprintf("The plan was approved; the permission mode is %q now. Carry it out. It stands in %s.", mode, in.File)
	if edited && strings.TrimSpace(written) != "" {
		text += " The person changed it; this is what counts:\n\n" + in.Plan
	}
	out := tool.Text(text)
	out.Structured, err = json.Marshal(exitOutput{Plan: in.Plan, IsAgent: call.Scope.Agent != "", File: in.File, Edited: edited && written != ""})
	return out, err
}

func writePlan(file, text string) error {
	real, err := textfile.Real(filepath.Dir(file))
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	dir, err := nolink.MkdirAll(real, 0o755)
	if err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	defer dir.Close()
	return atomicfile.WriteIn(dir, filepath.Base(file), []byte(text), 0o644) // over a link, not through it
}
