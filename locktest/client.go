package locktest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A client is an open store with the verbs that cases are written in. Those that say what must happen end the case if it does
// not, so they are for the goroutine of the case.
type client struct {
	driver.Store
	t      *trial
	faults Faults // nil: no link

	session struct {
		sync.Once
		stop context.CancelFunc
		done chan struct{}
	}
}

// ask returns a request of a new attempt for the exclusive lock, with the long TTL. The case changes what it needs.
func (t *trial) ask(name string) *driver.Request {
	return &driver.Request{Name: name, Attempt: t.attempts.Next(), Label: "locktest", Mode: driver.Exclusive, TTL: t.long}
}

// askShared returns a request of a new attempt for the lock as a reader.
func (t *trial) askShared(name string) *driver.Request {
	r := t.ask(name)
	r.Mode = driver.Shared
	return r
}

// askPermits returns a request of a new attempt for n of limit permits.
func (t *trial) askPermits(name string, n, limit int) *driver.Request {
	r := t.ask(name)
	r.Mode, r.N, r.Limit = driver.Permits, n, limit
	return r
}

// short gives a request the short TTL.
func (t *trial) short(r *driver.Request) *driver.Request {
	r.TTL = t.ttl
	return r
}

// grant acquires r, waiting if need be, and ends the case if it is not granted.
func (c *client) grant(r *driver.Request) *driver.Grant {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	c.tidy(r)
	var g *driver.Grant
	_, err := c.persist(ctx, func() (err error) {
		g, err = c.Acquire(ctx, r)
		return err
	})
	if err != nil {
		c.t.Fatalf("Acquire of %s: %v; it must be granted", what(r), err)
	}
	c.judge(r, g)
	return g
}

// free acquires r without waiting, and ends the case if it is not granted: it must be free now.
func (c *client) free(r *driver.Request) *driver.Grant {
	c.t.Helper()
	r.NoWait = true
	return c.grant(r)
}

// taken asks for r without waiting, and ends the case unless somebody else has it.
func (c *client) taken(r *driver.Request) *driver.Held {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	again := *r
	again.NoWait = true
	g, err := c.Acquire(ctx, &again)
	if err == nil {
		c.t.Fatalf("Acquire without waiting was granted %s with token %d; somebody else has it", what(r), g.Token)
	}
	var held *driver.Held
	if !errors.As(err, &held) || !driver.Answered(err) {
		c.t.Fatalf("Acquire without waiting of %s: %v; the answer must be *driver.Held", what(r), err)
	}
	return held
}

// takenBy asks for r without waiting while a hold with a short TTL lasts. A grant is right only if that hold can be believed no
// longer, because the machine was too busy to ask in time: then it is given back, and takenBy reports false.
func (c *client) takenBy(holder *driver.Grant, r *driver.Request) bool {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	r.NoWait = true
	_, err := c.Acquire(ctx, r)
	if err == nil {
		c.notBefore(holder)
		c.release(r)
		return false
	}
	if !errors.As(err, new(*driver.Held)) {
		c.t.Fatalf("Acquire without waiting of %s: %v; the answer must be *driver.Held", what(r), err)
	}
	return true
}

// release releases r, which must hold or wait.
func (c *client) release(r *driver.Request) {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	repeated, err := c.persist(ctx, func() error { return c.Release(ctx, r) })
	if err != nil && !(repeated && errors.Is(err, driver.ErrGone)) { // undone by an earlier one, whose answer was lost
		c.t.Fatalf("Release of %s: %v; it held or waited, so the answer must be nil", what(r), err)
	}
}

// gone releases r, which must neither hold nor wait.
func (c *client) gone(r *driver.Request) {
	c.t.Helper()
	if err := c.releaseError(r); !errors.Is(err, driver.ErrGone) {
		c.t.Fatalf("Release of %s: %v; it neither holds nor waits, so the answer must be ErrGone", what(r), err)
	}
}

// undo releases r, of which it is not known whether it holds, waits, or is gone. Afterwards it is.
func (c *client) undo(r *driver.Request) {
	c.t.Helper()
	if err := c.releaseError(r); err != nil && !errors.Is(err, driver.ErrGone) {
		c.t.Fatalf("Release of %s: %v; the answer must be nil or ErrGone", what(r), err)
	}
	c.gone(r)
}

