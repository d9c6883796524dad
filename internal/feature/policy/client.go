package policy

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/sys/twotier"
)

// ErrDenied is returned by [Client.Gate] when no document can be had and the setting says that then
// nothing may be asked of a model. A headless run ends with the exit code of settings.
var ErrDenied = errors.New("no request may be made: the policy of the organisation cannot be had")

// Options say what a client works with. Dir is needed.
type Options struct {
	Setting Setting
	Dir     string // folder of the disk copy: <home>/cache
	// HTTP makes the requests, through the person's proxy settings; nil: the usual environment.
	HTTP *http.Client
	Now  func() time.Time // nil: time.Now
	// Changed is told each new state, in order, never under a lock. Nil: nobody.
	Changed func(now *State)
	// Report is told, once each, what people should know: failures, fields that are not enforced.
	Report func(text string)
	// L1 and L2 are how long a copy is good in memory and on disk; 0: 5 minutes and 1 hour.
	L1, L2 time.Duration
}

const (
	fileName     = "policy-limits.json"
	fetchTimeout = 10 * time.Second
	firstHold    = 3 * time.Second
	retryPause   = time.Minute // after a failure
)

// document is what is kept: the body as served, so that its signature can be checked again.
type document struct {
	Body      []byte    `json:"body"`
	ETag      string    `json:"etag,omitempty"`
	FetchedAt time.Time `json:"fetchedAt"` // or last confirmed
}

// Client keeps the document of one process. It is safe for concurrent use.
type Client struct {
	opts   Options
	cancel context.CancelFunc
	ctx    context.Context // of the background work
	work   sync.WaitGroup  // the background work

	announce sync.Mutex // one announcement at a time, so that they keep their order
	mu       sync.Mutex // guards the rest
	setting  Setting
	key      ed25519.PublicKey
	cache    *twotier.Cache[document]
	held     *held         // last good document, whatever its age; nil: none
	failure  string        // of the last fetch; empty after a good one
	flight   chan struct{} // closed when the running fetch is over; nil: none runs
	retryAt  time.Time
	closed   bool
	state    *State // as last announced
	told     map[string]bool
	pending  []string // reports, to be made when the lock is free
}

// held is a document that was read and found good.
type held struct {
	doc    document
	parsed Parsed
	source Source
}

// Open makes a client: it takes the copy on disk, if there is one, into force and begins to fetch
// where that is due. It does not wait for the network. An error is a setting that makes no sense.
func Open(opts Options) (*Client, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.L1 == 0 {
		opts.L1 = 5 * time.Minute
	}
	if opts.L2 == 0 {
		opts.L2 = time.Hour
	}
	c := &Client{opts: opts, told: map[string]bool{}, state: &State{Source: None}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if err := c.SetSetting(opts.Setting); err != nil {
		c.cancel()
		return nil, err
	}
	return c, nil
}

// Close ends the background work. The last state stays in force.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.work.Wait()
}

// SetSetting changes the setting; what another one had fetched is out of force at once.
func (c *Client) SetSetting(s Setting) error {
	if err := s.Check(); err != nil {
		return err
	}
	key, err := s.key()
	if err != nil {
		return err
	}
	c.mu.Lock()
	if c.cache != nil && c.setting == s {
		c.mu.Unlock()
		return nil
	}
	c.setting, c.key, c.held, c.failure, c.retryAt, c.flight = s, key, nil, "", time.Time{}, nil
	c.cache = twotier.New(twotier.Config[document]{
		Dir: c.opts.Dir, L1: c.opts.L1, L2: c.opts.L2, Now: c.opts.Now,
		FileName: func(twotier.Key) string { return fileName },
		Report:   func(err error) { c.note(err.Error()) },
	})
	c.mu.Unlock()
	c.Check()
	return nil
}

// cacheKey binds the copy to who serves and who signs it.
func (c *Client) cacheKey() twotier.Key {
	return twotier.FreeKey("policy", c.setting.URL+"\n"+c.setting.PublicKey)
}

// State is what is in force.
func (c *Client) State() *State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// Check brings the state up to date with the clock and the copies, without waiting, and begins to
// fetch when both copies are too old. It is cheap and is called before each model request; an idle
// process calls it from [Client.Run].
func (c *Client) Check() {
	c.mu.Lock()
	if c.setting != (Setting{}) && !c.closed {
		due := true
		if e, ok := c.cache.Peek(c.cacheKey()); ok {
			due = !e.Expires.IsZero() && !c.opts.Now().Before(e.Expires)
			c.take(e.Value, Source(e.Tier))
		}
		if due && c.flight == nil && !c.opts.Now().Before(c.retryAt) {
			c.depart()
		}
	}
	c.mu.Unlock()
	c.publish()
}

// Run calls Check as often as the memory copy grows old, until ctx ends.
func (c *Client) Run(ctx context.Context) {
	tick := time.NewTicker(c.opts.L1)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.Check()
		}
	}
}

