package control

import (
	"context"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n4: a renewal writes the key anew, whoever has it. (One that only moves its end, whoever has it, would do less harm here: the core
// stops believing by its own clock, whatever a late answer says.)
//
// A renewal is held up on its way, as anything can be on a network. Meanwhile the hold runs out and another attempt gets the lock.
// Then the renewal arrives and makes the lock the old holder's again, who has given up long ago: its release, which stands in line
// behind, finds its own id in the key and frees the lock, while the other one is still inside.
func n4() Control {
	return Control{
		Name: "N4", Title: "renewal without compare",
		Wrong:  "A renewal sets the key again, without a look at who holds it now.",
		Right:  "A renewal moves the end of the key if its own attempt is in it, in one step; otherwise the hold is gone.",
		Caught: []string{"windows", "tokens", "told", "linear"},
		TTL:    300 * time.Millisecond, Duration: 1600 * time.Millisecond,
		Mix:   worker.Mix{Long: 100, Hot: 100},
		Steps: every(100*time.Millisecond, 800*time.Millisecond, 2, Step{Do: HoldInside, For: 450 * time.Millisecond}),
		change: func(s *store, o Options) {
			if o.Broken {
				s.ways.renew = s.renewWhoever
			}
		},
	}
}

// renewWhoeverScript is renewScript without its first line.
const renewWhoeverScript = `
redis.call('SET', KEYS[1], ARGV[1], 'PX', math.max(ARGV[2], redis.call('PTTL', KEYS[1]), 1))
return {'renewed', tostring(redis.call('PTTL', KEYS[1]))}`

func (s *store) renewWhoever(ctx context.Context, r *driver.Request, ttl time.Duration) (time.Duration, error) {
	return s.askToRenew(ctx, renewWhoeverScript, r, ttl)
}
