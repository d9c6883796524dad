package permission

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/permission/ruletext"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// Narrow is an allow rule with a wildcard that covers less than it reads as: what it stopped covering asks.
type Narrow struct {
	Rule    Rule
	Asks    string // what asks under it
	Instead string // what to write instead
}

// Narrowed finds the allow rules whose wildcard does not vouch for what their program usually does.
func Narrowed(rules []Rule) []Narrow {
	var out []Narrow
	for _, r := range rules {
		if r.List != AllowList {
			continue
		}
		p, err := ParseRule(r.Text)
		if err != nil || p.Tool != "Bash" || p.Specifier == "" {
			continue
		}
		t := ruletext.ParseShell(p.Specifier)
		if t.Pattern.Literal || t.First == "" || t.Spans {
			continue
		}
		if asks := narrowedProgram(baseName(t.First), t); asks != "" {
			out = append(out, Narrow{Rule: r, Asks: asks, Instead: "write a rule for exactly the command you need, such as " + exampleFor(baseName(t.First))})
		}
	}
	return out
}

// narrowedProgram tells what asks under a wildcard over the arguments of a program; empty when little does.
func narrowedProgram(name string, t ruletext.Shell) string {
	words := strings.Fields(strings.TrimSuffix(t.Pattern.Parts[0], " "))
	if w, _ := options.FindWrapper(name); w != nil {
		switch {
		case name == "xargs" || name == "parallel":
			return "the words it adds come from outside and may be options and places, so a wildcard covers it no more"
		case !w.Strip:
			return "it runs another program, so a wildcard does not cover it"
		case len(words) == 1:
			return "it only starts another program, which needs a rule of its own"
		}
		return ""
	}
	switch name {
	case "tar", "bsdtar", "gtar", "unzip":
		if reads := len(words) > 1 && (strings.Contains(words[1], "c") || strings.Contains(words[1], "t")); !reads {
			return "the files that unpacking writes are not known before, so it asks"
		}
	case "rsync":
		return "the files that a copy of a tree writes are not known before, so it asks"
	case "psql", "mysql", "mariadb", "sqlite3", "bc", "ed", "gdb", "ftp":
		return "what it reads from a pipe, a file or a here-document may run programs, so that asks"
	case "less", "more", "vim", "vi", "nvim", "view", "crontab", "at", "batch":
		if s := options.Find(name); s != nil && s.Runs {
			return "it can run programs, so a wildcard does not cover it or its commands"
		}
	}
	return ""
}

// exampleFor is a rule without a wildcard.
func exampleFor(name string) string {
	example := map[string]string{
		"xargs": "Bash(xargs wc -l)", "tar": "Bash(tar xzf release.tar.gz)", "rsync": "Bash(rsync -a src/ backup/)", "unzip": "Bash(unzip app.zip)",
		"psql": "Bash(psql -f schema.sql)",
	}
	if e := example[name]; e != "" {
		return e
	}
	return "Bash(" + shellsyntax.Canonical(name) + " …) with all its words"
}
