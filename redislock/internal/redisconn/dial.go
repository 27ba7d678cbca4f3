package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/redis/rueidis"
)

// Dial connects, and returns when the server has answered, has refused, or ctx has ended. Nothing is left behind when it fails. Its
// errors are translated by [Error].
func Dial(ctx context.Context, o rueidis.ClientOption) (rueidis.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := &wires{dial: o.DialCtxFn, open: make(map[*wire]struct{})}
	w.life, w.end = context.WithCancel(context.Background())
	o.DialCtxFn = w.connect

	// rueidis.NewClient takes no context: the connection is taken away from it instead.
	stop := context.AfterFunc(ctx, w.close)
	inner, err := rueidis.NewClient(o)
	if ended := !stop(); ended || err != nil {
		w.close()
		if inner != nil {
			inner.Close()
		}
		if ended {
			return nil, ctx.Err()
		}
		return nil, dialError(o, err)
	}
	c := &client{Client: inner, wires: w}
	c.working.Store(w.broken.Load() + 1)
	return c, nil
}

// dialError adds what only the first words of a connection can show.
func dialError(o rueidis.ClientOption, err error) error {
	if o.TLSConfig == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return &hint{"the server hung up at the first words; if it is a TLS port use rediss://, if it is no Redis look at host and port",
			[]error{ErrProtocol, err}}
	}
	return Error(inTime(err))
}

// inTime keeps a time-out of the connection apart from the end of somebody's context, which it would pass for.
func inTime(err error) error {
	var timeout interface{ Timeout() bool }
	if err != nil && errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return &hint{"the server did not answer in time; look at host and port, at the network, and at the server's load", []error{os.ErrDeadlineExceeded}}
	}
	return err
}

// wires are the connections of one client.
type wires struct {
	dial   func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) // nil: as rueidis would
	life   context.Context
	end    context.CancelFunc
	broken atomic.Int64 // how many have ended

	mu   sync.Mutex
	open map[*wire]struct{}
}

// A wire is a connection whose end is noticed.
type wire struct {
	net.Conn
	of   *wires
	once sync.Once
}

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
	if w.dial != nil {
		return w.dial(ctx, address, d, t)
	}
	if t != nil {
		return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
	}
	return d.DialContext(ctx, "tcp", address)
}

func (w *wires) closed() bool { return w.life.Err() != nil }

// close ends every connection, and every attempt to make one.
func (w *wires) close() {
	w.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		c.Conn.Close()
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
	n, err := c.Conn.Write(p)
	if err != nil {
		c.ended()
	}
	return n, err
}

// Close closes the connection, and counts it as broken.
func (c *wire) Close() error {
	c.ended()
	return c.Conn.Close()
}

func (c *wire) ended() {
	c.once.Do(func() {
		c.of.broken.Add(1)
		c.of.mu.Lock()
		delete(c.of.open, c)
		c.of.mu.Unlock()
	})
}
