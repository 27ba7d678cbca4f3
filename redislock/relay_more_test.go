package redislock_test

import (
	"errors"
	"testing"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
)

// The subscription was down when the hold was broken, so that nobody could be told; it is up again when the hold is released. What was granted
// before is not passed on.
func TestRelayWasDeaf(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	first := r.start()
	command(t, r.server, "CLIENT", "KILL", "TYPE", "pubsub")
	if err := r.breaks(first.Token, true); err != nil {
		t.Fatal(err)
	}
	other := begin(t, r.there, ask("lock", "other", time.Minute))
	own := func() bool { return served(r.waiters[1]) || served(r.waiters[2]) } // who asked first when they could be told again
	until(t, "somebody has the lock", func() bool { return served(other) || own() })
	if own() {
		t.Log("one of its own was first")
		return
	}
	until(t, "they wait again", func() bool {
		info, err := r.there.Inspect(t.Context(), "lock", driver.Exclusive)
		return err == nil && len(info.Waiters) == 2
	})
	letGo(t, r.here, r.waiters[0].r)
	shown(t, r.here, "lock") // whoever has got something tells the server
	if own() {
		t.Errorf("one of its own has the lock beside another")
	}
	release(t, r.there, other.r)
	until(t, "they are served", own)
}

// Riders of a relay whose lock was taken back ask at once: nobody will pass anything on to them.
func TestRelayRidersAfterBreak(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 3)
	r.here.RideFor(time.Hour)
	first, rider := r.withRiders(ask("lock", "first", time.Minute))
	r.next(1)
	release(t, r.here, r.waiters[2].r)
	if err := r.breaks(first.served().Token, true); err != nil {
		t.Fatal(err)
	}
	rider.served()
}

// A Fixed hold lasts for what was asked for, also if the lock was passed on to it when little was left of it for the one before.
func TestRelayFixed(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 0)
	locks := holdfast.New(r.here)
	t.Cleanup(func() { locks.Close() })
	m := locks.Mutex("lock", holdfast.TTL(10*time.Second), holdfast.Fixed())
	holds := make(chan *holdfast.Hold, 2)
	for i := range 2 {
		go func() {
			hold, err := m.Lock(t.Context())
			if err != nil {
				t.Error(err)
			}
			holds <- hold
		}()
		until(t, "one more waits", func() bool {
			info, err := r.there.Inspect(t.Context(), "lock", driver.Exclusive)
			return err == nil && len(info.Waiters) == i+1
		})
	}
	until(t, "they have waited for a while", func() bool { return waited(t, r.there, "lock") > 1200*time.Millisecond })
	release(t, r.there, r.holder)
	first := <-holds
	first.Unlock()
	second := <-holds
	until(t, "it has nearly all of its time", func() bool { return second.Left() > 8*time.Second })
	second.Unlock()
}

// Who has passed the lock on does not get it again by asking under the same attempt, though the server still takes it for the holder.
func TestRelayAskedForAfterItsEnd(t *testing.T) {
	t.Parallel()
	r := newRelayed(t, 2)
	r.start()
	second := r.next(0)
	if grant, err := r.here.Acquire(inTime(t), r.waiters[0].r); !errors.Is(err, driver.ErrGone) {
		t.Errorf("the first is granted %v, %v, beside token %d", grant, err, second.Token)
	}
	r.keeps(1)
	letGo(t, r.here, r.waiters[1].r)
	r.over()
}
