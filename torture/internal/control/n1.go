package control

import (
	"context"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/torture/internal/worker"
)

// n1: whoever releases deletes the key, whoever holds it. It takes no more than a holder that is late, or a waiter that gives up and
// makes sure that it has left nothing behind: the holder's key is gone, and the next one comes in beside it.
func n1() Control {
	return Control{
		Name: "N1", Title: "DEL without compare",
		Wrong:  "A release deletes the key of the lock, without a look at who holds it.",
		Right:  "A release deletes the key if its own attempt is in it, in one step.",
		Caught: []string{"windows", "tokens", "told", "linear"},
		TTL:    300 * time.Millisecond, Duration: 1500 * time.Millisecond,
		Mix:   worker.Mix{Use: 80, GiveUp: 20, Hot: 100, Think: 100 * time.Millisecond},
		Steps: every(200*time.Millisecond, 550*time.Millisecond, 2, Step{Do: StopInside, For: 450 * time.Millisecond}),
		change: func(s *store, o Options) {
			if o.Broken {
				s.ways.free = s.freeWhoever
			}
		},
	}
}

// freeWhoeverScript is freeScript without its second line.
const freeWhoeverScript = `
redis.call('SET', KEYS[3], '', 'PX', ARGV[2])
if redis.call('DEL', KEYS[1]) == 0 then return {'gone'} end
redis.call('PUBLISH', ARGV[3], ARGV[4])
return {'freed'}`

func (s *store) freeWhoever(ctx context.Context, r *driver.Request) error {
	return s.askToFree(ctx, freeWhoeverScript, r)
}
