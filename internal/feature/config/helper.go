package config

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/origin"
)

// helperCall is the managed key policyHelper: a program that prints the managed settings.
type helperCall struct {
	Path      string  `json:"path"`
	TimeoutMS float64 `json:"timeoutMs"`
	RefreshMS float64 `json:"refreshIntervalMs"`
}

func (h helperCall) timeout() time.Duration {
	if h.TimeoutMS <= 0 {
		return 10 * time.Second
	}
	return time.Duration(h.TimeoutMS * float64(time.Millisecond))
}

// PolicyRefresh is how often the administrator wants the policy helper asked again; 0: only at
// start and when a managed file changes.
func (f *Files) PolicyRefresh() time.Duration {
	if f.helper == nil || f.helper.RefreshMS <= 0 {
		return 0
	}
	return time.Duration(f.helper.RefreshMS * float64(time.Millisecond))
}

// helped replaces the managed parts by what the policy helper prints, when they name one. A helper
// that fails leaves an error that forbids the start: a policy must not vanish with its source.
func (r *reader) helped(ctx context.Context, parts []*part) []*part {
	call, at := findHelper(r.f.cat, parts)
	if call == nil {
		return parts
	}
	r.f.helper = call
	out, err := runHelper(ctx, *call, r.opts.Places.AdminUID)
	var p *part
	if err == nil {
		p, err = r.helperPart(call.Path, out)
	}
	if err != nil {
		r.f.err = errors.Join(r.f.err, fmt.Errorf("%s: policyHelper: %w", at.Place(), err))
		return parts
	}
	var kept []*part
	for _, old := range parts {
		if old == nil || old.source.Scope != origin.Managed {
			kept = append(kept, old)
			continue
		}
		// The files are still known, so that a change of one asks the helper anew.
		r.f.parts[old.source.Path] = old
	}
	return append(kept, p)
}

func findHelper(cat *catalogue, parts []*part) (*helperCall, origin.Origin) {
	var layers []Layer
	for _, p := range parts {
		if p != nil && p.source.Scope == origin.Managed && p.layer.Root != nil {
			layers = append(layers, p.layer)
		}
	}
	n := merge(cat, layers).Get("policyHelper")
	if n == nil {
		return nil, origin.Origin{}
	}
	var call helperCall
	if err := json.Unmarshal(n.JSON(), &call); err != nil {
		call = helperCall{} // and its empty path is refused, loudly
	}
	return &call, n.At
}

// helperPart reads {"managedSettings": {…}}.
func (r *reader) helperPart(path string, out []byte) (*part, error) {
	doc, err := jsonc.Parse(origin.Managed, path, out)
	if err != nil {
		return nil, fmt.Errorf("its output is not JSON: %w", err)
	}
	settings := doc.Root().Get("managedSettings")
	if settings == nil || settings.Kind != jsonc.Object {
		return nil, fmt.Errorf(`%s: its output has no object "managedSettings"`, path)
	}
	// The places in messages are those of the output; a helper names no further helper.
	c := &checker{cat: r.f.cat, doc: doc, scope: origin.Managed}
	root := c.object("", settings)
	root.drop(root.Get("policyHelper"))
	p := &part{
		source:   Source{Scope: origin.Managed, Path: path, Hash: hashOf(out), LoadedAt: r.opts.Now()},
		layer:    Layer{Scope: origin.Managed, File: path, Root: root},
		problems: c.problems,
	}
	return p, nil
}

// runHelper runs the helper with nothing but a plain environment and returns what it printed.
func runHelper(ctx context.Context, call helperCall, admin int) ([]byte, error) {
	if err := mayRunHelper(call.Path, admin); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, call.timeout(), fmt.Errorf("%s: no answer within %s", call.Path, call.timeout()))
	defer cancel()
	cmd := exec.CommandContext(ctx, call.Path)
	cmd.Dir = filepath.Dir(call.Path)
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	var out, stderr limitedBuffer
	out.left, stderr.left = MaxFile+1, 1<<10
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", call.Path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	if out.Len() > MaxFile {
		return nil, fmt.Errorf("%s: it printed more than %d bytes", call.Path, MaxFile)
	}
	return out.Bytes(), nil
}

// mayRunHelper refuses a program that somebody other than the administrator could have put there.
func mayRunHelper(path string, admin int) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("path %q: expected a clean absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if real != path {
		return fmt.Errorf("%s leads to %s; expected the real path", path, real)
	}
	for p := path; ; p = filepath.Dir(p) {
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		uid, known := ownerOf(info)
		if known && uid != admin && uid != 0 {
			return fmt.Errorf("%s is not the administrator's", p)
		}
		sticky := info.IsDir() && info.Mode()&os.ModeSticky != 0
		if known && info.Mode().Perm()&0o022 != 0 && !sticky {
			return fmt.Errorf("%s can be written by others", p)
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}

// limitedBuffer keeps the first bytes and drops the rest.
type limitedBuffer struct {
	bytes.Buffer
	left int
}

// Write takes all and keeps what fits.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	n := min(b.left, len(p))
	b.left -= n
	b.Buffer.Write(p[:n])
	return len(p), nil
}
