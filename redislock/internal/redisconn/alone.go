package redisconn

import (
	"context"
	"sync/atomic"
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

// cutAfter is how long a request that is alone on its connection may stay unanswered after its caller has left.
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
	answered := new(atomic.Bool)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(cutAfter, func() {
			if !answered.Load() {
				c.wires.cut(true)
			}
		})
	})
	r := c.Client.Do(unhurried{ctx}, cmd)
	answered.Store(true)
	stop()
	return r
}

// unhurried is a context with a deadline: its own, or one that never comes.
type unhurried struct{ context.Context }

var never = time.Unix(1<<40, 0)

func (u unhurried) Deadline() (time.Time, bool) {
	if t, ok := u.Context.Deadline(); ok {
		return t, true
	}
	return never, true
}
