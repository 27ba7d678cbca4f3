package remote

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"holdfast.dev/driver"
)

// A client sends calls to a server, over one connection at a time.
type client struct {
	addr    string
	lost    func(key, error)
	life    context.Context // ends with close
	end     context.CancelFunc
	work    sync.WaitGroup
	dialing chan struct{} // has an element while somebody looks at conn; a mutex that knows contexts
	conn    *conn         // the last one, perhaps dead; nil: none yet
}

func newClient(addr string, lost func(key, error)) *client {
	c := &client{addr: addr, lost: lost, dialing: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// do sends a call and waits for its answer, which it returns with the error in it. Every other error is an unknown outcome: the
// call is never sent a second time.
func (c *client) do(ctx context.Context, what *call, progress func(driver.Progress)) (*reply, error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return new(reply), c.unknown(err)
	}
	wait := conn.begin(what)
	defer conn.pending.Delete(what.ID)
	for {
		select {
		case p := <-wait.progress:
			progress(p)
			continue
		case answer := <-wait.answer:
			return answer, answer.Err.error()
		case <-ctx.Done():
			err = ctx.Err()
		case <-conn.gone:
			err = errDied
		case <-c.life.Done():
			err = driver.ErrClosed
		}
		select {
		case answer := <-wait.answer: // already in hand
			return answer, answer.Err.error()
		default:
		}
		if what.Op == opAcquire {
			conn.send(&call{ID: what.ID, Op: opCancel})
		}
		return new(reply), c.unknown(err)
	}
}

var errDied = fmt.Errorf("the connection died before the answer came; the request may have been carried out")

func (c *client) unknown(err error) error { return fmt.Errorf("%s: %w", c, err) }

func (c *client) String() string { return Scheme + "://" + c.addr }

// connect returns the connection, a new one if there is none or the last one died.
func (c *client) connect(ctx context.Context) (*conn, error) {
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
	}
	switch {
	case c.life.Err() != nil:
		return nil, driver.ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case c.conn != nil && !c.conn.isGone():
		return c.conn, nil
	}
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	tcp, err := new(net.Dialer).DialContext(dialing, "tcp", c.addr)
	switch {
	case err != nil && c.life.Err() != nil:
		return nil, driver.ErrClosed
	case err != nil:
		return nil, err
	}
	fresh := &conn{wire: newWire(tcp, &c.work)}
	c.work.Go(func() { fresh.receive(c.lost) })
	c.conn = fresh
	return fresh, nil
}

// close ends the connection; calls under way return. No goroutine is left.
func (c *client) close() {
	c.end()
	c.dialing <- struct{}{}
	if c.conn != nil {
		c.conn.hangUp()
	}
	<-c.dialing
	c.work.Wait()
}

// A conn is a connection to the server, and the calls that it carries.
type conn struct {
	*wire
	last    atomic.Uint64 // the id of the last call
	pending sync.Map      // id to *wait
}

// A wait is one call's. Its channels have room for what the receiving goroutine puts there.
type wait struct {
	answer   chan *reply
	progress chan driver.Progress // the newest
}

// begin sends a call.
func (c *conn) begin(what *call) *wait {
	w := &wait{make(chan *reply, 1), make(chan driver.Progress, 1)}
	what.ID = c.last.Add(1)
	c.pending.Store(what.ID, w)
	c.send(what)
	return w
}

func (c *conn) isGone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

// receive hands out what the server sends, until the connection ends. What nobody waits for any more is dropped.
func (c *conn) receive(lost func(key, error)) {
	defer c.hangUp()
	for {
		r := new(reply)
		if c.read(r) != nil {
			return
		}
		if r.Lost != nil {
			lost(*r.Lost, r.Err.error())
		} else if w, ok := c.pending.Load(r.ID); ok {
			w.(*wait).put(r)
		}
	}
}

func (w *wait) put(r *reply) {
	if r.Progress == nil {
		w.answer <- r
		return
	}
	select {
	case <-w.progress: // not yet looked at, and old now
	default:
	}
	w.progress <- *r.Progress
}
