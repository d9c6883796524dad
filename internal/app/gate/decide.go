package gate

import (
	"slices"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/tools/bash"
	"github.com/myelin-agent/myelin/internal/tools/read"
)

// Request describes a call for the decision.
func Request(call tool.Call, traits tool.Traits) permission.Request {
	return permission.Request{Tool: call.Name, Literal: call.Literal, Input: call.Input, Traits: traits, Cwd: call.Dir()}
}

// Env is what compiling rules needs to know here.
func (g *Gate) Env() permission.Env {
	return permission.Env{Dirs: g.given.Dirs(), Resolve: permission.ResolveLinks, Folds: g.folders.Ignores, Accounts: &g.accounts}
}

// Policy is what every decision of this moment depends on, but for the sandbox, which only shell calls need.
func (g *Gate) Policy() permission.Policy {
	st, set, env := g.given.State.Get(), g.given.Settings(), g.Env()
	return permission.Policy{
		Rules: g.compiled.Rules(st, env), Mode: st.Mode, Dirs: env.Dirs, Resolve: env.Resolve, Folds: env.Folds, Files: permission.Disk(), Accounts: env.Accounts,
		AutoAvailable: st.AutoAvailable, AutoInPlan: set.AutoInPlan, ManagedOnly: set.ManagedOnly, ClassifyShell: set.ClassifyShell,
		Git: g.given.Git,
	}
}

// Decide decides under the rules and the mode of this moment.
func (g *Gate) Decide(req permission.Request) permission.Decision {
	return permission.Decide(req, g.PolicyFor(req))
}

// decided is a decision with what it rests on.
type decided struct {
	permission.Decision
	paths      []tool.PathUse // those of the traits, with where each led
	noReadOnly bool           // what plan mode would run in a read-only sandbox cannot run
}

// How often, and after what pause, a path is looked at again that leads through a link to where the call
// may not go.
const (
	looks = 20
	pause = 500 * time.Microsecond
)

// decide is Decide, and says where the paths of the call led when they were decided about. Where somebody
// exchanges a folder and a link all the time, the folder is what was meant; either may be decided about,
// for what is opened is what was decided about.
func (g *Gate) decide(req permission.Request) decided {
	out := g.decideOnce(req)
	for range looks {
		if out.Behavior == permission.Allow || !slices.ContainsFunc(out.paths, leadsElsewhere) {
			break
		}
		time.Sleep(pause)
		if slices.ContainsFunc(out.paths, hasMoved) {
			out = g.decideOnce(req)
		}
	}
	return out
}

func leadsElsewhere(u tool.PathUse) bool { return u.Real != u.Path }

func hasMoved(u tool.PathUse) bool {
	now, err := permission.ResolveLinks(u.Path)
	return err == nil && now.Path != u.Real
}

func (g *Gate) decideOnce(req permission.Request) decided {
	p := g.PolicyFor(req)
	out := decided{noReadOnly: p.Sandbox.ReadOnlyMissing}
	if len(req.Traits.Paths) == 0 {
		out.Decision = permission.Decide(req, p)
		return out
	}
	follow, real := p.Resolve, map[string]string{}
	p.Resolve = func(path string) (permission.Resolution, error) {
		r, err := follow(path)
		if err == nil {
			real[path] = r.Path
		}
		return r, err
	}
	out.Decision, out.paths = permission.Decide(req, p), slices.Clone(req.Traits.Paths)
	for i, u := range out.paths {
		led, looked := real[u.Path]
		if !looked { // no rule and no check had to know
			led = u.Path // what cannot be followed is opened only as it is called
			if r, err := follow(u.Path); err == nil {
				led = r.Path
			}
		}
		out.paths[i].Real = led
	}
	return out
}

// PolicyFor is the policy of this moment for a request. Only shell commands are confined, and only they need
// to know what the machine can do.
func (g *Gate) PolicyFor(req permission.Request) permission.Policy {
	p := g.Policy()
	if req.Traits.Command != "" {
		p.Sandbox = g.given.Sandbox()
	}
	return p
}

// Effects tells the shell tool what a command would do: whether it only reads, by the same account that
// lets such commands run without a question, and whether others may run beside it.
func (g *Gate) Effects(command, cwd string) bash.Effects {
	env := g.Env()
	e := permission.EffectsOf(command, cwd, permission.Policy{
		Dirs: env.Dirs, Resolve: env.Resolve, Folds: env.Folds, Files: permission.Disk(), Accounts: env.Accounts, Git: g.given.Git,
	})
	return bash.Effects{ReadOnly: e.ReadOnly, Beside: e.ReadOnly || e.Quiet, Waits: e.Quiet, Destructive: e.Discards}
}

// Hidden returns a function that says whether a rule forbids to read a file. The rules are looked up once:
// a search asks about every file it meets.
func (g *Gate) Hidden() func(path string) bool {
	p := g.Policy()
	if len(p.Rules.Paths(read.Name, permission.DenyList)) == 0 {
		return nil
	}
	return func(path string) bool {
		_, denied := permission.DeniesRead(p, path)
		return denied
	}
}
