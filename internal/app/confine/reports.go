package confine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/netname"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/transport"
)

// ignored are the violations of a command that the settings want no report of. They stay refused.
func (p *profiler) ignored(spec proc.Spec) []string {
	var out []string
	text := spec.Label + "\n" + strings.ReplaceAll(strings.Join(spec.Args, "\n"), `'\''`, "'")
	for _, block := range p.Config().Blocks(ignoreKey) {
		var lists map[string][]string
		if json.Unmarshal(block.JSON, &lists) != nil {
			continue // more is reported; Facts says so
		}
		for part, paths := range lists {
			if part != "*" && !strings.Contains(text, part) {
				continue
			}
			for _, path := range paths {
				if strings.Contains(path, "/") { // a host has none
					path = p.absolute(path, p.Places.Start)
				}
				out = append(out, path)
			}
		}
	}
	return out
}

const ignoreKey = "sandbox.ignoreViolations"

// upstream is the proxy of one's own that allowed connections go through; empty: none.
func (h *hosts) upstream() string {
	state := h.Config()
	if port := setting(state, "sandbox.network.httpProxyPort", 0); port != 0 {
		return fmt.Sprintf("http://127.0.0.1:%d", port)
	}
	if port := setting(state, "sandbox.network.socksProxyPort", 0); port != 0 {
		return fmt.Sprintf("socks5://127.0.0.1:%d", port)
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy"} {
		if v := h.Env().Value(name); v != "" {
			if !strings.Contains(v, "://") {
				v = "http://" + v
			}
			return strings.Replace(v, "socks5h://", "socks5://", 1) // names are looked up by the proxy in any case
		}
	}
	return ""
}

// direct reports a host that NO_PROXY names. A proxy that the settings choose is for all hosts.
func (h *hosts) direct(to netname.Endpoint) bool {
	state := h.Config()
	if setting(state, "sandbox.network.httpProxyPort", 0) != 0 || setting(state, "sandbox.network.socksProxyPort", 0) != 0 {
		return false
	}
	req := &http.Request{URL: &url.URL{Scheme: "https", Host: to.String()}}
	over, err := transport.Proxy(h.Env().Value)(req)
	if err == nil && over == nil { // only one of the two schemes may have a proxy
		req.URL.Scheme = "http"
		over, err = transport.Proxy(h.Env().Value)(req)
	}
	return err == nil && over == nil
}

// redacted is an address without its password.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return u.Redacted()
}

// masked lists what the settings want masked, which is kept from commands instead.
func (s *standing) masked() []string {
	var out []string
	for _, key := range []string{"sandbox.credentials.envVars", "sandbox.credentials.files"} {
		for _, e := range setting[[]credential](s.Config(), key, nil) {
			if e.Mode == "mask" {
				out = append(out, e.Name+e.Path)
			}
		}
	}
	return out
}

// tellMasked says once that nothing is masked.
func (s *standing) tellMasked() {
	if names := s.masked(); len(names) > 0 {
		s.early(proto.Notice{Level: "warning", Key: "mask", Text: "sandbox.credentials: masking is not built; kept from commands instead: " + strings.Join(names, ", ")})
	}
}

// Fact is one thing that the settings make of the sandbox.
type Fact struct{ Name, Status, Detail, Fix string } // status: ok, warning, info

// Facts tells what the settings make of the sandbox beside what the machine can do: what is chosen,
// what is opened, and what has no effect here.
func (s *standing) Facts() []Fact {
	state := s.Config()
	var out []Fact
	add := func(name, status, format string, args ...any) {
		out = append(out, Fact{Name: name, Status: status, Detail: fmt.Sprintf(format, args...)})
	}
	switch s.Wanted() {
	case "off":
		add("sandbox.enabled", "warning", "off: commands run unconfined, whatever this machine could keep")
	case "on":
		add("sandbox.enabled", "info", "asked for, at any level")
	default:
		add("sandbox.enabled", "info", "auto: on where the full level is available")
	}
	if e := s.engine(); e != nil {
		add("sandbox.backend", "info", "%s, image %s", e.Program, e.Image)
	}
	switch p := s.Policy(); {
	case !p.Enabled:
	case Scrubs(s.Env()):
		add("environment", "info", "%s: keys of model and cloud services are kept from every program, and nothing is allowed for being confined", scrubVar)
	case p.NoAutoAllow:
		add("automatic allow", "info", "off: confined commands are asked for as others are")
	default:
		add("automatic allow", "info", "on: a confined command needs no question")
	}
	if up := s.upstream(); up != "" {
		add("proxy", "info", "allowed connections go through %s, after they were decided here", redacted(up))
	}
	for _, name := range s.masked() {
		add("sandbox.credentials", "warning", "%s: masking is not built; it is kept from commands instead", name)
	}
	s.opened(add)
	for _, block := range state.Blocks(ignoreKey) {
		var lists map[string][]string
		if err := json.Unmarshal(block.JSON, &lists); err != nil {
			add(ignoreKey, "warning", "%s: expected parts of commands, each with a list of paths; everything is reported", block.At.Place())
			continue
		}
		add(ignoreKey, "info", "reports are left out for %d parts of commands; what was refused stays refused", len(lists))
	}
	return out
}

// opened tells what the settings open, and what of them has no effect.
func (s *standing) opened(add func(name, status, format string, args ...any)) {
	state := s.Config()
	for _, key := range []string{"sandbox.filesystem.disabled", "sandbox.network.allowAllUnixSockets", "sandbox.enableWeakerNestedSandbox"} {
		if setting(state, key, false) {
			add(key, "warning", "on: %s", openings[key])
		}
	}
	for _, key := range []string{"sandbox.filesystem.allowWrite", allowRead, "sandbox.network.allowedDomains", "sandbox.excludedCommands"} {
		if list := setting[[]string](state, key, nil); len(list) > 0 {
			add(key, "info", "%s", strings.Join(list, ", "))
		}
	}
	for _, key := range without {
		if blocks := state.Blocks(key); len(blocks) > 0 {
			add(key, "warning", "%s: it has no effect in this release", filepath.Base(blocks[0].At.File))
		}
	}
}

var openings = map[string]string{
	"sandbox.filesystem.disabled":         "commands may write and read whatever you may; only the network is confined",
	"sandbox.network.allowAllUnixSockets": "services of this machine with a local socket (docker, an agent of keys) can be reached from inside",
	"sandbox.enableWeakerNestedSandbox":   "processes of the container around it are seen from inside",
}

// without are keys that are read and not built.
var without = []string{
	"sandbox.network.tlsTerminate", "sandbox.credentials.allowPlaintextInject", "sandbox.credentials.awsPairs", "sandbox.credentials.sigv4",
	"sandbox.enableWeakerNetworkIsolation", "sandbox.allowAppleEvents", "sandbox.socatPath", "sandbox.ripgrep",
}
