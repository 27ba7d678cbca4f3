package redislock

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

// A combiner sends calls of the engine's functions, several of them in one request where several wait to be sent. A request has a price
// of its own, for the server and for the client, which is about twice that of what is done in it; a program with many goroutines shares
// it among them.
//
//   - idle: a call goes out at once, alone, on the goroutine of its caller and under its context.
//   - busy: while a request is under way further calls gather, and go out together when it is answered; or when it has been under way for
//     longer than gather: a network is then slower than the server, and several requests on their way at once make good for it.
//
// Calls in one request are carried out one after the other, each for itself: one that fails does not concern the others. But if there is
// no answer, none of them has one.
//
// Races: a caller whose context ends before its call was sent takes it back, and nothing was asked; once it was sent the outcome is
// unknown. A request of several belongs to nobody, so that nobody's context ends it: the connection's own time-out does.
type combiner struct {
	s        *Store
	function string // which carries out several

	mu      sync.Mutex
	running int        // requests under way
	sent    time.Time  // when the last one began
	waiting []*command // that are not sent yet
}

const (
	most   = 64                    // calls in one request
	depth  = 8                     // requests under way at once
	gather = 60 * time.Microsecond // from one request to the next, unless it is answered before
)

// A command is one call of a function.
type command struct {
	function string
	key      string
	store    string // its id
	args     []string

	done    chan struct{} // has an element when it was answered by somebody else's request
	message rueidis.RedisMessage
	err     error
}

var commands = sync.Pool{New: func() any { return &command{done: make(chan struct{}, 1), args: make([]string, 0, 6)} }}

func newCommand(function, key, store string, args []string) *command {
	cmd := commands.Get().(*command)
	cmd.function, cmd.key, cmd.store = function, key, store
	cmd.args = append(cmd.args, args...)
	return cmd
}

// free gives back a command that nobody else has.
func (cmd *command) free() {
	clear(cmd.args)
	*cmd = command{done: cmd.done, args: cmd.args[:0]}
	commands.Put(cmd)
}

// do carries one call out. Nobody may use cmd afterwards.
func (c *combiner) do(ctx context.Context, cmd *command) (rueidis.RedisMessage, error) {
	c.mu.Lock()
	if c.running == 0 {
		c.begin()
		c.mu.Unlock()
		message, err := c.s.single(ctx, cmd)
		c.goOn()
		cmd.free()
		return message, err
	}
	c.waiting = append(c.waiting, cmd)
	if c.running < depth && time.Since(c.sent) > gather {
		c.begin()
		go c.send(c.take())
	}
	c.mu.Unlock()
	select { // a request that is under way when the store is closed ends, so that this one does
	case <-cmd.done:
		return cmd.answer()
	case <-ctx.Done():
		if c.takeBack(cmd) {
			return rueidis.RedisMessage{}, &guard.Unsent{Err: ctx.Err()}
		}
	}
	select {
	case <-cmd.done: // already in hand
		return cmd.answer()
	default:
		return rueidis.RedisMessage{}, ctx.Err()
	}
}

// answer is what was answered.
func (cmd *command) answer() (rueidis.RedisMessage, error) {
	message, err := cmd.message, cmd.err
	cmd.free()
	return message, err
}

// goOn ends a request: what has gathered meanwhile becomes the next one.
func (c *combiner) goOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if batch := c.take(); len(batch) > 0 {
		c.sent = time.Now()
		go c.send(batch)
		return
	}
	c.running--
}

// begin counts a request. The mutex is held.
func (c *combiner) begin() {
	c.running++
	c.sent = time.Now()
}

// take returns what has gathered. The mutex is held.
func (c *combiner) take() []*command {
	n := 0
	for n < len(c.waiting) && n < most && c.waiting[n].store == c.waiting[0].store {
		n++ // those of one store: it may have been opened anew
	}
	batch := c.waiting[:n:n]
	if c.waiting = c.waiting[n:]; len(c.waiting) == 0 {
		c.waiting = nil
	}
	return batch
}

// takeBack withdraws a command, and reports whether it was not sent yet.
func (c *combiner) takeBack(cmd *command) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.waiting, cmd)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(slices.Clone(c.waiting), i, i+1) // requests under way have parts of it
	return true
}

// send sends requests for as long as there is something to send.
func (c *combiner) send(batch []*command) {
	for len(batch) > 0 {
		c.request(batch)
		for _, cmd := range batch {
			cmd.done <- struct{}{}
		}
		c.mu.Lock()
		if batch = c.take(); len(batch) == 0 {
			c.running--
		}
		c.sent = time.Now()
		c.mu.Unlock()
	}
}

// request sends several calls in one request, and notes their answers.
func (c *combiner) request(batch []*command) {
	if len(batch) == 1 {
		cmd := batch[0]
		cmd.message, cmd.err = c.s.single(c.s.guard.Life(), cmd)
		return
	}
	keys := make([]string, 1, 1+len(batch))
	args := make([]string, 1, 1+5*len(batch))
	keys[0], args[0] = c.s.storeKey, batch[0].store
	for _, cmd := range batch {
		keys = append(keys, cmd.key)
		args = append(append(args, letter(cmd)), cmd.args...)
	}
	message, err := engine.Call(c.s.guard.Life(), c.s.client, c.function, keys, args)
	answers, wrong := message.ToArray()
	if err == nil && (wrong != nil || len(answers) != len(batch)) {
		err = c.s.guard.Strange(c.s.guard.Life(), c.function)
	}
	for i, cmd := range batch {
		switch {
		case err != nil:
			cmd.err = err
		default:
			cmd.message, cmd.err = answers[i], failed(answers[i])
		}
	}
}

// letter names a function, and what it is called with, in a request of several.
func letter(cmd *command) string {
	switch n := len(cmd.args); {
	case cmd.function == fnAcquire:
		return "a"
	case cmd.function == fnRelease && n > 3:
		return "R"
	case cmd.function == fnRelease:
		return "r"
	case n > 2:
		return "N"
	}
	return "n" // renew
}

// single sends one call.
func (s *Store) single(ctx context.Context, cmd *command) (rueidis.RedisMessage, error) {
	args := make([]string, 1, 6)
	args[0] = cmd.store
	return s.guard.Do(ctx, cmd.function, []string{cmd.key, s.storeKey}, append(args, cmd.args...))
}

// failed is the error with which one of several calls ended.
func failed(m rueidis.RedisMessage) error {
	if r, ok := guard.ReadReply(m); ok && r.Says == saysFailed {
		return redisconn.Reply(r.Text(0))
	}
	return nil
}
