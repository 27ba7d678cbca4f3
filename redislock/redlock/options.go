package redlock

import (
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
)

// An Option is for [New]. The URL has parameters of the same names.
type Option func(*config)

type config struct {
	prefix           string
	ttl, nodeTimeout time.Duration
	guard            *time.Duration // nil: what the nodes have
	untokened        bool
	names            []string
	wrong            error
}

// An optionError is an option that no store could have.
type optionError struct{ option, problem string }

func (e *optionError) Error() string { return fmt.Sprintf("redlock: %s %s", e.option, e.problem) }

// Unwrap makes it driver.ErrRequest: a mistake of the program's, which asking again does not mend.
func (e *optionError) Unwrap() error { return driver.ErrRequest }

func newConfig(opts []Option) config {
	var c config
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Prefix begins every key and channel of the store. It is empty unless one is named, so that a lock's key is its name, as the peers have it. At
// most 64 bytes, without spaces and control characters.
func Prefix(text string) Option {
	return func(c *config) {
		c.prefix = text
		if len(text) > 64 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			c.wrong = &optionError{"Prefix", "must be at most 64 bytes, without spaces and control characters, such as locks:"}
		}
	}
}

// TTL is what locks have for which the program names none: the core's default otherwise.
func TTL(d time.Duration) Option {
	return func(c *config) {
		const least = 100 * time.Millisecond
		if c.ttl = d; d < least || d > guard.MaxTTL {
			c.wrong = &optionError{"TTL", fmt.Sprintf("must be from %v to %v, such as 10s", least, guard.MaxTTL)}
		}
	}
}

// Guard is how long a node does not vote after a restart, so that it votes for nobody while what it has forgotten may still count. It is at least
// as long as every TTL, it is written into each node by its first client, and a client that names another one is refused. 0: off.
func Guard(d time.Duration) Option {
	return func(c *config) {
		c.guard = &d
		if err := guard.CheckGuard(d); err != nil {
			c.wrong = &optionError{"Guard", err.Error()}
		}
	}
}

// NodeTimeout is how long one node has to answer a vote: a two-hundredth of the TTL unless it is named, at least 5 ms and at most 50 ms.
func NodeTimeout(d time.Duration) Option {
	return func(c *config) {
		if c.nodeTimeout = d; d < time.Millisecond || d > 10*time.Second {
			c.wrong = &optionError{"NodeTimeout", "must be from 1ms to 10s, such as 50ms"}
		}
	}
}

// WithoutTokens saves the second round: locks have no fencing token.
func WithoutTokens() Option { return func(c *config) { c.untokened = true } }

// Names are what the nodes are called, in the order of the clients, in the list that all clients of the store must agree on.
func Names(names ...string) Option {
	return func(c *config) {
		c.names = names
		for _, name := range names {
			if badName(name) {
				c.wrong = &optionError{"Names", nameRule}
			}
		}
	}
}
