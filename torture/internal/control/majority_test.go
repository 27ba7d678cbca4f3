package control

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/locktest/netfault"
	"holdfast.dev/locktest/servers"
)

func (b *bench) nodes() []*servers.Redis { return append([]*servers.Redis{b.server}, b.more...) }

// proxies puts one before each server.
func (b *bench) proxies() (all []*netfault.Proxy, o Options) {
	b.Helper()
	for _, server := range b.nodes() {
		p, err := netfault.New(server.Addr())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { p.Close() })
		all = append(all, p)
		o.More = append(o.More, p.Addr())
	}
	o.Addr, o.More = o.More[0], o.More[1:]
	return all, o
}

// votes is how many servers have the lock's key.
func (b *bench) votes() (n int64) {
	b.Helper()
	for _, server := range b.nodes() {
		answer, err := server.Do(b.ctx(), "EXISTS", "control:lock:lock")
		if err != nil {
			b.Fatal(err)
		}
		n += answer.(int64)
	}
	return n
}

// TestN7: the answers of a majority come when what they grant is over.
func TestN7(t *testing.T) {
	both(t, "N7", func(b *bench, broken bool) {
		proxies, o := b.proxies()
		o.Broken = broken
		s, r := b.open(o), b.ask()
		r.TTL, r.NoWait = 100*time.Millisecond, true
		for _, p := range proxies {
			p.HoldReplies()
		}
		type result struct {
			grant *driver.Grant
			err   error
		}
		results := make(chan result, 1)
		go func() {
			g, err := s.Acquire(b.ctx(), r)
			results <- result{g, err}
		}()
		b.until("all have granted it", func() bool { return b.votes() == 3 })
		b.until("all have forgotten it", func() bool { return b.votes() == 0 })
		for _, p := range proxies {
			p.Resume()
		}
		got := <-results
		if broken != (got.err == nil) || !broken && !errors.As(got.err, new(*driver.Held)) {
			b.Fatalf("then it is granted: %+v, %v", got.grant, got.err)
		}
		if broken && got.grant.Asked.Add(got.grant.TTL).Before(driver.Boot().Now()) {
			b.Log("it ran out while this test looked") // on a machine that has much to do
		}
	})
}

// TestN8: two clients, each of which reaches one half of the servers.
func TestN8(t *testing.T) {
	both(t, "N8", func(b *bench, broken bool) {
		held := 0
		for _, half := range [][]int{{0, 1}, {2, 3}} {
			proxies, o := b.proxies()
			o.Broken = broken
			s := b.open(o)
			for _, node := range half {
				proxies[node].Refuse()
				proxies[node].Cut()
			}
			r := b.ask()
			r.NoWait = true
			if _, err := s.Acquire(b.ctx(), r); err == nil {
				held++
			} else if driver.Answered(err) {
				b.Errorf("without a majority: %v, which the core would take for an answer", err)
			}
		}
		if want := map[bool]int{true: 2, false: 0}[broken]; held != want {
			b.Errorf("%d hold it; want %d", held, want)
		}
		if !broken && b.votes() != 0 {
			b.Error("what nobody holds was not given back")
		}
	})
}

// TestMajority: a minority that is missing changes nothing; without a majority nothing is known.
func TestMajority(t *testing.T) {
	b := newBench(t, "N7")
	s := b.open(Options{})
	r := b.ask()
	before := b.grant(s, r)
	b.more[1].Kill()
	if _, err := before.Lease.Renew(b.ctx(), r.TTL); err != nil {
		t.Errorf("a renewal without one of three: %v", err)
	}
	if b.isFree(s) {
		t.Error("it is another's, without one of three")
	}
	b.release(s, r)
	if err := s.Release(b.ctx(), b.ask()); !errors.Is(err, driver.ErrGone) {
		t.Errorf("a release of what was never held: %v", err)
	}
	if !b.isFree(s) {
		t.Error("without one of three it cannot be had")
	}
	last := b.ask()
	g := b.grant(s, last)
	b.more[0].Kill()
	if _, err := g.Lease.Renew(b.ctx(), last.TTL); err == nil || driver.Answered(err) {
		t.Errorf("a renewal by one of three: %v", err)
	}
	if err := s.Release(b.ctx(), last); err == nil || driver.Answered(err) {
		t.Errorf("a release by one of three: %v", err)
	}
	next := b.ask()
	next.NoWait = true
	if _, err := s.Acquire(b.ctx(), next); err == nil || driver.Answered(err) {
		t.Errorf("one of three: %v", err)
	}
}

// TestMajorityGone: a hold that most servers have forgotten is gone, though one remembers it; one that one has forgotten is not.
func TestMajorityGone(t *testing.T) {
	b := newBench(t, "N7")
	r := b.ask()
	g := b.grant(b.open(Options{}), r)
	b.until("all have granted it", func() bool { return b.votes() == 3 })
	b.do("DEL", "control:lock:lock")
	if left, err := g.Lease.Renew(b.ctx(), r.TTL); err != nil || left <= 0 {
		t.Errorf("two of three have it: %v, %v", left, err)
	}
	if _, err := b.more[0].Do(b.ctx(), "DEL", "control:lock:lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Lease.Renew(b.ctx(), r.TTL); !errors.Is(err, driver.ErrGone) {
		t.Errorf("one of three has it: %v", err)
	}
}
