package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/app/notes"
	"github.com/myelin-agent/myelin/internal/app/pool"
	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/memory"
	"github.com/myelin-agent/myelin/internal/feature/prompt"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

// instructions are the files of instructions and what else stands in front of a conversation.
type instructions struct {
	opts        Options
	settings    *settings
	session     store.Slice[session.State]
	state       store.Slice[memory.State]
	asks        *proto.Asks
	events      *events.Stream
	clock       *clock
	hooks       *hooks
	pool        *pool.Pool
	hidden      func(path string) bool // a rule forbids to read it
	readOnly    func() bool            // a person declined to trust the folder
	environment func() prompt.Environment
	notes       *notes.Notes
	ctx         context.Context

	memory   *memory.Instructions
	prompt   *prompt.Prompt
	style    atomic.Pointer[string] // name of the output style
	turns    atomic.Int64
	reloaded atomic.Bool // the files are loaded anew because of a compaction
}

// options say where instruction files stand.
func (i *instructions) options() memory.Options {
	p, state, env := i.settings.places, i.settings.now(), i.settings.env()
	o := memory.Options{
		State: i.state, Managed: p.Managed, ManagedText: setting(state, "claudeMd", ""), UserHome: p.UserHome, Start: p.Start,
		AgentsMD: setting(state, "instructions.agentsMd", "auto"), Excludes: setting[[]string](state, "claudeMdExcludes", nil),
		MayRead: func(path string) bool { return !i.hidden(path) },
		Report:  func(text string) { i.events.Emit(proto.Notice{Level: "warning", Key: "instructions", Text: text}) },
	}
	guests := setting(state, "compat", true)
	if p.GuestHome != "" && guests {
		o.Homes, o.Folders = append(o.Homes, p.GuestHome), append(o.Folders, ".claude")
	}
	o.Homes = append(o.Homes, p.Home)
	if !slices.Contains(o.Folders, p.Folder) {
		o.Folders = append(o.Folders, p.Folder)
	}
	if repo, err := gitrepo.Find(p.Start); err == nil && repo.Main != repo.Root && strings.HasPrefix(repo.Root, repo.Main+"/") {
		o.Main, o.Worktree = repo.Main, repo.Root
	}
	off := flagged(env, "MYELIN_DISABLE_CLAUDE_MDS")
	sources := i.opts.SettingSources
	o.Levels = func(l memory.Level) bool {
		declined := i.readOnly() && l != memory.User // the person does not trust the folder
		return !off && !declined && (sources == nil || slices.Contains(*sources, string(l)))
	}
	if i.opts.Interactive {
		o.Approve = i.approveImports
	}
	return o
}

// The place of the answer about imports in the state file.
func importsKey(root string) []string { return []string{"projects", root, "externalInstructions"} }

// approveImports asks once for a project whether its instruction files may bring in files from outside of it.
func (i *instructions) approveImports(ctx context.Context, files []string) bool {
	root := i.session.Get().ProjectRoot
	if doc, err := i.settings.places.State().Read(); err == nil && doc != nil {
		if said := doc.Get(importsKey(root)...); said != nil {
			return said.Text() == "true"
		}
	}
	answer, err := i.asks.Put(ctx, proto.Ask{
		ID: i.clock.newID(), Kind: proto.AskDialog, Title: "Load instruction files from outside of the project?", NeedsPerson: true,
		Text:       "Instruction files of this project refer to files outside of it. Their text is sent to the model.",
		Understood: files,
		Options: []proto.Option{
			{ID: "yes", Label: "Yes, load them", Behavior: "allow", Detail: "remembered for this project"},
			{ID: "no", Label: "No", Behavior: "deny", Detail: "remembered for this project"},
		},
	})
	if err != nil {
		return false // nobody answered: asked again at the next start
	}
	yes := answer.Option == "yes" || (answer.Option == "" && answer.Behavior == "allow")
	value := json.RawMessage(fmt.Sprint(yes))
	err = i.settings.places.State().Update(func(d *jsonc.Doc) error { return d.Set(importsKey(root), value) })
	if err != nil {
		i.events.Emit(proto.Notice{Level: "warning", Text: "The answer holds for this session only: " + err.Error()})
	}
	return yes
}

// source is the source of instruction files for the text in front of the conversation.
func (i *instructions) source() prompt.Source {
	return prompt.Source{Name: "instructions", Load: func(ctx context.Context) ([]prompt.Background, error) {
		reason := memory.SessionStart
		if i.reloaded.Swap(false) {
			reason = memory.Compacted
		}
		files, err := i.memory.Load(ctx, reason)
		if err != nil {
			return nil, err
		}
		i.tell(files)
		out := make([]prompt.Background, 0, len(files))
		for _, f := range files {
			out = append(out, prompt.Background{Label: f.Label(), Path: f.Path, Text: f.Text})
		}
		return out, nil
	}}
}