// Gate is called before each request to a model. Only where there has never been a copy does it
// wait for the fetch, at most three seconds. It returns [ErrDenied], with why, when nothing may be
// asked.
func (c *Client) Gate(ctx context.Context) error {
	c.Check()
	c.mu.Lock()
	flight := c.flight
	hold := c.held == nil && flight != nil
	c.mu.Unlock()
	if hold {
		timer := time.NewTimer(firstHold)
		defer timer.Stop()
		select {
		case <-flight:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c.publish()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.worthless() && c.setting.onMissing() == OnMissingDeny {
		why := c.failure
		switch {
		case why == "" && c.held == nil:
			why = "no answer yet"
		case why == "":
			why = "the last copy has expired"
		}
		return fmt.Errorf("%w (%s: %s)", ErrDenied, c.setting.host(), why)
	}
	return nil
}

// worthless reports whether a policy is wanted and no copy is worth anything. The caller holds the
// lock.
func (c *Client) worthless() bool {
	return c.setting != (Setting{}) && (c.held == nil || !c.opts.Now().Before(c.held.expires()))
}

func (h *held) expires() time.Time { return h.parsed.Limits.expires(h.doc.FetchedAt) }

// Refresh fetches now, whatever the age of the copies ("myelin policy refresh", sign-in). A failure
// leaves the last good copy in force.
func (c *Client) Refresh(ctx context.Context) error {
	c.mu.Lock()
	if c.setting == (Setting{}) {
		c.mu.Unlock()
		return errors.New("no policyLimits are set")
	}
	if c.closed {
		c.mu.Unlock()
		return errors.New("the policy is closed")
	}
	if c.flight == nil {
		c.depart()
	}
	flight := c.flight
	c.mu.Unlock()
	select {
	case <-flight:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != "" {
		return fmt.Errorf("policy of %s: %s", c.setting.host(), c.failure)
	}
	return nil
}

// depart begins a fetch. The caller holds the lock.
func (c *Client) depart() {
	flight := make(chan struct{})
	c.flight = flight
	setting, key, cache, cacheKey := c.setting, c.key, c.cache, c.cacheKey()
	var last *document
	if c.held != nil {
		last = &c.held.doc
	}
	c.work.Go(func() { // ends with the fetch, which has a time limit and ends with Close
		defer close(flight)
		ctx, cancel := context.WithTimeoutCause(c.ctx, fetchTimeout, fmt.Errorf("no answer within %s", fetchTimeout))
		defer cancel()
		doc, err := fetch(ctx, c.opts.HTTP, setting, last)
		if err == nil {
			_, err = Parse(doc.Body, key)
		}
		if err == nil {
			doc.FetchedAt = c.opts.Now().UTC()
			cache.Put(cacheKey, doc)
		}
		c.land(flight, doc, err)
		c.publish()
	})
}

// land takes the outcome of a fetch into account, unless the setting has changed meanwhile.
func (c *Client) land(flight chan struct{}, doc document, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != flight {
		return
	}
	c.flight = nil
	if err == nil {
		c.failure, c.retryAt = "", time.Time{}
		c.take(doc, Origin)
		return
	}
	if c.closed {
		return // it was ended by Close
	}
	c.retryAt = c.opts.Now().Add(retryPause)
	c.failure = err.Error()
	text := fmt.Sprintf("policy of %s: %v", c.setting.host(), err)
	if c.held != nil {
		text += fmt.Sprintf("; the copy of %s goes on", c.held.doc.FetchedAt.Format(time.RFC3339))
	}
	c.pending = append(c.pending, text)
}

// take puts a copy into force. The caller holds the lock. A copy that is not good any more (it was
// changed on disk) is none.
func (c *Client) take(doc document, source Source) {
	if old := c.held; old != nil && (doc.FetchedAt.Before(old.doc.FetchedAt) ||
		doc.FetchedAt.Equal(old.doc.FetchedAt) && bytes.Equal(doc.Body, old.doc.Body)) {
		return // what is held already, or older
	}
	p, err := Parse(doc.Body, c.key)
	if err != nil {
		c.pending = append(c.pending, fmt.Sprintf("the kept copy of the policy of %s is not used: %v", c.setting.host(), err))
		return
	}
	p.Limits.Host = c.setting.host()
	c.pending = append(c.pending, p.Notes...)
	c.held = &held{doc: doc, parsed: p, source: source}
}

// compute is the state that clock, copy and setting make. The caller holds the lock.
func (c *Client) compute() *State {
	if c.setting == (Setting{}) {
		return &State{Source: None}
	}
	s := &State{Source: None, Error: c.failure}
	if c.held == nil {
		return s
	}
	s.FetchedAt, s.Expires, s.ETag = c.held.doc.FetchedAt, c.held.expires(), c.held.doc.ETag
	if c.worthless() {
		s.Error = "the last copy has expired"
		if c.failure != "" {
			s.Error += ", and there is no new one: " + c.failure
		}
		if c.setting.onMissing() == OnMissingAllow {
			return s
		}
	}
	s.Source, s.Limits = c.held.source, c.held.parsed.Limits
	return s
}

// publish brings the state up to date, tells it when it differs from the one told before, and makes
// the reports that are due.
func (c *Client) publish() {
	c.announce.Lock()
	defer c.announce.Unlock()
	c.mu.Lock()
	now := c.compute()
	differs := !reflect.DeepEqual(c.state, now)
	if differs {
		c.state = now
	}
	reports := c.due()
	c.mu.Unlock()
	if differs && c.opts.Changed != nil {
		c.opts.Changed(now)
	}
	for _, text := range reports {
		c.opts.Report(text)
	}
}

// due takes the pending reports that were not made before. The caller holds the lock.
func (c *Client) due() []string {
	var out []string
	for _, text := range c.pending {
		if !c.told[text] && c.opts.Report != nil {
			c.told[text] = true
			out = append(out, text)
		}
	}
	c.pending = nil
	return out
}

// note keeps a report of the cache, which may come while the lock is held, for the next publish.
func (c *Client) note(text string) {
	c.work.Go(func() { // short: waits for the lock only
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pending = append(c.pending, text)
	})
}
