package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
)

// queued keeps a prompt in the history of prompts; one that cannot be kept is no reason to stop.
func queued(r *rooms, p proto.Prompt) {
	r.hooks.noNotice(idleKey)
	if !r.opts.Interactive || flagged(r.settings.env(), "MYELIN_SKIP_PROMPT_HISTORY") {
		return
	}
	now := r.part.session.Get()
	err := r.turns.history.Add(transcript.Prompt{Text: msg.TextOf(p.Content), Project: now.ProjectRoot, Session: now.ID, Time: r.clock.now()})
	if err != nil {
		r.events.Early(proto.Notice{Level: "warning", Key: "history", Text: err.Error()})
	}
}

// autoRules are the prose rules of auto mode: of the user, the administrator and --settings alone.
func autoRules(state *config.State) permission.AutoMode {
	return setting(state, "autoMode", permission.AutoMode{})
}

// branch is the git branch, read from the repository's files.
func branch(dir string) string {
	repo, err := gitrepo.Find(dir)
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
func gitStatus(ctx context.Context, r *rooms) string {
	if !r.consent.trusted() {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := r.programs.git().Run(ctx, r.part.session.Get().ProjectRoot, "status", "--short", "--branch")
	if err != nil {
		return ""
	}
	return msg.Cut(string(out), 4000)
}

// gitSnapshot is what the system prompt tells of the repository at the start. Git runs only in a
// folder that is trusted; elsewhere the branch is read from the files.
func gitSnapshot(r *rooms) string {
	branch := branch(r.part.session.Get().Cwd)
	if branch == "" || !setting(r.settings.now(), "includeGitInstructions", true) {
		return ""
	}
	text := "Branch: " + branch
	if !r.consent.trusted() {
		return text
	}
	ctx, cancel := context.WithTimeout(r.ctx, 500*time.Millisecond)
	defer cancel()
	if st, err := r.programs.git().Run(ctx, r.part.session.Get().ProjectRoot, "status", "--short"); err == nil {
		text += "\nStatus:\n" + orText(strings.TrimRight(string(st), "\n"), "(clean)")
	}
	return text
}

// wideDir is what is said of a working directory that is wide.
const wideDir = "It holds your whole home folder, with keys and settings of other programs."

// watcher is how the program reaches its own watcher of orphaned processes.
func watcher() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self}
}

// listPermissions shows the rules in force and what was decided lately.
func listPermissions(r *rooms) string {
	st := r.part.permission.Get()
	return table(func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "mode\t%s\t\n", r.rights.mode())
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
		for _, e := range r.gate.Recent(20) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", e.Settled, e.Summary, e.Decision.Reason.Text)
		}
	})
}

// cmdStatus shows where settings come from and what is enforced.
func cmdStatus(_ context.Context, r *rooms, _ string) (string, error) {
	state := r.settings.now()
	return table(func(w *tabwriter.Writer) {
		now := r.part.session.Get()
		fmt.Fprintf(w, "session\t%s\n", now.ID)
		fmt.Fprintf(w, "model\t%s\n", now.Model)
		fmt.Fprintf(w, "folder\t%s (%s)\n", now.Cwd, r.part.trust.Get().State)
		for _, src := range state.Sources {
			fmt.Fprintf(w, "settings\t%s (%s)\n", src.Path, src.Scope)
		}
		for _, p := range state.Errors {
			fmt.Fprintf(w, "problem\t%s\n", p)
		}
		fmt.Fprintf(w, "sandbox\t%s\n", r.programs.box.Line())
		if off := r.part.hook.Get().Disabled; off != "" {
			fmt.Fprintf(w, "hooks\toff: %s\n", off)
		}
	}), nil
}

// offlineNotice says in one line that no model was found and what answers instead.
func offlineNotice(r *rooms, text string) {
	if !r.opts.Interactive && r.opts.Warn != nil {
		fmt.Fprintf(r.opts.Warn, "myelin: %s\n", text)
		return
	}
	r.events.Early(proto.Notice{Level: "info", Key: "offline", Text: text})
}

// reportRules says which rules can never match, or were left out.
func reportRules(r *rooms) {
	rules := permission.Compile(r.part.permission.Get().AllRules(), permission.Env{Dirs: r.rights.dirs(), Resolve: permission.ResolveLinks, Known: r.pool.Known()})
	for _, p := range rules.Problems() {
		r.events.Early(proto.Notice{Level: "warning", Key: p.String(), Text: p.String()})
	}
}
