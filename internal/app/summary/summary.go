// Package summary is what a person can do about the summary of a conversation: look at it and edit it
// before it takes effect, and take it back afterwards. How a summary is made is in feature/shaping.
// Begin with [Draft] and [Undo].
package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// Draft is the file in which a summary waits for the person's word.
type Draft struct{ Path string }

// The head of a draft: the id behind it names the last message that the summary stands for.
const (
	head = "Summary of the conversation up to message "
	line = "\n---\n"
)

// Save writes a summary of everything up to the message with the id upto.
func (d Draft) Save(text, upto string) error {
	err := os.MkdirAll(filepath.Dir(d.Path), 0o700)
	if err == nil {
		err = os.WriteFile(d.Path, []byte(head+upto+"\nEdit what stands below the line. /compact --apply puts it into effect, /compact --discard drops it."+line+text+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the summary: %w", err)
	}
	return nil
}

// Load reads the summary as the person left it.
func (d Draft) Load() (text, upto string, err error) {
	raw, err := os.ReadFile(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", errors.New("no summary waits; /compact --review makes one")
	}
	if err != nil {
		return "", "", fmt.Errorf("read the summary: %w", err)
	}
	top, text, ok := strings.Cut(strings.ReplaceAll(string(raw), "\r\n", "\n"), line)
	first, _, _ := strings.Cut(top, "\n")
	upto, known := strings.CutPrefix(first, head)
	if text = strings.TrimSpace(msg.CleanText(text)); !ok || !known {
		return "", "", fmt.Errorf("read the summary: %s no longer begins with %q and a line ---", d.Path, head+"ID")
	}
	if text == "" {
		return "", "", fmt.Errorf("read the summary: below the line of %s stands nothing", d.Path)
	}
	return text, strings.TrimSpace(upto), nil
}

// Drop removes the draft.
func (d Draft) Drop() error {
	if err := os.Remove(d.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop the summary: %w", err)
	}
	return nil
}

// NoteKind is the kind of the notes that keep an [Undo].
const NoteKind = "compacted"

// Undo is what it takes to take a summary back. The zero Undo takes nothing back.
type Undo struct {
	Before string   `json:"before"` // id of the last message before it
	Made   []string `json:"made"`   // ids of the summary and what stands behind it
}

// lastUndo is what it takes to take the last summary of a transcript back.
func lastUndo(path string) (Undo, error) {
	var u Undo
	for n, err := range transcript.NotesOf(path, NoteKind) {
		if err != nil {
			return Undo{}, err
		}
		u = Undo{}
		_ = json.Unmarshal(n.Data, &u) // one that cannot be read takes nothing back
	}
	return u, nil
}

// Restore returns the conversation as it was before the summary, and what was said since, under ids of
// its own. path is the transcript, now the conversation as it is.
func (u Undo) Restore(path string, now []msg.Message, newID func() string) (before, since []msg.Message, err error) {
	if u.Before == "" {
		return nil, nil, errors.New("there is no summary to take back")
	}
	loaded, err := transcript.Load(path, transcript.LoadOptions{At: u.Before})
	if err != nil {
		return nil, nil, fmt.Errorf("take the summary back: %w", err)
	}
	known := map[string]bool{}
	for _, id := range u.Made {
		known[id] = true
	}
	for _, m := range loaded.Messages {
		known[m.ID] = true
	}
	for _, m := range now {
		if !known[m.ID] {
			m.ID = newID()
			since = append(since, m)
		}
	}
	return loaded.Messages, since, nil
}
