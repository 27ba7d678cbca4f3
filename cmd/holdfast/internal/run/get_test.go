//go:build unix

package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/cmd/holdfast/internal/say"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// noSignals are signals that have not come.
func noSignals(heard bool) *signals {
	s := &signals{came: make(chan os.Signal), heard: make(chan struct{})}
	if heard {
		close(s.heard)
	}
	return s
}

// planFor is a plan whose store is a server in this process. out gets what it prints.
func planFor(server *memlock.Server, out *bytes.Buffer) *Plan {
	return &Plan{
		Names: []string{"x"}, Command: []string{"true"}, Voice: say.New(out),
		Open: func(_ context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
			return holdfast.New(server.Connect(), opts...), nil
		},
	}
}

func (p *Plan) getOnce(s *signals) (*holdfast.Client, *holdfast.Hold, error) {
	return p.get(s, newNews(p.display(), func() {}))
}

// An onAcquired is told when a lock was got.
type onAcquired func()

func (f onAcquired) Observe(_ context.Context, e holdfast.Event) {
	if e.Kind == holdfast.EventAcquired {
		f()
	}
}

// A signal that comes with the grant ends the run, and the lock is given back as if it had never been got.
func TestSignalWithTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := memlock.NewServer(), noSignals(true)
		p := planFor(server, new(bytes.Buffer))
		p.MinHold = time.Hour
		open := p.Open
		p.Open = func(ctx context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
			return open(ctx, append(opts, holdfast.WithObserver(onAcquired(func() { s.came <- syscall.SIGTERM })))...)
		}
		_, _, err := p.getOnce(s)
		var by *interruption
		if !errors.As(err, &by) || by.signal != syscall.SIGTERM {
			t.Fatalf("got %v; want the end by TERM", err)
		}
		other := holdfast.New(server.Connect())
		defer other.Close()
		hold, err := other.Mutex("x").TryLock(t.Context())
		if err != nil {
			t.Fatalf("the lock is not free: %v", err)
		}
		hold.Unlock()
	})
}

// No lock is asked for before signals are heard: one that came then would end the program with a lock, or a place in a queue.
func TestSignalsAreHeardFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, s := memlock.NewServer(), noSignals(false)
		p := planFor(server, new(bytes.Buffer))
		looked, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			client, hold, err := p.getOnce(s)
			if err != nil {
				t.Error(err)
				return
			}
			<-looked
			hold.Unlock()
			client.Close()
		}()
		synctest.Wait()
		other := holdfast.New(server.Connect())
		defer other.Close()
		info, err := other.Inspect(t.Context(), "x")
		if err != nil || len(info.Holders)+len(info.Waiters) > 0 {
			t.Errorf("%v; the lock was asked for: %+v", err, info)
		}
		close(looked)
		close(s.heard)
		<-done
	})
}

// With -n a store that never answers is waited for, but not for ever.
func TestBoundOfOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := planFor(memlock.NewServer(), new(bytes.Buffer))
		p.Open = func(ctx context.Context, _ ...holdfast.OpenOption) (*holdfast.Client, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		for _, c := range []struct{ noWait, wait, want time.Duration }{{1, 0, tryFor}, {0, time.Minute, time.Minute}} {
			p.NoWait, p.Wait = c.noWait > 0, c.wait
			begun := time.Now()
			_, _, err := p.getOnce(noSignals(true))
			if took := time.Since(begun); took != c.want || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it took %v, want %v: %v", took, c.want, err)
			}
		}
	})
}

// A store that gives no answer is asked again and again, and that is told once; another trouble is told, too. With -n it is asked once.
func TestOpenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		server := memlock.NewServer()
		p := planFor(server, &out)
		open, asked := p.Open, 0
		p.Open = func(ctx context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
			trouble := "no route"
			switch asked++; {
			case asked > 20:
				return open(ctx, opts...)
			case asked > 10:
				trouble = "refused"
			}
			return nil, &holdfast.StoreError{Op: "open", Store: "x://", Err: errors.New(trouble)}
		}
		client, hold, err := p.getOnce(noSignals(true))
		if err != nil {
			t.Fatal(err)
		}
		hold.Unlock()
		client.Close()
		if got := out.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "no route") != 1 || strings.Count(got, "refused") != 1 {
			t.Errorf("it says %q; want two lines", got)
		}
		asked, p.NoWait = 0, true
		if _, _, err := p.getOnce(noSignals(true)); err == nil || asked != 1 {
			t.Errorf("with -n the store was asked %d times: %v", asked, err)
		}
		asked, p.NoWait, p.Quiet = 0, false, true
		out.Reset()
		if client, hold, err = p.getOnce(noSignals(true)); err != nil || out.Len() > 0 {
			t.Errorf("with --quiet it says %q: %v", out.String(), err)
		}
		hold.Unlock()
		client.Close()
	})
}

// An oddStore has something to say about itself.
type oddStore struct{ driver.Store }

func (oddStore) Warnings() []string { return []string{"it is odd\nholdfast: forged", "and even"} }

// What a store warns of is said once, a line each, unless nothing is to be said.
func TestWarnings(t *testing.T) {
	for quiet, want := range map[bool]string{false: "holdfast: warning: it is odd\\nholdfast: forged\nholdfast: warning: and even\n", true: ""} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := planFor(memlock.NewServer(), &out)
			p.Quiet = quiet
			p.Open = func(_ context.Context, opts ...holdfast.OpenOption) (*holdfast.Client, error) {
				return holdfast.New(oddStore{memlock.New()}, opts...), nil
			}
			client, hold, err := p.getOnce(noSignals(true))
			if err != nil {
				t.Fatal(err)
			}
			hold.Unlock()
			client.Close()
			if got := out.String(); got != want {
				t.Errorf("quiet %t: it says %q, want %q", quiet, got, want)
			}
		})
	}
}

// A second signal that ends a wait is not kept back, nor are others taken for one: what listens is told of the first one only.
func TestFirstSignalEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := noSignals(true)
		ctx, end := s.untilEnded(0)
		s.came <- syscall.SIGCONT
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("CONT ended the wait")
		}
		s.came <- syscall.SIGHUP
		<-ctx.Done()
		if by := end(); by == nil || by.signal != syscall.SIGHUP {
			t.Errorf("it was ended by %v", by)
		}
		ctx, end = s.untilEnded(time.Minute)
		if by := end(); by != nil || ctx.Err() == nil {
			t.Errorf("ended by %v, %v", by, ctx.Err())
		}
	})
}
