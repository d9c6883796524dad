package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/hook"
	"github.com/myelin-agent/myelin/internal/feature/policy"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// Settings are the settings of a folder as a session would read them, without a session.
type Settings struct {
	Live     *config.Live
	Places   config.Places
	Env      config.Environ
	Sections []config.Section
	// Variables are the names of the variables that are acted upon, by who does.
	Variables map[string][]string
	// Write writes a setting to the file of a scope; it blocks for the file's lock.
	Write func(ctx context.Context, scope origin.Scope, key string, value json.RawMessage) (config.Saved, error)
	// Hooks are the hooks of the settings, as they stand there.
	Hooks func(*config.State) []hook.Source
}

// Close ends the following of the files.
func (x *Settings) Close() { x.Live.Close() }

// Value is the value of a setting and where it stands.
type Value struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Scope  string          `json:"scope"`           // default: nobody set it
	Place  string          `json:"place,omitempty"` // file and line
	Winner bool            `json:"in_force"`
	Note   string          `json:"note,omitempty"`
}

// Get is the value in force. A key that is not known is an error with the nearest name.
func (x *Settings) Get(key string) (Value, error) {
	e := config.Explain(x.Live.State(), key, x.Sections...)
	if err := unknownKey(e); err != nil {
		return Value{}, err
	}
	return winner(e), nil
}

func unknownKey(e config.Explanation) error {
	switch {
	case e.Known:
		return nil
	case e.Nearest != "":
		return usage("unknown key %q (did you mean %s?)", e.Key, e.Nearest)
	}
	return usage("unknown key %q", e.Key)
}

func winner(e config.Explanation) Value {
	v := Value{Key: e.Key, Value: e.Value, Scope: string(e.At.Scope), Place: e.At.Place(), Winner: true}
	if v.Value == nil {
		v.Value = json.RawMessage("null")
	}
	return v
}

// Explain lists every place that sets a key, the value in force first; of arrays and objects also
// each part with its place. What has no effect says why.
func (x *Settings) Explain(key string) ([]Value, error) {
	e := config.Explain(x.Live.State(), key, x.Sections...)
	if err := unknownKey(e); err != nil {
		return nil, err
	}
	first := winner(e)
	first.Note = e.Meaning
	if e.By == "" {
		first.Note += "; " + noEffect
	}
	out := []Value{first}
	for _, p := range e.Parts {
		name := key
		if p.Key != "" {
			name += "." + p.Key
		}
		out = append(out, Value{Key: name, Value: p.Value, Scope: string(p.At.Scope), Place: p.At.Place(), Winner: true})
		out = append(out, over(name, p.Over)...)
	}
	out = append(out, over(key, e.Over)...)
	for _, i := range e.Ignored {
		out = append(out, Value{Key: i.Key, Value: json.RawMessage("null"), Scope: string(i.At.Scope), Place: i.At.Place(), Note: "without effect: " + i.Why})
	}
	for _, p := range e.Problems {
		out = append(out, Value{Key: p.Key, Value: json.RawMessage("null"), Scope: string(p.Scope), Place: p.At().Place(), Note: "not in force: " + p.Message})
	}
	return out, nil
}

func over(key string, lost []config.Candidate) []Value {
	var out []Value
	for _, c := range lost {
		out = append(out, Value{Key: key, Value: c.Value, Scope: string(c.At.Scope), Place: c.At.Place(), Note: "overruled"})
	}
	return out
}

// List is every setting that some file sets; values of env are hidden.
func (x *Settings) List() []Value {
	var out []Value
	for _, e := range config.List(x.Live.State(), x.Sections...) {
		out = append(out, Value{Key: e.Key, Value: e.Value, Scope: string(e.At.Scope), Place: e.At.Place(), Winner: true})
	}
	return out
}

// Set writes a setting to the file of a scope (user, project, local) and says what was written, and
// what keeps it from taking effect.
func (x *Settings) Set(ctx context.Context, scope, key string, value json.RawMessage) (string, error) {
	saved, err := x.Write(ctx, origin.Scope(scope), key, value)
	if err != nil {
		if errors.Is(err, config.ErrBroken) {
			return "", codedError{err, codeSettings}
		}
		return "", usage("%w", err)
	}
	note := "written to " + saved.Path
	if saved.Excluded != "" {
		note += "; git ignores it by " + saved.Excluded
	}
	return note + x.lost(saved, key), nil
}

// lost says what keeps a value that was written from taking effect; empty: nothing does.
func (x *Settings) lost(saved config.Saved, key string) string {
	state := x.Live.State()
	for _, i := range config.Explain(state, key, x.Sections...).Ignored {
		if i.At.File == saved.Path {
			return "; without effect: " + i.Why
		}
	}
	if o := saved.Overrides(state, key).Overridden; o != nil {
		return "; without effect: " + o.String() + " overrules it"
	}
	return ""
}

// Problem is one thing wrong in a settings file.
type Problem struct {
	Place string `json:"place"` // file, line and column
	Level string `json:"level"` // error, warning, notice
	Text  string `json:"text"`
}

