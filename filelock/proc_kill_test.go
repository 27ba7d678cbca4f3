//go:build linux

package filelock_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast.dev/driver"
)

// A cast is a play for many processes, one for each claim on a lock.
type cast struct {
	t       *testing.T
	dir     string
	all     map[string]*party
	tokens  map[string]uint64
	enabled driver.Instant // when the last thing happened that can have made room
	watch   driver.Inspector
}

func newCast(t *testing.T) *cast {
	dir := newDir(t)
	store, err := openStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &cast{t: t, dir: dir, all: make(map[string]*party), tokens: make(map[string]uint64), watch: store.(driver.Inspector)}
}

// claim describes what a process asks for by its name: x… exclusive, s… shared, p… as many permits of 3 as the digit behind it says.
func claim(who string) func(*order) {
	switch who[0] {
	case 's':
		return shared
	case 'p':
		return permits(int(who[1]-'0'), 3)
	}
	return func(*order) {}
}

// hold makes processes that hold at once.
func (c *cast) hold(who ...string) *cast {
	c.t.Helper()
	for _, id := range who {
		c.all[id] = there(c.t, c.dir)
		c.tokens[id] = c.all[id].holds(id, "lock", claim(id)).Token
	}
	return c
}

// queue makes processes that wait, in this order.
func (c *cast) queue(who ...string) *cast {
	c.t.Helper()
	for _, id := range who {
		c.all[id] = there(c.t, c.dir)
		c.all[id].queues(id, "lock", claim(id))
	}
	return c
}

// kill kills processes, all at once.
func (c *cast) kill(who ...string) *cast {
	c.enabled = now()
	for _, id := range who {
		c.all[id].cmd.Process.Kill()
	}
	for _, id := range who {
		c.all[id].kill()
	}
	return c
}

// unlock lets a process unlock.
func (c *cast) unlock(who ...string) *cast {
	c.t.Helper()
	for _, id := range who {
		c.enabled = c.all[id].unlocks(id)
	}
	return c
}

// served checks that these get the lock now and not before, together if they are readers, with tokens that rise otherwise.
func (c *cast) served(who ...string) *cast {
	c.t.Helper()
	for i, id := range who {
		token := c.all[id].grantedSince(id, c.enabled).Token
		c.tokens[id] = token
		if i == 0 {
			continue
		}
		before := c.tokens[who[i-1]]
		if together := id[0] == 's' && who[i-1][0] == 's'; together && token != before || !together && token <= before {
			c.t.Errorf("%s got token %d, then %s token %d", who[i-1], before, id, token)
		}
	}
	return c
}

// shows checks who holds and who waits, as inspection tells it: "x1 s1 | x2 x3". A hold that ended with its process is not shown.
func (c *cast) shows(want string) *cast {
	c.t.Helper()
	mode := driver.Exclusive
	if strings.Contains(want, "p") {
		mode = driver.Permits
	}
	info, err := c.watch.Inspect(c.t.Context(), "lock", mode)
	if err != nil {
		c.t.Fatal(err)
	}
	var got []string
	for _, h := range info.Holders {
		got = append(got, last(h.Label))
	}
	got = append(got, "|")
	for _, w := range info.Waiters {
		got = append(got, last(w.Label))
	}
	if text := strings.Join(got, " "); text != want {
		c.t.Errorf("inspection shows %q, want %q", text, want)
	}
	return c
}

// last is the last word of a label: the core puts host and process before it.
func last(label string) string { return label[strings.LastIndexByte(label, ' ')+1:] }

// rises checks that tokens of different processes are in this order.
func (c *cast) rises(who ...string) *cast {
	c.t.Helper()
	for i, id := range who[1:] {
		if c.tokens[id] <= c.tokens[who[i]] {
			c.t.Errorf("%s has token %d, and %s after it %d", who[i], c.tokens[who[i]], id, c.tokens[id])
		}
	}
	return c
}