// tell lets hooks know of files that entered the context. Nobody waits for them.
func (i *instructions) tell(files []memory.File) {
	if len(files) == 0 || !i.hooks.Any(hook.InstructionsLoaded) {
		return
	}
	go func() { // ends with the session's context at the latest
		for _, f := range files {
			level := string(f.Level)
			fields := map[string]any{"file_path": f.Path, "memory_type": strings.ToUpper(level[:1]) + level[1:], "load_reason": string(f.Reason)}
			for name, value := range map[string]string{"trigger_file_path": f.Trigger, "parent_file_path": f.Parent} {
				if value != "" {
					fields[name] = value
				}
			}
			if len(f.Globs) > 0 {
				fields["globs"] = f.Globs
			}
			i.hooks.Fire(i.ctx, hook.Event{Name: hook.InstructionsLoaded, Match: string(f.Reason), Fields: fields})
		}
	}()
}

// with adds to the result of a call on a file the instruction files that belong to it.
func (i *instructions) with(call tool.Call, r tool.Result) tool.Result {
	t := i.pool.Tool(call.Name)
	if r.IsError || t == nil {
		return r
	}
	traits := t.Traits(call)
	r = i.notes.After(traits, r)
	if traits.Command != "" || len(traits.Paths) != 1 {
		return r
	}
	files := i.memory.Touched(traits.Paths[0].Path)
	i.tell(files)
	for _, f := range files {
		text := fmt.Sprintf("Contents of %s (%s), which apply to this file:\n\n%s", f.Path, f.Label(), f.Text)
		r.Content = append(r.Content, msg.Reminders([]string{text})...)
	}
	return r
}

// changed are reminders of instruction files that changed on disk, and now and then of the style.
func (i *instructions) changed() []string {
	var out []string
	if style := *i.style.Load(); i.turns.Add(1)%5 == 0 && style != "Default" { // models forget it
		out = append(out, "The output style "+style+" is in force.")
	}
	for _, c := range i.memory.Changes() {
		if c.Removed {
			out = append(out, c.Path+" was removed; its instructions no longer apply.")
			continue
		}
		out = append(out, c.Path+" changed on disk. The changed lines are now:\n"+c.Diff)
	}
	return out
}

// texts is what the classifier is shown of the instruction files.
func (i *instructions) texts(ctx context.Context) []string {
	blocks, err := i.prompt.Background(ctx)
	if err != nil || len(blocks) == 0 {
		return nil
	}
	return []string{msg.TextOf(blocks)}
}

// outputStyle is the style that the settings name, of the closest folder that has it.
func (i *instructions) outputStyle() prompt.Style {
	p, homes := i.settings.places, append([]string{i.settings.places.Home, i.settings.places.GuestHome}, i.settings.places.Managed...)
	dirs := prompt.StyleDirs(p.Start, i.session.Get().ProjectRoot, homes)
	if i.readOnly() {
		dirs = prompt.StyleDirs("", "", homes)
	}
	style := prompt.FindStyle(setting(i.settings.now(), "outputStyle", ""), dirs, func(text string) {
		i.events.Early(proto.Notice{Level: "warning", Key: "style", Text: text})
	})
	i.style.Store(&style.Name)
	return style
}

// reload makes the next request load instruction files and environment anew.
func (i *instructions) reload() {
	i.reloaded.Store(true)
	i.prompt.Reload(i.environment(), i.notes.Places(), i.outputStyle())
}

// cmdMemory lists the instruction files that are in the context.
func cmdMemory(ctx context.Context, r *rooms, args string) (string, error) {
	if args != "" {
		return "", errors.New("/memory takes no arguments; edit the files it lists with an editor")
	}
	if _, err := r.instructions.prompt.Background(ctx); err != nil {
		return "", err
	}
	state := r.part.memory.Get()
	kept := table(func(w *tabwriter.Writer) { r.rights.notes.Report(w) })
	if len(state.Files)+len(state.Problems) == 0 {
		return "No instruction files. CLAUDE.md or AGENTS.md in this folder, or CLAUDE.md in " + r.settings.places.Home + ", would be loaded.\n" + kept, nil
	}
	return table(func(w *tabwriter.Writer) {
		for _, f := range state.Files {
			fmt.Fprintf(w, "%s\t%d bytes\t%s\t%s\n", f.Level, f.Bytes, f.Path, strings.Join(f.Globs, ", "))
		}
		for _, problem := range state.Problems {
			fmt.Fprintf(w, "not loaded\t\t%s\n", problem)
		}
	}) + "\n" + kept, nil
}
