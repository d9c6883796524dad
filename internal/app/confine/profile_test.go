package confine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// TestKF114_OnlyManagedReadPaths: with the lock, a path somebody else opens stays closed.
func TestKF114_OnlyManagedReadPaths(t *testing.T) {
	for lock, want := range map[string][]string{
		`false`: {"/user", "/managed"}, `true`: {"/managed"}, `"true"`: {"/managed"},
	} {
		etc, home := t.TempDir(), t.TempDir()
		places, err := config.Find(config.PlaceOptions{UserHome: home, Start: t.TempDir(), Managed: []string{etc}})
		if err != nil {
			t.Fatal(err)
		}
		write := func(path, text string) {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(filepath.Join(etc, "managed-settings.json"), `{"sandbox": {"filesystem": {"allowRead": ["/managed"], "allowManagedReadPathsOnly": `+lock+`}}}`)
		write(filepath.Join(places.Home, "settings.json"), `{"sandbox": {"filesystem": {"allowRead": ["/user"]}}}`)
		state := config.Load(t.Context(), config.Options{Places: places}).State(config.View{}, 1)
		c, permissions, _, _ := faked(t)
		permissions.v.Store(&permission.State{})
		c.given.Config, c.given.Places = func() *config.State { return state }, places
		none := func() string { return "" }
		c.given.Temp, c.given.SessionDir, c.given.ProjectKey = none, none, none
		if got := c.profiler.profile(tool.Confinement{}).AllowRead; !slices.Equal(got, want) {
			t.Errorf("%s: %v may be read, want %v", lock, got, want)
		}
	}
}
