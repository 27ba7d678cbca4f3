package control

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A store is the right lock. A control replaces one of its steps.
type store struct {
	title string
	wire  *wire
	more  []*wire // to further servers, each independent of the others
	ways  steps

	clock      driver.Clock
	guarantees driver.Guarantees
	patience   driver.Backoff // between two looks of a waiter
	onlyTold   bool           // a waiter never looks by itself
	fromAnswer bool           // a grant counts from when it was answered
	reached    func(Point)
	closing    []func()

	mu    sync.Mutex
	waits map[*wait]bool
}

// steps are what a lock does with its server. Each returns an answer of package driver, or an unknown error.
type steps struct {
	take  func(ctx context.Context, r *driver.Request) (token uint64, err error) // r's attempt asks once
	free  func(ctx context.Context, r *driver.Request) error                     // r's attempt holds no longer, and never will
	renew func(ctx context.Context, r *driver.Request, ttl time.Duration) (time.Duration, error)
}

func newStore(name string, w *wire, more ...*wire) *store {
	s := &store{
		title: "control " + name, wire: w, more: more, clock: driver.Boot(), reached: func(Point) {},
		guarantees: driver.Guarantees{
			Fencing: driver.FencingVolatile, MinTTL: 50 * time.Millisecond, MaxTTL: time.Minute,
			Beyond: []string{"a restart: the server keeps nothing on disk"},
		},
		patience: driver.Backoff{Min: 5 * time.Millisecond, Max: 40 * time.Millisecond},
		waits:    make(map[*wait]bool),
	}
	s.ways = steps{take: s.take, free: s.free, renew: s.renew}
	return s
}

// start begins to listen, once the steps are what they are to be.
func (s *store) start() {
	s.wire.listen(s.hear)
	for _, w := range s.more {
		w.listen(s.hear)
	}
}

// takeScript. KEYS: lock, token, gone. ARGV: attempt, TTL in ms (0: none).
const takeScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return {'gone'} end
local ttl = tonumber(ARGV[2])
local holder = redis.call('GET', KEYS[1])
if not holder then
	redis.call('INCR', KEYS[2])
	if ttl > 0 then redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl) else redis.call('SET', KEYS[1], ARGV[1]) end
elseif holder ~= ARGV[1] then
	return {'held', tostring(redis.call('PTTL', KEYS[1]))}
elseif ttl > redis.call('PTTL', KEYS[1]) then
	redis.call('PEXPIRE', KEYS[1], ttl)
end
return {'granted', redis.call('GET', KEYS[2])}`

func (s *store) take(ctx context.Context, r *driver.Request) (uint64, error) {
	token, err := s.askToTake(ctx, takeScript, r, millis(r.TTL))
	if err == nil {
		s.reached(Acquired)
	}
	return token, err
}

// askToTake runs a script that answers as takeScript does.
func (s *store) askToTake(ctx context.Context, script string, r *driver.Request, args ...string) (uint64, error) {
	answer, err := s.wire.ask(ctx, script, keysOf(r), append([]string{r.Attempt.Reveal()}, args...)...)
	if err != nil {
		return 0, err
	}
	switch word, rest := answer[0], answer[1:]; word {
	case "granted":
		return strconv.ParseUint(rest[0], 10, 64)
	case "held":
		return 0, &driver.Held{RetryIn: max(0, duration(rest[0]))}
	case "guarded":
		return 0, &driver.Guarded{Left: duration(rest[0])}
	case "gone":
		return 0, driver.ErrGone
	}
	return 0, fmt.Errorf("the script answered %q, which is nothing that it should", answer)
}

// freeScript. KEYS: lock, token, gone. ARGV: attempt, life of the mark in ms, channel, name.
const freeScript = `
redis.call('SET', KEYS[3], '', 'PX', ARGV[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'gone'} end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return {'freed'}`

func (s *store) free(ctx context.Context, r *driver.Request) error {
	return s.askToFree(ctx, freeScript, r)
}

// askToFree runs a script that answers as freeScript does.
func (s *store) askToFree(ctx context.Context, script string, r *driver.Request) error {
	answer, err := s.wire.ask(ctx, script, keysOf(r), freeArgs(r)...)
	if err == nil && answer[0] == "gone" {
		err = driver.ErrGone
	}
	return err
}

// freeArgs are the arguments of freeScript. A request that is on its way for longer than the mark lives may hold for a TTL, with nobody to
// use it; long TTLs need no marks that live as long.
func freeArgs(r *driver.Request) []string {
	return []string{r.Attempt.Reveal(), millis(min(r.TTL, time.Second)), freeChannel, r.Name}
}

// renewScript. KEYS: lock, token, gone. ARGV: attempt, TTL in ms.
const renewScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'gone'} end
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	left = ARGV[2] -- a millisecond may pass before it is asked for again
end
return {'renewed', tostring(left)}`

func (s *store) renew(ctx context.Context, r *driver.Request, ttl time.Duration) (time.Duration, error) {
	return s.askToRenew(ctx, renewScript, r, ttl)
}

// askToRenew runs a script that answers as renewScript does.
func (s *store) askToRenew(ctx context.Context, script string, r *driver.Request, ttl time.Duration) (time.Duration, error) {
	answer, err := s.wire.ask(ctx, script, keysOf(r), r.Attempt.Reveal(), millis(ttl))
	switch {
	case err != nil:
		return 0, err
	case answer[0] == "gone":
		return 0, driver.ErrGone
	}
	return duration(answer[1]), nil
}

// keysOf are the keys of a lock, the mark of the attempt, and the server's own, which only N11 needs.
func keysOf(r *driver.Request) []string {
	return []string{lockPrefix + r.Name, tokenPrefix + r.Name, gonePrefix + r.Attempt.Reveal() + ":" + r.Name, bornKey}
}

const (
	lockPrefix  = "control:lock:"
	tokenPrefix = "control:token:"
	gonePrefix  = "control:gone:"
)

// millis writes a duration for the server, which counts in milliseconds: never more than it is.
func millis(d time.Duration) string { return itoa(d.Milliseconds()) }

// duration reads what millis writes. What is none has run out.
func duration(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Millisecond
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