// tidy undoes r at the end of the case, whatever became of it, so that nothing stays behind in the store.
func (c *client) tidy(r *driver.Request) {
	undone := *r
	undone.Keep = 0
	c.t.Cleanup(func() {
		if c.faults != nil {
			c.faults.Resume()
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the case's own context has ended
		defer cancel()
		c.Release(ctx, &undone)
	})
}

func (c *client) releaseError(r *driver.Request) error {
	ctx, cancel := c.t.patience()
	defer cancel()
	_, err := c.persist(ctx, func() error { return c.Release(ctx, r) })
	return err
}

// persist repeats what had no answer, as the core does, on a client behind a link: the connection may have broken. Elsewhere
// nothing is repeated: there are no faults that could be to blame.
func (c *client) persist(ctx context.Context, do func() error) (repeated bool, err error) {
	pause := driver.Backoff{Min: time.Millisecond, Max: 100 * time.Millisecond}
	for {
		err = do()
		if err == nil || driver.Answered(err) || c.faults == nil || driver.Sleep(ctx, pause.Next()) != nil {
			return repeated, err
		}
		repeated = true
	}
}

// renew renews a grant, which must be possible.
func (c *client) renew(g *driver.Grant, ttl time.Duration) time.Duration {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	var left time.Duration
	_, err := c.persist(ctx, func() (err error) {
		left, err = g.Lease.Renew(ctx, ttl)
		return err
	})
	if err != nil {
		c.t.Fatalf("Renew of a hold that has not ended: %v", err)
	}
	return left
}

// ended reports whether the store says that the hold has ended. It asks without renewing (rule L1: Renew(ctx, 0) only asks).
func (c *client) ended(g *driver.Grant) bool {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	_, err := g.Lease.Renew(ctx, 0)
	if err != nil && !errors.Is(err, driver.ErrGone) {
		c.t.Fatalf("Renew(ctx, 0): %v; the answer must be nil or ErrGone", err)
	}
	return err != nil
}

// judge checks what is true of every grant.
func (c *client) judge(r *driver.Request, g *driver.Grant) {
	c.t.Helper()
	switch now := c.Clock().Now(); {
	case g == nil:
		c.t.Fatalf("G: Acquire of %s returned neither a grant nor an error", what(r))
	case now.Before(g.Asked):
		c.t.Fatalf("G: Grant.Asked is %v in the future; it is read before the request goes out", g.Asked.Sub(now))
	case g.Lease != nil && g.TTL <= 0:
		c.t.Fatalf("G: Grant.TTL is %v; a hold with a lease has a TTL", g.TTL)
	case g.Lease != nil && c.t.missing(expires) != "":
		c.t.Fatal("G: the grant has a Lease, but Guarantees says that nothing runs out (MaxTTL and Session are 0): state MaxTTL")
	case g.Lease != nil && !reflect.TypeOf(g.Lease).Comparable():
		c.t.Fatalf("G: a lease is comparable; %T is not, return a pointer", g.Lease)
	case g.Lease == nil && c.t.missing(expires) == "":
		c.t.Fatal("G: Grant.Lease is nil, but Guarantees says that holds run out (MaxTTL or Session is not 0)")
	case g.Lease != nil && c.t.guarantees.Session > 0 && g.TTL > c.t.guarantees.Session:
		c.t.Fatalf("G: Grant.TTL is %v, but Guarantees says that holds live as long as a session of %v", g.TTL, c.t.guarantees.Session)
	case c.t.guarantees.Fencing != driver.FencingNone && g.Token == 0:
		c.t.Fatal("G: Grant.Token is 0, but Guarantees promises fencing: tokens begin at 1")
	}
	c.keepSession(g)
}

// end is the instant until which the client may believe a grant that was not renewed.
func end(g *driver.Grant) driver.Instant {
	return g.Asked.Add(g.TTL - driver.Margin(g.TTL))
}

// notBefore ends the case unless the old grant was no longer to be believed when the new one came, just now.
func (c *client) notBefore(old *driver.Grant) {
	c.t.Helper()
	if left := end(old).Sub(c.Clock().Now()); left > 0 {
		c.t.Fatalf("the lock was granted to another while its holder may believe that it holds it for another %v", left)
	}
}

// keepSession renews the session of a store that has one, as the core would, for as long as the client is open: else every hold
// of a case would end with it.
func (c *client) keepSession(g *driver.Grant) {
	if c.t.guarantees.Session == 0 || g.Lease == nil {
		return
	}
	c.session.Do(func() {
		ctx, stop := context.WithCancel(context.Background())
		c.session.stop, c.session.done = stop, make(chan struct{})
		go func() {
			defer close(c.session.done)
			for driver.Sleep(ctx, c.t.guarantees.Session/3) == nil {
				g.Lease.Renew(ctx, c.t.guarantees.Session) // a failure shows in the case itself
			}
		}()
	})
}

func (c *client) stopRenewing() {
	c.session.Do(func() {})
	if c.session.stop != nil {
		c.session.stop()
		<-c.session.done
	}
}

// what describes a request for a failure's message. It never prints the attempt.
func what(r *driver.Request) string {
	text := r.Mode.String()
	if r.Label != "locktest" {
		text += " for " + r.Label
	}
	return text + " " + r.Name
}
