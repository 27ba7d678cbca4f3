package locktest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// linked returns memlock behind a link, and directly, in a bubble in which time is fake.
func linked(t *testing.T, test func(t *testing.T, link *callLink, direct driver.Store, ask func(ttl time.Duration) *driver.Request)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, attempts := memlock.NewServer(), driver.NewAttempts()
		link := newCallLink(server.Connect())
		defer link.Close()
		test(t, link, server.Connect(), func(ttl time.Duration) *driver.Request {
			return &driver.Request{Name: "lock", Attempt: attempts.Next(), Mode: driver.Exclusive, TTL: ttl, NoWait: true}
		})
	})
}

func holds(t *testing.T, store driver.Store) int {
	t.Helper()
	info, err := store.(driver.Inspector).Inspect(context.Background(), "lock", driver.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	return len(info.Holders)
}

func TestLinkPassesOn(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		r := ask(time.Minute)
		g, err := link.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if left, err := g.Lease.Renew(t.Context(), time.Hour); err != nil || left != time.Hour {
			t.Errorf("Renew: %v, %v; want an hour", left, err)
		}
		again, err := link.Acquire(t.Context(), r)
		if err != nil || again.Lease != g.Lease {
			t.Errorf("Acquire, again: %v, %v; want an equal lease", again, err)
		}
		if err := link.Release(t.Context(), r); err != nil || holds(t, direct) != 0 {
			t.Errorf("Release: %v, and %d hold", err, holds(t, direct))
		}
	})
}

func TestLinkHoldsReplies(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		link.HoldReplies()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := link.Acquire(ctx, ask(time.Minute)); !errors.Is(err, context.DeadlineExceeded) || driver.Answered(err) {
			t.Errorf("Acquire without an answer: %v", err)
		}
		if holds(t, direct) != 1 {
			t.Error("the request did not reach the server")
		}
	})
}

func TestLinkDeliversLateReply(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		link.HoldReplies()
		time.AfterFunc(time.Minute, link.Resume)
		begun := time.Now()
		g, err := link.Acquire(t.Context(), ask(time.Second))
		if err != nil || time.Since(begun) != time.Minute {
			t.Fatalf("Acquire: %v, %v after %v; want a grant after a minute", g, err, time.Since(begun))
		}
		if end := g.Asked.Add(g.TTL); !end.Before(link.Clock().Now()) {
			t.Error("an answer that was held back for a minute is believed for longer than a second")
		}
	})
}

func TestLinkHoldsRequests(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		link.HoldRequests()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := link.Acquire(ctx, ask(time.Minute)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire without an answer: %v", err)
		}
		synctest.Wait()
		if holds(t, direct) != 0 {
			t.Error("a request that is held back reached the server")
		}
		link.Resume()
		synctest.Wait()
		if holds(t, direct) != 1 {
			t.Error("a request that was held back did not reach the server after Resume")
		}
	})
}

func TestLinkCutDropsWhatItHolds(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		link.HoldRequests()
		time.AfterFunc(time.Second, link.Cut)
		if _, err := link.Acquire(t.Context(), ask(time.Minute)); !errors.Is(err, errCut) || driver.Answered(err) {
			t.Errorf("Acquire on a link that was cut: %v; want an unknown outcome", err)
		}
		link.Resume()
		synctest.Wait()
		if holds(t, direct) != 0 {
			t.Error("a request that was dropped reached the server")
		}
		if _, err := link.Acquire(t.Context(), ask(time.Minute)); err != nil {
			t.Errorf("Acquire after Cut: %v; want a new connection", err)
		}
	})
}

func TestLinkStrandDeliversLater(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		link.HoldRequests()
		time.AfterFunc(time.Second, link.Strand)
		r := ask(time.Minute)
		if _, err := link.Acquire(t.Context(), r); !errors.Is(err, errCut) {
			t.Errorf("Acquire on a link that was stranded: %v; want an unknown outcome", err)
		}
		if _, err := link.Guarantees(t.Context()); err != nil {
			t.Errorf("Guarantees over the new connection: %v", err)
		}
		synctest.Wait()
		if holds(t, direct) != 0 {
			t.Error("a request that is held back reached the server before Resume")
		}
		link.Resume()
		synctest.Wait()
		if holds(t, direct) != 1 {
			t.Error("a request that was stranded did not reach the server after Resume")
		}
	})
}

func TestLinkHoldsLostBack(t *testing.T) {
	linked(t, func(t *testing.T, link *callLink, direct driver.Store, ask func(time.Duration) *driver.Request) {
		told := false
		r := ask(time.Second)
		r.Lost = func(error) { told = true }
		if _, err := link.Acquire(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		link.HoldReplies()
		time.Sleep(time.Minute)
		synctest.Wait()
		if told {
			t.Error("Lost was called over a link that holds back what the server says")
		}
		link.Resume()
		synctest.Wait()
		if !told {
			t.Error("Lost was not called after Resume")
		}
	})
}