// TestKilled: what a killed process held or waited for is somebody else's at once, and the right one's.
func TestKilled(t *testing.T) {
	t.Parallel()
	plays := map[string]func(*cast){
		"holder, exclusive behind it": func(c *cast) {
			c.hold("x1").queue("x2", "x3", "x4").kill("x1").served("x2").shows("x2 | x3 x4").kill("x2").served("x3").unlock("x3").
				served("x4").rises("x1", "x2", "x3", "x4")
		},
		"holder, all kinds behind it": func(c *cast) {
			c.hold("x1").queue("s1", "s2", "x2", "s3").kill("x1").served("s1", "s2").shows("s1 s2 | x2 s3").
				unlock("s1", "s2").served("x2").kill("x2").served("s3").rises("x1", "s1", "x2", "s3")
		},
		"readers, a writer behind them": func(c *cast) {
			c.hold("s1", "s2").queue("x1", "s3").kill("s1").shows("s2 | x1 s3").kill("s2").served("x1").shows("x1 | s3").
				kill("x1").served("s3").rises("s2", "x1", "s3")
		},
		"writer at the head, readers before and behind it": func(c *cast) {
			c.hold("s1").queue("x1", "s2", "s3").kill("x1").served("s2", "s3").shows("s1 s2 s3 |")
			if c.tokens["s1"] != c.tokens["s2"] {
				c.t.Errorf("readers that overlap have tokens %d and %d", c.tokens["s1"], c.tokens["s2"])
			}
		},
		"waiter in the middle": func(c *cast) {
			c.hold("x1").queue("x2", "x3", "x4").kill("x3").unlock("x1").served("x2").unlock("x2").served("x4").rises("x1", "x2", "x4")
		},
		"several in a row, the holder too": func(c *cast) {
			c.hold("x1").queue("x2", "x3", "x4", "x5").kill("x1", "x2", "x4", "x3").served("x5").rises("x1", "x5")
		},
		"waiters first, then the holder": func(c *cast) {
			c.hold("x1").queue("x2", "x3", "x4").kill("x3").kill("x2").shows("x1 | x4").kill("x1").served("x4")
		},
		"permits": func(c *cast) {
			c.hold("p2", "p1").queue("p3", "p1b").kill("p2").shows("p1 | p3 p1b").kill("p1").served("p3").shows("p3 | p1b").
				kill("p3").served("p1b").rises("p2", "p1", "p3", "p1b")
		},
		"many permits at the head, few behind": func(c *cast) {
			c.hold("p1").queue("p3", "p1b", "p1c").kill("p3").served("p1b", "p1c").shows("p1 p1b p1c |")
		},
	}
	for name, play := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(newCast(t))
		})
	}
}

// TestAllKilled: when every process has been killed the next one finds everything free, and nothing is left behind.
func TestAllKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var all []*party
	tops := make(map[string]uint64)
	for i := range 3 {
		name := fmt.Sprint("lock", i)
		holder, waiter := there(t, dir), there(t, dir)
		tops[name] = holder.holds("x", name).Token
		holder.holds("s", name+" shared", shared)
		holder.holds("p", name, permits(2, 3))
		waiter.queues("x", name)
		waiter.queues("s", name, shared)
		waiter.queues("p", name, permits(2, 3))
		all = append(all, holder, waiter)
	}
	for _, p := range all {
		p.cmd.Process.Kill()
	}
	for _, p := range all {
		p.kill()
	}
	locks := open(t, dir)
	for info, err := range locks.List(t.Context(), "") {
		t.Errorf("everybody is dead, and the store shows %+v, %v", info, err)
	}
	for name, top := range tops {
		hold := take(t, locks, name)
		if hold.Token() <= top {
			t.Errorf("token %d was granted after token %d, whose process was killed", hold.Token(), top)
		}
		unlock(t, hold)
	}
	shut(t, locks)
	nothingLeft(t, dir)
}
