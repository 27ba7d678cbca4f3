package redisconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// What connecting waits for, as the error says it if that takes too long.
const (
	stageConnect = "no connection was made in time; look at host and port, and at the network"
	stageTLS     = "there is a connection, but the server did not begin TLS in time; if it is a plain port use redis:// or redis+sentinel://, without TLS"
	stageSecure  = "there is a connection, but the server did not answer in time; if it is no Redis look at host and port, else at its load"
	stageAsk     = "the Sentinels did not answer in time; look at their hosts and ports, and at the network"
	stageAnswer  = "there is a connection, but the server did not answer in time; if it is a TLS port use rediss:// or rediss+sentinel://, if it is no Redis look at host and port, else at its load"
)

// wires are the connections of one client. All that are open lead to one server: see home.go.
type wires struct {
	target *Target
	life   context.Context
	end    context.CancelFunc
	broken atomic.Int64 // how many have ended that carried requests
	dialed atomic.Int64 // how many were begun
	era    atomic.Int64 // how often all were cut because their server was the wrong one
	stage  atomic.Value // what a connection that is being made waits for

	mu    sync.Mutex
	open  map[*wire]struct{}
	home  home
	doubt doubt
}

func newWires(t Target) *wires {
	w := &wires{target: &t, open: make(map[*wire]struct{})}
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
func (w *wires) connect(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
	turn := w.dialed.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	raw, at, err := w.reach(ctx)
	if err != nil {
		if w.closed() {
			return nil, rueidis.ErrClosing
		}
		return nil, err
	}
	c := &wire{Conn: raw, of: w}
	others, err := w.settle(c, home{at, raw.RemoteAddr().String(), turn})
	for _, other := range others {
		other.cut()
	}
	if err != nil {
		hangUp(raw)
		return nil, err
	}
	return c, nil
}

// reach connects to the server, wherever that is now.
func (w *wires) reach(ctx context.Context) (net.Conn, place, error) {
	t := w.target
	if t.Dialer.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.Dialer.Timeout)
		defer cancel()
	}
	stage := func(s string) { w.stage.Store(s) }
	if t.sentinels != nil {
		return w.reachPrimary(ctx, stage)
	}
	stage(stageConnect)
	at := place{told: t.InitAddress[0]}
	if near := w.near(ctx, at.told); near != at.told {
		if raw, err := t.open(ctx, near, stage); err == nil {
			return raw, at, nil
		}
	}
	raw, err := t.open(ctx, at.told, stage)
	return raw, at, err
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
		if !keepInbox || !c.inbox.Load() {
			hangUp(c.Conn)
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

// cut ends the connection, and says so at once: while requests come one at a time nobody reads, and the next would only then find out.
func (c *wire) cut() {
	hangUp(c.Conn)
	c.ended()
}
