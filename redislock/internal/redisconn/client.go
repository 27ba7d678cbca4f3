package redisconn

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// room is how many requests may be under way before further ones wait apart: somewhat less than a connection has places, because
// rueidis uses some itself, and none of them waits there with an eye on its context.
const room = 1<<ringScale - 32

var errGivenUp = errors.New("the connection was given up, because somebody else's request, or connecting, was not answered in time; look at the network and at the server's load")

// A client is a rueidis.Client whose Do and DoMulti return when their context ends, whatever the connection is doing.
type client struct {
	rueidis.Client
	wires *wires // its connections; nil if a program brought the client along

	working   atomic.Int64 // the number of broken connections at which a request was last answered, plus one
	running   atomic.Int64 // requests under way
	shared    atomic.Int64 // what working was when two were last under way at once
	abandoned atomic.Int64 // requests whose caller has left, since the last answer: they still have their places

	overseer overseer // of requests that are alone

	mu         sync.Mutex
	connecting *connecting // nil: nobody is
	again      time.Time   // when it may be tried again
}

// connectPause is how long a connection that could not be made is not tried again: a thousand who wait would do it, one after the other.
const connectPause = 50 * time.Millisecond

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
		return c.doApart(ctx, cmd)
	}
	if err := c.ready(ctx); err != nil {
		return rueidis.NewErrorResult(err)
	}
	era := c.wires.era.Load()
	defer c.running.Add(-1)
	running := c.running.Add(1)
	if running+c.abandoned.Load() > room {
		r := c.doApart(ctx, cmd)
		c.notice(era, r)
		return r
	}
	var r rueidis.RedisResult
	if c.isShared(running) || ctx.Done() == nil {
		r = c.Client.Do(ctx, cmd)
	} else {
		r = c.doAlone(ctx, cmd)
	}
	switch {
	case r.NonRedisError() == nil:
		c.answered()
	case ctx.Err() != nil:
		c.abandoned.Add(1)
	}
	c.notice(era, r)
	return c.explained(ctx, r)
}

func (c *client) doApart(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.explained(ctx, apart(ctx, rueidis.NewErrorResult, func() rueidis.RedisResult { return c.Client.Do(ctx, cmd) }))
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
	era := int64(0)
	if c.wires != nil {
		if err := c.ready(ctx); err != nil {
			return fail(err)
		}
		era = c.wires.era.Load()
	}
	all := apart(ctx, fail, func() []rueidis.RedisResult { return c.Client.DoMulti(ctx, multi...) })
	for i, r := range all {
		if c.wires != nil {
			c.notice(era, r)
		}
		all[i] = c.explained(ctx, r)
	}
	return all
}

// notice looks at what a result says about the server: that it is a replica, or that it may not be the primary any more.
func (c *client) notice(era int64, r rueidis.RedisResult) {
	err := r.Error()
	if err == nil {
		return
	}
	e, replied := rueidis.IsRedisErr(err)
	switch {
	case !replied:
		c.wires.suspect()
	case e.IsNil():
	case strings.HasPrefix(e.Error(), "READONLY"):
		c.wires.leave(era)
	case strings.HasPrefix(e.Error(), "NOREPLICAS"), strings.HasPrefix(e.Error(), "MASTERDOWN"):
		c.wires.suspect()
	}
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

// explained names the reason of a failure as the caller must see it: a connection that was closed by Close, or that somebody else was
// making whose context has ended, is not what it looks like.
func (c *client) explained(ctx context.Context, r rueidis.RedisResult) rueidis.RedisResult {
	err := r.NonRedisError()
	switch {
	case err == nil || ctx.Err() != nil:
		return r
	case isOver(ctx): // the connection was quicker than the context's own timer
		return rueidis.NewErrorResult(context.DeadlineExceeded)
	case c.closed():
		return rueidis.NewErrorResult(rueidis.ErrClosing)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return rueidis.NewErrorResult(errGivenUp)
	}
	return r
}

// isOver reports whether the deadline of ctx has passed, though ctx may not have noticed yet.
func isOver(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// answered: answers come in order, so that those whose callers have left were answered too.
func (c *client) answered() {
	if c.abandoned.Load() != 0 {
		c.abandoned.Store(0)
	}
}

// Ready returns when c is connected, or with the reason why it is not: what is sent next need not connect, and whoever is told an error here
// has sent nothing. Of a client that a program brought along nothing is known: nil.
func Ready(ctx context.Context, c rueidis.Client) error {
	own, ok := c.(*client)
	if !ok || own.wires == nil {
		return nil
	}
	return Error(own.ready(ctx))
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
		time.AfterFunc(time.Until(c.again), func() { c.ping(try) })
	}
	c.mu.Unlock()
	select {
	case <-try.done:
		return try.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ping connects, if that is needed. rueidis bounds it by its own time-outs. Its first PING can go down with a connection that was cut
// from our side, which rueidis has not noticed yet: if it has not connected it is asked again.
func (c *client) ping(try *connecting) {
	var broken int64
	for range 2 {
		dialed := c.wires.dialed.Load()
		broken = c.wires.broken.Load()
		try.err = c.wires.inTime(c.Client.Do(context.Background(), c.Client.B().Ping().Build()).NonRedisError())
		if try.err == nil || isTimeout(try.err) || c.wires.dialed.Load() != dialed {
			break
		}
	}
	switch {
	case c.closed():
		try.err = rueidis.ErrClosing
	case try.err == nil:
		c.working.Store(broken + 1)
		c.abandoned.Store(0) // they went down with the old connection, or were answered before this
	}
	c.mu.Lock()
	c.connecting = nil
	if try.err != nil {
		c.again = time.Now().Add(connectPause)
	}
	c.mu.Unlock()
	close(try.done)
}
