package app

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/app/inspect"
	"github.com/myelin-agent/myelin/internal/app/tasks"
	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/feature/task"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
)

// Task is running work, as it is recorded.
type Task = task.Task

// door is where other processes of this user reach the tasks of a running session: a socket in its home
// that takes one line of JSON and answers with one. It is opened with the first task.
type door struct {
	r *rooms

	mu     sync.Mutex // guards the rest
	l      net.Listener
	path   string
	closed bool
	guests sync.WaitGroup
}

// knock is what another process asks: the tasks, the end of one, or to stop one.
type knock struct {
	Op string `json:"op"` // tasks, wait, stop
	ID string `json:"id,omitempty"`
}

// reply answers it.
type reply struct {
	Tasks []Task `json:"tasks,omitempty"`
	Error string `json:"error,omitempty"`
}

const (
	mostAsked = 64 << 10        // bytes of a question
	askTime   = 5 * time.Second // for a question to come, and for an answer to be taken
)

// doorOf is the path of a session's socket. A path may have a hundred bytes or so; where the home is too
// deep the socket stands in the temporary folder, under a name of the same length for all.
func doorOf(places config.Places, session string) (string, error) {
	path := filepath.Join(places.Home, "run", session+".sock")
	if len(path) <= 100 {
		return path, nil
	}
	sum := sha256.Sum256([]byte(path))
	temp, err := userTemp()
	return filepath.Join(temp, hex.EncodeToString(sum[:8])+".sock"), err
}

// open listens, once. Without a socket tasks are only reached from inside.
func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.l != nil || d.closed || d.r.opts.NoPersist {
		return
	}
	path, err := doorOf(d.r.settings.places, d.r.part.session.Get().ID)
	var l net.Listener
	if err == nil {
		l, err = listen(path)
	}
	if err != nil {
		d.r.events.Emit(proto.Notice{Level: "warning", Key: "door", Text: "Other processes cannot reach the tasks of this session: " + err.Error()})
		return
	}
	d.l, d.path = l, path
	d.guests.Go(func() { d.serve(l) }) // ends when the listener is closed
}

func listen(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { // nobody else must come in before the socket has its rights
		return nil, err
	}
	// The transcript is locked, so whoever left a socket here is dead.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// close shuts the door of the conversation; the next task opens that of the one in use then.
func (d *door) close(forGood bool) {
	d.mu.Lock()
	l := d.l
	d.l, d.closed = nil, d.closed || forGood
	d.mu.Unlock()
	if l != nil {
		_ = l.Close() // takes the file away
	}
	if forGood {
		d.guests.Wait()
	}
}

func (d *door) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		d.guests.Go(func() { d.receive(conn) }) // ends with the answer, at the latest with the session
	}
}

func (d *door) receive(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(askTime))
	line, err := bufio.NewReader(io.LimitReader(conn, mostAsked)).ReadBytes('\n')
	if err != nil {
		return
	}
	var k knock
	answer := reply{Error: "expected a line of JSON with op tasks, wait or stop"}
	if json.Unmarshal(line, &k) == nil {
		answer = d.answer(k)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(askTime))
	_ = json.NewEncoder(conn).Encode(answer) // whoever went away needs none
}

func (d *door) answer(k knock) reply {
	state := d.r.part.task.Get()
	if k.Op == "tasks" {
		return reply{Tasks: state.List(nil)}
	}
	t, ok := state.Find(k.ID)
	if !ok {
		return reply{Error: state.Unknown(k.ID)}
	}
	switch k.Op {
	case "stop":
		if t.Ended() {
			return reply{Error: fmt.Sprintf("task %s has ended already: %s", t.ID, t.Status)}
		}
		if err := d.r.tasks.Stop(t.ID); err != nil {
			return reply{Error: err.Error()}
		}
	case "wait":
		if c, live := d.r.tasks.Live.Get(t.ID); live {
			select {
			case <-c.Done:
			case <-d.r.ctx.Done():
			}
		}
	default:
		return reply{Error: fmt.Sprintf("op %q: expected tasks, wait or stop", k.Op)}
	}
	t, _ = d.r.part.task.Get().Find(t.ID)
	return reply{Tasks: []Task{t}}
}

