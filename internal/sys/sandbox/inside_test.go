//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// An allowed name that leads to a private address is reached when that address is allowed by itself, and not
// otherwise.
func TestKF119_NamesAtPrivateAddresses(t *testing.T) {
	server := newTarget(t)
	c := newCell(t)
	for named, want := range map[string]bool{"": false, "127.0.0.1:1": false, fmt.Sprintf("127.0.0.1:%d", server.port): true} {
		c.cfg.Network = sandbox.Network{
			Decide: func(_ context.Context, to netname.Endpoint) sandbox.Decision {
				return sandbox.Decision{Allow: to.Name == "registry.test"}
			},
			Inside: func(to netname.Endpoint) bool { return to.String() == named },
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			},
		}
		before := server.hits.Load()
		out, _, _ := c.run(fmt.Sprintf("curl -sS http://registry.test:%d/x", server.port))
		if got := server.hits.Load() > before; got != want || strings.Contains(out, "reached as registry.test") != want {
			t.Errorf("%q is allowed: reached %v, %s", named, got, out)
		}
	}
}
