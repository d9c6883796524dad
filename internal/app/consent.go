package app

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/myelin-agent/myelin/internal/app/events"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/store"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

// consent puts the questions that come before the first turn of a session: whether the folder is trusted,
// what to do about settings that cannot be read, and whether to work without asking.
type consent struct {
	settings *settings
	trust    store.Slice[trust.State]
	asks     *proto.Asks
	events   *events.Stream
	clock    *clock
	opts     Options
	mode     func() string // of permissions, in its outward name
	apply    func()        // brings rules and hooks in line with the settings
	end      func()        // ends the session

	readOnly atomic.Bool // a person declined to trust the folder
}

// before puts what is due before a turn. Nothing of the folder runs before the answers.
func (c *consent) before(ctx context.Context) {
	c.askReset(ctx)
	c.askBroken(ctx)
	c.askTrust(ctx)
	c.askBroken(ctx) // of the folder, now that it may supply guards
	c.warnBypass(ctx)
}

// trusted says whether what the folder supplies may be used, and git may run in it.
func (c *consent) trusted() bool { return c.trust.Get().State != trust.Untrusted }

// decideTrust decides by flags, environment and what was agreed to before. A question is put later,
// when somebody can answer.
func (s *settings) decideTrust(o Options) (trust.Decision, error) {
	folder, err := trust.Locate(s.places.Start, s.places.UserHome)
	if err != nil {
		return trust.Decision{}, err
	}
	state, err := s.places.State().Read()
	if err != nil {
		var corrupt *config.CorruptError
		if !errors.As(err, &corrupt) || !o.Interactive {
			return trust.Decision{}, err
		}
		s.broken, state = corrupt, nil // the person is asked; until then nothing is trusted
	}
	s.trust = trust.Input{
		Folder: folder, Items: wants(s.live.Files().Supplied()), Marks: trust.ReadMarks(state), Flag: o.Trust,
		Env: s.base.Value("MYELIN_TRUST"), Interactive: o.Interactive,
		HostNamed: o.SettingSources != nil && slices.Contains(*o.SettingSources, "project"),
	}
	d, err := trust.Decide(s.trust)
	if err != nil {
		return d, err
	}
	if d.State.State != trust.Untrusted { // only now may git run in the folder
		local, err := trust.LocalIsOwn(context.Background(), s.git(), s.places.File("local"))
		if err == nil && local != trust.LocalUnknown {
			s.trust.Local = local
			if again, err := trust.Decide(s.trust); err == nil {
				d = again
			}
		}
	}
	s.asked = d.Ask
	s.deciding.Store(d.Ask)
	return d, nil
}

func wants(items []config.Item) []trust.Item {
	var out []trust.Item
	for _, i := range items {
		kind := ""
		if names := i.Kind.Names(); len(names) > 0 {
			kind = names[0]
		}
		out = append(out, trust.Item{Kind: kind, At: i.At, Text: i.Text, Raw: i.Raw})
	}
	return out
}

func viewOf(d trust.Decision) config.View {
	project, _ := config.KindsOf(d.Project...)
	local, _ := config.KindsOf(d.Local...)
	return config.View{Project: project, Local: local}
}

// askTrust puts the trust question where it is due, before the first turn of an interactive session. An
// agreement counts for what was shown: what has changed while the question was open is asked about
// again.
func (c *consent) askTrust(ctx context.Context) {
	r := c.settings
	for {
		r.mu.Lock()
		in, due := r.trust, r.asked
		r.asked = false
		r.mu.Unlock()
		if !due {
			r.deciding.Store(false)
			return
		}
		d, err := trust.Decide(in)
		if err != nil {
			c.events.Emit(proto.Notice{Level: "error", Text: err.Error()})
			return // nothing of the folder is used
		}
		shown, err := trust.Prints(in.Folder, in.Items)
		if err != nil || !d.Ask {
			return
		}
		answer, err := c.asks.Put(ctx, trust.Question(c.clock.newID(), in, d))
		if err != nil {
			return
		}
		out := trust.Answer(in, shown, answer.Option, c.clock.now())
		if c.take(ctx, in, shown, out) {
			r.deciding.Store(false)
			return
		}
		c.events.Emit(proto.Notice{Level: "warning", Key: "trust", Text: "What this folder wants to run has changed while the question was open; the answer does not count for that."})
	}
}

