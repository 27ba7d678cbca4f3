package holdfast

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"holdfast.dev/driver"
)

// Bounds of TTL, and what it is if nobody says.
const (
	DefaultTTL = 10 * time.Second
	MinTTL     = 100 * time.Millisecond
	MaxTTL     = 24 * time.Hour
)

// An OpenOption is for Open and New.
type OpenOption interface{ open(*clientConfig) }

// An Option is for one lock; given to Open or New it is the default of all the client's locks.
type Option interface {
	OpenOption
	lock(*lockConfig)
}

type clientConfig struct {
	lock     lockConfig
	observer Observer
	require  bool
}

type lockConfig struct {
	ttl, grace, maxHold, minHold time.Duration
	fixed                        bool
	ttlGiven                     bool // by the program: a store's own default does not count then
	text                         string
	wrong                        error // an option that is wrong whatever the others are
}

type lockOption func(*lockConfig)

func (o lockOption) lock(c *lockConfig)   { o(c) }
func (o lockOption) open(c *clientConfig) { o(&c.lock) }

type openOption func(*clientConfig)

func (o openOption) open(c *clientConfig) { o(c) }

// TTL is how long the store keeps a hold that nobody renews: how long others wait after a crash, and how long a holder that
// is cut off may go on. 100 ms to 24 h, within the store's own bounds, and well above the time that the store takes to answer. If it
// is not given it is what the store's URL says (ttl=, where the driver knows that), or 10 s. Where nothing runs out (a directory: Guarantees.MaxTTL and Session are 0) it bounds nothing.
func TTL(d time.Duration) Option {
	return lockOption(func(c *lockConfig) { c.ttl, c.ttlGiven = d, true })
}

// Grace ends a hold's contexts that much before the hold could be anybody else's, wherever the end is foreseen, so that work can
// be wound up in time. At most half the TTL; none if it is not given.
func Grace(d time.Duration) Option { return lockOption(func(c *lockConfig) { c.grace = d }) }

// Fixed turns renewal off: the hold ends when its TTL is over, unless Extend moves it. Redisson calls it a lease time. Where nothing runs
// out in the store, the client ends it: a process that is stopped then does not.
func Fixed() Option { return lockOption(func(c *lockConfig) { c.fixed = true }) }

// MaxHold bounds how long a hold is renewed: then it is lost with reason ReasonMaxHold, and the lock goes to the next. A millisecond at
// least. Where nothing runs out in the store, the client ends it, as with Fixed.
func MaxHold(d time.Duration) Option {
	return lockOption(func(c *lockConfig) {
		if c.maxHold = d; d <= 0 {
			c.wrong = argumentError("MaxHold of %v: give a positive duration", d)
		}
	})
}

// MinHold keeps the lock taken for at least that long after it was granted, by nobody once it is unlocked or its holder has
// died: a job that ends quickly is not run again by a machine whose clock is late. It does not count after Hold.Undo. Stores that
// cannot keep a lock that nobody holds answer ErrUnsupported.
func MinHold(d time.Duration) Option {
	return lockOption(func(c *lockConfig) {
		if c.minHold = d; d <= 0 {
			c.wrong = argumentError("MinHold of %v: give a positive duration", d)
		}
	})
}

// Label is a text for people, shown to those who wait and to those who inspect, behind this process's host:pid. At most 200
// bytes, no control characters.
func Label(text string) Option { return lockOption(func(c *lockConfig) { c.text = text }) }

// A Requirement is something that Open insists on.
type Requirement uint8

// Correctness asks for a store on which work that must never be done twice may rely: durable fencing tokens, and no hold lost or
// given twice by a restart or a failover.
const Correctness Requirement = 1

// Require makes Open fail, naming what is missing, unless the store as it is deployed meets r. With New every Lock fails so.
func Require(r Requirement) OpenOption {
	return openOption(func(c *clientConfig) {
		if c.require = true; r != Correctness {
			c.lock.wrong = argumentError("Require(%d): the only requirement is Correctness", r)
		}
	})
}

// WithObserver tells o what happens to all locks of the client.
func WithObserver(o Observer) OpenOption {
	return openOption(func(c *clientConfig) {
		f, isFunc := o.(ObserverFunc)
		if c.observer = o; o == nil || isFunc && f == nil {
			c.observer = nil
			c.lock.wrong = argumentError("WithObserver: the observer is nil")
		}
	})
}

