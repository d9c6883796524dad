package app

import (
	"context"
	"errors"
	"slices"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/trust"
	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
)

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
		Env: s.env.Value("MYELIN_TRUST"), Interactive: o.Interactive,
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
func (s *Session) askTrust(ctx context.Context) {
	r := s.rooms.settings
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
			s.events.Emit(proto.Notice{Level: "error", Text: err.Error()})
			return // nothing of the folder is used
		}
		shown, err := trust.Prints(in.Folder, in.Items)
		if err != nil || !d.Ask {
			return
		}
		answer, err := s.asks.Put(ctx, trust.Question(s.effects.NewID(), in, d))
		if err != nil {
			return
		}
		out := trust.Answer(in, shown, answer.Option, s.effects.Now())
		if s.consent(ctx, in, shown, out) {
			r.deciding.Store(false)
			return
		}
		s.events.Emit(proto.Notice{Level: "warning", Key: "trust", Text: "What this folder wants to run has changed while the question was open; the answer does not count for that."})
	}
}

// consent puts an answer into effect. It returns false, and asks for another question, when the folder
// wants something else by now than what was shown.
func (s *Session) consent(ctx context.Context, in trust.Input, shown trust.FolderPrints, out trust.Answered) bool {
	r := s.rooms.settings
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
		s.part.trust.Set(func(*trust.State) *trust.State { return &out.Decision.State })
		return true
	})
	if !still {
		return false
	}
	if out.Mark != nil {
		update := func(edit func(*jsonc.Doc) error) error { return r.places.State().Update(edit) }
		if err := trust.Save(update, in.Folder, *out.Mark); err != nil {
			s.events.Emit(proto.Notice{Level: "warning", Text: "The answer holds for this session only: " + err.Error()})
		}
	}
	switch {
	case out.Exit:
		s.end()
	case out.ReadOnly:
		s.rooms.readOnly.Store(true)
		s.events.Emit(proto.Notice{Level: "warning", Text: "The folder is not trusted: nothing it supplies is used, and nothing is changed in it."})
	}
	return true
}

// review decides what the folder's files may supply after they changed. An agreement holds for what
// was shown: other hooks, helpers or rules are asked about again.
func (s *Session) review(files *config.Files) config.View {
	r := s.rooms.settings
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.part.trust.Get()
	in := r.trust
	in.Items = wants(files.Supplied())
	d, err := trust.Decide(in)
	if err != nil || (d.State.State == trust.Untrusted && d.State.Fingerprint != now.Fingerprint) {
		if now.State != trust.Untrusted {
			s.events.Early(proto.Notice{Level: "warning", Key: "trust", Text: "What this folder wants to run has changed; nothing of it is used until it is trusted again."})
			r.asked = in.Interactive
		}
		r.trust.Items = in.Items
		s.part.trust.Set(func(*trust.State) *trust.State { return &d.State })
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
func (s *Session) gitRisk(dir string) string {
	r := s.rooms.settings
	if s.trusted() {
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
