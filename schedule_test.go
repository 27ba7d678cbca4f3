package holdfast

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
)

// A bell is the owner of an alarm that writes down when it rang.
type bell struct {
	alarm
	clock driver.Clock
	rang  []driver.Instant
	want  []driver.Instant
	due   driver.Instant // when it is to ring, as the test counts; Never: not at all
}

func (b *bell) ring() { b.rang = append(b.rang, b.clock.Now()) }

// Rule: every alarm rings once, exactly when it was last set to, however the others are moved about.
func TestScheduleRingsOnTime(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		clock := driver.Local()
		s := newSchedule(clock)
		bells := make([]*bell, 30)
		for i := range bells {
			bells[i] = &bell{clock: clock, due: driver.Never}
			bells[i].What = bells[i]
		}
		for range 3000 {
			b, at := bells[random.IntN(len(bells))], clock.Now().Add(time.Duration(1+random.IntN(1000))*time.Millisecond)
			switch random.IntN(5) {
			case 0:
				s.clear(&b.alarm)
				b.due = driver.Never
			case 1:
				s.advance(&b.alarm, at)
				b.due = min(b.due, at)
			case 2, 3:
				s.set(&b.alarm, at)
				b.due = at
			case 4:
				time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
				synctest.Wait()
				for _, b := range bells {
					b.note(clock.Now())
				}
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, b := range bells {
			b.note(clock.Now())
			if len(b.rang) != len(b.want) {
				t.Errorf("alarm %d rang %d times, want %d", i, len(b.rang), len(b.want))
				continue
			}
			for j := range b.rang {
				if b.rang[j] != b.want[j] {
					t.Errorf("alarm %d rang at %v, want %v", i, time.Duration(b.rang[j]), time.Duration(b.want[j]))
				}
			}
		}
	})
}

// note counts an alarm that must have rung by now.
func (b *bell) note(now driver.Instant) {
	if b.due <= now {
		b.want, b.due = append(b.want, b.due), driver.Never
	}
}

// Rule: after close nothing rings, and nothing can be set.
func TestScheduleCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSchedule(driver.Local())
		early, late := &bell{clock: s.clock}, &bell{clock: s.clock}
		early.What, late.What = early, late
		s.set(&early.alarm, s.clock.Now().Add(time.Second))
		s.close()
		s.set(&late.alarm, s.clock.Now().Add(time.Second))
		time.Sleep(time.Minute)
		if len(early.rang)+len(late.rang) != 0 {
			t.Error("an alarm rang after close")
		}
	})
}

// An idleClock counts the timers that are asked of it.
type idleClock struct {
	driver.Clock
	timers int
}

func (c *idleClock) At(t driver.Instant, f func()) func() bool {
	c.timers++
	return c.Clock.At(t, f)
}

// Rule: a lock that is taken and released at once costs no timer of its own.
func TestScheduleNeedsFewTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &idleClock{Clock: driver.Local()}
		s := newSchedule(clock)
		for range 1000 {
			b := &bell{clock: clock}
			b.What = b
			s.set(&b.alarm, clock.Now().Add(10*time.Second))
			s.clear(&b.alarm)
			time.Sleep(time.Millisecond)
		}
		if clock.timers > 2 {
			t.Errorf("%d timers for 1000 alarms that never rang", clock.timers)
		}
	})
}
