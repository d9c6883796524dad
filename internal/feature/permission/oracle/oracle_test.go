//go:build linux

package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
)

var (
	duration = flag.Duration("oracle.time", 0, "how long to try random commands; 0: a small number of them")
	seed     = flag.Uint64("oracle.seed", 0, "of the random commands; 0: a fixed one, or with -oracle.time one of the clock's")
)

// few is how many commands are run when no time is given.
const few = 60

// promise is one set of rules and what a command that it allows must not have done.
type promise struct {
	name  string
	rules permission.Policy
	broke func(w world, a *shellsyntax.Account, d deeds) string
}

func promises(w world) []promise {
	base := permission.Policy{Mode: permission.Default, Dirs: permission.Dirs{Cwd: w.project, Project: w.project, Home: w.home}, Resolve: permission.ResolveLinks, Files: permission.Disk()}
	with := func(rules ...permission.Rule) permission.Policy {
		pol := base
		for i := range rules {
			rules[i].Source, rules[i].Base = permission.FromProject, w.project
		}
		pol.Rules = permission.Compile(rules, permission.Env{Dirs: pol.Dirs, Resolve: pol.Resolve})
		return pol
	}
	bash := permission.Rule{List: permission.AllowList, Text: "Bash"}
	return []promise{
		{name: "it only reads", rules: with(), broke: onlyReads},
		{name: "touch is denied", rules: with(bash, permission.Rule{List: permission.DenyList, Text: "Bash(touch *)"}), broke: func(_ world, _ *shellsyntax.Account, d deeds) string {
			if slices.Contains(d.ran, "touch") {
				return "ran touch"
			}
			return ""
		}},
		{name: "secrets are denied", rules: with(bash, permission.Rule{List: permission.DenyList, Text: "Read(secrets/**)"}), broke: func(w world, _ *shellsyntax.Account, d deeds) string {
			for _, p := range d.shown {
				if strings.HasPrefix(p, w.project+"/secrets/") {
					return "opened " + p
				}
			}
			return ""
		}},
	}
}

// onlyReads tells what a command did that is more than reading in the project.
func onlyReads(w world, a *shellsyntax.Account, d deeds) string {
	named := []string{"bash", "git"}
	for i := range a.Parts {
		for _, f := range a.Parts[i].Forms {
			named = append(named, filepath.Base(f.Name))
		}
	}
	for _, name := range d.ran {
		if !slices.Contains(named, name) {
			return "ran " + name
		}
	}
	if len(d.changed) > 0 {
		return "changed: " + d.changed[0]
	}
	for _, p := range d.opened {
		if !strings.HasPrefix(p, w.project) && p != w.root {
			return "opened " + p
		}
	}
	if strings.Contains(d.output, mark) {
		return "printed the environment"
	}
	return ""
}

// try decides one command and runs it when anything allows it. It reports what was allowed, and how a promise
// was broken.
func (w world) try(t *testing.T, all []promise, command string) (allowed []string, broken string) {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	check(t, err)
	req := permission.Request{Tool: "Bash", Literal: input, Cwd: w.project, Traits: tool.Traits{Command: command, Shell: true}}
	var held []promise
	for _, p := range all {
		if permission.Decide(req, p.rules).Behavior == permission.Allow {
			held = append(held, p)
			allowed = append(allowed, p.name)
		}
	}
	if len(held) == 0 {
		return nil, ""
	}
	account := shellsyntax.Analyse(command, shellsyntax.Options{Cwd: w.project, Home: w.home})
	done := w.run(t, command)
	for _, p := range held {
		if why := p.broke(w, account, done); why != "" {
			return allowed, fmt.Sprintf("%s, but it %s", p.name, why)
		}
	}
	return allowed, ""
}

func TestRandomCommands(t *testing.T) {
	w := newWorld(t)
	all := promises(w)
	number := *seed
	if number == 0 {
		number = 1
		if *duration > 0 {
			number = uint64(time.Now().UnixNano())
		}
	}
	g := generator{rand.New(rand.NewPCG(number, 0))}
	begin := time.Now()
	made, counts, ran, failed := 0, map[string]int{}, 0, 0
	for (*duration > 0 && time.Since(begin) < *duration || *duration == 0 && ran < few) && failed < 50 {
		command := g.command()
		made++
		allowed, broken := w.try(t, all, command)
		for _, name := range allowed {
			counts[name]++
		}
		if len(allowed) > 0 {
			ran++
		}
		if broken != "" {
			failed++
			h := fnv.New32a()
			h.Write([]byte(command))
			file := fmt.Sprintf("testdata/seeds/%08x", h.Sum32())
			check(t, os.WriteFile(file, []byte(command), 0o644))
			t.Errorf("%q: %s (kept in %s)", command, broken, file)
		}
	}
	t.Logf("seed %d: %d commands made, %d run: %v", number, made, ran, counts)
}

// Commands that once broke a promise do so no more.
func TestSeeds(t *testing.T) {
	w := newWorld(t)
	all := promises(w)
	names, err := filepath.Glob("testdata/seeds/*")
	check(t, err)
	if len(names) == 0 {
		t.Fatal("there is no seed")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		check(t, err)
		if _, broken := w.try(t, all, string(data)); broken != "" {
			t.Errorf("%s: %q: %s", name, data, broken)
		}
	}
}

// The tracer must see what the promises are about, or they hold for nothing.
func TestTracerSees(t *testing.T) {
	w := newWorld(t)
	for command, want := range map[string]string{
		"touch PWN": "ran touch", "sed '1e touch PWN' a.txt": "ran", "echo x > PWN": "changed: openat", "cat out/hosts": "opened " + w.outside, "cat l.txt": "opened", "mkdir d": "ran", "printenv MARK": "ran", "echo $MARK": "printed", "rm a.txt": "ran", ": > sub/new": "changed", "find -L . -name x": "opened " + w.outside,
	} {
		a := shellsyntax.Analyse("echo; cat; find", shellsyntax.Options{Cwd: w.project})
		if got := onlyReads(w, a, w.run(t, command)); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
