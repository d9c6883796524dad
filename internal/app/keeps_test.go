package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
)

func TestTheShellGoesBackToWhereItMayStand(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Bash, input: {command: "mkdir sub && cd sub"}}]
  - content: [{tool: Bash, input: {command: "pwd > stood; cd /"}}]
  - content: [{tool: Bash, input: {command: "pwd > again"}}]
  - content: [{text: done}]
`, bypass)
	st.say("go")
	st.result()
	for _, at := range []string{"sub/stood", "sub/again"} {
		raw, err := os.ReadFile(filepath.Join(st.dir, at))
		if err != nil || !strings.HasPrefix(strings.TrimSpace(string(raw)), st.dir) {
			t.Errorf("%s: %q, %v", at, raw, err)
		}
	}
	if cwd := st.rooms.part.session.Get().Cwd; cwd != filepath.Join(st.dir, "sub") {
		t.Errorf("the session stands in %s", cwd)
	}
}

func TestAfterACompactionNoFileCountsAsRead(t *testing.T) {
	st := newStage(t, `
turns:
  - content: [{tool: Read, input: {file_path: a.txt}}]
  - content: [{text: "read"}]
lanes:
  compact: [{content: [{text: "it was read"}]}]
`, bypass)
	if err := os.WriteFile(filepath.Join(st.dir, "a.txt"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	st.say("go" + strings.Repeat(" and so on", 5000))
	st.result()
	if n := len(st.rooms.scope.Reads.Recent()); n != 1 {
		t.Fatalf("%d files count as read", n)
	}
	st.say("/compact")
	st.until("the compaction", func(b proto.EventBody) bool { _, ok := b.(proto.Compacted); return ok })
	st.result()
	if known := st.rooms.scope.Reads.Recent(); len(known) != 0 {
		t.Errorf("after the compaction %s still counts as read", known[0].Path)
	}
}
