package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
)

// retention moves old sessions to a trash folder, where the setting cleanupPeriodDays asks for it. The end
// of one session notes which are too old, the start of the next one says so, and its end moves them.
type retention struct {
	settings *settings
	clock    *clock
	told     []string // files that the start of this session named
}

// days is how long a session is kept; 0: for ever.
func (k *retention) days() int { return setting(k.settings.now(), "cleanupPeriodDays", 0) }

func (k *retention) trash() string { return filepath.Join(k.settings.places.Home, "trash") }

func (k *retention) noted() string { return filepath.Join(k.trash(), "next") }

// announceOld says what the end of this session will move.
func announceOld(r *rooms) *retention {
	k := &retention{settings: r.settings, clock: r.clock}
	if k.days() == 0 {
		return k
	}
	tell := func(text string) {
		r.events.Early(proto.Notice{Level: "warning", Key: "cleanupPeriodDays", Text: text})
	}
	text, err := os.ReadFile(k.noted())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		tell(fmt.Sprintf("Old sessions stay where they are: %v", err))
		return k
	}
	if k.told = lines(string(text)); len(k.told) > 0 {
		tell(fmt.Sprintf("Sessions last used more than %d days ago move to %s when this one ends (cleanupPeriodDays): %d, listed in %s. "+
			"One that is used again stays.", k.days(), k.trash(), len(k.told), k.noted()))
	}
	return k
}

// apply moves what was announced, and notes what the next session announces.
func (k *retention) apply() error {
	if k.days() == 0 {
		return nil
	}
	sessions := transcript.Shelf{Home: k.settings.places.Home}
	old, err := sessions.Expired(k.clock.now().AddDate(0, 0, -k.days()))
	if err != nil {
		return err
	}
	var due []transcript.Info
	var next []string
	for _, i := range old {
		if slices.Contains(k.told, i.Path) {
			due = append(due, i)
		} else {
			next = append(next, i.Path+"\n")
		}
	}
	if len(due)+len(next)+len(k.told) == 0 {
		return nil
	}
	if err := os.MkdirAll(k.trash(), 0o700); err != nil {
		return fmt.Errorf("make the trash folder: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(k.trash(), "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of the trash folder: %w", err)
	}
	return errors.Join(sessions.Retire(due, k.trash(), log), log.Close(), atomicfile.Write(k.noted(), []byte(strings.Join(next, "")), 0o600))
}

// lines are those that are not empty.
func lines(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" })
}