// errNobody says that no process has the session open.
var errNobody = errors.New("no running session has it")

// askDoor puts a question to the process that has a session open.
func askDoor(ctx context.Context, path string, k knock) (reply, error) {
	var r reply
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return r, errNobody
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	raw, err := json.Marshal(k)
	if err != nil {
		return r, err
	}
	if _, err := conn.Write(append(raw, '\n')); err != nil {
		return r, fmt.Errorf("ask the session: %w", err)
	}
	if err := json.NewDecoder(conn).Decode(&r); err != nil {
		return r, fmt.Errorf("ask the session: %w", errors.Join(context.Cause(ctx), err))
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

// Tasks lists the work of a session: as it stands where a process has the session open, else as it was
// recorded; what had not ended then counts as killed. An empty session is the newest of the folder.
func Tasks(ctx context.Context, o Options, session string) ([]Task, error) {
	path, err := findDoor(o, session)
	if err != nil {
		return nil, err
	}
	r, err := askDoor(ctx, path, knock{Op: "tasks"})
	if !errors.Is(err, errNobody) {
		return r.Tasks, err
	}
	st, err := Recorded(ctx, o, session)
	if err != nil {
		return nil, err
	}
	return st.Task.List(nil), nil
}

func findDoor(o Options, session string) (string, error) {
	places, err := findPlaces(o, environ(o))
	if err != nil {
		return "", err
	}
	info, err := inspect.FindSession(shelfOf(places), o.Cwd, session)
	if err != nil {
		return "", err
	}
	return doorOf(places, info.ID)
}

// StopTask stops a task of a session that is open in another process, and returns it as it ended.
func StopTask(ctx context.Context, o Options, session, id string) (Task, error) {
	path, err := findDoor(o, session)
	if err != nil {
		return Task{}, err
	}
	r, err := askDoor(ctx, path, knock{Op: "stop", ID: id})
	if errors.Is(err, errNobody) {
		return stopKept(ctx, o, session, id)
	}
	if err != nil || len(r.Tasks) == 0 {
		return Task{}, err
	}
	return r.Tasks[0], nil
}

// stopKept stops a service that outlived its session.
func stopKept(ctx context.Context, o Options, session, id string) (Task, error) {
	st, err := Recorded(ctx, o, session)
	if err != nil {
		return Task{}, err
	}
	t, ok := st.Task.Find(id)
	if !ok {
		return Task{}, errors.New(st.Task.Unknown(id))
	}
	if t.Ended() || t.Service == nil {
		return Task{}, fmt.Errorf("stop task %s: %w; what it ran ended with the session", id, errNobody)
	}
	tasks.KeptOf(*t.Service).End(0)
	t.Status, t.EndTime, t.Error = task.Killed, time.Now(), "stopped by the user"
	return t, nil
}

// TaskOutput writes what a task has put out, and with follow goes on until the task ends.
func TaskOutput(ctx context.Context, o Options, session, id string, follow bool, out io.Writer) error {
	all, err := Tasks(ctx, o, session)
	if err != nil {
		return err
	}
	state := task.Listed(all)
	t, ok := state.Find(id)
	if !ok {
		return errors.New(state.Unknown(id))
	}
	if t.OutputFile == "" {
		return fmt.Errorf("task %s keeps no output", t.ID)
	}
	f, err := nolink.Regular(t.OutputFile)
	if err != nil {
		return fmt.Errorf("read the output of %s: %w", t.ID, err)
	}
	defer f.Close()
	if !follow || t.Ended() {
		_, err = io.Copy(out, f)
		return err
	}
	path, err := findDoor(o, session)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { // ends with the task, the session or ctx
		_, err := askDoor(ctx, path, knock{Op: "wait", ID: t.ID})
		ended <- err
	}()
	return followFile(f, out, ended)
}

// followEvery is how often a file that grows is looked at.
const followEvery = 100 * time.Millisecond

// followFile copies f as it grows, until ended brings a value, and then its rest.
func followFile(f io.Reader, out io.Writer, ended <-chan error) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		if _, err := io.Copy(out, f); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case err := <-ended:
			_, copying := io.Copy(out, f)
			return errors.Join(err, copying)
		}
	}
}
