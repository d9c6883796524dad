package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

// TestSandboxPageNamesWhatExists reads docs/sandbox.md: every setting, command, flag and slash command
// that it names is there.
func TestSandboxPageNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sandbox.md"))
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, k := range config.Keys() {
		keys[k.Name] = true
	}
	c := &command{deps: Wired()}
	root := c.root()
	slash, err := os.ReadFile(filepath.Join("..", "..", "app", "command.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
		word := m[1]
		switch {
		case regexp.MustCompile(`^(sandbox|permissions)\.[A-Za-z.]+$`).MatchString(word):
			if !keys[word] {
				t.Errorf("%s: there is no such setting", word)
			}
		case strings.HasPrefix(word, "myelin "):
			var path []string
			for _, w := range strings.Fields(word)[1:] {
				if w == "--" || strings.ToUpper(w) == w {
					break
				}
				path = append(path, w)
			}
			found, rest, err := root.Find(path)
			if err != nil || len(rest) > 0 || found == root {
				t.Errorf("%s: there is no such command (%v)", word, err)
			}
		case regexp.MustCompile(`^/[a-z-]+$`).MatchString(word) && word != "/tmp":
			if !strings.Contains(string(slash), `"`+word[1:]+`"`) {
				t.Errorf("%s: there is no such slash command", word)
			}
		default:
			continue
		}
		named++
	}
	if named < 25 {
		t.Errorf("the page names %d things only: is it read?", named)
	}
}

// TestSandboxPageNamesWhatOpens has every setting that opens something on the page, so that nobody has
// to find it elsewhere.
func TestSandboxPageNamesWhatOpens(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "sandbox.md"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{ // macOS alone, the administrator's, and what is not built
		"sandbox.network.allowUnixSockets", "sandbox.network.allowLocalBinding", "sandbox.network.allowMachLookup", "sandbox.filesystem.allowManagedReadPathsOnly",
		"sandbox.network.strictAllowlist", "sandbox.network.allowManagedDomainsOnly", "sandbox.bwrapPath",
	}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, "sandbox.") && k.Kind == config.Allow && k.Need < 3 && !slices.Contains(elsewhere, k.Name) && !strings.Contains(string(text), "`"+k.Name+"`") {
			t.Errorf("%s is not on the page", k.Name)
		}
	}
}
