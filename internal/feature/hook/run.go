package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// maxOutput bounds what is kept of a hook's output, each stream.
const maxOutput = 1 << 20

// errTimeout is the cause that ends a handler at its time limit.
var errTimeout = errors.New("it took too long")

// run runs one handler to its end and reads its answer.
func (h *Hooks) run(ctx context.Context, spec Spec, e Event, x *Handler, input json.RawMessage) (answer, Run) {
	id := ""
	if h.cfg.Tell != nil {
		id = h.cfg.NewID()
		h.cfg.Tell(proto.HookStarted{ID: id, Name: hookName(spec, e), Event: string(spec.Name)})
	}
	start := h.cfg.Now()
	limited, cancel := context.WithTimeoutCause(ctx, x.Timeout, errTimeout)
	defer cancel()
	r := Run{Handler: x, Outcome: "success"}
	var a answer
	switch x.Kind {
	case Command:
		a = h.command(limited, spec, x, input, &r)
	case HTTP:
		a = h.post(limited, spec, x, input)
	case MCPTool:
		a = h.callTool(limited, spec, x, input)
	default:
		a = h.askModel(limited, spec, x, input)
	}
	if limited.Err() != nil && a.failure == "" && x.Kind != Command {
		a = answer{failure: context.Cause(limited).Error()}
	}
	if errors.Is(context.Cause(limited), errTimeout) && a.failure != "" {
		a.failure, a.soft = fmt.Sprintf("timed out after %s", x.Timeout), false
		r.Outcome = "cancelled"
	} else if a.failure != "" {
		r.Outcome = "error"
	}
	r.Took, r.Failure = h.cfg.Now().Sub(start), a.failure
	if h.cfg.Tell != nil {
		h.cfg.Tell(proto.HookEnded{
			ID: id, Name: hookName(spec, e), Event: string(spec.Name), Outcome: r.Outcome, ExitCode: r.ExitCode,
			Stdout: r.Stdout, Stderr: r.Stderr, MS: r.Took.Milliseconds(),
		})
	}
	return a, r
}

// command runs a program with the input on its standard input.
func (h *Hooks) command(ctx context.Context, spec Spec, x *Handler, input json.RawMessage, r *Run) answer {
	program, args, err := h.commandLine(x)
	if err != nil {
		return answer{failure: err.Error()}
	}
	out := proc.NewCapture(proc.CaptureConfig{Keep: maxOutput, Tail: 4096})
	errs := proc.NewCapture(proc.CaptureConfig{Keep: maxOutput, Tail: 4096})
	defer out.Close()
	defer errs.Close()
	first := &firstLineWriter{Capture: out, line: make(chan string, 1)}
	confined := h.cfg.Confines != nil && h.cfg.Confines(x)
	p, err := h.start(ctx, x, confined, proc.Spec{
		Path: program, Args: args, Dir: h.workingDir(), Env: h.environment(spec, confined),
		Stdin: bytes.NewReader(append(bytes.Clone(input), '\n')), Stdout: first, Stderr: errs, Label: "hook " + x.Title(),
	})
	var unsafe *UnsafeError
	switch {
	case errors.As(err, &unsafe):
		return answer{failure: "it was not run: " + err.Error(), unsafe: true}
	case err != nil:
		return answer{failure: "it cannot be started: " + err.Error()}
	case x.Async:
		h.detach(spec, x, p, out, errs)
		return answer{}
	}
	for {
		select {
		case line := <-first.line:
			if isAsync(line) {
				h.detach(spec, x, p, out, errs)
				return answer{}
			}
		case <-p.Process.Done():
			return h.commandEnded(spec, p, p.Process.Exit(), out, errs, r)
		case <-ctx.Done():
			exit := p.Process.Stop(context.Cause(ctx).Error())
			h.commandEnded(spec, p, exit, out, errs, r)
			return answer{failure: context.Cause(ctx).Error()}
		}
	}
}

// start starts the program of a handler as the configuration has it.
func (h *Hooks) start(ctx context.Context, x *Handler, confined bool, spec proc.Spec) (Started, error) {
	if h.cfg.Start != nil {
		return h.cfg.Start(ctx, x, confined, spec)
	}
	if confined {
		return Started{}, errors.New("it must run in the sandbox, and there is none here")
	}
	p, err := h.cfg.Owner.Start(spec)
	return Started{Process: p}, err
}

