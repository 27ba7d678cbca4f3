package redislock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev/driver"
)

// Everything is gone, the store's own key too, and a client that comes just then sets the store up anew, under another id. A holder of before
// opens it again at its next renewal, and is told there and then.
func TestToldBySomebodyElsesStore(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	for _, guard := range []string{"0", "1s"} {
		a := dial(t, server.Addr(), "prefix=p"+guard+":&guard="+guard)
		guardOver(t, a, "probe")
		lease := take(t, a, ask("lock", "holder", time.Second)).Lease
		command(t, server, "FLUSHALL")
		dial(t, server.Addr(), "prefix=p"+guard+":&guard="+guard)
		if _, err := lease.Renew(inTime(t), time.Second); !errors.Is(err, driver.ErrGone) {
			t.Errorf("guard=%s: the renewal says %v", guard, err)
		}
	}
}
