package confine

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// slice is a slice of the state that lies alone.
type slice struct {
	v atomic.Pointer[permission.State]
}

func (s *slice) Get() *permission.State { return s.v.Load() }
func (s *slice) Set(update func(*permission.State) *permission.State) {
	s.v.Store(update(s.v.Load()))
}
func (s *slice) Watch(func(old, new *permission.State)) func() { return func() {} }

// faked is a confiner in a session of auto mode, with a classifier that answers what verdict holds.
func faked(t *testing.T) (c *Confiner, state *slice, asked *atomic.Int32, verdict *permission.Verdict) {
	t.Helper()
	state, asked, verdict = &slice{}, &atomic.Int32{}, &permission.Verdict{Kind: permission.VerdictAllow}
	state.v.Store(&permission.State{Mode: permission.Auto, AutoAvailable: true})
	c = New(Given{
		Context: t.Context(),
		Scene: Scene{
			Config: func() *config.State { return &config.State{} }, State: state, Env: func() config.Environ { return config.Environ{} },
			Policy: func() permission.Policy { return permission.Policy{Mode: state.Get().Mode} },
		},
		People: People{
			Classify: func(context.Context, string, string) permission.Verdict {
				asked.Add(1)
				return *verdict
			},
			NewID: func() string { return "id" }, Early: func(n proto.Notice) { t.Error(n.Text) },
		},
	})
	return c, state, asked, verdict
}

var example = netname.Endpoint{Host: netname.Host{Name: "example.com"}, Port: 443}

// In auto mode the classifier decides about hosts, once for the same host and port.
func TestAutoModeClassifiesHosts(t *testing.T) {
	c, state, asked, verdict := faked(t)
	for range 2 {
		if d := c.hosts.decideHost(t.Context(), example); !d.Allow {
			t.Fatalf("%+v", d)
		}
	}
	if got := state.Get().Hosts["example.com:443"]; asked.Load() != 1 || got.Until != "content" {
		t.Errorf("asked %d times, kept %+v", asked.Load(), got)
	}
	*verdict = permission.Verdict{Kind: permission.VerdictBlock, Reason: "it looks like a drop"}
	other := netname.Endpoint{Host: netname.Host{Name: "drop.example"}, Port: 80}
	if d := c.hosts.decideHost(t.Context(), other); d.Allow || d.Why != "the classifier blocked the host: it looks like a drop" {
		t.Errorf("%+v", d)
	}
	if d := c.hosts.decideHost(t.Context(), other); d.Allow || asked.Load() != 2 || state.Get().Hosts["drop.example:80"].Until != "turn" {
		t.Errorf("%+v, asked %d times", d, asked.Load())
	}
}

// Without a verdict nothing is let out, and the next connection asks again.
func TestNoVerdictLetsNothingOut(t *testing.T) {
	for _, kind := range []permission.VerdictKind{
		permission.VerdictUnavailable, permission.VerdictUnsure, permission.VerdictUnreadable, permission.VerdictRefused, permission.VerdictTooLong,
	} {
		c, state, asked, verdict := faked(t)
		*verdict = permission.Verdict{Kind: kind}
		for range 2 {
			if d := c.hosts.decideHost(t.Context(), example); d.Allow || d.Why == "" {
				t.Errorf("%s: %+v", kind, d)
			}
		}
		if asked.Load() != 2 || len(state.Get().Hosts) != 0 {
			t.Errorf("%s: asked %d times, kept %v", kind, asked.Load(), state.Get().Hosts)
		}
	}
}

// A verdict counts for the mode and the rules under which it was asked for.
func TestVerdictOfAnotherModeIsWithdrawn(t *testing.T) {
	for name, change := range map[string]func(*permission.State){
		"mode":  func(p *permission.State) { p.Mode = permission.Default },
		"rules": func(p *permission.State) { p.Revision++ },
	} {
		c, state, _, _ := faked(t)
		inner := c.given.Classify
		c.given.Classify = func(ctx context.Context, host, port string) permission.Verdict {
			state.Set(func(p *permission.State) *permission.State {
				next := *p
				change(&next)
				return &next
			})
			return inner(ctx, host, port)
		}
		if d := c.hosts.decideHost(t.Context(), example); d.Allow || len(state.Get().Hosts) != 0 {
			t.Errorf("%s: %+v %v", name, d, state.Get().Hosts)
		}
	}
}

// Connections to one host at a time share one verdict.
func TestOneVerdictForConnectionsBesideEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, asked, _ := faked(t)
		inner, open := c.given.Classify, make(chan struct{})
		c.given.Classify = func(ctx context.Context, host, port string) permission.Verdict {
			<-open
			return inner(ctx, host, port)
		}
		allowed := make(chan bool, 20)
		for range cap(allowed) {
			go func() { allowed <- c.hosts.decideHost(t.Context(), example).Allow }()
		}
		synctest.Wait()
		close(open)
		for range cap(allowed) {
			if !<-allowed {
				t.Error("refused")
			}
		}
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
	})
}

// A private address is reached by a name only when an entry allows the address itself.
func TestKF119_PrivateAddressesThatAreNamed(t *testing.T) {
	places, err := config.Find(config.PlaceOptions{UserHome: t.TempDir(), Start: t.TempDir()})
	if err == nil {
		err = os.MkdirAll(places.Home, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(places.Home, "settings.json"), []byte(`{"sandbox": {"network": {"allowedDomains": ["10.0.0.5:4873", "npm.corp.example", "*.example", "192.168.0.9"]}}}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	state := config.Load(t.Context(), config.Options{Places: places}).State(config.View{}, 1)
	h := hosts{Scene: &Scene{
		Config: func() *config.State { return state }, State: &slice{}, Env: func() config.Environ { return config.Environ{} },
		Policy: func() permission.Policy { return permission.Policy{Mode: permission.Bypass} },
	}}
	h.State.(*slice).v.Store(&permission.State{})
	for address, want := range map[string]bool{"10.0.0.5:4873": true, "10.0.0.5:80": false, "192.168.0.9:80": true, "10.0.0.6:4873": false, "127.0.0.1:80": false, "[::1]:80": false, "169.254.169.254:80": false} {
		host, port, err := net.SplitHostPort(address)
		number, perr := strconv.Atoi(port)
		to, nerr := netname.ParsePort(host, number)
		if err := errors.Join(err, perr, nerr); err != nil {
			t.Fatal(err)
		}
		if got := h.inside(to); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
