package memlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

const ttl = 10 * time.Second // of requests that do not say otherwise

var background = context.Background()

// bubble runs a test in fake time on a server of its own, which must be empty again a day later: everything has run out by then.
func bubble(t *testing.T, test func(t *testing.T, st *memlock.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := memlock.New()
		test(t, st)
		time.Sleep(memlock.MaxTTL)
		if remains := st.Server().Remains(); remains != "" {
			t.Errorf("left behind: %s", remains)
		}
	})
}

var attempts = driver.NewAttempts()

// ask makes a request of a new attempt.
func ask(name string, mode driver.Mode, changes ...func(*driver.Request)) *driver.Request {
	r := &driver.Request{Name: name, Attempt: attempts.Next(), Label: "test", Mode: mode, TTL: ttl}
	for _, change := range changes {
		change(r)
	}
	return r
}

func label(text string) func(*driver.Request)       { return func(r *driver.Request) { r.Label = text } }
func lasting(d time.Duration) func(*driver.Request) { return func(r *driver.Request) { r.TTL = d } }
func keeping(d time.Duration) func(*driver.Request) { return func(r *driver.Request) { r.Keep = d } }
func reserving(n uint32) func(*driver.Request)      { return func(r *driver.Request) { r.Reserve = n } }
func permits(n, limit int) func(*driver.Request) {
	return func(r *driver.Request) { r.N, r.Limit = n, limit }
}
func losing(lost func(error)) func(*driver.Request) { return func(r *driver.Request) { r.Lost = lost } }
func noWait(r *driver.Request)                      { r.NoWait = true }
func telling(f func(driver.Progress)) func(*driver.Request) {
	return func(r *driver.Request) { r.Waiting = f }
}

// A call is an Acquire under way.
type call struct {
	r     *driver.Request
	done  chan struct{}
	grant *driver.Grant
	err   error
}

// begin calls Acquire on a goroutine of its own, and returns when that has ended or waits. For use in a bubble. If the test fails
// it ends with the test.
func begin(ctx context.Context, t *testing.T, st *memlock.Store, r *driver.Request) *call {
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	c := &call{r: r, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.grant, c.err = st.Acquire(ctx, r)
	}()
	synctest.Wait()
	return c
}

// ended reports whether Acquire has returned.
func (c *call) ended() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// granted returns the grant, which must be there.
func (c *call) granted(t *testing.T) *driver.Grant {
	t.Helper()
	if !c.ended() {
		t.Fatal("still waits, but must have been granted")
	}
	if c.err != nil {
		t.Fatalf("Acquire: %v, but must have been granted", c.err)
	}
	return c.grant
}

// waits checks that Acquire has not returned.
func (c *call) waits(t *testing.T) {
	t.Helper()
	if c.ended() {
		t.Fatalf("Acquire returned %+v, %v, but must still wait", c.grant, c.err)
	}
}

// failed returns the error, which must be there and be want.
func (c *call) failed(t *testing.T, want error) error {
	t.Helper()
	if !c.ended() {
		t.Fatalf("still waits, but must have failed with %v", want)
	}
	if !errors.Is(c.err, want) {
		t.Fatalf("Acquire: %v, want %v", c.err, want)
	}
	return c.err
}

// take acquires what must be free.
func take(t *testing.T, st *memlock.Store, r *driver.Request) *driver.Grant {
	t.Helper()
	return begin(background, t, st, r).granted(t)
}

// queue begins an Acquire that must wait.
func queue(t *testing.T, st *memlock.Store, r *driver.Request) *call {
	t.Helper()
	c := begin(background, t, st, r)
	c.waits(t)
	return c
}

// release releases what must wait or hold.
func release(t *testing.T, st *memlock.Store, r *driver.Request) {
	t.Helper()
	if err := st.Release(background, r); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

// refused returns the answer of an Acquire that must not be granted at once.
func refused(t *testing.T, st *memlock.Store, r *driver.Request) *driver.Held {
	t.Helper()
	once := *r
	once.NoWait = true
	grant, err := st.Acquire(background, &once)
	var held *driver.Held
	if !errors.As(err, &held) || !driver.Answered(err) {
		t.Fatalf("Acquire: %+v, %v, want *driver.Held", grant, err)
	}
	return held
}

// look inspects a lock.
func look(t testing.TB, st *memlock.Store, name string, mode driver.Mode) *driver.Info {
	t.Helper()
	info, err := st.Inspect(background, name, mode)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	return info
}

// wantError checks an error by errors.Is.
func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

// equal checks a value.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// A hearing collects what Lost is told.
type hearing struct {
	mu   sync.Mutex
	errs []error
	at   time.Time // of the last one
}

func (h *hearing) lost(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.errs = append(h.errs, err)
	h.at = time.Now()
}

// heard returns what was told so far.
func (h *hearing) heard() []error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.errs
}

// A stillClock moves only when it is told to, and its alarms ring only when they are told to: a machine so busy that every alarm
// is late.
type stillClock struct {
	mu     sync.Mutex
	now    driver.Instant
	alarms []func()
}

func (c *stillClock) Now() driver.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) At(_ driver.Instant, f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarms = append(c.alarms, f)
	return func() bool { return false }
}

func (c *stillClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// ring lets all alarms ring, whether or not their time has come.
func (c *stillClock) ring() {
	c.mu.Lock()
	alarms := c.alarms
	c.alarms = nil
	c.mu.Unlock()
	for _, f := range alarms {
		f()
	}
}
