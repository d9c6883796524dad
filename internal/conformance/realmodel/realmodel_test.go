package realmodel

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stage is a folder and a home to run the program in.
type stage struct {
	t         *testing.T
	dir, home string
}

func newStage(t *testing.T) stage {
	t.Helper()
	s := stage{t, t.TempDir(), t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.dir, "notes.txt"), []byte("The code word is heron.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// command is the program with the real model, and one tool so that the prompt fits a small window.
func (s stage) command(args ...string) *exec.Cmd {
	all := append([]string{"--model", "openai/smollm2", "--tools", "Read", "--settings", `{"sandbox":{"enabled":false}}`}, args...)
	cmd := exec.Command(program, all...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "MYELIN_HOME=" + filepath.Join(s.home, ".myelin"), "TERM=xterm",
		"OPENAI_BASE_URL=" + service, "OPENAI_API_KEY=none", "MYELIN_MAX_OUTPUT_TOKENS=200",
	}
	return cmd
}

// record is one line of the program's stream of JSON.
type record struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	IsError bool   `json:"is_error"`
	Result  string `json:"result"`
	Event   struct {
		Type  string `json:"type"`
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`
	Message struct {
		Content []struct {
			Type   string `json:"type"`
			ID     string `json:"id"`
			Name   string `json:"name"`
			CallID string `json:"tool_use_id"`
		} `json:"content"`
	} `json:"message"`
}

// stream runs a headless turn and returns its records.
func (s stage) stream(args ...string) []record {
	s.t.Helper()
	cmd := s.command(append([]string{"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"}, args...)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%v\n%s\n%s", err, errs.String(), out)
	}
	return s.records(strings.NewReader(string(out)))
}

func (s stage) records(r io.Reader) (all []record) {
	s.t.Helper()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var one record
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			s.t.Fatalf("%v: %s", err, lines.Text())
		}
		all = append(all, one)
	}
	return all
}

func result(t *testing.T, all []record) record {
	t.Helper()
	last := all[len(all)-1]
	if last.Type != "result" || last.IsError {
		t.Fatalf("the turn ended with %+v", last)
	}
	return last
}

// TestText: a headless run prints what the model said.
func TestText(t *testing.T) {
	s := newStage(t)
	out, err := s.command("-p", "Say hello in one short sentence.").Output()
	if err != nil || strings.TrimSpace(string(out)) == "" {
		t.Fatalf("%q, %v", out, err)
	}
	t.Logf("said: %s", out)
}

// TestStreaming: the answer comes in pieces, and they are the answer.
func TestStreaming(t *testing.T) {
	all := newStage(t).stream("Count from one to ten in words.")
	pieces, text := 0, ""
	for _, r := range all {
		if r.Event.Delta.Type == "text_delta" {
			pieces++
			text += r.Event.Delta.Text
		}
	}
	end := result(t, all)
	if pieces < 3 || !strings.Contains(text, strings.TrimSpace(end.Result)) {
		t.Errorf("%d pieces: %q, and the result is %q", pieces, text, end.Result)
	}
	t.Logf("%d pieces", pieces)
}
