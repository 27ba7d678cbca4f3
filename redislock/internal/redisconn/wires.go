package redisconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// A dialer is how rueidis connects.
type dialer = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// What connecting waits for, as the error says it if that takes too long.
const (
	stageConnect = "no connection was made in time; look at host and port, and at the network"
	stageTLS     = "there is a connection, but the server did not begin TLS in time; if it is a plain port use redis://"
	stageSecure  = "there is a connection, but the server did not answer in time; if it is no Redis look at host and port, else at its load"
	stageAnswer  = "there is a connection, but the server did not answer in time; if it is a TLS port use rediss://, if it is no Redis look at host and port, else at its load"
)

// wires are the connections of one client.
type wires struct {
	dial   dialer // nil: as rueidis would
	life   context.Context
	end    context.CancelFunc
	broken atomic.Int64 // how many have ended that carried requests
	stage  atomic.Value // what a connection that is being made waits for

	mu   sync.Mutex
	open map[*wire]struct{}
}

func newWires(dial dialer) *wires {
	w := &wires{dial: dial, open: make(map[*wire]struct{})}
	w.stage.Store(stageConnect)
	w.life, w.end = context.WithCancel(context.Background())
	return w
}

// A wire is a connection whose end is noticed. There are two kinds: one carries requests, the other an inbox. rueidis does not say which it
// makes, but what is written on it does: an inbox begins with SSUBSCRIBE.
type wire struct {
	net.Conn
	of     *wires
	once   sync.Once
	writes int         // how many there were, up to tellBy; of the goroutine that writes
	inbox  atomic.Bool // it carries an inbox
}

// tellBy is how many writes it takes at most to tell what a wire carries: its greeting comes first.
const tellBy = 8

// connect is the DialCtxFn of the client. It ends with the client.
func (w *wires) connect(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	raw, err := w.reach(ctx, address, d, t)
	if err != nil {
		if w.closed() {
			return nil, rueidis.ErrClosing
		}
		return nil, err
	}
	c := &wire{Conn: raw, of: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed() {
		raw.Close()
		return nil, rueidis.ErrClosing
	}
	w.open[c] = struct{}{}
	return c, nil
}

func (w *wires) reach(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	w.stage.Store(stageConnect)
	if w.dial != nil {
		w.stage.Store(stageAnswer)
		return w.dial(ctx, address, d, t)
	}
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	raw, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if t == nil {
		w.stage.Store(stageAnswer)
		return raw, nil
	}
	w.stage.Store(stageTLS)
	secure := tls.Client(raw, t)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		if isTimeout(err) {
			err = &hint{stageTLS, []error{ErrProtocol, os.ErrDeadlineExceeded}}
		}
		return nil, err
	}
	w.stage.Store(stageSecure)
	return secure, nil
}

// late is the error of somebody who has waited for a connection for too long.
func (w *wires) late(err error) error {
	stage := w.stage.Load().(string)
	if stage == stageTLS {
		return &hint{stage, []error{ErrProtocol, err}}
	}
	return &hint{stage, []error{err}}
}

func (w *wires) closed() bool { return w.life.Err() != nil }

// close ends every connection, and every attempt to make one.
func (w *wires) close() {
	w.end()
	w.cut(false)
}

// cut ends every connection that there is; with keepInbox not those of inboxes.
func (w *wires) cut(keepInbox bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		if keepInbox && c.inbox.Load() {
			continue
		}
		if secure, ok := c.Conn.(*tls.Conn); ok {
			secure.NetConn().Close() // its own Close can wait for a peer that does not read
		} else {
			c.Conn.Close()
		}
	}
}

func (c *wire) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.ended()
	}
	return n, err
}

func (c *wire) Write(p []byte) (int, error) {
	if c.writes < tellBy {
		c.writes++
		if bytes.HasPrefix(p, []byte("*2\r\n$10\r\nSSUBSCRIBE\r\n")) {
			c.inbox.Store(true)
		}
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		c.ended()
	}
	return n, err
}

// Close closes the connection, whose end is noticed.
func (c *wire) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (c *wire) ended() {
	c.once.Do(func() {
		if !c.inbox.Load() {
			c.of.broken.Add(1)
		}
		c.of.mu.Lock()
		delete(c.of.open, c)
		c.of.mu.Unlock()
	})
}
