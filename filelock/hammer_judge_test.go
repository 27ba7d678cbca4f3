//go:build linux

package filelock_test

import (
	"fmt"
	"testing"

	"holdfast.dev/driver"
)

// stormLimit is how many permits the semaphore of a storm has.
const stormLimit = 3

// A court judges a storm by its log. A mark is written under the hold that it is about, so what overlaps in the log did overlap. A
// process that was killed may have come without going: it is thought to be inside until somebody comes who could not be beside it.
type court struct {
	killed map[int]bool
	inside map[int64]mark
	seen   map[int64]int64   // how many holds each process had
	top    uint64            // the greatest token of the lock
	tokens map[uint64]string // of permits
}

// judge looks for holds that overlap and must not, for tokens that fall, and for holds that are missing. counts: how many holds those
// had who told.
func judge(marks []mark, counts map[int]int, killed map[int]bool) error {
	c := &court{killed, make(map[int64]mark), make(map[int64]int64), 0, make(map[uint64]string)}
	for i, m := range marks {
		hear := c.comes
		if m.Leaves == 1 {
			hear = c.goes
		}
		if err := hear(m); err != nil {
			return fmt.Errorf("mark %d: %+v: %w", i, m, err)
		}
	}
	for id, n := range counts {
		if int(c.seen[int64(id)]) != n {
			return fmt.Errorf("process %d had %d holds, and the log has %d", id, n, c.seen[int64(id)])
		}
	}
	return nil
}

func (c *court) goes(m mark) error {
	came, inside := c.inside[m.Process]
	if m.Leaves = 0; !inside || came != m {
		return fmt.Errorf("it goes, and inside was %+v, %v", came, inside)
	}
	delete(c.inside, m.Process)
	return nil
}

func (c *court) comes(m mark) error {
	if m.Seq != c.seen[m.Process] {
		return fmt.Errorf("it had come %d times before: a hold is missing", c.seen[m.Process])
	}
	c.seen[m.Process]++
	check := c.locks
	if m.Mode == driver.Permits {
		check = c.permits
	}
	if err := check(m); err != nil {
		return err
	}
	c.inside[m.Process] = m
	return nil
}

// locks: a writer is alone, readers are among readers; tokens never fall, and rise with every writer.
func (c *court) locks(m mark) error {
	for id, other := range c.inside {
		if other.Mode == driver.Permits || other.Mode == driver.Shared && m.Mode == driver.Shared {
			continue
		}
		if !c.killed[int(id)] {
			return fmt.Errorf("it came while %+v was inside, which was not killed", other)
		}
		delete(c.inside, id)
	}
	if m.Token < c.top || m.Token == c.top && m.Mode == driver.Exclusive {
		return fmt.Errorf("it came after token %d", c.top)
	}
	c.top = m.Token
	return nil
}

// permits: no more than there are; every token once.
func (c *court) permits(m mark) error {
	used := m.N
	for id, other := range c.inside {
		if other.Mode == driver.Permits && !c.killed[int(id)] {
			used += other.N
		}
	}
	if used > stormLimit {
		return fmt.Errorf("%d permits of %d are used", used, stormLimit)
	}
	if before := c.tokens[m.Token]; before != "" {
		return fmt.Errorf("its token was given to %s too", before)
	}
	c.tokens[m.Token] = fmt.Sprintf("process %d", m.Process)
	return nil
}

// TestJudge proves that the judge of the storms can condemn.
func TestJudge(t *testing.T) {
	mode := map[byte]driver.Mode{'x': driver.Exclusive, 's': driver.Shared, 'p': driver.Permits}
	come := func(kind byte, process, seq int64, token uint64) mark {
		m := mark{Process: process, Seq: seq, Token: token, Mode: mode[kind]}
		if kind == 'p' {
			m.N = 2
		}
		return m
	}
	goes := func(m mark) mark { m.Leaves = 1; return m }
	a, b, later := come('x', 1, 0, 5), come('x', 3, 0, 6), come('x', 1, 1, 7)
	dead, reader, other := come('x', 2, 0, 5), come('s', 1, 0, 6), come('s', 3, 0, 6)
	permit, second := come('p', 1, 0, 6), come('p', 3, 0, 7)
	for name, tt := range map[string]struct {
		marks  []mark
		guilty bool
	}{
		"in turn":                     {[]mark{a, goes(a), b, goes(b)}, false},
		"killed inside":               {[]mark{dead, b, goes(b), later.times(0)}, false},
		"readers together":            {[]mark{reader, other, goes(reader), goes(other)}, false},
		"permits beside a lock":       {[]mark{permit, b, goes(permit), goes(b)}, false},
		"two inside":                  {[]mark{a, b, goes(a), goes(b)}, true},
		"a writer among readers":      {[]mark{reader, come('x', 3, 0, 7)}, true},
		"a reader beside a writer":    {[]mark{b, come('s', 1, 0, 7)}, true},
		"too many permits":            {[]mark{permit, second}, true},
		"a token of permits, twice":   {[]mark{permit, goes(permit), come('p', 3, 0, 6)}, true},
		"a token that falls":          {[]mark{b, goes(b), a, goes(a)}, true},
		"a token twice":               {[]mark{a, goes(a), come('x', 3, 0, 5)}, true},
		"a hold is missing":           {[]mark{a, goes(a), later.times(2)}, true},
		"the last hold is lost":       {[]mark{b, goes(b)}, true},
		"the dead come back late":     {[]mark{dead, later.times(0), goes(dead)}, true},
		"somebody goes who is not in": {[]mark{a, goes(a), goes(a)}, true},
	} {
		if err := judge(tt.marks, map[int]int{1: 1}, map[int]bool{2: true}); (err != nil) != tt.guilty {
			t.Errorf("%s: the verdict is %v", name, err)
		}
	}
}

// times is m as the hold after so many others.
func (m mark) times(seq int64) mark {
	m.Seq = seq
	return m
}
