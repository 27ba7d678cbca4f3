package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev"
	"holdfast.dev/driver"
)

var inspection = topic{"inspection", []casus{
	{"free", inspector, inspectFree,
		"G: Inspect of a lock that nobody holds or waits for is no error: neither holders nor waiters"},
	{"holder", inspector, inspectHolder,
		"G: Inspect shows the holder with its label, token and what is left"},
	{"waiters", inspector | fifo, inspectWaiters,
		"G: Inspect shows the waiters, in the order in which they will be served"},
	{"readers", inspector | shared, inspectReaders,
		"G: Inspect shows all readers"},
	{"permits", inspector | permitting, inspectPermits,
		"G: Inspect shows a semaphore with its limit, apart from the lock of the same name"},
	{"list", inspector, listByPrefix,
		"G: List shows everything whose name begins with the prefix, taken literally, and nothing else"},
	{"client", inspector, clientInspects,
		"G: a client's Inspect and List show what the store shows; its holders carry host, process and label"},
	{"secret", inspector, inspectKeepsSecrets,
		"O1: an attempt's id appears in no listing"},
}}

// inspect shows a lock, which must be possible.
func (t *trial) inspect(c *client, name string, mode driver.Mode) *driver.Info {
	t.Helper()
	info, err := c.Store.(driver.Inspector).Inspect(t.ctx, name, mode)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	if info.Name != name {
		t.Fatalf("Inspect of %q shows %q", name, info.Name)
	}
	return info
}

// sees checks how many hold and wait, on a store that can show it.
func (t *trial) sees(c *client, name string, holders, waiters int) {
	t.Helper()
	if t.missing(inspector) != "" {
		return
	}
	if info := t.inspect(c, name, driver.Exclusive); !t.shows(info, holders, waiters) {
		t.Errorf("Inspect shows the holders %+v and the waiters %+v; there are %d and %d", info.Holders, info.Waiters, holders, waiters)
	}
}

// comesToSee waits until so many hold and wait, on a store that can show it.
func (t *trial) comesToSee(c *client, name string, holders, waiters int) {
	t.Helper()
	if t.missing(inspector) != "" {
		return
	}
	if !t.comes(func() bool { return t.shows(t.inspect(c, name, driver.Exclusive), holders, waiters) }) {
		t.sees(c, name, holders, waiters)
	}
}

// shows reports whether so many hold and wait. Only a store with a queue knows who waits.
func (t *trial) shows(info *driver.Info, holders, waiters int) bool {
	return len(info.Holders) == holders && (len(info.Waiters) == waiters || !t.guarantees.FIFO && len(info.Waiters) == 0)
}

func inspectFree(t *trial) {
	c := t.open()
	name := t.name("lock")
	t.sees(c, name, 0, 0)
	r := t.ask(name)
	c.grant(r)
	c.release(r)
	t.sees(c, name, 0, 0)
}

func inspectHolder(t *trial) {
	a, b := t.open(), t.open()
	r := t.ask(t.name("lock"))
	r.Label = `host:42 "näme" \ %s <b>`
	g := a.grant(r)
	info := t.inspect(b, r.Name, driver.Exclusive)
	if info.Mode != driver.Exclusive || len(info.Holders) != 1 || len(info.Waiters) != 0 {
		t.Fatalf("Inspect shows %+v; it is an exclusive lock with one holder", info)
	}
	h := info.Holders[0]
	if h.Label != r.Label || h.Token != g.Token || h.Mode != driver.Exclusive || h.Kept || h.Broken || h.Held < 0 {
		t.Errorf("Inspect shows the holder %+v; it has label %q, token %d, and holds an exclusive lock", h, r.Label, g.Token)
	}
	switch runsOut := t.missing(expires) == ""; {
	case !runsOut && h.Left != driver.Forever:
		t.Errorf("Inspect shows that %v are left; nothing runs out, so it is driver.Forever", h.Left)
	case runsOut && (h.Left <= 0 || t.guarantees.Session == 0 && h.Left > g.TTL+driver.Margin(g.TTL)):
		t.Errorf("Inspect shows that %v are left of a TTL of %v", h.Left, g.TTL)
	}
	a.release(r)
}

func inspectWaiters(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder := t.ask(name)
	a.grant(holder)
	var want, got []string
	for _, w := range queueUp(t, name, []*client{a, b}, 4) {
		want = append(want, w.r.Label)
	}
	for _, w := range t.inspect(b, name, driver.Exclusive).Waiters {
		if w.Mode != driver.Exclusive || w.Waited < 0 {
			t.Errorf("Inspect shows the waiter %+v; it wants an exclusive lock", w)
		}
		got = append(got, w.Label)
	}
	if !slices.Equal(got, want) {
		t.Errorf("Inspect shows the waiters %q; they are %q", got, want)
	}
	a.release(holder)
}

