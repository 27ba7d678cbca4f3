package memlock_test

import (
	"cmp"
	"slices"

	"holdfast.dev/driver"
)

// An oracle knows what a server must do, as plainly as it can be said: no heap, no linked list, no alarm; it walks over everything
// all the time. The model test compares it with the real one.
type oracle struct {
	claims []*fate // that have not ended, in the order in which they were asked for
	tombs  map[driver.Attempt]driver.Instant
	token  uint64
	lost   map[driver.Attempt]int64 // how often Lost must have been called
}

// A fate is what becomes of one attempt.
type fate struct {
	r       driver.Request
	state   string // waiting, holding, kept, ended
	callers int    // while waiting
	queued  driver.Instant

	token, spare                uint64
	granted, expires, keptUntil driver.Instant
	absentUntil                 driver.Instant
	broken, told                bool
}

// of returns the attempt's present fate: nil if it neither waits nor holds.
func (o *oracle) of(a driver.Attempt) *fate {
	for _, f := range o.claims {
		if f.r.Attempt == a && (f.state == "waiting" || f.state == "holding") {
			return f
		}
	}
	return nil
}

// in returns those of f's lock that are in one of the states.
func (o *oracle) in(name string, mode driver.Mode, states ...string) []*fate {
	var found []*fate
	for _, f := range o.claims {
		if f.r.Name == name && (f.r.Mode == driver.Permits) == (mode == driver.Permits) && slices.Contains(states, f.state) {
			found = append(found, f)
		}
	}
	return found
}

// fits reports whether r can hold beside those who hold.
func (o *oracle) fits(r *driver.Request) bool {
	taken := 0
	for _, h := range o.in(r.Name, r.Mode, "holding", "kept") {
		if r.Mode == driver.Exclusive || h.r.Mode == driver.Exclusive {
			return false
		}
		taken += h.r.N
	}
	return r.Mode != driver.Permits || taken+r.N <= r.Limit
}

// serve grants to those who wait, in order.
func (o *oracle) serve(name string, mode driver.Mode, now driver.Instant) {
	for _, f := range o.in(name, mode, "waiting") {
		if f.callers == 0 {
			continue
		}
		if !o.fits(&f.r) {
			return
		}
		o.grant(f, now)
	}
}

func (o *oracle) grant(f *fate, now driver.Instant) {
	f.state, f.granted, f.expires, f.keptUntil = "holding", now, now.Add(f.r.TTL), now.Add(f.r.Keep)
	if f.r.Mode == driver.Shared {
		for _, h := range o.in(f.r.Name, f.r.Mode, "holding") {
			if h != f && !h.broken {
				f.token = max(f.token, h.token)
			}
		}
		if f.token != 0 {
			return
		}
	} else {
		f.spare = uint64(f.r.Reserve)
	}
	f.token = o.token + 1
	o.token = f.token + f.spare
}

// next returns the earliest moment, after which time alone changes something, and what.
func (o *oracle) next() (at driver.Instant, what *fate) {
	at = driver.Never
	for _, f := range o.claims {
		moment := driver.Never
		switch {
		case f.state == "holding":
			moment = f.expires
		case f.state == "kept":
			moment = f.keptUntil
		case f.state == "waiting" && f.callers == 0:
			moment = f.absentUntil
		}
		if moment < at {
			at, what = moment, f
		}
	}
	return at, what
}

// advance lets time pass until now.
func (o *oracle) advance(now driver.Instant) {
	for at, f := o.next(); at <= now; at, f = o.next() {
		if f.state == "holding" {
			o.tell(f)
			o.end(f, true, at)
		} else {
			o.end(f, false, at)
		}
	}
	o.claims = slices.DeleteFunc(o.claims, func(f *fate) bool { return f.state == "ended" })
}

// tell calls Lost, but never twice.
func (o *oracle) tell(f *fate) {
	if !f.told && f.state == "holding" {
		f.told = true
		o.lost[f.r.Attempt]++
	}
}

func (o *oracle) end(f *fate, keeps bool, now driver.Instant) {
	f.state = "ended"
	if keeps && now < f.keptUntil {
		f.state = "kept"
	}
	o.serve(f.r.Name, f.r.Mode, now)
}

// acquire returns what Acquire must lead to: a fate, or an answer.
func (o *oracle) acquire(r *driver.Request, now driver.Instant) (*fate, error) {
	if now < o.tombs[r.Attempt] {
		return nil, driver.ErrGone
	}
	f := o.of(r.Attempt)
	switch {
	case f == nil:
		f = &fate{r: *r, state: "waiting", queued: now}
		o.claims = append(o.claims, f)
	case f.state == "holding":
		if !f.broken {
			f.expires = max(f.expires, now.Add(r.TTL))
		}
		return f, nil
	}
	f.callers++
	o.serve(r.Name, r.Mode, now)
	if f.state == "waiting" && r.NoWait {
		if f.callers--; f.callers == 0 {
			o.end(f, false, now)
		}
		return nil, new(driver.Held)
	}
	return f, nil
}

func (o *oracle) release(r *driver.Request, now driver.Instant) error {
	f := o.of(r.Attempt)
	if f == nil {
		o.tombs[r.Attempt] = max(o.tombs[r.Attempt], now.Add(r.TTL))
		return driver.ErrGone
	}
	o.end(f, f.state == "holding" && r.Keep > 0, now)
	return nil
}

// away is the end of one call.
func (o *oracle) away(f *fate, now driver.Instant) {
	if f.callers--; f.callers == 0 {
		f.absentUntil = now.Add(f.r.TTL)
		o.serve(f.r.Name, f.r.Mode, now)
	}
}

func (o *oracle) breaks(b *driver.BreakRequest, now driver.Instant) error {
	var found []*fate
	for _, f := range o.in(b.Name, b.Mode, "holding", "kept") {
		if f.token == b.Token {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return driver.ErrGone
	}
	for _, f := range found {
		f.broken = true
		o.tell(f)
		if b.Now {
			f.state = "ended"
		}
	}
	o.serve(b.Name, b.Mode, now)
	return nil
}

// info is what Inspect must show; holders are sorted by label.
func (o *oracle) info(name string, mode driver.Mode, now driver.Instant) *driver.Info {
	info := &driver.Info{Name: name}
	for _, f := range o.in(name, mode, "holding", "kept") {
		h := driver.Holder{
			Label: f.r.Label, Token: f.token, Mode: f.r.Mode, N: f.r.N,
			Held: now.Sub(f.granted), Left: f.expires.Sub(now), Broken: f.broken,
		}
		if f.state == "kept" {
			h.Kept, h.Left = true, f.keptUntil.Sub(now)
		}
		info.Holders = append(info.Holders, h)
	}
	for _, f := range o.in(name, mode, "waiting") {
		info.Waiters = append(info.Waiters, driver.Waiter{Label: f.r.Label, Mode: f.r.Mode, N: f.r.N, Waited: now.Sub(f.queued)})
	}
	sortHolders(info.Holders)
	return info
}

func sortHolders(holders []driver.Holder) {
	slices.SortFunc(holders, func(a, b driver.Holder) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Held, b.Held))
	})
}
