package redislock_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/driver"
)

// kindOfAnswer is what a caller can find out of an error.
func kindOfAnswer(err error) string {
	if err == nil {
		return "nil"
	}
	var words []string
	for _, known := range []struct {
		err  error
		word string
	}{
		{driver.ErrGone, "gone"}, {driver.ErrBroken, "broken"}, {driver.ErrRequest, "request"}, {driver.ErrUnsupported, "unsupported"},
		{context.Canceled, "canceled"}, {driver.ErrClosed, "closed"},
	} {
		if errors.Is(err, known.err) {
			words = append(words, known.word)
		}
	}
	if held, ok := errors.AsType[*driver.Held](err); ok {
		who := describeHolders(held.Holders)
		if len(held.Holders) >= 8 { // an engine need not name them all
			who = "many"
		}
		words = append(words, "held by "+who)
	}
	if limit, ok := errors.AsType[*driver.LimitError](err); ok {
		words = append(words, fmt.Sprintf("%+v", *limit))
	}
	if broken, ok := errors.AsType[*driver.Broken](err); ok {
		words = append(words, fmt.Sprintf("%+v", *broken))
	}
	if driver.Answered(err) {
		words = append(words, "answered")
	}
	if len(words) == 0 {
		return "unknown: " + err.Error()
	}
	return strings.Join(words, ", ")
}

// compare fails the test unless the two sides agree. What the stores know they know at once; their callers learn of it a little later.
func (w *twins) compare() {
	w.Helper()
	for _, lock := range locksOfTwins {
		mode := driver.Exclusive
		if lock.permits {
			mode = driver.Permits
		}
		w.compareInfo(lock.name, mode)
	}
	for _, x := range w.tries {
		x.calls = slices.DeleteFunc(x.calls, w.compareCall)
	}
	w.compareTokens()
	for _, x := range w.tries {
		w.compareLost(x)
	}
}

// compareInfo compares what is shown. A client that has passed a lock on inside itself tells the server a little later.
func (w *twins) compareInfo(name string, mode driver.Mode) {
	w.Helper()
	ours, model := w.shown(name, mode)
	for end := time.Now().Add(patience); ours != model && time.Now().Before(end); time.Sleep(time.Millisecond) {
		ours, model = w.shown(name, mode)
	}
	if ours != model {
		w.failf("%s %s is\n%s, want\n%s", mode, name, ours, model)
	}
}

func (w *twins) shown(name string, mode driver.Mode) (ours, model string) {
	w.Helper()
	var texts [2]string
	for i, store := range []driver.Store{w.ours[w.step%len(w.ours)], w.model[0]} {
		info, err := store.(driver.Inspector).Inspect(w.Context(), name, mode)
		if err != nil {
			w.failf("Inspect: %v", err)
		}
		texts[i] = fmt.Sprintf("%s limit %d held by %s, waited for by", info.Mode, info.Limit*min(1, len(info.Holders)), describeHolders(info.Holders))
		for _, waiter := range info.Waiters {
			texts[i] += fmt.Sprintf(" %s:%s:%d", waiter.Label, waiter.Mode, waiter.N)
		}
	}
	return texts[0], texts[1]
}

// describeHolders shows all but times and tokens, of all in no order.
func describeHolders(holders []driver.Holder) string {
	holders = slices.Clone(holders)
	slices.SortFunc(holders, func(a, b driver.Holder) int { return cmp.Compare(a.Label, b.Label) })
	var text strings.Builder
	for _, h := range holders {
		fmt.Fprintf(&text, "%s:%s:%d ", h.Label, h.Mode, h.N)
		switch {
		case h.Kept: // nobody has it any more, so nobody can be told that it was broken
			text.WriteString("kept ")
		case h.Broken:
			text.WriteString("broken ")
		}
	}
	return text.String()
}

// compareCall reports whether a call has ended, on both sides or on neither.
func (w *twins) compareCall(c *twinCall) (ended bool) {
	w.Helper()
	ours, model := c.sides[0], c.sides[1]
	if c.waitsIn(w.model[c.try.client]) {
		if ours.ended() {
			w.failf("%s of %s has ended with %v, %v; it must wait", c.what, c.try.label, ours.grant, ours.err)
		}
		return false
	}
	w.await(model.done, fmt.Sprintf("%s of %s on the model's side", c.what, c.try.label))
	w.await(ours.done, fmt.Sprintf("%s of %s, which the model answers with %v, %v", c.what, c.try.label, model.grant, model.err))
	if kindOfAnswer(ours.err) != kindOfAnswer(model.err) {
		w.failf("%s of %s ends with %v, want %v", c.what, c.try.label, ours.err, model.err)
	}
	if ours.err == nil {
		w.granted(c)
	}
	return true
}

// waitsIn reports whether the attempt of a call that has not ended is in the queue.
func (c *twinCall) waitsIn(model driver.Store) bool {
	if c.sides[1].ended() {
		return false
	}
	r := c.try.sides[1].r
	info, _ := model.(driver.Inspector).Inspect(context.Background(), r.Name, r.Mode)
	return slices.ContainsFunc(info.Waiters, func(waiter driver.Waiter) bool { return waiter.Label == r.Label })
}

// granted checks what was granted on both sides.
func (w *twins) granted(c *twinCall) {
	w.Helper()
	ours, model := c.sides[0].grant, c.sides[1].grant
	if ours.Spare != model.Spare || ours.TTL <= 0 || ours.TTL > 2*hour || ours.Lease == nil {
		w.failf("%s was granted %+v, want %+v", c.try.label, ours, model)
	}
	r := c.try.sides[0].r
	w.grants = append(w.grants, granted{c.try.label, fmt.Sprint(r.Name, r.Mode == driver.Permits), ours.Token, model.Token})
	for i, g := range []*driver.Grant{ours, model} {
		c.try.sides[i].lease, c.try.sides[i].token = g.Lease, g.Token
	}
	if w.time != nil {
		w.claim(c.try)
	}
}

// compareTokens checks that the tokens of each name have the same order on both sides.
func (w *twins) compareTokens() {
	w.Helper()
	slices.SortFunc(w.grants, func(a, b granted) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.model, b.model), cmp.Compare(a.ours, b.ours))
	})
	for i := 1; i < len(w.grants); i++ {
		if a, b := w.grants[i-1], w.grants[i]; a.lock == b.lock && cmp.Compare(a.ours, b.ours) != cmp.Compare(a.model, b.model) {
			w.failf("%s has the token %d, and %s %d; in the model %d and %d", a.who, a.ours, b.who, b.ours, a.model, b.model)
		}
	}
}

// compareLost waits until as many were told of a loss as in the model, where that is done before the answer.
func (w *twins) compareLost(x *try) {
	w.Helper()
	told := func(i int) string { return x.sides[i].told(w.time != nil) }
	want := told(1)
	if told(0) == want || x.twice && told(0) == "" { // of several calls the one that is told may have returned before the others
		return
	}
	for end := time.Now().Add(patience); len(told(0)) < len(want) && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if got := told(0); got != want {
		w.failf("%s is told %q, want %q", x.label, got, want)
	}
}

// told is what the holder was told. Of the end of a lock that nobody else wants nobody needs to be told: others leaves it out.
func (s *side) told(others bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, err := range s.lost {
		if word := kindOfAnswer(err); !others || word != "gone, answered" {
			words = append(words, word)
		}
	}
	return strings.Join(words, "; ")
}
