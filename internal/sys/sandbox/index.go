package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/myelin-agent/myelin/internal/sys/protected"
	"github.com/myelin-agent/myelin/internal/sys/watch/tree"
)

// The box has one index of the writable roots, for protected names and all patterns, and one of the
// folders elsewhere in which patterns with "**" begin.

// Prepare begins to index what cfg names, in the background, so that the first program need not wait
// for it. It may be called at any time, or not at all.
func (b *Box) Prepare(cfg Config) {
	p := &plan{}
	if cfg.FilesFree || p.roots(cfg) != nil {
		return // the program itself will be told why
	}
	b.include(p, cfg)
	b.tree.Start(slices.Concat(cfg.DenyRead, cfg.DenyWrite)...)
}

// index brings the indexes to this moment.
func (b *Box) index(ctx context.Context, p *plan, cfg Config) error {
	b.include(p, cfg)
	seq, err := b.tree.Sync(ctx)
	if err == nil && len(b.beyond.Roots()) > 0 {
		_, err = b.beyond.Sync(ctx)
	}
	p.seq = seq
	return err
}

// include adds what is indexed because of a config.
func (b *Box) include(p *plan, cfg Config) {
	for _, w := range p.write {
		if !slices.Contains(p.temp, w) {
			b.tree.Include(w)
		}
	}
	for _, rule := range slices.Concat(cfg.DenyRead, cfg.DenyWrite) {
		if base, ok := deepBase(p.paths, rule); ok && !b.tree.Includes(base) {
			b.beyond.Include(base)
		}
	}
}

// deepBase is where a pattern begins that looks into any number of folders.
func deepBase(paths resolver, rule string) (base string, deep bool) {
	base, rest := splitRule(rule)
	if !strings.Contains(rest, "**") {
		return base, false
	}
	if real, err := paths.real(base); err == nil {
		base = real
	}
	return base, true
}

func splitRule(rule string) (base, rest string) {
	return doublestar.SplitPattern(filepath.ToSlash(strings.TrimSuffix(rule, "/**")))
}

func (b *Box) isRoot(dir string) bool { return slices.Contains(b.tree.Roots(), dir) }

// elsewhere says which folders are looked into outside the writable roots.
func elsewhere(path string) bool { return !forbidden(path) && protected.Entered(path) }

var errPattern = errors.New("the pattern cannot be read")

// matches returns what a pattern matches now, as the indexes know it.
func (b *Box) matches(p *plan, rule string) ([]string, error) {
	base, rest := splitRule(rule)
	if !doublestar.ValidatePattern(rest) {
		return nil, errPattern
	}
	real, err := p.paths.real(base)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	pattern := strings.TrimSuffix(real, "/") + "/" + rest
	for _, x := range []*tree.Index{b.tree, b.beyond} {
		if x.Includes(real) {
			return x.Match(pattern)
		}
	}
	return doublestar.FilepathGlob(pattern, doublestar.WithNoFollow())
}

// Unheld tells which rules on files neither a mount nor the check afterwards can hold, with the reason:
// patterns that cannot be read, and patterns over more files than are looked at. A program under such
// a config must not be allowed for being confined alone.
func (b *Box) Unheld(ctx context.Context, cfg Config) []string {
	if cfg.FilesFree {
		return nil
	}
	p := &plan{}
	if err := p.roots(cfg); err != nil {
		return []string{err.Error()}
	}
	if err := b.index(ctx, p, cfg); err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, rule := range slices.Concat(cfg.DenyRead, cfg.DenyWrite) {
		if !hasWildcard(rule) || exists(clean(rule)) {
			continue
		}
		if _, err := b.matches(p, rule); err != nil {
			out = append(out, fmt.Sprintf("%s: %v", rule, err))
			continue
		}
		base, deep := deepBase(p.paths, rule)
		for _, x := range []*tree.Index{b.tree, b.beyond} {
			if deep && x.Includes(base) {
				if !x.Covers(base) {
					out = append(out, fmt.Sprintf("%s: there are more files than are looked at (%s and what comes after it)", rule, strings.Join(x.Gaps(), ", ")))
				}
				break
			}
		}
	}
	return out
}

// Gaps tells which folders of the writable roots are not looked into for protected names.
func (b *Box) Gaps() []string { return b.tree.Gaps() }
