package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Probe says what the sandbox can do here for what cfg asks (which backend, inside a container or
// not). The first call runs a trivial program in the full profile and tries what must fail; the
// answer is kept, also on disk, until this program, the backend or the machine's start changes. It is
// safe to call often and from several goroutines.
func (b *Box) Probe(ctx context.Context, cfg Config) Status {
	key := fmt.Sprintf("%s|%v", cfg.Bwrap, cfg.Nested)
	if cfg.Container != nil {
		key = fmt.Sprintf("container %q %q", cfg.Container.Program, cfg.Container.Image)
	}
	b.mu.Lock()
	st, known := b.status[key]
	b.mu.Unlock()
	if known {
		return st
	}
	b.probing.Lock()
	defer b.probing.Unlock()
	b.mu.Lock()
	st, known = b.status[key]
	b.mu.Unlock()
	if known {
		return st
	}
	if cfg.Container != nil { // an engine is started and stopped while the machine runs: nothing of it is kept on disk
		st = b.probeContainer(ctx, cfg)
	} else {
		st = b.cachedProbe(ctx, cfg)
	}
	b.mu.Lock()
	b.status[key] = st
	b.mu.Unlock()
	return st
}

// Forget drops what is known, so that the next [Box.Probe] tries again.
func (b *Box) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status = map[string]Status{}
	_ = os.Remove(b.probeFile()) // none there is as good
}

func (b *Box) probeFile() string { return filepath.Join(b.opts.StateDir, "probe.json") }

// kept is the file of a probe's result.
type kept struct {
	V      int       `json:"v"`
	Key    string    `json:"key"` // everything the result depends on
	At     time.Time `json:"at"`
	Status Status    `json:"status"`
}

const keptVersion = 3

// cachedProbe takes the result of an earlier process if nothing it depends on has changed. Only a
// full level is taken: what was missing may have been installed.
func (b *Box) cachedProbe(ctx context.Context, cfg Config) Status {
	key := b.probeKey(cfg)
	if data, err := os.ReadFile(b.probeFile()); err == nil && key != "" {
		var k kept
		if json.Unmarshal(data, &k) == nil && k.V == keptVersion && k.Key == key && k.Status.Level >= Full {
			return k.Status
		}
	}
	st := b.probe(ctx, cfg)
	if st.Level >= Full && key != "" {
		b.keepProbe(kept{V: keptVersion, Key: key, At: time.Now(), Status: st})
	}
	return st
}

func (b *Box) keepProbe(k kept) {
	data, err := json.Marshal(k)
	if err == nil {
		err = os.MkdirAll(b.opts.StateDir, 0o700)
	}
	var f *os.File
	if err == nil {
		f, err = os.CreateTemp(b.opts.StateDir, "probe-*")
	}
	if err == nil {
		_, err = f.Write(data)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = os.Rename(f.Name(), b.probeFile())
		}
	}
	if err != nil {
		b.opts.Report(fmt.Errorf("keep the probe of the sandbox: %w", err))
	}
}