// Validate tells what is wrong in the files in force, or in the named files, each checked as a
// settings file of its own.
func (x *Settings) Validate(ctx context.Context, cwd string, files []string) ([]Problem, error) {
	if len(files) == 0 {
		out := x.problems(x.Live.State())
		for _, name := range config.InertVariables(x.Env, x.Variables) {
			out = append(out, Problem{Place: "environment", Level: string(config.LevelNotice), Text: name + ": " + noEffect})
		}
		return out, nil
	}
	var out []Problem
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(cwd, file)
		}
		if _, err := os.Stat(file); err != nil {
			return nil, usage("%w", err)
		}
		read := config.Load(ctx, config.Options{Places: x.Places, Settings: file, Sources: &[]string{}, Sections: x.Sections})
		for _, p := range x.problems(read.State(config.TrustAll(), 1)) {
			if len(p.Place) >= len(file) && p.Place[:len(file)] == file {
				out = append(out, p)
			}
		}
		if err := read.Err(); err != nil && len(out) == 0 {
			out = append(out, Problem{Place: file, Level: string(config.LevelError), Text: err.Error()})
		}
	}
	return out, nil
}

// problems is what is wrong in settings, and in the hooks they configure.
func (x *Settings) problems(state *config.State) []Problem {
	out := inFiles(state.Errors)
	for _, e := range config.Inert(state, x.Sections...) {
		out = append(out, Problem{Place: e.At.Place(), Level: string(config.LevelNotice), Text: e.Key + ": " + noEffect})
	}
	for _, src := range x.Hooks(state) {
		_, wrong := hook.Parse(src)
		for _, p := range wrong {
			level := config.LevelWarning
			if p.Lost {
				level = config.LevelError
			}
			out = append(out, Problem{Place: p.At.Place(), Level: string(level), Text: p.Text})
		}
	}
	return out
}

func inFiles(from []config.Problem) []Problem {
	var out []Problem
	for _, p := range from {
		x := Problem{Place: p.At().Place(), Level: string(p.Level), Text: p.Message}
		if p.Lost { // a rule that forbids and is not in force is no matter of taste
			x.Level = string(config.LevelError)
		}
		if p.Key != "" {
			x.Text = p.Key + ": " + x.Text
		}
		if p.Expected != "" {
			x.Text += ", expected " + p.Expected
		}
		if p.Nearest != "" {
			x.Text += fmt.Sprintf(" (did you mean %s?)", p.Nearest)
		}
		out = append(out, x)
	}
	return out
}

// Place is one settings file that is looked for.
type Place struct {
	Scope  string `json:"scope"`
	Path   string `json:"path"`
	State  string `json:"state"` // read, missing, unreadable
	Writes bool   `json:"written"`
}

// Files lists the settings files, the weakest first.
func (x *Settings) Files() []Place {
	bad := map[string]bool{}
	for _, src := range x.Live.State().Sources {
		bad[src.Path] = src.Bad
	}
	var out []Place
	for _, p := range x.Places.List() {
		place := Place{Scope: string(p.Scope), Path: p.Path, State: "read", Writes: p.Written}
		switch {
		case !p.Exists:
			place.State = "missing"
		case bad[p.Path]:
			place.State = "unreadable"
		}
		if p.Guest {
			place.Scope += " (guest)"
		}
		out = append(out, place)
	}
	return out
}

// ShowPolicy tells the limits of an organisation that are in force; refresh asks for them anew first.
func (x *Settings) ShowPolicy(ctx context.Context, refresh bool) (json.RawMessage, string, error) {
	state := x.Live.State()
	vars, _ := state.Env()
	web, err := transport.Client(x.Env.With(vars, false).Value)
	if err != nil {
		return nil, "", codedError{err, codeSettings}
	}
	limits, _, _ := config.Value[policy.Setting](state, "policyLimits")
	client, err := policy.Open(policy.Options{
		HTTP: web, Setting: limits, Dir: filepath.Join(x.Places.Home, "cache"),
	})
	if err != nil {
		return nil, "", codedError{fmt.Errorf("policyLimits: %w", err), codeSettings}
	}
	defer client.Close()
	if refresh {
		if limits == (policy.Setting{}) {
			return nil, "no policy is set (settings key policyLimits)", nil
		}
		if err := client.Refresh(ctx); err != nil {
			return nil, "", codedError{err, codeNetwork}
		}
	}
	shown := client.Show()
	raw, err := json.Marshal(struct {
		Host      string       `json:"host,omitempty"`
		State     policy.State `json:"state"`
		Age       string       `json:"age,omitempty"`
		Signature string       `json:"signature,omitempty"`
		OnMissing string       `json:"onMissing,omitempty"`
		Expired   bool         `json:"expired,omitempty"`
	}{shown.Host, shown.State, ageOf(shown), shown.Signature, shown.OnMissing, shown.Expired})
	return raw, shown.String(), err
}

func ageOf(s policy.Shown) string {
	if s.Age == 0 {
		return ""
	}
	return s.Age.Round(1e9).String()
}
