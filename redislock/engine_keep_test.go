package redislock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// reader is a request to share the lock.
func reader(name, label string, ttl time.Duration) *driver.Request {
	r := ask(name, label, ttl)
	r.Mode = driver.Shared
	return r
}

// permits is a request for n of limit permits.
func permits(name, label string, n, limit int, ttl time.Duration) *driver.Request {
	r := ask(name, label, ttl)
	r.Mode, r.N, r.Limit = driver.Permits, n, limit
	return r
}

// kept makes the minimum hold of a request so long.
func kept(r *driver.Request, d time.Duration) *driver.Request {
	r.Keep = d
	return r
}

// The minimum hold of readers and permits ends when it is over, however long the hold could have gone on; and those who wait are told.
func TestKeptSharesEndInTime(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	const keep = 300 * time.Millisecond
	for what, c := range map[string]struct{ holds, next, waits *driver.Request }{
		"readers":   {reader("a", "holder", time.Hour), ask("a", "next", time.Minute), ask("b", "waiter", time.Minute)},
		"permits":   {permits("a", "holder", 2, 3, time.Hour), permits("a", "next", 2, 3, time.Minute), permits("b", "waiter", 2, 3, time.Minute)},
		"exclusive": {ask("c", "holder", time.Hour), ask("c", "next", time.Minute), ask("d", "waiter", time.Minute)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			again := *c.holds // the same for the name that is waited for
			again.Name, again.Attempt = c.waits.Name, attempts.Next()
			for _, r := range []*driver.Request{c.holds, &again} {
				take(t, s, kept(r, keep))
			}
			granted := s.Clock().Now()
			w := queue(t, s, c.waits)
			release(t, s, c.holds)
			release(t, s, &again)
			until(t, what+" are free again", func() bool {
				_, err := tryOnce(t, s, c.next)
				return err == nil
			})
			if since := s.Clock().Now().Sub(granted); since < keep/2 {
				t.Errorf("free after %v, the minimum hold is %v", since, keep)
			}
			w.served()
			if late := w.granted.Sub(granted); late > 2500*time.Millisecond { // who is not told looks after 3 s at the earliest
				t.Errorf("who waits is served %v after the grant, the minimum hold is %v", late, keep)
			}
		})
	}
}

// An attempt whose hold is kept may come again, and be kept again, in the same generation of readers.
func TestKeptTwice(t *testing.T) {
	t.Parallel()
	s := dial(t, startRedis(t).Addr(), "guard=0")
	other := reader("lock", "other", time.Minute)
	take(t, s, other)
	r := kept(reader("lock", "twice", time.Minute), 100*time.Millisecond)
	for range 2 {
		take(t, s, r)
		release(t, s, r)
	}
	if _, err := tryOnce(t, s, ask("lock", "writer", time.Minute)); !errors.As(err, new(*driver.Held)) {
		t.Errorf("while it is kept: %v", err)
	}
	release(t, s, other)
	writer := ask("lock", "writer", time.Minute)
	until(t, "the minimum holds are over", func() bool {
		_, err := tryOnce(t, s, writer)
		if err != nil && !errors.As(err, new(*driver.Held)) {
			t.Fatalf("after it was kept twice: %v", err)
		}
		return err == nil
	})
}
