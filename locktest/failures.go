package locktest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"holdfast.dev/driver"
)

var failures = topic{"errors", []casus{
	{"malformed", 0, malformedRequests,
		"A7: a malformed request is refused before the store is touched, with ErrRequest"},
	{"unreachable", 0, unreachableIsUnknown,
		"A3: no answer is not an answer: neither *Held nor ErrGone, and never a grant"},
	{"renewal", expires, unansweredRenewal,
		"L3: a renewal that nobody confirmed is unknown: neither renewed nor gone"},
	{"secret", 0, errorsKeepSecrets,
		"O1: an attempt's id appears in no error, and not in the store's name"},
	{"identity", 0, identityIsOne,
		"G: Identity is the same for every client of a store; String names the store"},
	{"guarantees", 0, guaranteesAreConsistent,
		"G: what Guarantees says is consistent, and the same for every client"},
}}

func malformedRequests(t *trial) {
	c := t.open()
	for what, spoil := range map[string]func(*driver.Request){
		"no attempt":              func(r *driver.Request) { r.Attempt = driver.Attempt{} },
		"no mode":                 func(r *driver.Request) { r.Mode = 0 },
		"an unknown mode":         func(r *driver.Request) { r.Mode = 77 },
		"no TTL":                  func(r *driver.Request) { r.TTL = 0 },
		"a negative TTL":          func(r *driver.Request) { r.TTL = -time.Second },
		"a negative Keep":         func(r *driver.Request) { r.Keep = -1 },
		"permits where none are":  func(r *driver.Request) { r.N, r.Limit = 1, 1 },
		"more permits than there": func(r *driver.Request) { r.Mode, r.N, r.Limit = driver.Permits, 3, 2 },
	} {
		r := t.ask(t.name("lock"))
		spoil(r)
		if _, err := c.Acquire(t.ctx, r); !errors.Is(err, driver.ErrRequest) || !driver.Answered(err) {
			t.Errorf("Acquire of a request with %s: %v; the answer must be ErrRequest", what, err)
		}
	}
	c.free(t.ask(t.name("lock")))
}

func unreachableIsUnknown(t *trial) {
	name := t.name("lock")
	linked, faults := t.link()
	linked.warm()
	faults.HoldRequests()
	r := t.ask(name)
	r.NoWait = true
	asking := linked.begin(r)
	driver.Sleep(t.ctx, glimpse)
	asking.waits()
	asking.cancelled()

	broken := linked.begin(t.ask(name)) // and one whose connection breaks
	driver.Sleep(t.ctx, glimpse)
	faults.Cut()
	// The driver may connect again and go on by itself, or return an error: then not one that says that the store has decided.
	in(t, "the return of an Acquire whose connection broke", broken.done)
	if driver.Answered(broken.err) {
		t.Errorf("Acquire on a connection that broke: %v; that is an answer (driver.Answered), but nobody gave one", broken.err)
	}
}

func unansweredRenewal(t *trial) {
	linked, faults := t.link()
	direct := t.open()
	r := t.ask(t.name("lock"))
	g := linked.grant(r)
	faults.HoldReplies()
	for range 2 {
		ctx, cancel := contextFor(t, glimpse)
		left, err := g.Lease.Renew(ctx, t.long)
		cancel()
		if err == nil {
			t.Fatalf("Renew without an answer returned %v as confirmed", left)
		}
		if driver.Answered(err) || errors.Is(err, driver.ErrSession) {
			t.Fatalf("Renew without an answer: %v; that is an answer (driver.Answered), but nobody gave one", err)
		}
	}
	faults.Resume()
	if t.guarantees.Session == 0 {
		linked.renew(g, t.long)
		direct.taken(t.ask(r.Name))
		linked.release(r)
	}
}

func identityIsOne(t *trial) {
	a, b := t.open(), t.open()
	first, err := a.Identity(t.ctx)
	if err != nil {
		t.Fatalf("Identity: %v", err)
	}
	if second, err := b.Identity(t.ctx); err != nil || second != first || first == "" {
		t.Errorf("Identity is %q, and %q (%v) for another client; it is one, and not empty", first, second, err)
	}
	if a.String() == "" {
		t.Error("String is empty; it names the store for people")
	}
	if a.Clock() == nil {
		t.Fatal("Clock is nil")
	}
	if now := a.Clock().Now(); a.Clock().Now().Before(now) {
		t.Error("Clock goes back")
	}
}

func guaranteesAreConsistent(t *trial) {
	g, err := t.open().Guarantees(t.ctx)
	if err != nil {
		t.Fatalf("Guarantees: %v", err)
	}
	switch {
	case g.MinTTL < 0 || g.MaxTTL < 0 || g.Session < 0:
		t.Errorf("a duration of Guarantees is negative: %+v", g)
	case g.MaxTTL > 0 && g.MinTTL > g.MaxTTL:
		t.Errorf("MinTTL %v is more than MaxTTL %v", g.MinTTL, g.MaxTTL)
	case g.Session > 0 && g.MinTTL > g.Session:
		t.Errorf("every hold has the session's TTL, %v, but less than MinTTL %v cannot be had", g.Session, g.MinTTL)
	case g.Session > 0 && g.MaxTTL > 0 && g.MaxTTL < g.Session:
		t.Errorf("every hold has the session's TTL, %v, but more than MaxTTL %v cannot be had", g.Session, g.MaxTTL)
	}
	if g.SurvivesFailover && !g.SurvivesRestart {
		t.Error("a failover is survived, but not a restart: a restart is a failover to itself")
	}
	if !reflect.DeepEqual(g, t.guarantees) {
		t.Errorf("Guarantees is %+v, and was %+v for another client", g, t.guarantees)
	}
}

func errorsKeepSecrets(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	linked, faults := t.link()
	holder, waiter, cut, gone := t.ask(name), t.ask(name), t.ask(name), t.ask(name)
	g := a.grant(holder)
	said := []any{a.String(), fmt.Sprintf("%+v %#v", g, g), b.taken(waiter), b.queue(waiter).cancelled(), b.releaseError(gone)}
	linked.warm()
	faults.HoldRequests()
	unanswered := linked.begin(cut)
	driver.Sleep(t.ctx, glimpse)
	said = append(said, unanswered.cancelled())
	faults.Cut()
	b.undo(waiter)
	b.Close()
	_, err := b.Acquire(t.ctx, waiter)
	said = append(said, err, b.Release(t.ctx, waiter))
	t.keepSecret(said, holder, waiter, cut, gone)
}

// keepSecret checks that nothing of what was said or shown contains the id of an attempt.
func (t *trial) keepSecret(things []any, requests ...*driver.Request) {
	t.Helper()
	for _, thing := range things {
		text := strings.ToLower(fmt.Sprintf("%v %+v %#v", thing, thing, thing))
		for _, r := range requests {
			if strings.Contains(text, r.Attempt.Reveal()) {
				t.Errorf("an attempt's id appears in %+v", thing)
			}
		}
	}
}
