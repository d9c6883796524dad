package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/session"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// tellAsk enters questions in the state and tells surfaces.
func (s *Session) tellAsk(body proto.EventBody) {
	switch b := body.(type) {
	case proto.Ask:
		ids := make([]string, len(b.Options))
		for i, o := range b.Options {
			ids[i] = o.ID
		}
		session.OpenAsk(s.part.session, session.Ask{ID: b.ID, Kind: string(b.Kind), Text: b.Title, Options: ids, Since: s.effects.Now()})
		s.notifyAfter(askWait, b.ID, "permission_prompt", b.Title)
	case proto.AskClosed:
		s.noNotice(b.ID)
		session.CloseAsk(s.part.session, b.ID)
	}
	s.events.Emit(body)
}

// How long somebody may be silent before the Notification hooks are told that they are waited for.
const (
	askWait  = 6 * time.Second
	idleWait = time.Minute
	idleKey  = "idle"
)

// notifyAfter tells the Notification hooks of something, unless noNotice takes it back first.
func (s *Session) notifyAfter(wait time.Duration, key, kind, message string) {
	if s.rooms.hooks == nil || !s.rooms.hooks.Any(hook.Notification) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify[key] = time.AfterFunc(wait, func() {
		if s.ctx.Err() == nil {
			s.fire(s.ctx, hook.Event{Name: hook.Notification, Match: kind, Fields: map[string]any{"message": message, "notification_type": kind}})
		}
	})
}

// noNotice takes back what notifyAfter was to tell.
func (s *Session) noNotice(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.notify[key]; t != nil {
		t.Stop()
		delete(s.notify, key)
	}
}

// endHooks fires SessionEnd.
func (s *Session) endHooks(ctx context.Context, reason string) {
	switch reason {
	case "clear", "resume", "prompt_input_exit", "logout":
	default:
		reason = "other"
	}
	if !s.rooms.settings.deciding.Load() && s.rooms.hooks.Any(hook.SessionEnd) {
		s.rooms.hooks.Fire(context.WithoutCancel(ctx), hook.Event{Name: hook.SessionEnd, Match: reason, Fields: map[string]any{"reason": reason}})
	}
}

func (s *Session) lastPrompt() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// remember keeps a prompt in the history of prompts; one that cannot be kept is no reason to stop.
func (r *rooms) remember(p proto.Prompt) {
	s := r.session
	s.mu.Lock()
	s.last = p.ID
	s.mu.Unlock()
	if !s.opts.Interactive || flagged(r.env(), "MYELIN_SKIP_PROMPT_HISTORY") {
		return
	}
	now := s.part.session.Get()
	err := r.history.Add(transcript.Prompt{Text: msg.TextOf(p.Content), Project: now.ProjectRoot, Session: now.ID, Time: s.effects.Now()})
	if err != nil {
		s.events.Early(proto.Notice{Level: "warning", Key: "history", Text: err.Error()})
	}
}

// backgroundTasks are the running tasks as hooks see them.
func (r *rooms) backgroundTasks() []map[string]any {
	out := []map[string]any{}
	for _, t := range r.session.part.task.Get().List(func(t task.Task) bool { return t.Backgrounded && !t.Ended() }) {
		x := map[string]any{"id": t.ID, "type": string(t.Kind), "status": string(t.Status), "description": msg.Cut(t.Description, 1000)}
		if c, ok := r.live.Get(t.ID); ok && c.Command != "" {
			x["command"] = c.Command
		}
		out = append(out, x)
	}
	return out
}

func (r *rooms) modelInfo(ref string) (provider.Info, bool) { return r.models.info(ref) }

// askClassifier asks the classifier's model.
func (s *Session) askClassifier(ctx context.Context, p permission.Prompt) (string, error) {
	blocks, err := s.ask(ctx, s.rooms.small(ctx, s.model()), provider.Request{
		Lane: provider.LaneClassifier, System: []msg.Block{msg.Text{Text: p.System}},
		Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: p.Context}, msg.Text{Text: p.Question}}}},
		Options:  provider.Options{MaxTokens: p.MaxTokens, Thinking: -1},
	}, "")
	return msg.TextOf(blocks), err
}

// autoRules are the prose rules of auto mode: of the user, the administrator and --settings alone.
func (s *Session) autoRules() permission.AutoMode {
	return setting(s.config(), "autoMode", permission.AutoMode{})
}

// askHook asks a model for a hook.
func (s *Session) askHook(ctx context.Context, name, text string) (string, error) {
	model := s.rooms.small(ctx, s.model())
	if name != "" {
		m, err := s.rooms.models.named(ctx, name)
		if err != nil {
			return "", err
		}
		model = m
	}
	blocks, err := s.ask(ctx, model, provider.Request{
		Lane: provider.LaneHook, Messages: []msg.Message{{Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}},
		Options: provider.Options{NoCache: true},
	}, "")
	return msg.TextOf(blocks), err
}

