package netfault

import (
	"context"
	"fmt"
	"time"
)

// A Direction is one of the two streams of a connection, or both.
type Direction uint8

const (
	Requests Direction = 1 << 0             // from the client to the server
	Replies  Direction = 1 << 1             // from the server to the client
	Both     Direction = Requests | Replies // each of the two
)

// The two streams, as indexes. Direction 1<<side is the side's.
const requests, replies = 0, 1

func (d Direction) sides() []int {
	var sides []int
	for _, side := range []int{requests, replies} {
		if d&(1<<side) != 0 {
			sides = append(sides, side)
		}
	}
	return sides
}

// faults is what may be wrong with a stream.
type faults struct {
	hold          bool // keep what arrives
	drop          bool // throw away what arrives
	least, jitter time.Duration
	seed          uint64 // of the jitter
}

// change applies f to every stream that is open and to what those of new connections begin with.
func (p *Proxy) change(d Direction, f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, side := range d.sides() {
		f(&p.faults[side])
		for l := range p.links {
			l.streams[side].change(f)
		}
	}
}

// HoldRequests keeps back what clients send, until Resume or Heal.
func (p *Proxy) HoldRequests() { p.change(Requests, func(f *faults) { f.hold = true }) }

// HoldReplies keeps back what the server answers, until Resume or Heal.
func (p *Proxy) HoldReplies() { p.change(Replies, func(f *faults) { f.hold = true }) }

// Resume lets everything through that was held, in order, and holds nothing any more, in either direction.
func (p *Proxy) Resume() { p.change(Both, func(f *faults) { f.hold = false }) }

// Blackhole throws away what is sent, what is still held or delayed, and the ends of connections: neither side notices anything
// but silence. Only Heal lifts it.
func (p *Proxy) Blackhole(d Direction) { p.change(d, func(f *faults) { f.drop = true }) }

// Delay makes every piece that arrives wait for least, and a random part of jitter, before it goes on; a piece never overtakes
// the one before it. Equal seeds give the n-th piece of the m-th connection equal delays. Zeros lift it for what arrives later.
func (p *Proxy) Delay(d Direction, least, jitter time.Duration, seed uint64) {
	p.change(d, func(f *faults) { f.least, f.jitter, f.seed = least, jitter, seed })
}

// ResetAfter resets the connection that carries the n-th byte from now on, right after that byte; with n = 0 in place of the next
// byte. Bytes of all connections count. It happens once: a client that connects again is left alone. The last bytes before the
// reset can be lost with it, as in any reset.
func (p *Proxy) ResetAfter(d Direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, side := range d.sides() {
		p.resetIn[side] = max(n, 0)
	}
}

// HalfClose ends one direction of every open connection: its receiver sees the end of the stream, behind what was sent so far;
// its sender notices nothing, and what it sends is thrown away. The other direction still works.
func (p *Proxy) HalfClose(d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		for _, side := range d.sides() {
			l.streams[side].halfClose()
		}
	}
}

// Cut resets every connection, on both sides, before it returns. What was held is dropped. Faults stay as they are, and new
// connections are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.cut()
	}
}

// Strand resets the client's side of every connection before it returns. To the server they stay open: what the proxy had read
// from a client and holds goes on at Resume, then the connection ends; replies to it are lost. New connections are not held.
func (p *Proxy) Strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for side := range p.faults {
		p.faults[side].hold = false
	}
	for l := range p.links {
		l.strand()
	}
}

// Refuse resets every new connection, until Accept or Heal. Open ones are left alone.
func (p *Proxy) Refuse() { p.setRefuse(true) }

// Accept accepts new connections again.
func (p *Proxy) Accept() { p.setRefuse(false) }

func (p *Proxy) setRefuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Heal makes everything normal: nothing is refused, held, delayed or thrown away any more, and ResetAfter is disarmed. What was
// held or delayed goes on at once; a connection that has lost something is reset.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = false
	p.resetIn = [2]int{-1, -1}
	p.faults = [2]faults{}
	for l := range p.links {
		for _, s := range l.streams {
			if !s.heal() {
				l.cut()
			}
		}
	}
}

// AwaitHeld waits until at least n bytes are kept back in that direction, over all connections, or until ctx ends: so that a test
// knows that the fault has caught what it was meant for.
func (p *Proxy) AwaitHeld(ctx context.Context, d Direction, n int) error {
	for {
		p.mu.Lock()
		arrived, kept := p.arrived, 0
		for l := range p.links {
			for _, side := range d.sides() {
				kept += l.streams[side].kept()
			}
		}
		p.mu.Unlock()
		if kept >= n {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return fmt.Errorf("netfault: %d bytes are held, %d were awaited: %w", kept, n, ctx.Err())
		}
	}
}
