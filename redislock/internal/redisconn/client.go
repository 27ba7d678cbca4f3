package redisconn

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// room is how many requests may be under way before further ones wait apart: somewhat less than a connection has places, because
// rueidis uses some itself, and none of them waits there with an eye on its context.
const room = 1<<ringScale - 32

// A client is a rueidis.Client whose Do and DoMulti return when their context ends, whatever the connection is doing.
type client struct {
	rueidis.Client
	wires *wires // its connections; nil if a program brought the client along

	working   atomic.Int64 // the number of broken connections at which a request was last answered, plus one
	running   atomic.Int64 // requests under way
	abandoned atomic.Int64 // requests whose caller has left, since the last answer: they still have their places

	mu         sync.Mutex
	connecting *connecting // nil: nobody is
}

// connecting is one PING that everybody waits for.
type connecting struct {
	done chan struct{}
	err  error
}

// Adopt returns a client that a program brought along as one that returns when a context ends. It costs a goroutine for each request
// with a context that can end. Closing it closes c.
func Adopt(c rueidis.Client) rueidis.Client { return adopt(c) }

func adopt(c rueidis.Client) *client {
	if own, ok := c.(*client); ok {
		return own
	}
	return &client{Client: c}
}

// Do sends cmd, or returns the error of ctx.
func (c *client) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if c.wires == nil {
		return apart(ctx, rueidis.NewErrorResult, func() rueidis.RedisResult { return c.Client.Do(ctx, cmd) })
	}
	if err := c.ready(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	defer c.running.Add(-1)
	if c.running.Add(1)+c.abandoned.Load() > room {
		return apart(ctx, rueidis.NewErrorResult, func() rueidis.RedisResult { return c.Client.Do(ctx, cmd) })
	}
	r := c.Client.Do(ctx, cmd)
	if err := r.NonRedisError(); err != nil {
		return rueidis.NewErrorResult(c.failed(ctx, err))
	}
	c.answered()
	return r
}

// DoMulti sends multi, or returns the error of ctx for each.
func (c *client) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	fail := func(err error) []rueidis.RedisResult {
		all := make([]rueidis.RedisResult, len(multi))
		for i := range all {
			all[i] = rueidis.NewErrorResult(err)
		}
		return all
	}
	if c.wires != nil {
		if err := c.ready(ctx); err != nil {
			return fail(err)
		}
	}
	return apart(ctx, fail, func() []rueidis.RedisResult { return c.Client.DoMulti(ctx, multi...) })
}

// Close closes all connections at once. It waits for no server.
func (c *client) Close() {
	if c.wires != nil {
		c.wires.close()
	}
	c.Client.Close()
}

// closed reports whether Close was called; of an adopted client nobody knows.
func (c *client) closed() bool { return c.wires != nil && c.wires.closed() }

// apart runs f on a goroutine of its own if ctx can end, and no longer than that. f must see the end of ctx before it sends anything.
func apart[T any](ctx context.Context, fail func(error) T, f func() T) T {
	if ctx.Done() == nil {
		return f()
	}
	result := make(chan T, 1)
	go func() { result <- f() }()
	select {
	case r := <-result:
		return r
	case <-ctx.Done():
		return fail(ctx.Err())
	}
}

// failed counts a request that was left behind unanswered, and names the reason.
func (c *client) failed(ctx context.Context, err error) error {
	switch {
	case c.closed():
		return rueidis.ErrClosing
	case ctx.Err() != nil:
		c.abandoned.Add(1)
	}
	return err
}

// answered: answers come in order, so that those whose callers have left were answered too.
func (c *client) answered() {
	if c.abandoned.Load() != 0 {
		c.abandoned.Store(0)
	}
}

// ready returns when the connection can be used, so that the request which follows need not connect.
func (c *client) ready(ctx context.Context) error {
	for c.working.Load() != c.wires.broken.Load()+1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.connect(ctx); err != nil {
			return err
		}
	}
	return nil
}

// connect waits for one PING together with everybody else.
func (c *client) connect(ctx context.Context) error {
	c.mu.Lock()
	try := c.connecting
	if try == nil {
		try = &connecting{done: make(chan struct{})}
		c.connecting = try
		go c.ping(try)
	}
	c.mu.Unlock()
	select {
	case <-try.done:
		return try.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ping connects, if that is needed. rueidis bounds it by its own time-outs.
func (c *client) ping(try *connecting) {
	broken := c.wires.broken.Load()
	try.err = c.wires.inTime(c.Client.Do(context.Background(), c.Client.B().Ping().Build()).NonRedisError())
	switch {
	case c.closed():
		try.err = rueidis.ErrClosing
	case try.err == nil:
		c.working.Store(broken + 1)
		c.abandoned.Store(0) // they went down with the old connection, or were answered before this
	}
	c.mu.Lock()
	c.connecting = nil
	c.mu.Unlock()
	close(try.done)
}