// take puts an answer into effect. It returns false, and asks for another question, when the folder
// wants something else by now than what was shown.
func (c *consent) take(ctx context.Context, in trust.Input, shown trust.FolderPrints, out trust.Answered) bool {
	r := c.settings
	granted := out.Decision.State.State != trust.Untrusted
	if granted {
		r.live.Reload(ctx) // what was written meanwhile, and was not seen yet
	}
	still := r.live.SetViewIf(viewOf(out.Decision), func(files *config.Files) bool {
		items := wants(files.Supplied())
		now, err := trust.Prints(in.Folder, items)
		r.mu.Lock()
		defer r.mu.Unlock()
		if granted && (err != nil || now != shown) {
			r.asked, r.trust.Items = true, items
			return false
		}
		r.view = viewOf(out.Decision)
		if out.Mark != nil {
			r.trust.Marks = r.trust.Marks.With(in.Folder, *out.Mark)
		}
		c.trust.Set(func(*trust.State) *trust.State { return &out.Decision.State })
		return true
	})
	if !still {
		return false
	}
	if out.Mark != nil {
		update := func(edit func(*jsonc.Doc) error) error { return r.places.State().Update(edit) }
		if err := trust.Save(update, in.Folder, *out.Mark); err != nil {
			c.events.Emit(proto.Notice{Level: "warning", Text: "The answer holds for this session only: " + err.Error()})
		}
	}
	switch {
	case out.Exit:
		c.end()
	case out.ReadOnly:
		c.readOnly.Store(true)
		c.events.Emit(proto.Notice{Level: "warning", Text: "The folder is not trusted: nothing it supplies is used, and nothing is changed in it."})
	}
	return true
}

// review decides what the folder's files may supply after they changed. An agreement holds for what
// was shown: other hooks, helpers or rules are asked about again.
func (c *consent) review(files *config.Files) config.View {
	r := c.settings
	r.mu.Lock()
	defer r.mu.Unlock()
	now := c.trust.Get()
	in := r.trust
	in.Items = wants(files.Supplied())
	d, err := trust.Decide(in)
	if err != nil || (d.State.State == trust.Untrusted && d.State.Fingerprint != now.Fingerprint) {
		if now.State != trust.Untrusted {
			c.events.Early(proto.Notice{Level: "warning", Key: "trust", Text: "What this folder wants to run has changed; nothing of it is used until it is trusted again."})
			r.asked = in.Interactive
		}
		r.trust.Items = in.Items
		c.trust.Set(func(*trust.State) *trust.State { return &d.State })
		return viewOf(d)
	}
	if d.State.Fingerprint == now.Fingerprint && d.State.State == trust.Untrusted {
		return r.view // agreed to for this session
	}
	r.trust.Items, r.view = in.Items, viewOf(d)
	return r.view
}

// gitRisk says why git may not run unasked in a directory: nobody trusts its repository, which is
// another than the one that is trusted, and what stands in it might run a program. Empty: it may.
func (c *consent) gitRisk(dir string) string {
	r := c.settings
	if c.trusted() {
		if dir == r.places.Start {
			return ""
		}
		r.mu.Lock()
		key := r.trust.Folder.Key
		r.mu.Unlock()
		if f, err := trust.Locate(dir, r.places.UserHome); err == nil && f.Key == key {
			return ""
		}
	}
	if o := gitrepo.Inert(dir); o != nil {
		return "nobody trusts the folder, and what git finds there may run something: " + o.String()
	}
	return ""
}
