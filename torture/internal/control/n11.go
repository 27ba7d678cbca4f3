package control

import (
	"context"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n11: the token is a counter in a server that keeps nothing on disk. After a restart it begins again at 1, and a fence that has seen 50
// refuses everybody, or, worse, cannot tell old from new once the counter has caught up.
//
// Both locks sit a restart out otherwise: a server that does not know since when it runs grants nothing for as long as a hold from before
// can be valid. So the only thing that a restart can take from them is the counter.
func n11() Control {
	const ttl = 300 * time.Millisecond
	return Control{
		Name: "N11", Title: "a token from a counter that a restart forgets",
		Wrong:  "The token is INCR of a key: a server that comes back empty counts from 1 again, though tokens are said to be durable.",
		Right:  "The token is the server's time, or one more than the last: it goes on rising.",
		Caught: []string{"tokens", "linear"},
		TTL:    ttl, Duration: 2 * time.Second,
		Mix:   worker.Mix{Use: 100, Hot: 100, Think: 5 * time.Millisecond},
		Steps: []Step{{At: 900 * time.Millisecond, Do: ForgetServer}},
		Heals: ttl,
		change: func(s *store, o Options) {
			s.guarantees = driver.Guarantees{
				Fencing: driver.FencingDurable, SurvivesRestart: true, MinTTL: 50 * time.Millisecond, MaxTTL: ttl,
				Beyond: []string{"the server's clock is set back during a restart"},
			}
			token := tokenFromTime
			if o.Broken {
				token = tokenFromCounter
			}
			s.ways.take = func(ctx context.Context, r *driver.Request) (uint64, error) {
				return s.takeGuarded(ctx, token+takeGuardedScript, r, ttl)
			}
		},
	}
}

// bornKey is when a server was first asked, in microseconds of its own clock.
const bornKey = "control:born"

// The two sources of tokens: now is the server's time in microseconds, which fits into a number of Lua's.
const (
	tokenFromCounter = `
local function next_token(key, now) return redis.call('INCR', key) end`
	tokenFromTime = `
local function next_token(key, now)
	local token = math.max(now, (tonumber(redis.call('GET', key)) or 0) + 1)
	redis.call('SET', key, string.format('%.0f', token))
end`
)

// takeGuardedScript is takeScript with a guard. KEYS: lock, token, gone, born. ARGV: attempt, TTL in ms, guard in ms.
const takeGuardedScript = `
if redis.call('EXISTS', KEYS[3]) == 1 then return {'gone'} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('SET', KEYS[4], string.format('%.0f', now), 'NX')
local guard = ARGV[3] - math.floor((now - redis.call('GET', KEYS[4])) / 1000)
if guard > 0 then return {'guarded', tostring(guard)} end
local holder = redis.call('GET', KEYS[1])
if not holder then
	next_token(KEYS[2], now)
	redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
elseif holder ~= ARGV[1] then
	return {'held', tostring(redis.call('PTTL', KEYS[1]))}
elseif tonumber(ARGV[2]) > redis.call('PTTL', KEYS[1]) then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return {'granted', redis.call('GET', KEYS[2])}`

// takeGuarded is take with a guard. A renewal of a hold from before the restart finds nothing, and so says gone.
func (s *store) takeGuarded(ctx context.Context, script string, r *driver.Request, guard time.Duration) (uint64, error) {
	token, err := s.askToTake(ctx, script, r, millis(r.TTL), millis(guard))
	if err == nil {
		s.reached(Acquired)
	}
	return token, err
}