// trusted says whether git may run in the folder.
func (s *Session) trusted() bool { return s.part.trust.Get().State != "untrusted" }

// branch is the git branch, read from the repository's files.
func (r *rooms) branch() string {
	repo, err := gitrepo.Find(r.session.part.session.Get().Cwd)
	if err != nil {
		return ""
	}
	name, _, err := repo.Branch()
	if err != nil {
		return ""
	}
	return name
}

// gitStatus is a fresh status for the classifier.
func (r *rooms) gitStatus(ctx context.Context) string {
	s := r.session
	if !s.trusted() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := s.rooms.git().Run(ctx, s.part.session.Get().ProjectRoot, "status", "--short", "--branch")
	if err != nil {
		return ""
	}
	return msg.Cut(string(out), 4000)
}

// gitSnapshot is what the system prompt tells of the repository at the start. Git runs only in a
// folder that is trusted; elsewhere the branch is read from the files.
func (s *Session) gitSnapshot() string {
	branch := s.rooms.branch()
	if branch == "" || !setting(s.config(), "includeGitInstructions", true) {
		return ""
	}
	text := "Branch: " + branch
	if !s.trusted() {
		return text
	}
	ctx, cancel := context.WithTimeout(s.ctx, 500*time.Millisecond)
	defer cancel()
	if st, err := s.rooms.git().Run(ctx, s.part.session.Get().ProjectRoot, "status", "--short"); err == nil {
		text += "\nStatus:\n" + orText(strings.TrimRight(string(st), "\n"), "(clean)")
	}
	return text
}

// absolute makes a path of the settings absolute, from the folder the session started in.
func (s *Session) absolute(path string) string {
	p := s.rooms.settings.places
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.UserHome, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.Start, path)
	}
	return filepath.Clean(path)
}

// wideDir is what is said of a working directory that is wide.
const wideDir = "It holds your whole home folder, with keys and settings of other programs."

// wide reports whether a working directory holds the user's whole home.
func (s *Session) wide(dir string) bool {
	return dir == "/" || strings.HasPrefix(s.rooms.settings.places.UserHome+"/", strings.TrimSuffix(dir, "/")+"/")
}

// watcher is how the program reaches its own watcher of orphaned processes.
func watcher() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self}
}

// listPermissions shows the rules in force and what was decided lately.
func (s *Session) listPermissions() string {
	st := s.part.permission.Get()
	return table(func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "mode\t%s\t\n", s.mode())
		for _, r := range st.AllRules() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.List, r.Text, r.Where())
		}
		for _, d := range st.WorkDirs() {
			fmt.Fprintf(w, "directory\t%s\t\n", d)
		}
		for _, key := range slices.Sorted(maps.Keys(st.Verdicts)) {
			v := st.Verdicts[key]
			fmt.Fprintf(w, "verdict\t%s\t%s %s\n", v.Summary, v.Behavior, v.Reason)
		}
		for _, e := range s.rooms.gate.Recent(20) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.Settled, e.Summary, e.Decision.Reason.Text)
		}
	})
}

// cmdStatus shows where settings come from and what is enforced.
func cmdStatus(_ context.Context, s *Session, _ string) (string, error) {
	state := s.config()
	return table(func(w *tabwriter.Writer) {
		now := s.part.session.Get()
		fmt.Fprintf(w, "session\t%s\n", now.ID)
		fmt.Fprintf(w, "model\t%s\n", now.Model)
		fmt.Fprintf(w, "folder\t%s (%s)\n", now.Cwd, s.part.trust.Get().State)
		for _, src := range state.Sources {
			fmt.Fprintf(w, "settings\t%s (%s)\n", src.Path, src.Scope)
		}
		for _, p := range state.Errors {
			fmt.Fprintf(w, "problem\t%s\n", p)
		}
		fmt.Fprintf(w, "sandbox\t%s\n", s.rooms.box.Line())
		if off := s.part.hook.Get().Disabled; off != "" {
			fmt.Fprintf(w, "hooks\toff: %s\n", off)
		}
	}), nil
}

// offlineNotice says in one line that no model was found and what answers instead.
func (s *Session) offlineNotice(text string) {
	if !s.opts.Interactive && s.opts.Warn != nil {
		fmt.Fprintf(s.opts.Warn, "myelin: %s\n", text)
		return
	}
	s.events.Early(proto.Notice{Level: "info", Key: "offline", Text: text})
}

// reportRules says which rules can never match, or were left out.
func (s *Session) reportRules() {
	rules := permission.Compile(s.part.permission.Get().AllRules(), permission.Env{Dirs: s.dirs(), Resolve: permission.ResolveLinks, Known: s.rooms.pool.Known()})
	for _, p := range rules.Problems() {
		s.events.Early(proto.Notice{Level: "warning", Key: p.String(), Text: p.String()})
	}
}
