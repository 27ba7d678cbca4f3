package memlock_test

import (
	"reflect"
	"slices"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// compare checks that server and oracle agree on who holds, who waits and who was told what.
func (m *model) compare() {
	synctest.Wait()
	now := m.st.Clock().Now()
	m.oracle.advance(now)
	m.compareCalls()
	for _, name := range []string{"x", "y"} {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Permits} {
			m.compareInfo(name, mode, now)
		}
	}
	for _, r := range m.requests {
		if told, want := m.told[r.Attempt].Load(), m.oracle.lost[r.Attempt]; told != want {
			m.fatalf("%s was told %d times that it lost, want %d", r.Label, told, want)
		}
	}
}

// compareCalls checks what has become of the calls that wait: a grant counts from the hand-over.
func (m *model) compareCalls() {
	m.waiting = slices.DeleteFunc(m.waiting, func(c *waitingCall) bool {
		switch f := c.fate; {
		case f.state == "waiting":
			if c.ended() {
				m.fatalf("Acquire of %s ended: %+v, %v; it must wait", f.r.Label, c.grant, c.err)
			}
			return false
		case !c.ended():
			m.fatalf("Acquire of %s waits, but it is %s", f.r.Label, f.state)
		case f.token == 0:
			c.failed(m.T, driver.ErrGone)
		default:
			m.granted(c.call, f, f.granted, f.r.TTL)
		}
		c.cancel()
		return true
	})
}

func (m *model) compareInfo(name string, mode driver.Mode, now driver.Instant) {
	got, want := look(m.T, m.st, name, mode), m.oracle.info(name, mode, now)
	sortHolders(got.Holders)
	if len(got.Holders)+len(want.Holders) > 0 && !reflect.DeepEqual(got.Holders, want.Holders) {
		m.fatalf("holders of %s %s\n%+v, want\n%+v", got.Mode, name, got.Holders, want.Holders)
	}
	if len(got.Waiters)+len(want.Waiters) > 0 && !reflect.DeepEqual(got.Waiters, want.Waiters) {
		m.fatalf("waiters of %s %s\n%+v, want\n%+v", got.Mode, name, got.Waiters, want.Waiters)
	}
	m.lawful(got)
}

// lawful checks what must be true whatever the oracle thinks.
func (m *model) lawful(info *driver.Info) {
	taken := 0
	for _, h := range info.Holders {
		taken += h.N
		if h.Mode == driver.Exclusive && len(info.Holders) > 1 {
			m.fatalf("somebody holds beside an exclusive holder: %+v", info.Holders)
		}
		if h.Left <= 0 {
			m.fatalf("somebody holds who has run out: %+v", h)
		}
	}
	if taken > info.Limit {
		m.fatalf("%d permits of %d are taken: %+v", taken, info.Limit, info.Holders)
	}
}

// finish ends all calls and lets everything run out.
func (m *model) finish() {
	m.what = "everything"
	for _, c := range m.waiting {
		c.cancel()
	}
	time.Sleep(memlock.MaxTTL)
	synctest.Wait()
	if remains := m.st.Server().Remains(); remains != "" {
		m.fatalf("left behind: %s", remains)
	}
}
