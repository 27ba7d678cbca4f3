package redisconn

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A connection begins alone: rueidis writes a request and reads its answer on the caller's own goroutine. That takes half the time of
// handing both to goroutines of its own, which it does from the moment on at which two requests are under way at once: the connection
// is then shared, until it ends.
//
// Alone, rueidis wants a context with a deadline, and does not see it end before. So doAlone gives it a deadline that does not count;
// and if the context ends and the answer does not come shortly after, the connection is cut. Nobody else's request is on it; one that
// comes just then has no answer, and is asked again.

// cutAfter is how long a request that is alone on its connection may stay unanswered after its caller has left, or up to twice that.
const cutAfter = 10 * time.Millisecond

// isShared reports whether the connection carries, or has carried, several requests at once. running counts the one that asks.
func (c *client) isShared(running int64) bool {
	working := c.working.Load()
	if c.shared.Load() == working {
		return true
	}
	if running > 1 {
		c.shared.Store(working)
	}
	return running > 1
}

// doAlone sends cmd on a connection that is not shared.
func (c *client) doAlone(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	c.overseer.begin(ctx, c.wires)
	r := c.Client.Do(unhurried{ctx}, cmd)
	c.overseer.end()
	if r.NonRedisError() != nil && ctx.Err() != nil {
		return rueidis.NewErrorResult(ctx.Err()) // which is why it was cut
	}
	return r
}

// An overseer looks, while requests come one at a time, whether the caller of the one under way has left. It costs a request next to
// nothing: a timer of its own looks every cutAfter, and stops when there were no requests for a while.
type overseer struct {
	mu    sync.Mutex
	ctx   context.Context // of the request under way; nil: none
	left  bool            // its caller had left when it was looked at last
	armed bool            // the timer is set
	idle  int             // how often it has found nothing
}

// idleLooks is how often an overseer looks in vain before it stops.
const idleLooks = 20

func (o *overseer) begin(ctx context.Context, w *wires) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx, o.left, o.idle = ctx, false, 0
	if !o.armed {
		o.armed = true
		time.AfterFunc(cutAfter, func() { o.look(w) })
	}
}

func (o *overseer) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx = nil
}

// look cuts the connection if the caller of the request under way has left twice in a row: the answer may be on its way the first time.
func (o *overseer) look(w *wires) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case w.closed():
		return
	case o.ctx == nil:
		o.idle++
	case o.ctx.Err() != nil && o.left:
		w.cut(true)
	case o.ctx.Err() != nil:
		o.left = true
	}
	if o.idle >= idleLooks {
		o.armed = false
		return
	}
	time.AfterFunc(cutAfter, func() { o.look(w) })
}

// unhurried is a context with a deadline: its own, or one that never comes.
type unhurried struct{ context.Context }

var never = time.Unix(1<<40, 0)

func (u unhurried) Deadline() (time.Time, bool) {
	if t, ok := u.Context.Deadline(); ok {
		return t.Add(cutAfter), true // the answer may be on its way
	}
	return never, true
}
