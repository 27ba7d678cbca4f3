package redlock

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"holdfast.dev/driver"
	"holdfast.dev/redislock/internal/redisconn"
)

// plain is the primitive of a server without functions: what the peers do, and no more. There is no guard, no token and no tombstone, and nobody is
// told of a release. What arrives after it was undone keeps its node's key for a TTL.
type plain struct{ client rueidis.Client }

// Scripts compare the beginning of the value, as the functions do: all of the attempt, or one try.
var (
	plainRelease = rueidis.NewLuaScript(`local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, #ARGV[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 2
end
return v and 0 or 1`)

	// It replies what holds now, in milliseconds; -3: nobody has it, -4: somebody else has.
	plainRenew = rueidis.NewLuaScript(`local v = redis.call('GET', KEYS[1])
if not v then
  return -3
elseif string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then
  return -4
end
local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
return left`)
)

func (p plain) failure(err error) answer { return answer{err: redisconn.Error(err)} }

// millis is a duration for the wire, at least as long.
func millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func (p plain) vote(ctx context.Context, q *question, ttl time.Duration, _ *waits) answer {
	value := q.id + "|0|0|" + stateHeld + "||" + q.label
	set := p.client.B().Set().Key(q.keys[0]).Value(value).Nx().PxMilliseconds(millis(ttl)).Build()
	switch err := p.client.Do(ctx, set).Error(); {
	case err == nil:
		return answer{word: done}
	case !rueidis.IsRedisNil(err):
		return p.failure(err)
	}
	return p.look(ctx, q)
}

// look answers held, already, or gone.
func (p plain) look(ctx context.Context, q *question) answer {
	all := p.client.DoMulti(ctx, p.client.B().Get().Key(q.keys[0]).Build(), p.client.B().Pttl().Key(q.keys[0]).Build())
	value, err := all[0].ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return answer{word: gone, free: true}
	case err != nil:
		return p.failure(err)
	}
	left, err := all[1].AsInt64()
	if err != nil {
		return p.failure(err)
	}
	a := answer{word: held, left: time.Duration(max(left, 0)) * time.Millisecond}
	if left == -1 {
		a.left = driver.Forever
	}
	a.mark = value
	a.holder = &driver.Holder{Mode: driver.Exclusive, Left: a.left, Label: foreign}
	try, label, ours := readValue(value)
	if ours {
		a.holder.Label, a.mark = label, try
	}
	if q.attempt != "" && ours && strings.HasPrefix(try, q.attempt) {
		a.word, a.try = already, try[len(q.attempt):]
	}
	return a
}

// readValue takes a value of ours apart.
func readValue(value string) (try, label string, ours bool) {
	parts := strings.SplitN(value, "|", 6)
	if len(parts) != 6 || len(parts[0]) != 56 || strings.Trim(parts[0], "0123456789abcdef") != "" {
		return "", "", false
	}
	return parts[0], parts[5], true
}

// take is never asked: without functions there are no tokens.
func (p plain) take(context.Context, *question, uint64, bool) answer {
	return answer{err: &driver.Refused{Err: driver.ErrUnsupported}, unsent: true}
}

// renew asks for no claim: there is no guard that would refuse one.
func (p plain) renew(ctx context.Context, q *question, ttl time.Duration, _ bool) answer {
	left, err := plainRenew.Exec(ctx, p.client, q.keys[:1], []string{q.id, strconv.FormatInt(millis(ttl), 10)}).AsInt64()
	switch {
	case err != nil:
		return p.failure(err)
	case left == -3 || left == -4:
		return answer{word: gone, free: left == -3}
	}
	return answer{word: done, left: time.Duration(left) * time.Millisecond}
}

func (p plain) repair(ctx context.Context, q *question, ttl time.Duration, _ uint64) answer {
	return p.vote(ctx, q, ttl, nil)
}

func (p plain) release(ctx context.Context, q *question, u undoing) answer {
	what := q.id
	if u.all {
		what = q.attempt
	}
	n, err := plainRelease.Exec(ctx, p.client, q.keys[:1], []string{what}).AsInt64()
	switch {
	case err != nil:
		return p.failure(err)
	case n == 2:
		return answer{word: done}
	}
	return answer{word: gone, free: n == 1}
}