func inspectReaders(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	for i, c := range []*client{a, b, a} {
		r := t.askShared(name)
		r.Label = fmt.Sprint("reader ", i)
		c.grant(r)
	}
	a.queue(t.ask(name))
	info := t.inspect(b, name, driver.Exclusive)
	if info.Mode != driver.Shared || !t.shows(info, 3, 1) {
		t.Fatalf("Inspect shows %+v; three readers hold it and a writer waits", info)
	}
	for _, h := range info.Holders {
		if h.Mode != driver.Shared || !strings.HasPrefix(h.Label, "reader ") || h.Token != info.Holders[0].Token {
			t.Errorf("Inspect shows the holder %+v; it is a reader", h)
		}
	}
}

func inspectPermits(t *trial) {
	name := t.name("both")
	a, b := t.open(), t.open()
	a.grant(t.ask(name))
	a.grant(t.askPermits(name, 2, 3))
	b.queue(t.askPermits(name, 2, 3))
	info := t.inspect(b, name, driver.Permits)
	if info.Mode != driver.Permits || info.Limit != 3 || !t.shows(info, 1, 1) {
		t.Fatalf("Inspect shows %+v; the semaphore's limit is 3, one holds and one waits", info)
	}
	if h := info.Holders[0]; h.N != 2 || h.Mode != driver.Permits {
		t.Errorf("Inspect shows the holder %+v; it has 2 permits", h)
	}
	for _, w := range info.Waiters {
		if w.N != 2 || w.Mode != driver.Permits {
			t.Errorf("Inspect shows the waiter %+v; it wants 2 permits", w)
		}
	}
	t.sees(b, name, 1, 0) // the lock
}

func listByPrefix(t *trial) {
	a, b := t.open(), t.open()
	var want []string
	for _, suffix := range []string{"%_*", "%_*x", "%_*/ü", "%_x", "axb", "%", ""} {
		r := t.ask(t.name("l/") + suffix)
		a.grant(r)
		if strings.HasPrefix(suffix, "%_*") {
			want = append(want, r.Name)
		}
	}
	got := t.list(b, t.name("l/%%_*"))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("List shows %q; the names with that prefix are %q", got, want)
	}
	if all := t.list(b, t.name("l/")); len(all) != 7 {
		t.Errorf("List shows %q; there are seven", all)
	}
	if none := t.list(b, t.name("nothing")); len(none) != 0 {
		t.Errorf("List shows %q; there is nothing with that prefix", none)
	}
	for range b.Store.(driver.Inspector).List(t.ctx, t.name("l/")) {
		break // a caller that has seen enough
	}
	dead, cancel := context.WithCancel(t.ctx)
	cancel()
	for _, err := range b.Store.(driver.Inspector).List(dead, t.name("l/")) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("List with a context that has ended: %v", err)
		}
	}
}

// list returns the names that List shows, sorted.
func (t *trial) list(c *client, prefix string) (names []string) {
	t.Helper()
	for info, err := range c.Store.(driver.Inspector).List(t.ctx, prefix) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		if len(info.Holders)+len(info.Waiters) == 0 {
			t.Errorf("List shows %q, which nobody holds or waits for", info.Name)
		}
		names = append(names, info.Name)
	}
	slices.Sort(names)
	return names
}

func inspectKeepsSecrets(t *trial) {
	name := t.name("lock")
	a, b := t.open(), t.open()
	holder, waiter := t.ask(name), t.ask(name)
	a.grant(holder)
	b.queue(waiter)
	var shown []any
	for info, err := range b.Store.(driver.Inspector).List(t.ctx, name) {
		shown = append(shown, *info, err)
	}
	shown = append(shown, *t.inspect(b, name, driver.Exclusive))
	t.keepSecret(shown, holder, waiter)
}

func clientInspects(t *trial) {
	name := t.name("lock")
	mine, others := t.locks(), t.locks()
	hold := t.lock(mine, name, holdfast.Label("the label"))
	info, err := others.Inspect(t.ctx, name)
	if err != nil {
		t.Fatalf("Inspect: %v", err)
	}
	infos := []*holdfast.Info{info}
	for info, err := range others.List(t.ctx, name) {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		infos = append(infos, info)
	}
	if len(infos) != 2 {
		t.Fatalf("List shows %d locks; there is one of that name", len(infos)-1)
	}
	for _, info := range infos {
		if info.Name != name || len(info.Holders) != 1 {
			t.Fatalf("it shows %+v; it has one holder", info)
		}
		if h := info.Holders[0]; h.Token != hold.Token() || !strings.Contains(h.Label, "the label") {
			t.Errorf("it shows %+v; the holder has token %d and label %q", info, hold.Token(), "the label")
		}
	}
	held := t.heldByOther(others, name)
	if len(held.Holders) > 0 && held.Holders[0].Token != hold.Token() {
		t.Errorf("ErrHeld names the holder %+v; its token is %d", held.Holders[0], hold.Token())
	}
	t.unlock(hold)
}
