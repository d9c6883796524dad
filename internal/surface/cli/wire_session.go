package cli

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/app"
	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/surface/plain"
)

// prompts is the history of prompts of a project.
type prompts struct{ o app.Options }

// Entries implements plain.History.
func (p prompts) Entries() iter.Seq2[string, error] { return app.Prompts(p.o) }

func historyOf(o app.Options) plain.History { return prompts{o} }

func listSessions(_ context.Context, cwd string, all bool) ([]inspect.SessionRow, error) {
	o := here(cwd)
	if all {
		o.Cwd = ""
	}
	return app.Sessions(o)
}

// Bounds of completion: what a key press may cost.
const (
	mostCompletions = 50
	mostEntries     = 2000
)

// programEnvOf is what a session gives programs that the user's own keys start.
func programEnvOf(s Session) func() []string {
	real, ok := s.(session)
	if !ok {
		return nil
	}
	return real.ProgramEnv
}

// commandsOf are the names of a session's slash commands, as they are when asked.
func commandsOf(s Session) func() []string {
	real, ok := s.(session)
	if !ok {
		return nil
	}
	return func() []string {
		var names []string
		for _, c := range real.Commands() {
			names = append(names, c.Name)
		}
		return names
	}
}

// completerOf completes slash commands at the beginning of a draft, and paths behind "@".
func completerOf(s Session) plain.Completer {
	real, ok := s.(session)
	if !ok {
		return nil
	}
	return func(ctx context.Context, before string) []plain.Completion {
		if rest, ok := strings.CutPrefix(before, "/"); ok && !strings.ContainsAny(rest, " \n") {
			return completeCommand(real.Commands(), rest)
		}
		at := strings.LastIndex(before, "@")
		if at < 0 || strings.ContainsAny(before[at:], " \n\t") || at > 0 && !strings.ContainsAny(before[at-1:at], " \n\t(") {
			return nil
		}
		return completePath(ctx, real.View().Cwd, before[at+1:])
	}
}

func completeCommand(all []app.Command, typed string) []plain.Completion {
	var out []plain.Completion
	for _, c := range append(slices.Clone(all), app.Command{Name: "exit", Summary: "leave"}) {
		if strings.HasPrefix(c.Name, typed) {
			text := "/" + c.Name
			if c.Args != "" {
				text += " "
			}
			out = append(out, plain.Completion{Text: text, Replace: len(typed) + 1, Note: c.Summary})
		}
	}
	return out
}

// completePath lists the entries of one folder that begin as typed. Hidden ones are listed when the
// dot was typed.
func completePath(ctx context.Context, cwd, typed string) []plain.Completion {
	dir, name := filepath.Split(typed)
	folder := dir
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(cwd, dir)
	}
	f, err := os.Open(folder)
	if err != nil {
		return nil // nothing to complete with
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostEntries) // what was read before an error is of use all the same
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var out []plain.Completion
	for _, e := range entries {
		if ctx.Err() != nil || len(out) == mostCompletions {
			break
		}
		if !strings.HasPrefix(e.Name(), name) || strings.HasPrefix(e.Name(), ".") && name == "" {
			continue
		}
		text := "@" + dir + e.Name()
		if e.IsDir() {
			text += "/"
		}
		out = append(out, plain.Completion{Text: text, Replace: len(typed) + 1})
	}
	return out
}
