package control

import (
	"context"
	"errors"
	"strconv"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n15 is a lock that can be entered again by its owner: the key has the owner and a count, and the last release frees it. (The owner is
// what a client and its thread are elsewhere; the attempt's id stands for it.) The request has no id of its own. So when its answer
// is lost, and it is sent again, the server cannot tell that from an owner who enters for the second time. The one release that
// follows leaves one entry, which nobody will ever leave; and the client keeps alive what it has, for as long as it lives.
//
// The twin has the same key and the same client. But there a request has an id, the attempt's: what comes again does not count again.
func n15() Control {
	return Control{
		Name: "N15", Title: "acquire retried without an attempt id",
		Wrong:  "A request that is sent again, because its answer was lost, counts as a second entry, and is never left.",
		Right:  "A request that is sent again has the same id, and does not count again.",
		Caught: []string{"liveness", "leaks", "linear"},
		TTL:    300 * time.Millisecond, Duration: 1100 * time.Millisecond, Patience: time.Second,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 2 * time.Millisecond},
		Steps: every(200*time.Millisecond, 120*time.Millisecond, 7, Step{Do: LoseReplies, For: 60 * time.Millisecond}),
		change: func(s *store, o Options) {
			again := countStays
			if o.Broken {
				again = countRises
			}
			c := &counting{s}
			s.ways = steps{
				take: func(ctx context.Context, r *driver.Request) (uint64, error) {
					token, err := s.askToTake(ctx, again+takeCountedScript, r, millis(r.TTL))
					if err == nil {
						s.reached(Acquired)
					}
					return token, err
				},
				free:  c.free,
				renew: c.renew,
			}
		},
	}
}

// What a request does that finds its own owner in the key.
const (
	countStays = `
local function again(key) end`
	countRises = `
local function again(key) redis.call('HINCRBY', key, 'count', 1) end`
)

// takeCountedScript. KEYS: lock, token, gone. ARGV: owner, TTL in ms.
const takeCountedScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return {'gone'} end
local holder = redis.call('HGET', KEYS[1], 'owner')
if not holder then
	redis.call('INCR', KEYS[2])
	redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'count', 1)
elseif holder == ARGV[1] then
	again(KEYS[1])
else
	return {'held', tostring(redis.call('PTTL', KEYS[1]))}
end
if tonumber(ARGV[2]) > redis.call('PTTL', KEYS[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {'granted', redis.call('GET', KEYS[2])}`

// leaveScript. KEYS: lock, token, gone. ARGV: owner, life of the mark in ms, channel, name. It answers how many entries are left.
const leaveScript = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
	redis.call('SET', KEYS[3], '', 'PX', ARGV[2])
	return {'gone', '0'}
end
local count = redis.call('HINCRBY', KEYS[1], 'count', -1)
if count > 0 then return {'left', tostring(count)} end
redis.call('SET', KEYS[3], '', 'PX', ARGV[2])
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return {'freed', '0'}`

// renewCountedScript. KEYS: lock, token, gone. ARGV: owner, TTL in ms.
const renewCountedScript = `
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return {'gone'} end
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[2]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	left = ARGV[2]
end
return {'renewed', tostring(left)}`

// counting is a client of a lock with a count.
type counting struct{ *store }

func (c *counting) free(ctx context.Context, r *driver.Request) error {
	answer, err := c.wire.ask(ctx, leaveScript, keysOf(r), freeArgs(r)...)
	if err != nil {
		return err
	}
	if left, _ := strconv.Atoi(answer[1]); left > 0 {
		c.keepAlive(*r) // an entry around this one goes on, as far as it knows
		return nil
	}
	if answer[0] == "gone" {
		return driver.ErrGone
	}
	return nil
}

func (c *counting) renew(ctx context.Context, r *driver.Request, ttl time.Duration) (time.Duration, error) {
	return c.askToRenew(ctx, renewCountedScript, r, ttl)
}

// keepAlive renews what the client still has, until it has it no more, or until it is closed. After a renewal without an answer it soon
// tries again.
func (c *counting) keepAlive(r driver.Request) {
	c.wire.ending.Go(func() {
		for {
			pause := r.TTL / 3
			if _, err := c.renew(c.wire.life, &r, r.TTL); errors.Is(err, driver.ErrGone) {
				return
			} else if err != nil {
				pause = r.TTL / 30
			}
			if driver.Sleep(c.wire.life, pause) != nil {
				return
			}
		}
	})
}
