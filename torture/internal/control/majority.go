package control

import (
	"context"
	"errors"
	"time"

	"holdfast.dev/driver"
)

// A majority is Redlock as the articles have it, without anything of ours: several servers that know nothing of each other, on each of them
// the key of the right lock, and held is what a majority has granted.
//
//  1. All are asked at once. As soon as the answer is certain, the others need not come.
//  2. Held: so many have granted it as a majority has, and not too much of the TTL has passed since before the first was asked.
//  3. Otherwise what may have been granted is given back, everywhere, before it is tried again, after a random delay.
//  4. A release goes to all, a renewal as well; each counts if a majority has answered, and a hold is gone if no majority can have it.
//
// It has no tokens, as the articles' has none. A request that is late is met by the marks of the right lock; a try that is not held leaves
// none, because the same attempt tries again: its requests and what undoes them go over one connection, and arrive in that order.
type majority struct {
	*store
	wires  []*wire
	quorum int
}

// byMajority makes a store one of several servers.
func byMajority(s *store) *majority {
	m := &majority{store: s, wires: append([]*wire{s.wire}, s.more...)}
	m.quorum = len(m.wires)/2 + 1
	s.guarantees = driver.Guarantees{
		Fencing: driver.FencingNone, MinTTL: 50 * time.Millisecond, MaxTTL: time.Minute,
		Beyond: []string{"a restart of a node: it keeps nothing on disk, and votes again"},
	}
	s.ways = steps{take: m.take, free: m.free, renew: m.renew}
	return m
}

// An answer is what one of the servers says.
type answer struct {
	words []string
	err   error
}

// ask sends a script to all. What is on its way stays so when nobody waits for it any more.
func (m *majority) ask(script string, keys []string, args ...string) <-chan answer {
	answers := make(chan answer, len(m.wires))
	for _, w := range m.wires {
		go func() {
			ctx, cancel := context.WithTimeout(w.life, timeout)
			defer cancel()
			words, err := w.ask(ctx, script, keys, args...)
			answers <- answer{words, err}
		}()
	}
	return answers
}

// A count is how many have said what.
type count struct {
	yes, no, silent int
	left            time.Duration // the least that those who said yes have named
	failed          error         // why the others are silent
}

// tally counts answers until enough have come. Yes is what word says.
func (m *majority) tally(ctx context.Context, answers <-chan answer, yes string, enough func(count) bool) (count, error) {
	c := count{left: driver.Forever}
	for c.yes+c.no+c.silent < len(m.wires) && !enough(c) {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				c.silent, c.failed = c.silent+1, errors.Join(c.failed, a.err)
			case a.words[0] != yes:
				c.no++
			default:
				c.yes++
				if len(a.words) > 1 {
					c.left = min(c.left, duration(a.words[1]))
				}
			}
		case <-ctx.Done():
			return c, ctx.Err()
		case <-m.wire.life.Done():
			return c, driver.ErrClosed
		}
	}
	return c, nil
}

// decided: the quorum has said yes, or so many have said no that it cannot. Who is silent decides nothing: another may say no.
func (m *majority) decided(c count) bool {
	return c.yes >= m.quorum || m.refused(c)
}

func (m *majority) refused(c count) bool { return len(m.wires)-c.no < m.quorum }

// voteScript is takeScript without a token. KEYS: lock, token, gone. ARGV: attempt, TTL in ms.
const voteScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return {'gone'} end
local ttl = tonumber(ARGV[2])
local holder = redis.call('GET', KEYS[1])
if not holder then
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl)
elseif holder ~= ARGV[1] then
	return {'held'}
elseif ttl > redis.call('PTTL', KEYS[1]) then
	redis.call('PEXPIRE', KEYS[1], ttl)
end
return {'granted'}`

func (m *majority) take(ctx context.Context, r *driver.Request) (uint64, error) {
	asked := m.clock.Now()
	c, err := m.tally(ctx, m.ask(voteScript, keysOf(r), r.Attempt.Reveal(), millis(r.TTL)), "granted", m.decided)
	if err != nil {
		return 0, err // whoever asked releases it
	}
	spent := m.clock.Now().Sub(asked)
	if c.yes >= m.quorum && (m.fromAnswer || r.TTL-spent-drift(r.TTL) >= r.TTL/10) {
		m.reached(Acquired)
		return 0, nil
	}
	if err := m.giveBack(ctx, r); err != nil {
		return 0, err
	}
	if c.yes < m.quorum && !m.refused(c) {
		return 0, c.failed // those who were silent might have made it
	}
	return 0, new(driver.Held)
}

// drift is what clocks may differ by while a TTL passes.
func drift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// giveBackScript. KEYS: lock. ARGV: attempt.
const giveBackScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'done'}`

// giveBack takes back what a try may have been granted. Servers that do not answer let it run out.
func (m *majority) giveBack(ctx context.Context, r *driver.Request) error {
	_, err := m.tally(ctx, m.ask(giveBackScript, keysOf(r), r.Attempt.Reveal()), "done", func(count) bool { return false })
	return err
}

// free counts if a true majority has answered, whatever the quorum is: then nobody can have been granted it by one.
func (m *majority) free(ctx context.Context, r *driver.Request) error {
	most := len(m.wires)/2 + 1
	c, err := m.tally(ctx, m.ask(freeScript, keysOf(r), freeArgs(r)...), "freed", func(c count) bool { return c.yes+c.no >= most && c.yes > 0 })
	switch {
	case err != nil:
		return err
	case c.yes+c.no < most:
		return c.failed
	case c.yes == 0:
		return driver.ErrGone
	}
	return nil
}

func (m *majority) renew(ctx context.Context, r *driver.Request, ttl time.Duration) (time.Duration, error) {
	c, err := m.tally(ctx, m.ask(renewScript, keysOf(r), r.Attempt.Reveal(), millis(ttl)), "renewed", m.decided)
	switch {
	case err != nil:
		return 0, err
	case c.yes >= m.quorum:
		return c.left, nil
	case m.refused(c):
		return 0, driver.ErrGone
	}
	return 0, c.failed
}
