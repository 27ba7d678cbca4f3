package filelock

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"holdfast.dev/driver"
)

var attempts = driver.NewAttempts()

// soon is how long something may take that must happen in the end.
const soon = 30 * time.Second

// newDir is the path of a directory that does not exist yet.
func newDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

// opened opens a client, to be closed at the end of the test.
func opened(t testing.TB, dir string, c ...config) *Store {
	t.Helper()
	use := config{boot: systemBoot()}
	if len(c) > 0 {
		use = c[0]
	}
	st, err := open(context.Background(), dir, use)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func ask(name string, mode driver.Mode, change ...func(*driver.Request)) *driver.Request {
	r := &driver.Request{Name: name, Attempt: attempts.Next(), Label: "test", Mode: mode, TTL: time.Minute}
	for _, f := range change {
		f(r)
	}
	return r
}

func noWait(r *driver.Request) { r.NoWait = true }

func keeping(d time.Duration) func(*driver.Request) {
	return func(r *driver.Request) { r.Keep = d }
}

func permits(n, limit int) func(*driver.Request) {
	return func(r *driver.Request) { r.N, r.Limit = n, limit }
}

// take acquires r, which must be granted.
func take(t testing.TB, st *Store, r *driver.Request) *driver.Grant {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	g, err := st.Acquire(ctx, r)
	if err != nil {
		t.Fatalf("Acquire of %s %s: %v", r.Mode, r.Name, err)
	}
	return g
}

// free releases r, which must hold or wait.
func free(t testing.TB, st *Store, r *driver.Request) {
	t.Helper()
	if err := st.Release(t.Context(), r); err != nil {
		t.Fatalf("Release of %s: %v", r.Name, err)
	}
}

// taken asks for the lock without waiting, and returns who is in the way.
func taken(t testing.TB, st *Store, name string) *driver.Held {
	t.Helper()
	_, err := st.Acquire(t.Context(), ask(name, driver.Exclusive, noWait))
	held, ok := errors.AsType[*driver.Held](err)
	if !ok {
		t.Fatalf("Acquire without waiting: %v; want *driver.Held", err)
	}
	return held
}

// A pending is an Acquire that waits.
type pending struct {
	t     testing.TB
	r     *driver.Request
	done  chan struct{}
	stop  context.CancelFunc
	grant *driver.Grant
	err   error
}

// queue begins an Acquire that must wait, and returns when it does.
func queue(t testing.TB, st *Store, r *driver.Request) *pending {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	p := &pending{t: t, r: r, done: make(chan struct{}), stop: cancel}
	queued := make(chan struct{})
	var once sync.Once
	asked := *r
	asked.Waiting = func(driver.Progress) { once.Do(func() { close(queued) }) }
	go func() {
		defer close(p.done)
		p.grant, p.err = st.Acquire(ctx, &asked)
	}()
	t.Cleanup(func() { cancel(); <-p.done })
	select {
	case <-queued:
	case <-p.done:
		t.Fatalf("Acquire of %s did not wait: %v, %v", r.Name, p.grant, p.err)
	}
	return p
}

// granted waits for the grant.
func (p *pending) granted() *driver.Grant {
	p.t.Helper()
	if <-p.done; p.err != nil {
		p.t.Fatalf("Acquire of %s: %v", p.r.Name, p.err)
	}
	return p.grant
}

// failed waits for the error.
func (p *pending) failed() error {
	p.t.Helper()
	if <-p.done; p.err == nil {
		p.t.Fatalf("Acquire of %s was granted, with token %d", p.r.Name, p.grant.Token)
	}
	return p.err
}

// waits fails the test if Acquire has returned.
func (p *pending) waits() {
	p.t.Helper()
	select {
	case <-p.done:
		p.t.Fatalf("Acquire of %s has returned: %v, %v", p.r.Name, p.grant, p.err)
	default:
	}
}

// kill ends a client as kill −9 does: the kernel closes what it had open, and it does nothing any more.
func kill(st *Store) {
	st.mu.Lock()
	st.ended = true
	close(st.closed)
	for _, lk := range st.locks {
		lk.stopTimers()
	}
	st.mu.Unlock()
	st.presence.end()
	st.stopWatching()
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come true within %v", what, soon)
		}
	}
}

func look(t testing.TB, st *Store, name string) *driver.Info {
	t.Helper()
	info, err := st.Inspect(t.Context(), name, driver.Exclusive)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	return info
}
