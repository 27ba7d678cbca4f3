package locktest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var election = topic{"election", []casus{
	{"one", 0, oneLeads,
		"P3: of several candidates under Run one leads at a time, with tokens that rise"},
	{"order", fifo, candidatesInOrder,
		"P3: candidates are served in the order in which they campaign"},
	{"mutex", 0, electionIsMutex,
		"P3: an election is the Mutex of its name, seen from the other side"},
	{"leader", inspector, leaderIsShown,
		"P3: Leader shows who leads, to every client; ErrNotHeld: nobody does"},
	{"kept", inspector | keep, keptLeadsNobody,
		"P3, O6: a lock that is kept by MinHold has no leader"},
	{"observe", inspector, observeSeesChanges,
		"P3: Observe shows who leads, now and at every change, until its context ends"},
	{"done", 0, runReturnsWhatWasDone,
		"P3: Run resigns when its function returns, and returns what that returned; it does not campaign again"},
	{"windsup", 0, runFinishesItsWork,
		"P3: when its context ends Run waits for its function before it resigns: nobody else leads meanwhile"},
	{"cancel", 0, cancelledCandidate,
		"P3, T5: Run of a candidate that does not lead ends with its context, with ErrHeld, and leaves nothing behind"},
	{"again", breaker | tokens, runCampaignsAgain,
		"P3: after its leadership was broken Run waits for its function, and campaigns again, behind those who wait"},
	{"loss", expires, runSurvivesLoss,
		"P3, T4: a leader that cannot renew has lost its term before another leads, and campaigns again"},
	{"error", breaker | tokens, ownErrorAfterLoss,
		"P3: an error of the function's own after a loss ends Run, joined with ErrLost"},
}}

// A term is one call of the function that Run runs: it ends when the case says so.
type term struct {
	ctx  context.Context
	over chan error // what the function returns
}

// A candidate is a Run on a goroutine of its own.
type candidate struct {
	t     *trial
	terms chan *term
	done  chan struct{}
	err   error
	stop  context.CancelFunc // ends the context of Run
}

