package remote

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"holdfast.dev/driver"
)

// Serve serves store to whoever connects to l, until l is closed: then it ends all connections and returns nil when nothing of it
// runs any more. It does not close the store.
func Serve(l net.Listener, store driver.Store) error {
	s := &server{store: store}
	var work sync.WaitGroup
	defer work.Wait()
	life, end := context.WithCancel(context.Background())
	defer end()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		work.Go(func() { s.serve(life, conn) })
	}
}

type server struct {
	store  driver.Store
	leases sync.Map // of what was granted, until it is released: key to driver.Lease
}

// A peer is one client's connection.
type peer struct {
	*server
	*wire
	life    context.Context // ends with Serve
	here    context.Context // ends with the connection
	cancels sync.Map        // of the acquires under way: id to context.CancelFunc
}

// serve reads calls until the connection ends, and returns when they are all done.
func (s *server) serve(life context.Context, conn net.Conn) {
	here, leave := context.WithCancel(life)
	var work sync.WaitGroup
	p := &peer{server: s, wire: newWire(conn, &work), life: life, here: here}
	defer work.Wait()
	defer p.hangUp()
	defer leave()
	defer context.AfterFunc(life, p.hangUp)()
	for {
		c := new(call)
		if p.read(c) != nil {
			return
		}
		switch c.Op {
		case opCancel:
			p.cancel(c.ID)
		case opAcquire:
			settled := make(chan struct{})
			settle := sync.OnceFunc(func() { close(settled) })
			work.Go(func() {
				defer settle()
				p.acquire(c, settle)
			})
			<-settled // before the next call is read: the server's rule 2
		default:
			work.Go(func() {
				answer := p.carryOut(c)
				answer.ID = c.ID
				p.send(answer)
			})
		}
	}
}

// acquire carries an acquire out. It calls settle when the store has seen it and makes it wait.
func (p *peer) acquire(c *call, settle func()) {
	r, err := c.Request.unpack()
	if err != nil {
		p.send(&reply{ID: c.ID, Err: fail(err)})
		return
	}
	var waited atomic.Bool
	r.Waiting = func(progress driver.Progress) {
		waited.Store(true)
		p.send(&reply{ID: c.ID, Progress: &progress})
		settle()
	}
	r.Lost = func(err error) {
		k := c.Request.key()
		p.send(&reply{Lost: &k, Err: fail(err)})
	}
	ctx, cancel := context.WithCancel(p.here)
	p.cancels.Store(c.ID, cancel)
	defer p.cancel(c.ID)
	g, err := p.store.Acquire(ctx, r)
	if err != nil {
		p.send(&reply{ID: c.ID, Err: fail(err)})
		return
	}
	p.leases.Store(c.Request.key(), g.Lease)
	p.send(&reply{ID: c.ID, Grant: &grant{Token: g.Token, Spare: g.Spare, TTL: g.TTL, Waited: waited.Load()}})
}

// cancel ends the wait of an acquire, if it is still under way.
func (p *peer) cancel(id uint64) {
	if cancel, ok := p.cancels.LoadAndDelete(id); ok {
		cancel.(context.CancelFunc)()
	}
}
