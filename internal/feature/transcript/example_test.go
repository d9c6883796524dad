package transcript_test

import (
	"fmt"
	"os"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/feature/transcript"
)

// A session is begun, listed, found again and continued.
func Example() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	shelf := transcript.Shelf{Home: home}
	const cwd, session = "/work/project", "0b5e0b5e-0000-4000-8000-000000000001"

	tr, err := transcript.Create(shelf.Path(cwd, session), transcript.Options{Session: session, Version: "1.0"})
	if err != nil {
		panic(err)
	}
	say := func(id, text string) {
		if err := tr.Append(msg.Message{ID: id, Role: msg.User, Content: []msg.Block{msg.Text{Text: text}}}); err != nil {
			panic(err)
		}
	}
	say("m1", "hello")
	if err := tr.Close(); err != nil {
		panic(err)
	}

	found, err := shelf.Resolve(session, cwd)
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Title())
	var loaded *transcript.Loaded
	if tr, loaded, err = transcript.Open(found.Path, transcript.LoadOptions{}, transcript.Options{Session: session}); err != nil {
		panic(err)
	}
	say("m2", "again")
	fmt.Println(len(loaded.Messages), loaded.LastID, tr.LastID())
	if err := tr.Close(); err != nil {
		panic(err)
	}
	// Output:
	// hello
	// 1 m1 m2
}