func newClientConfig(opts []OpenOption) clientConfig {
	config := clientConfig{lock: lockConfig{ttl: DefaultTTL}}
	for _, o := range opts {
		if o == nil {
			config.lock.wrong = argumentError("an option is nil")
			continue
		}
		o.open(&config)
	}
	return config
}

func (c lockConfig) with(opts []Option) lockConfig {
	for _, o := range opts {
		if o == nil {
			c.wrong = argumentError("an option is nil")
			continue
		}
		o.lock(&c)
	}
	return c
}

// check reports options that no store could serve.
func (c *lockConfig) check() error {
	switch {
	case c.wrong != nil:
		return c.wrong
	case c.ttl < MinTTL || c.ttl > MaxTTL:
		return ttlError("TTL", c.ttl, MinTTL, MaxTTL)
	case c.grace < 0 || c.grace > c.ttl/2:
		return ttlError("Grace (at most half the TTL)", c.grace, 0, c.ttl/2)
	case c.maxHold > 0 && c.maxHold < time.Millisecond: // MaxHold(30) is 30 ns
		return fmt.Errorf("holdfast: %w: MaxHold is %v, at least 1ms is allowed", ErrTTL, c.maxHold)
	case c.maxHold > 0 && c.maxHold <= c.grace:
		return argumentError("MaxHold of %v is not longer than Grace of %v: the hold would end as it begins", c.maxHold, c.grace)
	case c.minHold > MaxTTL:
		return ttlError("MinHold", c.minHold, 0, MaxTTL)
	case len(c.text) > 200 || !utf8.ValidString(c.text):
		return argumentError("Label: give at most 200 bytes of valid UTF-8")
	}
	for _, r := range c.text {
		if unicode.IsControl(r) {
			return argumentError("Label: control character %U; remove it", r)
		}
	}
	return nil
}

// fits reports options that this store cannot serve.
func (c *lockConfig) fits(g driver.Guarantees, mode Mode) error {
	if mode == Shared && !g.Shared {
		return fmt.Errorf("holdfast: Reader: %w: it has no shared locks; use a Mutex", ErrUnsupported)
	}
	if mode == Permits && !g.Permits {
		return fmt.Errorf("holdfast: Semaphore: %w: it has no permits", ErrUnsupported)
	}
	if g.Session == 0 && g.MaxTTL > 0 && (c.ttl < g.MinTTL || c.ttl > g.MaxTTL) {
		return ttlError("TTL on this store", c.ttl, g.MinTTL, g.MaxTTL)
	}
	if c.minHold > 0 && !g.Keep {
		return fmt.Errorf("holdfast: MinHold: %w: it cannot keep a lock that nobody holds", ErrUnsupported)
	}
	return nil
}

// A TTLError says which bounds a TTL does not keep. It is ErrTTL.
type TTLError struct {
	What     string // "TTL", or where it was asked for
	TTL      time.Duration
	Min, Max time.Duration
}

func (e *TTLError) Error() string {
	return fmt.Sprintf("holdfast: %v: %s is %v, from %v to %v are allowed", ErrTTL, e.What, e.TTL, e.Min, e.Max)
}

// Unwrap returns ErrTTL.
func (e *TTLError) Unwrap() error { return ErrTTL }

func ttlError(what string, d, low, high time.Duration) error {
	return &TTLError{What: what, TTL: d, Min: low, Max: high}
}

// owner is how this process is labelled: enough to find it, no secret.
var owner = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
})

func (c *lockConfig) label() string {
	if c.text == "" {
		return owner()
	}
	return owner() + " " + c.text
}

// correct names what g lacks of Correctness.
func correct(g driver.Guarantees) (missing []string) {
	if g.Fencing != driver.FencingDurable {
		missing = append(missing, fmt.Sprintf("its fencing tokens are %v, not durable", g.Fencing))
	}
	if !g.SurvivesRestart {
		missing = append(missing, "a restart can give a lock twice")
	}
	if !g.SurvivesFailover {
		missing = append(missing, "a failover can give a lock twice")
	}
	if len(missing) > 0 {
		missing = append(missing, g.Missing...)
	}
	return missing
}
