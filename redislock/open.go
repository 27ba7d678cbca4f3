package redislock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/guard"
	"holdfast.dev/redislock/internal/redisconn"
)

func init() {
	for _, scheme := range []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel"} {
		driver.Register(scheme, open)
	}
}

// open opens the store that a URL names. It returns when the server has answered: a wrong password is told here.
func open(ctx context.Context, u *driver.URL) (driver.Store, error) {
	options, err := redisconn.Options(u, "prefix", "ttl", "guard", "claim")
	if err != nil {
		return nil, err
	}
	opts, err := readOptions(u)
	if err != nil {
		return nil, err
	}
	client, err := redisconn.Dial(ctx, options)
	if err != nil {
		return nil, err
	}
	s := newStore(client, true, u.String(), newConfig(opts))
	if _, err := s.guard.Opened(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// readOptions reads the parameters that concern the locks.
func readOptions(u *driver.URL) ([]Option, error) {
	prefix, err := u.Text("prefix", DefaultPrefix)
	if err != nil {
		return nil, err
	}
	opts := []Option{Prefix(prefix)}
	for _, p := range []struct {
		name   string
		option func(time.Duration) Option
	}{{"ttl", TTL}, {"guard", Guard}, {"claim", Claim}} {
		if _, given := u.Params[p.name]; !given {
			continue
		}
		d, err := u.Duration(p.name, 0)
		if err != nil {
			return nil, err
		}
		opts = append(opts, p.option(d))
		if wrong := newConfig(opts).wrong; wrong != nil {
			return nil, &driver.URLError{Scheme: u.Scheme, Param: p.name, Problem: wrong.(*optionError).problem}
		}
	}
	if wrong := newConfig(opts).wrong; wrong != nil {
		return nil, &driver.URLError{Scheme: u.Scheme, Param: "prefix", Problem: wrong.(*optionError).problem}
	}
	return opts, nil
}

// DefaultPrefix begins every key and channel, unless [Prefix] says otherwise.
const DefaultPrefix = "holdfast:"

// An Option is for [New]. The URL has parameters of the same names.
type Option func(*config)

type config struct {
	prefix     string
	ttl, claim time.Duration
	guard      *time.Duration // nil: what the store has
	wrong      error
}

// An optionError is an option that no store could have.
type optionError struct{ option, problem string }

func (e *optionError) Error() string { return fmt.Sprintf("redislock: %s %s", e.option, e.problem) }

// Unwrap makes it driver.ErrRequest: a mistake of the program's, which asking again does not mend.
func (e *optionError) Unwrap() error { return driver.ErrRequest }

func newConfig(opts []Option) config {
	c := config{prefix: DefaultPrefix, claim: DefaultClaim}
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Prefix begins every key and channel of the store: stores with different prefixes are different stores. 1 to 64 bytes, without braces,
// spaces and control characters.
func Prefix(text string) Option {
	return func(c *config) {
		c.prefix = text
		bad := strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '{' || r == '}' })
		if text == "" || len(text) > 64 || bad {
			c.wrong = &optionError{"Prefix", "must be 1 to 64 bytes, without braces, spaces and control characters, such as holdfast:"}
		}
	}
}

// TTL is what locks have for which the program names none: the core's default otherwise.
func TTL(d time.Duration) Option {
	return func(c *config) {
		if c.ttl = d; d < coreMinTTL || d > MaxTTL {
			c.wrong = &optionError{"TTL", fmt.Sprintf("must be from %v to %v, such as 10s", coreMinTTL, MaxTTL)}
		}
	}
}

// Guard is how long the server grants nothing after a restart, so that no lock is given twice that was granted before. It is at least
// as long as every TTL, it is written into the store by its first client, and a client that names another one is refused. 0: off.
func Guard(d time.Duration) Option {
	return func(c *config) {
		c.guard = &d
		if err := guard.CheckGuard(d); err != nil {
			c.wrong = &optionError{"Guard", err.Error()}
		}
	}
}

// Claim is how long somebody who waited has to say that the lock has reached it, before it goes to the next.
func Claim(d time.Duration) Option {
	return func(c *config) {
		if c.claim = d; d < 50*time.Millisecond || d > 30*time.Second {
			c.wrong = &optionError{"Claim", "must be from 50ms to 30s, such as 2s"}
		}
	}
}
