package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/gitrepo"
	"github.com/myelin-agent/myelin/internal/sys/origin"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// FolderPrints are fingerprints of what a folder wants: of its shared files, and of the local one.
// Equal prints mean equal wishes and equal scripts.
type FolderPrints struct {
	Shared string
	Local  string
}

// Whole is one print of both.
func (p FolderPrints) Whole() string {
	sum := sha256.Sum256([]byte(p.Shared + p.Local))
	return hex.EncodeToString(sum[:])
}

// Prints fingerprints the items, and with them the content of every file inside the folder that a
// command of theirs names: who changes a hook's script changes the hook. What a script calls in turn
// is not followed.
func Prints(f Folder, items []Item) (FolderPrints, error) {
	var shared, local []Item
	for _, i := range items {
		if i.At.Scope == origin.Local {
			local = append(local, i)
		} else {
			shared = append(shared, i)
		}
	}
	var p FolderPrints
	var err1, err2 error
	p.Shared, err1 = fingerprint(f, shared)
	p.Local, err2 = fingerprint(f, local)
	return p, errors.Join(err1, err2)
}

// fingerprint is independent of the order of the items and of where in the files they stand.
func fingerprint(f Folder, items []Item) (string, error) {
	lines := make([]string, 0, len(items))
	for _, i := range items {
		sum := sha256.Sum256(append([]byte(i.Kind+"\x00"), i.Raw...))
		lines = append(lines, "item "+hex.EncodeToString(sum[:]))
		if !runs(i.Kind) {
			continue
		}
		for _, path := range scripts(f, i.Raw) {
			sum, err := hashFile(path)
			if err != nil {
				return "", fmt.Errorf("fingerprint what %s would run: %w", i.At.Place(), err)
			}
			lines = append(lines, "file "+path+" "+sum)
		}
	}
	sort.Strings(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:]), nil
}

func runs(kind string) bool {
	switch kind {
	case KindHooks, KindHelpers, KindMCP, KindPlugins, KindEnv:
		return true
	}
	return false
}

// maxHashed is how much of one file counts, beside its size.
const maxHashed = 256 << 20

// maxScripts bounds how many files one item can make us read.
const maxScripts = 200

// scripts finds the files of the checkout that a text names: words that, taken from the start
// folder, lead to a regular file. Too many words is no harm, a missed one is, so everything that can
// end a word in JSON or a shell does, and what follows a closing quote counts as relative too.
func scripts(f Folder, raw []byte) []string {
	text := string(raw)
	for _, v := range []string{"${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR", "${PWD}", "$PWD"} {
		text = strings.ReplaceAll(text, v, f.Start)
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("\"'\\`;|&()<>{}[]=,:$*?!", r)
	})
	seen := map[string]bool{}
	var out []string
	for _, w := range words {
		for _, path := range []string{filepath.Clean(w), filepath.Join(f.Start, w)} {
			if seen[path] || !filepath.IsAbs(path) || !within(f.Top, path) {
				continue
			}
			seen[path] = true
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && len(out) < maxScripts {
				out = append(out, path)
			}
		}
	}
	return out
}

func within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func hashFile(path string) (string, error) {
	f, info, err := textfile.OpenRegular(path) // a person's own link is followed
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", info.Size())
	if _, err := io.Copy(h, io.LimitReader(f, maxHashed)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// LocalIsOwn reports whether the local settings file at path is this person's own: not tracked by
// git, and its folder not a symbolic link. It runs git, so it must only be called for a folder that
// is trusted. A file that is not there is anybody's own.
func LocalIsOwn(ctx context.Context, git gitrepo.Git, path string) (Local, error) {
	info, err := os.Lstat(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return LocalOwn, nil
	}
	if err != nil {
		return LocalUnknown, fmt.Errorf("look at local settings: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return LocalShared, nil
	}
	if _, err := gitrepo.Find(filepath.Dir(path)); errors.Is(err, gitrepo.ErrNone) {
		return LocalOwn, nil
	}
	tracked, err := git.Tracked(ctx, filepath.Dir(path), path)
	switch {
	case err != nil:
		return LocalUnknown, fmt.Errorf("look at local settings: %w", err)
	case tracked:
		return LocalShared, nil
	}
	return LocalOwn, nil
}
