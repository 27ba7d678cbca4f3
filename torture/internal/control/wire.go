package control

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
)

const (
	// timeout is for a server that does not answer at all. It is longer than anything that a step of a round lasts.
	timeout = 2 * time.Second

	// freeChannel is where releases are told.
	freeChannel = "control:free"
)

// A wire is the way to the server: one connection for requests, which pipelines, and one that listens.
type wire struct {
	client rueidis.Client
	life   context.Context
	end    context.CancelFunc
	ending sync.WaitGroup // of what listens

	mu    sync.Mutex
	conns map[*conn]bool // nil once closed
}

// dial connects, and returns when the server has answered.
func dial(ctx context.Context, addr string) (*wire, error) {
	w := &wire{conns: make(map[*conn]bool)}
	w.life, w.end = context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, w.close) // rueidis takes no context here: the connection is taken away from it instead
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{addr},
		DialCtxFn:         w.connect,
		Dialer:            net.Dialer{Timeout: timeout, KeepAlive: timeout / 2},
		ConnWriteTimeout:  timeout,
		ForceSingleClient: true,
		DisableRetry:      true, // the core repeats
		DisableCache:      true,
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		AlwaysPipelining:  true, // else a request that is given up takes the connection with it
		PipelineMultiplex: -1,   // one connection: requests arrive in the order in which they were made
		RingScaleEachConn: 7,
	})
	if !stop() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		w.close()
		if client != nil {
			client.Close()
		}
		return nil, err
	}
	w.client = client
	return w, nil
}

// A conn is a connection that can be taken away from rueidis: its own Close waits for answers.
type conn struct {
	net.Conn
	of *wire
}

func (w *wire) connect(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	raw, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &conn{raw, w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conns == nil {
		raw.Close()
		return nil, rueidis.ErrClosing
	}
	w.conns[c] = true
	return c, nil
}

// Close closes the connection, and forgets it.
func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// close ends everything at once, and waits for no server.
func (w *wire) close() {
	w.end()
	w.mu.Lock()
	conns := w.conns
	w.conns = nil
	w.mu.Unlock()
	for c := range conns {
		c.Conn.Close()
	}
	if w.client != nil {
		w.client.Close()
	}
	w.ending.Wait()
}

// do sends one command. It returns when ctx or the wire ends, whatever the connection is doing.
func (w *wire) do(ctx context.Context, args ...string) (rueidis.RedisMessage, error) {
	if err := w.ended(ctx); err != nil {
		return rueidis.RedisMessage{}, err
	}
	type answer struct {
		message rueidis.RedisMessage
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		m, err := w.client.Do(ctx, w.client.B().Arbitrary(args...).Build()).ToMessage()
		answers <- answer{m, err}
	}()
	select {
	case a := <-answers:
		if err := w.ended(ctx); a.err != nil && err != nil && !rueidis.IsRedisNil(a.err) {
			return a.message, err
		}
		return a.message, a.err
	case <-ctx.Done():
	case <-w.life.Done():
	}
	return rueidis.RedisMessage{}, w.ended(ctx)
}

// ended is why nothing can be asked any more; nil if something can.
func (w *wire) ended(ctx context.Context) error {
	if w.life.Err() != nil {
		return driver.ErrClosed
	}
	return ctx.Err()
}

// ask runs a script, which returns a list of texts.
func (w *wire) ask(ctx context.Context, script string, keys []string, args ...string) ([]string, error) {
	command := append([]string{"EVAL", script, itoa(int64(len(keys)))}, keys...)
	m, err := w.do(ctx, append(command, args...)...)
	if err != nil {
		return nil, err
	}
	return m.AsStrSlice()
}

// listen calls hear with the names of locks that were released, as long as the wire lives. What is said while the connection is down
// is not heard.
func (w *wire) listen(hear func(name string)) {
	w.ending.Go(func() {
		for w.life.Err() == nil {
			w.subscribe(hear)
			driver.Sleep(w.life, 10*time.Millisecond)
		}
	})
}

// subscribe listens until the connection ends.
func (w *wire) subscribe(hear func(name string)) {
	c, release := w.client.Dedicate()
	defer release()
	defer c.Close() // it is not used for anything else
	over := c.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { hear(m.Message) }})
	if c.Do(w.life, w.client.B().Subscribe().Channel(freeChannel).Build()).Error() != nil {
		return
	}
	select {
	case <-over:
	case <-w.life.Done():
	}
}
