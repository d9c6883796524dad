package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/myelin-agent/myelin/internal/app/gate"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/feature/permission"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// note is a tool that writes a word into a file.
func note() tool.Tool {
	type input struct {
		Path string `json:"path"`
	}
	return tool.New(tool.Spec{Name: "Write", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		func(ctx context.Context, in input, call tool.Call) (tool.Result, error) {
			text, err := textfile.FromString("ours")
			if err != nil {
				return tool.Result{}, err
			}
			_, problem, err := tool.Files{}.Create(ctx, call, in.Path, text)
			return tool.Failed(problem), err
		},
		tool.Traiter(func(in input, _ tool.Call) tool.Traits {
			return tool.Traits{Paths: []tool.PathUse{{Path: in.Path, Intent: tool.Write}}}
		}))
}

// TestKF146_SwappedWhileAsked: a yes is for the place that the question was about. When a link stands there
// by the time of the answer, nothing is written, and the new place is asked about.
func TestKF146_SwappedWhileAsked(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	folder, outside := filepath.Join(top, "p/d"), filepath.Join(top, "outside")
	for _, d := range []string{folder, outside} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	r := newRig(t, permission.Default, nil, func(r *rig) {
		r.given.Tool = func(string) tool.Tool { return note() }
		r.given.Dirs = func() permission.Dirs {
			return permission.Dirs{Cwd: filepath.Join(top, "p"), Project: filepath.Join(top, "p"), Home: "/home/dev"}
		}
		r.given.Ask = func(_ context.Context, a proto.Ask) (proto.Answer, error) {
			asked = append(asked, a.Reason)
			if len(asked) > 1 {
				return proto.Answer{Behavior: "deny"}, nil
			}
			if err := errors.Join(os.Rename(folder, folder+"2"), os.Symlink(outside, folder)); err != nil {
				t.Error(err)
			}
			return proto.Answer{Behavior: "allow"}, nil
		}
	})
	path := filepath.Join(folder, "f")
	call := tool.Call{ID: "c", Name: "Write", Scope: tool.NewScope("", top), Literal: json.RawMessage(`{"path":"` + path + `"}`)}
	authorise := func() tool.Decided {
		ready, traits, err := tool.Prepare(note(), call)
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.gate.Authorize(t.Context(), &gate.Turn{}, ready, traits)
		if err != nil {
			t.Fatal(err)
		}
		return v.Run
	}
	if _, err := authorise().Run(t.Context()); !errors.Is(err, nolink.ErrLink) {
		t.Errorf("the swapped folder: %v", err)
	}
	if authorise().Valid() {
		t.Error("the answer about the folder counted for what the link leads to")
	}
	if len(asked) != 2 || slices.Equal(asked[:1], asked[1:]) {
		t.Errorf("asked %q", asked)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside holds %v, %v", left, err)
	}
}
