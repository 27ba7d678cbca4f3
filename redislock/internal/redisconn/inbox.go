package redisconn

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

// Events is what an Inbox tells its owner. The calls never overlap. They must not block, nor call Close.
type Events struct {
	Message func(text string) // in the order in which the server sent them
	Up      func()            // each time that the server has confirmed the subscription: what was sent before may be lost
	Down    func(err error)   // each time that it was up and is no more
}

// An Inbox is one sharded channel of ours, subscribed for as long as the Inbox lives, on a connection of its own.
type Inbox struct {
	c       *client
	channel string
	on      Events
	pace    pace

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // closed when its goroutine has ended
	up     atomic.Bool

	mu      sync.Mutex // held while an event is told
	session *session   // whose events count; nil: none
	changed chan struct{}
	err     error // why it is down; driver.ErrClosed after Close
}

// pace is how fast an Inbox notices and mends.
type pace struct {
	probe  time.Duration // how long it may be silent before it is asked, and how long the answer may take
	answer time.Duration // how long the server has to confirm a subscription
	close  time.Duration // how long Close waits for a connection that does not end
}

var usualPace = pace{probe: 1500 * time.Millisecond, answer: 5 * time.Second, close: 2 * time.Second}

// The message that an Inbox sends to itself. Nobody else sees it.
const probeText = "holdfast: are you there?"

var (
	errUnsubscribed = errors.New("the server has ended the subscription")
	errSilent       = errors.New("the subscription has gone silent")
)

// OpenInbox begins to subscribe to the channel, and returns at once. When c is closed the inbox goes down for good; Close it all the
// same. In that order Close waits for nothing; in the other it can wait for a server that hangs, for two seconds at most.
func OpenInbox(c rueidis.Client, channel string, on Events) *Inbox {
	return openInbox(c, channel, on, usualPace)
}

func openInbox(c rueidis.Client, channel string, on Events, p pace) *Inbox {
	i := &Inbox{c: adopt(c), channel: channel, on: on, pace: p, done: make(chan struct{}), changed: make(chan struct{})}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	go i.run()
	return i
}

// IsUp reports whether the subscription is confirmed, as far as known.
func (i *Inbox) IsUp() bool { return i.up.Load() }

// Await returns nil when the inbox is up, at once if it is. A server that refuses the subscription, and Close, end it with an error; so
// does the end of ctx, together with what kept the inbox down, as far as known.
func (i *Inbox) Await(ctx context.Context) error {
	for !i.up.Load() {
		i.mu.Lock()
		changed, err, up := i.changed, i.err, i.up.Load()
		i.mu.Unlock()
		switch {
		case up:
			return nil
		case err != nil && (driver.Answered(err) || err == driver.ErrClosed):
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
	return nil
}

// Close ends the subscription and the connection. When it has returned no event is told any more. It may be called more than once.
func (i *Inbox) Close() {
	i.mu.Lock()
	i.session = nil
	i.set(false, driver.ErrClosed)
	i.mu.Unlock()
	i.cancel()
	wait := time.NewTimer(i.pace.close)
	defer wait.Stop()
	select {
	case <-i.done:
	case <-wait.C: // rueidis is connecting, and will give up by itself
	}
}

// set notes the state and wakes those who wait for it. i.mu is held.
func (i *Inbox) set(up bool, err error) {
	if i.err == driver.ErrClosed {
		return
	}
	i.up.Store(up)
	i.err = err
	close(i.changed)
	i.changed = make(chan struct{})
}

// run subscribes again and again.
func (i *Inbox) run() {
	defer close(i.done)
	pause := driver.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	for i.ctx.Err() == nil {
		if wasUp := i.subscribe(); wasUp {
			pause.Reset()
		}
		if i.c.closed() {
			return
		}
		if driver.Sleep(i.ctx, pause.Next()) != nil {
			return
		}
	}
}

// subscribe is one session, from connecting to its end. It reports whether it was up.
func (i *Inbox) subscribe() (wasUp bool) {
	d, _ := i.c.Dedicate()
	defer d.Close()
	s := &session{of: i, conn: d, ended: make(chan error, 1)}
	if !i.begin(s) {
		return false
	}
	broken := d.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: s.message, OnSubscription: s.subscription})
	ctx, cancel := context.WithTimeout(i.ctx, i.pace.answer)
	err := d.Do(ctx, d.B().Ssubscribe().Channel(i.channel).Build()).Error()
	cancel()
	if err == nil {
		err = s.watch(broken)
	}
	if i.c.closed() {
		err = driver.ErrClosed
	}
	return i.finish(s, Error(err))
}

// begin makes s the session that counts, unless the inbox was closed.
func (i *Inbox) begin(s *session) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == driver.ErrClosed {
		return false
	}
	i.session = s
	return true
}

// finish ends s, and tells it if it was up.
func (i *Inbox) finish(s *session, err error) (wasUp bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.session != s {
		return s.up
	}
	i.session = nil
	i.set(false, err)
	if s.up && i.on.Down != nil {
		i.on.Down(err)
	}
	return s.up
}
