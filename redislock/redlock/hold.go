package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdfast.dev/driver"
)

// A poll is a question to all nodes that concerns what a try has already: a renewal, or the release of its attempt. The try's mutex guards it.
type poll struct {
	t       *try
	answers []answer // zero: none yet
	settled chan struct{}
	decided chan struct{}
	over    bool
	result  error
	left    time.Duration
}

func (t *try) newPoll() *poll {
	return &poll{t: t, answers: make([]answer, len(t.seats)), settled: make(chan struct{}), decided: make(chan struct{})}
}

// count is how many have said so; all are those that have said anything.
func (p *poll) count(w word) (n, all int) {
	for _, a := range p.answers {
		if a.word == failed && a.err == nil {
			continue
		}
		all++
		if a.word == w {
			n++
		}
	}
	return n, all
}

func (p *poll) decide(left time.Duration, err error) {
	if !p.over {
		p.over, p.left, p.result = true, left, err
		close(p.decided)
	}
}

// A lease keeps the hold of one try alive.
type lease struct{ t *try }

// Renew makes the hold last ttl from now on, at a majority; see driver.Lease.
func (l lease) Renew(ctx context.Context, ttl time.Duration) (time.Duration, error) {
	if err := l.t.s.usable(ctx); err != nil {
		return 0, err
	}
	if err := l.t.s.vetoed(); err != nil {
		return 0, err
	}
	return l.t.renew(ctx, ttl, false)
}

// renew asks all nodes. claims: the caller does not believe in the hold, but wants to.
func (t *try) renew(ctx context.Context, ttl time.Duration, claims bool) (time.Duration, error) {
	wish := ttl
	if ttl > 0 {
		wish = t.s.ttl(ttl + extra)
	}
	t.mu.Lock()
	if t.phase != holding {
		t.mu.Unlock()
		return 0, driver.ErrGone
	}
	if ttl > 0 {
		t.ttl = max(t.ttl, wish)
	}
	p := t.newPoll()
	r := t.s.newRound(t.s.patience(t.ttl))
	for i := range t.seats {
		t.send(i, r, func(ctx context.Context, one primitive) answer { return one.renew(ctx, &t.q, wish, claims) },
			func(a answer) {
				switch a = t.s.heard(t.seats[i].node, a); {
				case a.err != nil:
					a.word = failed // another node is the same server
				case claims && a.late:
					a = answer{word: gone} // it may have been another's since the token was decided on
				}
				p.renewed(i, a, wish)
			})
	}
	t.mu.Unlock()
	r.end()
	select {
	case <-p.decided:
		return p.left, p.result
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-t.s.life.Done():
		return 0, t.s.closed()
	}
}

// renewed takes in what a node says to a renewal.
func (p *poll) renewed(i int, a answer, ttl time.Duration) {
	t := p.t
	a.left = max(min(a.left, ttl), a.left-2*time.Millisecond) // nodes count in milliseconds, round up, and may have two more than was asked for
	p.answers[i] = a
	n, q := len(t.seats), majority(len(t.seats))
	yes, all := p.count(done)
	switch lost, _ := p.count(gone); {
	case yes >= q:
		if !p.over {
			p.decide(believed(p.least(done, q)), nil)
			for j := range p.answers {
				p.mend(j, ttl)
			}
			return
		}
		p.mend(i, ttl)
	case p.broken() != nil:
		p.decide(0, p.broken())
	case lost > n-q:
		p.decide(0, driver.ErrGone)
	case all == n:
		p.decide(0, t.nodesError(p.answers))
	}
}

// broken is the error of a hold that a majority says was broken; nil if there is none.
func (p *poll) broken() error {
	q := majority(len(p.answers))
	if n, _ := p.count(broken); n < q {
		return nil
	}
	a := p.answers[slices.IndexFunc(p.answers, func(a answer) bool { return a.word == broken })]
	switch {
	case !a.ended:
		return &stillBroken{a.by, believed(p.least(broken, q))}
	case a.by.Now:
		return a.by
	}
	return fmt.Errorf("%w: %w", driver.ErrGone, a.by)
}

// stillBroken is a hold that was told to end, and is there until its TTL is over.
type stillBroken struct {
	*driver.Broken
	left time.Duration
}

// Unwrap returns who broke it.
func (e *stillBroken) Unwrap() error { return e.Broken }

// least is what a majority keeps, of those who have said so: the q-th longest.
func (p *poll) least(w word, q int) time.Duration {
	var lefts []time.Duration
	for _, a := range p.answers {
		if a.word == w {
			lefts = append(lefts, a.left)
		}
	}
	slices.Sort(lefts)
	return lefts[len(lefts)-q]
}

// The core believes in a TTL less its margin, a hundredth; Redlock's drift is 2 ms more. So nodes are asked for as much more than the caller wants.
const extra = drift0 + drift0/50

// believed is what the core is told of what nodes keep, so that no more is believed than ttl − drift(ttl).
func believed(ttl time.Duration) time.Duration { return max(0, ttl-extra) }

// mend gives the hold to a node that has nothing, once this renewal has its majority: that makes up for a node which missed the grant or forgot
// it. It does not count for this renewal.
func (p *poll) mend(i int, ttl time.Duration) {
	t := p.t
	if a := p.answers[i]; a.word != gone || !a.free || ttl == 0 || t.phase != holding {
		return
	}
	r := t.s.newRound(t.s.nodeTimeout(t.ttl))
	defer r.end()
	token := t.token
	t.send(i, r, func(ctx context.Context, one primitive) answer { return one.repair(ctx, &t.q, ttl, token) },
		func(a answer) {
			if a.word == done {
				t.seats[i].vote = answer{word: done}
			}
		})
}