func (h *Hooks) commandEnded(spec Spec, p Started, exit proc.Exit, out, errs *proc.Capture, r *Run) answer {
	r.Stdout, r.Stderr = captured(out), captured(errs)
	r.ExitCode = &exit.Code
	refused := ""
	if p.After != nil {
		refused = p.After(exit, r.Stderr+"\n"+r.Stdout)
	}
	if refused != "" && exit.Code != 0 && exit.Code != 2 { // its own answer is not to be had
		return answer{failure: fmt.Sprintf("it failed (exit %d), and the sandbox had refused it something: %s", exit.Code, refused)}
	}
	if exit.Signal != "" {
		return answer{failure: "it was killed by " + exit.Signal}
	}
	if exit.Code == 126 || exit.Code == 127 {
		return answer{failure: fmt.Sprintf("it cannot be started (exit %d): %s", exit.Code, firstLine(r.Stderr))}
	}
	return readOutput(spec, r.Stdout, r.Stderr, exit.Code)
}

// captured is what a program printed, in UTF-8 whatever it printed in.
func captured(c *proc.Capture) string {
	head, tail, between := c.Ends(maxOutput, 4096)
	if between > 0 {
		return strings.ToValidUTF8(fmt.Sprintf("%s\n... [%d bytes left out] ...\n%s", head, between, tail), "\uFFFD")
	}
	text, err := jsonc.UTF8(append(head, tail...))
	if err != nil {
		text = append(head, tail...)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// detach lets a command go on in the background. Its decisions are void; what it has for the model
// comes at the next turn, or at once when it asked to wake it.
func (h *Hooks) detach(spec Spec, x *Handler, p Started, out, errs *proc.Capture) {
	limit := time.AfterFunc(x.Timeout, func() { p.Process.Stop(errTimeout.Error()) })
	go func() { // ends with the program, at the latest at its time limit or with its owner
		<-p.Process.Done()
		limit.Stop()
		var r Run
		exit := p.Process.Exit()
		a := h.commandEnded(spec, p, exit, out, errs, &r)
		if x.AsyncRewake && exit.Code == 2 && h.cfg.Woken != nil {
			text := orText(strings.TrimSpace(r.Stderr), strings.TrimSpace(r.Stdout))
			h.cfg.Woken(joinText(x.RewakeText, text))
			return
		}
		if text := joinText(a.context, a.message); text != "" && h.cfg.Later != nil {
			h.cfg.Later(text)
		}
	}()
}

func isAsync(line string) bool {
	var u struct {
		Async bool `json:"async"`
	}
	return json.Unmarshal(strictest([]byte(line)), &u) == nil && u.Async
}

// firstLineWriter passes output on and tells the first line once.
type firstLineWriter struct {
	*proc.Capture
	line chan string // holds one

	mu   sync.Mutex // guards the rest
	buf  []byte
	told bool
}

func (w *firstLineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	if !w.told {
		w.buf = append(w.buf, b[:min(len(b), 64<<10)]...)
		if i := bytes.IndexByte(w.buf, '\n'); i >= 0 || len(w.buf) >= 64<<10 {
			w.told = true
			if i >= 0 {
				w.line <- string(w.buf[:i])
			}
			w.buf = nil
		}
	}
	w.mu.Unlock()
	return w.Capture.Write(b)
}

var userConfig = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{user_config\.([A-Za-z0-9_]+)\}`) })

// commandLine returns the program and its arguments. Placeholders are filled in where no shell reads
// the text; a shell finds them in its environment, for in its text a folder's name would be executed.
func (h *Hooks) commandLine(x *Handler) (string, []string, error) {
	if words := x.Words(h.cfg.root()); words != nil {
		return words[0], words[1:], nil
	}
	if m := userConfig().FindStringSubmatch(x.Command); m != nil {
		return "", nil, fmt.Errorf("${user_config.%s} may stand in a command with \"args\" only (plugin %s); in a shell use $CLAUDE_PLUGIN_OPTION_%s", m[1], x.Source.Plugin, strings.ToUpper(m[1]))
	}
	switch {
	case x.Shell == "powershell":
		return "pwsh", powershell(x.Command), nil
	case x.Shell == "bash":
		return "bash", []string{"-c", x.Command}, nil
	case runtime.GOOS == "windows":
		return "powershell", powershell(x.Command), nil
	}
	return "/bin/sh", []string{"-c", x.Command}, nil
}

const projectDir = "CLAUDE_PROJECT_DIR"

// root is the project root of the present session; empty: there is none.
func (c *Config) root() string {
	if c.Root == nil {
		return ""
	}
	return c.Root()
}

// fill puts the values of placeholders into a text that no shell reads.
func (h *Hooks) fill(text string) string {
	return strings.ReplaceAll(text, "${"+projectDir+"}", h.cfg.root())
}

// powershell are the arguments for a command. There ${NAME} is a variable of the shell's own, which is
// given the value from the environment.
func powershell(command string) []string {
	return []string{"-NoProfile", "-NonInteractive", "-Command", "${" + projectDir + "} = $env:" + projectDir + "\n" + command}
}

// workingDir is where commands run: the session's folder, or what there is of it.
func (h *Hooks) workingDir() string {
	for _, dir := range []string{h.cfg.Cwd(), h.cfg.root(), h.cfg.Home} {
		if st, err := os.Stat(dir); dir != "" && err == nil && st.IsDir() {
			return dir
		}
	}
	return string(filepath.Separator)
}

// environment is what a command inherits.
func (h *Hooks) environment(spec Spec, confined bool) []string {
	from := os.Environ
	if h.cfg.Env != nil {
		from = h.cfg.Env
	}
	var env []string
	for _, line := range from() {
		if !strings.HasPrefix(line, "OTEL_") {
			env = append(env, line)
		}
	}
	env = append(env, projectDir+"="+h.cfg.root())
	if effort := h.cfg.Common().Effort; effort != "" {
		env = append(env, "CLAUDE_EFFORT="+effort)
	}
	if file := h.envFile(spec, confined); file != "" {
		env = append(env, "CLAUDE_ENV_FILE="+file)
	}
	return env
}

// envKey names a file for environment: that of confined programs is one of its own, for what they
// write must not reach a command that is not confined.
type envKey struct {
	event    Name
	confined bool
}

// envFile returns the file in which hooks of an event class leave environment for shell commands.
func (h *Hooks) envFile(spec Spec, confined bool) string {
	folder := h.cfg.Dir
	if confined {
		folder = h.cfg.Inside
	}
	if !spec.EnvFile || folder == nil {
		return ""
	}
	dir := folder()
	h.mu.Lock()
	defer h.mu.Unlock()
	key := envKey{spec.Name, confined}
	if file, ok := h.envFiles[key]; ok {
		return file
	}
	file, err := newFile(dir, "hook-env-"+string(spec.Name)+"-*.sh")
	if err != nil {
		return "" // the variable is left out, so that hooks see it is not there
	}
	h.envFiles[key] = file
	return file
}

// newFile makes an empty file under a name that was not there. What others left in the folder, if
// they may write it, is never opened.
func newFile(dir, pattern string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// EnvFiles returns the files to source before each shell command, in order of events. What confined
// hooks left is for confined commands only.
func (h *Hooks) EnvFiles(confined bool) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, s := range Specs() {
		for _, from := range []bool{false, true} {
			f := h.envFiles[envKey{s.Name, from}]
			if f == "" || from && !confined {
				continue
			}
			if st, err := os.Lstat(f); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
				out = append(out, f)
			}
		}
	}
	return out
}

// ForgetEnv drops what hooks left for shell commands; resume and clear do that, and the hooks of
// the start run again.
func (h *Hooks) ForgetEnv() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.envFiles {
		_ = os.Remove(f) // one that stays is not sourced any more
	}
	h.envFiles = map[envKey]string{}
}

// bounded keeps each text of an answer short; the whole goes into a file of the session.
func (h *Hooks) bounded(a answer) answer {
	for _, text := range []*string{&a.context, &a.message, &a.plain, &a.reason} {
		if len(*text) > maxText {
			*text = h.spill(*text)
		}
	}
	return a
}

func (h *Hooks) spill(text string) string {
	short := cutText(text, maxText/2)
	if h.cfg.Dir == nil {
		return short
	}
	f, err := os.CreateTemp(h.cfg.Dir(), "hook-output-*.txt")
	if err != nil {
		return short
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return short
	}
	return fmt.Sprintf("%s\n[the whole text is in %s]", short, f.Name())
}
