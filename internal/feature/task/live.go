package task

import "sync"

// Control is how running work is stopped and read. It lives beside the state, which holds data
// only.
type Control struct {
	Stop       func(why string)       // ends the work and tells its end to the board; returns within a second or two. Needed
	Done       <-chan struct{}        // closed when it is over and the board knows. Needed
	Output     func(max int) string   // its newest output, at most max characters; nil: none but the file
	Background func() bool            // moves it to the background; false: it is there or cannot. Nil: cannot
	Keep       func() (Service, bool) // lets a service outlive the session, at the user's wish; nil: cannot
	Command    string                 // the command line of a shell
}

// Live holds the controls of what runs, by task id. The zero Live is empty and ready. It is safe
// for concurrent use.
type Live struct {
	mu sync.Mutex // guards m
	m  map[string]Control
}

// Enter adds the controls of a task; Leave takes them away.
func (l *Live) Enter(id string, c Control) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[string]Control{}
	}
	l.m[id] = c
}

// Leave forgets the controls of a task that is over.
func (l *Live) Leave(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.m, id)
}

// Get returns the controls of a task; false: it does not run here.
func (l *Live) Get(id string) (Control, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, ok := l.m[id]
	return c, ok
}

// StopAll stops everything at once and returns when all of it is over.
func (l *Live) StopAll(why string) {
	l.mu.Lock()
	all := make([]Control, 0, len(l.m))
	for _, c := range l.m {
		all = append(all, c)
	}
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() { c.Stop(why) })
	}
	wg.Wait()
}
