package options

import (
	"strings"
	"testing"
)

func TestTableIsWhole(t *testing.T) {
	for _, name := range []string{"ls", "git", "go", "npm", "pnpm", "docker", "curl", "tar", "make", "["} {
		if Find(name) == nil {
			t.Errorf("nothing is known of %s", name)
		}
	}
	if Find("no-such-program") != nil {
		t.Error("a program nobody knows is known")
	}
	log := Find("git").Sub("log")
	if opt, ok := log.Long("outp"); !ok || opt.Role != WritesPath {
		t.Errorf("git log --outp: %+v %v", opt, ok)
	}
	if opt, ok := log.Short('p'); !ok || opt.Role != Harmless {
		t.Errorf("git log -p: %+v %v", opt, ok)
	}
	if s := Find("docker").Sub("compose"); s.Sub("ps") == nil || !s.Sub("ps").ReadOnly || s.Sub("exec").Operands != "container" {
		t.Error("sub-commands of sub-commands are lost")
	}
	if opt, _ := Find("npm").Sub("test").Long("script-shell"); opt.Role == Harmless {
		if _, known := Find("npm").Sub("test").Long("script-shell"); known {
			t.Error("an option that runs a program counts as harmless")
		}
	}
	if name, ok := Find("gcc").JoinedName("lm"); !ok || name != "l" {
		t.Errorf("-lm is %q", name)
	}
}

// Every sub-command knows the options of its program, and what runs is known to run.
func TestSubCommandsInherit(t *testing.T) {
	go1 := Find("go").Sub("build")
	if !go1.Runs || !go1.Single {
		t.Errorf("go build: %+v", go1)
	}
	if _, known := go1.Long("exec"); known {
		t.Error("go build has no -exec")
	}
}

func TestTwinsNameKnownOptions(t *testing.T) {
	for command, pairs := range twins() {
		program, sub, _ := strings.Cut(command, " ")
		s := Find(program)
		if s == nil {
			t.Errorf("twins of %s, which is not in the table", command)
			continue
		}
		if sub != "" && sub != "clean" {
			if s = s.Sub(sub); s == nil {
				t.Errorf("twins of %s, which is not in the table", command)
				continue
			}
		}
		for short, long := range pairs {
			if len(short) != 2 || short[0] != '-' || !strings.HasPrefix(long, "--") {
				t.Errorf("%s: %s=%s is no pair", command, short, long)
			}
			a, known := s.Short(short[1])
			b, _ := s.Long(long[2:])
			if known && !s.Any && a.Arg != b.Arg && a.Arg != OptionalArg && b.Arg != OptionalArg && (a.Arg == NoArg) != (b.Arg == NoArg) && len(s.long) > 0 {
				if _, listed := s.long[long[2:]]; listed {
					t.Errorf("%s: %s takes %v, %s takes %v", command, short, a.Arg, long, b.Arg)
				}
			}
		}
	}
}

func BenchmarkTable(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		readTable()
	}
}

// FuzzLong looks for a name that is found without being the beginning of a listed one.
func FuzzLong(f *testing.F) {
	f.Add("git", "outp")
	f.Add("tar", "checkpoint-action")
	f.Add("curl", "")
	f.Fuzz(func(t *testing.T, program, name string) {
		s := Find(program)
		if s == nil {
			return
		}
		if _, ok := s.Long(name); !ok {
			return
		}
		for full := range s.long {
			if strings.HasPrefix(full, name) {
				return
			}
		}
		t.Errorf("%s: %q is found and begins no option", program, name)
	})
}

// Every line of the table can be read.
func TestEveryLineIsRead(t *testing.T) {
	var all func(entries map[string]*entry)
	all = func(entries map[string]*entry) {
		for name, e := range entries {
			if e.read() == nil {
				t.Errorf("nothing is known of %s", name)
			}
			all(e.subs)
		}
	}
	all(table())
}

func TestNatures(t *testing.T) {
	for name, want := range map[string]Nature{"python3": Code, "python3.12": Code, "lua5.4": Code, "socat": Words, "apt": Quiet, "apt2": Unlisted, "mytool": Unlisted, "R": Code} {
		if got := NatureOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
