package guard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/redislock/internal/redisconn"
)

// A Combiner sends calls of a library's functions, several of them in one request where several wait to be sent. A request has a price
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
type Combiner struct {
	s        *Store
	function string                                 // which carries out several
	letter   func(function string, args int) string // how it knows one of them, with so many arguments

	mu      sync.Mutex
	running int         // requests under way
	sent    time.Time   // when the last one began
	waiting []*command  // that are not sent yet
	timer   *time.Timer // until they are, if nothing happens before
}

// Combiner returns one that sends several calls by a function that is "several" of guard.lua. letter is what LETTERS there has for a function, by its
// whole name, with so many arguments.
func (s *Store) Combiner(function string, letter func(function string, args int) string) *Combiner {
	return &Combiner{s: s, function: function, letter: letter}
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

// Do carries one call out: of a function by its whole name, for what key is about, in the store of that id; see [Store.Call].
func (c *Combiner) Do(ctx context.Context, function, key, id string, args []string) (rueidis.RedisMessage, error) {
	cmd := newCommand(function, key, id, args)
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
	if left := gather - time.Since(c.sent); left <= 0 {
		c.flush()
	} else if c.timer == nil { // nobody else may come
		c.timer = time.AfterFunc(left, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.timer = nil
			c.flush()
		})
	}
	c.mu.Unlock()
	select { // a request that is under way when the store is closed ends, so that this one does
	case <-cmd.done:
		return cmd.answer()
	case <-ctx.Done():
		if c.takeBack(cmd) {
			return rueidis.RedisMessage{}, &Unsent{Err: ctx.Err()}
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

// flush sends what has gathered, though a request is under way. The mutex is held.
func (c *Combiner) flush() {
	if len(c.waiting) > 0 && c.running < depth {
		c.begin()
		go c.send(c.take())
	}
}

// goOn ends a request: what has gathered meanwhile becomes the next one.
func (c *Combiner) goOn() {
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
func (c *Combiner) begin() {
	c.running++
	c.sent = time.Now()
}

// take returns what has gathered. The mutex is held.
func (c *Combiner) take() []*command {
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
func (c *Combiner) takeBack(cmd *command) bool {
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
func (c *Combiner) send(batch []*command) {
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
func (c *Combiner) request(batch []*command) {
	if len(batch) == 1 {
		cmd := batch[0]
		cmd.message, cmd.err = c.s.single(c.s.life, cmd)
		return
	}
	keys := make([]string, 1, 1+len(batch))
	args := make([]string, 1, 1+5*len(batch))
	keys[0], args[0] = c.s.config.Key, batch[0].store
	for _, cmd := range batch {
		keys = append(keys, cmd.key)
		args = append(append(args, c.letter(cmd.function, len(cmd.args))), cmd.args...)
	}
	message, err := c.s.config.Library.Call(c.s.life, c.s.config.Client, c.function, keys, args)
	answers, wrong := message.ToArray()
	if err == nil && (wrong != nil || len(answers) != len(batch)) {
		err = c.s.Strange(c.s.life, c.function)
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

// single sends one call.
func (s *Store) single(ctx context.Context, cmd *command) (rueidis.RedisMessage, error) {
	args := make([]string, 1, 6)
	args[0] = cmd.store
	return s.Do(ctx, cmd.function, []string{cmd.key, s.config.Key}, append(args, cmd.args...))
}

// failed is the error with which one of several calls ended.
func failed(m rueidis.RedisMessage) error {
	if r, ok := ReadReply(m); ok && r.Says == saysFailed {
		return redisconn.Reply(r.Text(0))
	}
	return nil
}
