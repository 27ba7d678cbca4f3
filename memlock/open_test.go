package memlock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// open opens a URL by way of the registry, as the core does.
func open(t *testing.T, text string) (*memlock.Store, error) {
	t.Helper()
	u, err := driver.ParseURL(text)
	if err != nil {
		t.Fatal(err)
	}
	opener, ok := driver.Lookup(u.Scheme)
	if !ok {
		t.Fatalf("%s is not registered", u.Scheme)
	}
	st, err := opener(background, u)
	if err != nil {
		if st != nil {
			t.Errorf("both a store and an error: %v", err)
		}
		return nil, err
	}
	return st.(*memlock.Store), nil
}

func mustOpen(t *testing.T, text string) *memlock.Store {
	t.Helper()
	st, err := open(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func identity(t *testing.T, st *memlock.Store) string {
	t.Helper()
	id, err := st.Identity(background)
	if err != nil || id == "" {
		t.Fatalf("Identity: %q, %v", id, err)
	}
	return id
}

func TestOpenPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := mustOpen(t, "mem://"), mustOpen(t, "mem://")
		take(t, a, ask("x", driver.Exclusive))
		take(t, b, ask("x", driver.Exclusive))
		equal(t, "string", a.String(), "mem://")
		if identity(t, a) == identity(t, b) {
			t.Error("two servers have one identity")
		}
	})
}

func TestOpenNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := mustOpen(t, "mem://TestOpenNamed"), mustOpen(t, "mem://TestOpenNamed"), mustOpen(t, "mem://TestOpenNamed.other")
		first := ask("x", driver.Exclusive)
		take(t, a, first)
		refused(t, b, ask("x", driver.Exclusive))
		take(t, c, ask("x", driver.Exclusive))
		equal(t, "string", a.String(), "mem://TestOpenNamed")
		equal(t, "identity", identity(t, a), identity(t, b))
		if identity(t, a) == identity(t, c) {
			t.Error("two servers have one identity")
		}

		// It exists for as long as any client of it is open.
		a.Close()
		a.Close() // does not count twice
		d := mustOpen(t, "mem://TestOpenNamed")
		refused(t, d, ask("x", driver.Exclusive))
		release(t, d, first)
		b.Close()
		take(t, d, ask("x", driver.Exclusive))
		d.Close()
		c.Close()
		equal(t, "servers left", memlock.NamedServers(), 0)
	})
}

// Opened again it is empty, and its tokens go on rising, over any number of names.
func TestOpenNamedAgain(t *testing.T) {
	var last uint64
	for _, name := range []string{"mem://TestAgain", "mem://TestAgain.b", "mem://TestAgain"} {
		synctest.Test(t, func(t *testing.T) { // also in another bubble
			st := mustOpen(t, name)
			grant := take(t, st, ask("x", driver.Exclusive, reserving(100)))
			if grant.Token <= last {
				t.Errorf("token %d after %d", grant.Token, last)
			}
			last = grant.Token + grant.Spare
			st.Close()
		})
	}
}

// The order in which servers end does not matter.
func TestTokensRiseWhateverEndsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		high, low := mustOpen(t, "mem://TestHigh"), mustOpen(t, "mem://TestLow")
		first := take(t, high, ask("x", driver.Exclusive, reserving(100)))
		take(t, low, ask("x", driver.Exclusive))
		high.Close()
		low.Close()
		again := mustOpen(t, "mem://TestHigh")
		defer again.Close()
		equal(t, "token", take(t, again, ask("x", driver.Exclusive)).Token, first.Token+101)
	})
}

// A waiter of a closed connection is never granted, so that the last token of a server is final when its last client has closed.
func TestTokensAreFinalAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mustOpen(t, "mem://TestFinal")
		grant := take(t, st, ask("x", driver.Exclusive))
		c, look := slow(t, st, ask("x", driver.Exclusive, lasting(time.Hour)))
		st.Close()
		time.Sleep(2 * ttl) // the first hold runs out, the waiter has not noticed yet
		look()
		c.failed(t, driver.ErrClosed)
		next := mustOpen(t, "mem://TestFinal")
		defer next.Close()
		equal(t, "token", take(t, next, ask("x", driver.Exclusive)).Token, grant.Token+1)
	})
}

func TestOpenRefuses(t *testing.T) {
	for _, text := range []string{
		"mem://?ttl=1s", "mem://name?x=1", "mem://me@name", "mem://:secret@name", "mem://name:80", "mem://[::1]", "mem://[::1]:80",
		"mem://name/", "mem:///path", "mem://a,b",
	} {
		_, err := open(t, text)
		var bad *driver.URLError
		if !errors.As(err, &bad) || bad.Scheme != "mem" {
			t.Errorf("%s: %v, want a *driver.URLError", text, err)
			continue
		}
		if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "mem://") {
			t.Errorf("%s: the error shows a secret, or not what to write: %v", text, err)
		}
	}
	equal(t, "servers left", memlock.NamedServers(), 0)

	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err := memlock.Open(ctx, &driver.URL{Scheme: "mem"})
	wantError(t, err, context.Canceled)
}

// Opening and closing from many goroutines at once keeps count.
func TestOpenConcurrently(t *testing.T) {
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 200 {
				st := mustOpen(t, "mem://TestOpenConcurrently")
				r := ask("x", driver.Exclusive)
				if _, err := st.Acquire(background, r); err != nil {
					t.Error(err)
				}
				if err := st.Release(background, r); err != nil {
					t.Error(err)
				}
				st.Close()
			}
		})
	}
	running.Wait()
	equal(t, "servers left", memlock.NamedServers(), 0)
}

func TestGuarantees(t *testing.T) {
	g, err := memlock.New().Guarantees(background)
	if err != nil {
		t.Fatal(err)
	}
	if g.Fencing != driver.FencingVolatile || g.SurvivesRestart || g.SurvivesFailover || g.Session != 0 {
		t.Errorf("it promises what memory cannot keep: %+v", g)
	}
	if !g.FIFO || !g.Shared || !g.Permits || !g.Keep || !g.Reserve {
		t.Errorf("it denies what it can do: %+v", g)
	}
	if g.MinTTL != memlock.MinTTL || g.MaxTTL != memlock.MaxTTL || len(g.Beyond) == 0 {
		t.Errorf("its bounds are missing: %+v", g)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	_, err = memlock.New().Guarantees(ctx)
	wantError(t, err, context.Canceled)
	_, err = memlock.New().Identity(ctx)
	wantError(t, err, context.Canceled)
}

func TestWithoutAClock(t *testing.T) {
	if memlock.NewServer(memlock.WithClock(nil)).Connect().Clock() == nil {
		t.Error("the server has no clock")
	}
}
