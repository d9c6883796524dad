package proc

import (
	"os"
	"runtime"
	"sync"
)

// children is what the kernel keeps per process, so there is one of it a process: which of our
// children this package waits for. Anything else below us that leads a session of its own was
// orphaned and came to us as the reaper.
var children = &registry{known: map[int]bool{}}

type registry struct {
	mu    sync.Mutex // guards known, and is held while a child is made, so that no child is unknown
	known map[int]bool
}

func (r *registry) start(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := os.StartProcess(path, argv, attr)
	if err == nil {
		r.known[p.Pid] = true
	}
	return p, err
}

func (r *registry) remove(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, pid)
}

// starter starts programs from one system thread that stays: the kernel's signal at the death of a
// parent is sent when the thread that made the child ends, not the process.
type starter struct {
	once sync.Once
	jobs chan func()
	quit chan struct{} // closed by stop

	mu      sync.Mutex // guards below
	stopped bool
	running sync.WaitGroup // starts under way
}

func newStarter() *starter {
	return &starter{jobs: make(chan func()), quit: make(chan struct{})}
}

func (s *starter) start(path string, argv []string, attr *os.ProcAttr) (p *os.Process, err error) {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	s.once.Do(func() {
		go s.run()
		go reap(s.quit)
	})
	done := make(chan struct{})
	s.jobs <- func() {
		p, err = children.start(path, argv, attr)
		close(done)
	}
	<-done
	return p, err
}

// run ends when stop closes the channel.
func (s *starter) run() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread() // the thread lives on, so no child is told of its end
	becomeReaper()
	for job := range s.jobs {
		job()
	}
}

func (s *starter) stop() {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return
	}
	s.stopped = true
	s.mu.Unlock()
	s.running.Wait()
	close(s.jobs)
	close(s.quit)
}