// runs starts a Run, with the long TTL unless the options say otherwise.
func (t *trial) runs(locks *holdfast.Client, name string, opts ...holdfast.Option) *candidate {
	ctx, stop := context.WithCancel(t.ctx)
	c := &candidate{t: t, terms: make(chan *term, 16), done: make(chan struct{}), stop: stop}
	aborted, abort := newSignal()
	go func() {
		defer close(c.done)
		c.err = locks.Election(name, t.withTTL(opts)...).Run(ctx, func(ctx context.Context) error {
			now := &term{ctx, make(chan error, 1)}
			c.terms <- now
			select {
			case err := <-now.over:
				return err
			case <-aborted:
				return errors.New("the case has ended")
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		abort()
		select {
		case <-c.done:
		case <-time.After(patience()):
			t.Error("Run did not return although its context has ended and its function has returned")
		}
	})
	return c
}

// leads waits for the next term, which must come.
func (c *candidate) leads() *term {
	c.t.Helper()
	ctx, cancel := c.t.patience()
	defer cancel()
	select {
	case now := <-c.terms:
		return now
	case <-c.done:
		c.t.Fatalf("Run returned before it led: %v", c.err)
	case <-ctx.Done():
		c.t.Fatal("a candidate whose turn it is does not lead")
	}
	panic("not reached")
}

// doesNotLead ends the case if there is another term, or if Run has returned. It looks for a glimpse.
func (c *candidate) doesNotLead() {
	c.t.Helper()
	driver.Sleep(c.t.ctx, glimpse)
	select {
	case <-c.terms:
		c.t.Fatal("a candidate leads again, while its function still works on, or while somebody else leads")
	case <-c.done:
		c.t.Fatalf("Run has returned, after a loss, before its work was done: %v", c.err)
	default:
	}
}

// returned waits for Run, which must return, and returns what it returned.
func (c *candidate) returned() error {
	c.t.Helper()
	in(c.t, "the return of Run", c.done)
	return c.err
}

func oneLeads(t *trial) {
	const clients, candidates, terms = 3, 2, 3
	name := t.name("election")
	var lead inside
	var top atomic.Uint64
	var all sync.WaitGroup
	for range clients {
		e := t.locks().Election(name, t.withTTL(nil)...)
		for range candidates {
			all.Go(func() {
				for range terms {
					err := e.Run(t.ctx, func(ctx context.Context) error {
						lead.visit()
						return nil
					})
					if err != nil {
						t.Errorf("Run: %v", err)
						return
					}
					hold, err := e.Campaign(t.ctx)
					if err != nil {
						t.Errorf("Campaign: %v", err)
						return
					}
					if before := top.Swap(hold.Token()); before != 0 && hold.Token() <= before {
						t.Errorf("token %d was granted after token %d", hold.Token(), before)
					}
					lead.visit()
					hold.Unlock()
				}
			})
		}
	}
	all.Wait()
	if !t.Failed() {
		lead.judge(t, 2*clients*candidates*terms)
	}
}

func candidatesInOrder(t *trial) {
	name := t.name("election")
	leader := t.lock(t.locks(), name)
	var candidates []*pending
	for range 4 {
		candidates = append(candidates, t.queue(func(locks *holdfast.Client) holdfast.Locker {
			return campaign{locks.Election(name, t.withTTL(nil)...)}
		}))
	}
	t.unlock(leader)
	for i, c := range candidates {
		hold := c.granted()
		for _, behind := range candidates[i+1:] {
			behind.waits()
		}
		t.unlock(hold)
	}
}

// A campaign is an Election as something to lock.
type campaign struct{ *holdfast.Election }

func (c campaign) Lock(ctx context.Context) (*holdfast.Hold, error) { return c.Campaign(ctx) }
func (c campaign) TryLock(context.Context) (*holdfast.Hold, error) {
	return nil, holdfast.ErrUnsupported // an election has none
}

func electionIsMutex(t *trial) {
	name := t.name("election")
	locks, others := t.locks(), t.locks()
	lead := t.take(t.ctx, campaign{locks.Election(name, t.withTTL(nil)...)})
	t.heldByOther(others, name)
	inner := t.takeNow(lead.Context(t.ctx), t.mutexOf(locks, name))
	if inner.Count() != 2 || inner.Token() != lead.Token() {
		t.Errorf("the Mutex inside the leadership: count %d, token %d; it nests, with token %d", inner.Count(), inner.Token(), lead.Token())
	}
	t.unlock(inner)
	t.unlock(lead)
	t.unlock(t.try(others, name))
}

func leaderIsShown(t *trial) {
	name := t.name("election")
	seen := t.locks().Election(name)
	nobody := func() {
		t.Helper()
		if leader, err := seen.Leader(t.ctx); !errors.Is(err, holdfast.ErrNotHeld) {
			t.Errorf("Leader shows %+v, %v; nobody leads, so it is ErrNotHeld", leader, err)
		}
	}
	nobody()
	for _, who := range []string{"the first", "the second"} {
		e := t.locks().Election(name, t.withTTL([]holdfast.Option{holdfast.Label(who)})...)
		hold := t.take(t.ctx, campaign{e})
		for _, each := range []*holdfast.Election{e, seen} {
			leader, err := each.Leader(t.ctx)
			if err != nil || leader.Token != hold.Token() || !strings.HasSuffix(leader.Label, who) {
				t.Errorf("Leader shows %+v, %v; it is %s, with token %d", leader, err, who, hold.Token())
			}
		}
		t.unlock(hold)
		nobody()
	}
}

func keptLeadsNobody(t *trial) {
	name := t.name("election")
	locks := t.locks()
	hold := t.lock(locks, name, holdfast.MinHold(t.keepFor()))
	if _, err := locks.Election(name).Leader(t.ctx); err != nil {
		t.Errorf("Leader: %v; somebody leads", err)
	}
	t.unlock(hold)
	if leader, err := locks.Election(name).Leader(t.ctx); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Leader shows %+v, %v; the leader has resigned, so it is ErrNotHeld", leader, err)
	}
}
