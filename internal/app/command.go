package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/myelin-agent/myelin/internal/app/conversation"
	"github.com/myelin-agent/myelin/internal/app/tasks"
	"github.com/myelin-agent/myelin/internal/app/window"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/prompt"
	"github.com/myelin-agent/myelin/internal/feature/task"
)

// Command is a slash command as surfaces list it.
type Command struct {
	Name    string
	Args    string // what may follow, for people
	Summary string
}

// command is a slash command the program itself carries out; no model is asked.
type command struct {
	Command
	now bool // may run beside a turn: it only reads, or sets what the next call or round looks at
	run func(ctx context.Context, r *rooms, args string) (string, error)
}

// commands is the list of slash commands, in the order of /help.
func commands() []command {
	return []command{
		{Command{"help", "", "what can be typed here"}, true, cmdHelp},
		{Command{"model", "[NAME]", "show or change the model"}, true, cmdModel},
		{Command{"mode", "[MODE]", "show or change the permission mode"}, true, cmdMode},
		{Command{"permissions", "[allow|ask|deny|remove RULE]", "show rules and what was decided, change rules of this session"}, true, cmdPermissions},
		{Command{"add-dir", "FOLDER", "let file tools work in a further folder, for this session"}, true, cmdAddDir},
		{Command{"tasks", "[stop|output|keep ID]", "show, read or stop running work, or let a service outlive the session"}, true, cmdTasks},
		{Command{"context", "[--removed | --evict ID | --bring-back ID]", "show what fills the context window and what was left out of it; leave an item out, or send it again"}, true, cmdContext},
		{Command{"memory", "", "list the instruction files in the context"}, false, cmdMemory},
		{Command{"scratchpad", "", "show the notes the model keeps for itself in this conversation"}, true, cmdScratchpad},
		{Command{"cost", "", "show what was used and what it cost"}, true, cmdCost},
		{Command{"sandbox", "[restore [NUMBER]]", "show how commands are confined, or bring back what was put aside"}, true, cmdSandbox},
		{Command{"status", "", "show where settings come from and what is enforced"}, true, cmdStatus},
		{Command{"compact", "[FOCUS | --review [FOCUS] | --apply | --discard | --undo]", "summarise the conversation to free the context window; look at the summary first, or take it back"}, false, cmdCompact},
		{Command{"clear", "", "begin a new conversation"}, false, cmdClear},
		{Command{"resume", "ID", "go on with an earlier conversation"}, false, cmdResume},
		{Command{"branch", "", "go on in a copy of this conversation"}, false, cmdBranch},
	}
}

func findCommand(name string) (command, bool) {
	for _, c := range commands() {
		if c.Name == name {
			return c, true
		}
	}
	return command{}, false
}

// commandOf takes a prompt apart that is a slash command; nil: it is none.
func commandOf(r *rooms, p proto.Prompt) *conversation.Command {
	if p.Literal || len(p.Content) != 1 {
		return nil
	}
	t, isText := p.Content[0].(msg.Text)
	if !isText || !strings.HasPrefix(t.Text, "/") {
		return nil
	}
	name, args, _ := strings.Cut(strings.TrimSpace(t.Text[1:]), " ")
	c, ok := findCommand(name)
	if !ok {
		return nil
	}
	return &conversation.Command{Beside: c.now, Run: func(ctx context.Context) {
		text, err := c.run(ctx, r, strings.TrimSpace(args))
		if err != nil {
			text = err.Error()
		}
		r.events.Emit(proto.LocalOutput{Command: name, Text: text, Error: err != nil})
	}}
}

func cmdHelp(context.Context, *rooms, string) (string, error) {
	return table(func(w *tabwriter.Writer) {
		for _, c := range commands() {
			fmt.Fprintf(w, "/%s\t%s\t%s\n", c.Name, c.Args, c.Summary)
		}
		fmt.Fprintf(w, "/exit\t\tleave\n")
	}), nil
}

func cmdModel(_ context.Context, r *rooms, args string) (string, error) {
	if args == "" {
		return r.part.session.Get().Model, nil
	}
	if err := r.models.setModel(args); err != nil {
		return "", err
	}
	return "Model: " + r.part.session.Get().Model + ", from the next request on.", nil
}

func cmdAddDir(_ context.Context, r *rooms, args string) (string, error) {
	if args == "" {
		return "", errors.New("/add-dir needs a folder")
	}
	dir := r.rights.absolute(args)
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("/add-dir: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("/add-dir: %s is no folder", dir)
	}
	r.rights.grant(proto.PermissionUpdate{Type: "addDirectories", Directories: []string{dir}, Destination: "session"})
	text := "Working directory for this session: " + dir
	if r.rights.wide(dir) {
		text += "\n" + wideDir
	}
	return text, nil
}

func cmdMode(_ context.Context, r *rooms, args string) (string, error) {
	if args == "" {
		return r.rights.mode(), nil
	}
	if err := r.rights.setMode(args); err != nil {
		return "", err
	}
	return "Permission mode: " + r.rights.mode(), nil
}

func cmdTasks(_ context.Context, r *rooms, args string) (string, error) {
	verb, ref, _ := strings.Cut(args, " ")
	switch state := r.part.task.Get(); verb {
	case "":
		return listTasks(r.tasks, state, r.clock.now()), nil
	case "stop", "output", "keep":
		t, ok := state.Find(strings.TrimSpace(ref))
		if !ok {
			return "", fmt.Errorf("%s", state.Unknown(ref))
		}
		if verb == "stop" {
			return "Stopped " + t.ID + ".", r.tasks.Stop(t.ID)
		}
		if verb == "keep" {
			return r.tasks.Keep(t)
		}
		c, ok := r.tasks.Live.Get(t.ID)
		if !ok || c.Output == nil {
			return "Its output is in " + t.OutputFile, nil
		}
		return c.Output(10_000), nil
	default:
		return "", fmt.Errorf("/tasks %s: expected nothing, stop ID, output ID or keep ID", verb)
	}
}

func listTasks(work *tasks.Tasks, state *task.State, now time.Time) string {
	all := state.List(nil)
	if len(all) == 0 {
		return "Nothing is running."
	}
	return table(func(w *tabwriter.Writer) {
		for _, t := range all {
			end := now
			if t.Ended() {
				end = t.EndTime
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Kind, t.Status, end.Sub(t.StartTime).Round(time.Second), t.Description, work.LastLine(t))
		}
	})
}

func cmdContext(_ context.Context, r *rooms, args string) (string, error) {
	now, fill := r.part, fillOf(r.part.shaping.Get())
	var byName []string
	for _, p := range now.pool.Get().Pool {
		if p.State == "deferred" {
			byName = append(byName, p.Name)
		}
	}
	g := window.Given{
		Used: fill.Used, Window: fill.Window, Model: r.models.now().Info(), ByName: byName,
		Items: func() []prompt.Item { return now.prompt.Get().Items }, Saved: func() map[string]int { return now.shaping.Get().Saved },
		Notes: r.rights.notes.Report, Prompt: r.instructions.prompt, Conversation: r.main, Now: r.clock.now(),
	}
	var err error
	text := table(func(w *tabwriter.Writer) { err = window.Command(w, args, g) })
	return text, err
}

// table lays out lines whose columns are separated by tabs.
func table(rows func(*tabwriter.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	rows(w)
	if err := w.Flush(); err != nil { // a strings.Builder takes everything
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
