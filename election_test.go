package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule (Election): one of several candidates leads at a time, first come first served; it is the Mutex of its name. Unlock resigns.
func TestCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two, three := connect(t, server).Election("a"), connect(t, server).Election("a"), connect(t, server).Election("a")
		if one.Name() != "a" {
			t.Errorf("name %q", one.Name())
		}
		first, err := one.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = connect(t, server).Mutex("a").TryLock(t.Context())
		expect(t, err, holdfast.ErrHeld)
		second := later(t, campaigner{two})
		third := later(t, campaigner{three})
		notYet(t, "while the first leads", second, third)
		mustUnlock(t, first)
		h := <-second
		notYet(t, "while the second leads", third)
		if h.Token() <= first.Token() {
			t.Errorf("token %d after %d", h.Token(), first.Token())
		}
		mustUnlock(t, h)
		h = <-third
		wait, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		_, err = one.Campaign(wait)
		took(t, "the campaign", begun, time.Minute)
		expect(t, err, holdfast.ErrHeld)
		expect(t, err, context.DeadlineExceeded)
		if time.Sleep(time.Hour); h.Err() != nil {
			t.Errorf("the leader: %v", h.Err())
		}
		mustUnlock(t, h)
	})
}

// campaigner makes an Election a Locker, for the helpers.
type campaigner struct{ *holdfast.Election }

func (c campaigner) Lock(ctx context.Context) (*holdfast.Hold, error)    { return c.Campaign(ctx) }
func (c campaigner) TryLock(ctx context.Context) (*holdfast.Hold, error) { return c.Campaign(ctx) }

// Rule (Election): a bad name, option or context is reported by its methods, before the store is touched.
func TestElectionBadArguments(t *testing.T) {
	s := newScript()
	locks := s.open(t)
	_, err := locks.Election("").Campaign(t.Context())
	expect(t, err, holdfast.ErrName)
	_, err = locks.Election("").Leader(t.Context())
	expect(t, err, holdfast.ErrName)
	expect(t, locks.Election("").Run(t.Context(), func(context.Context) error { return nil }), holdfast.ErrName)
	_, err = locks.Election("a", holdfast.TTL(1)).Campaign(t.Context())
	expect(t, err, holdfast.ErrTTL)
	_, err = locks.Election("a").Campaign(noContext)
	expect(t, err, holdfast.ErrArgument)
	_, err = locks.Election("a").Leader(noContext)
	expect(t, err, holdfast.ErrArgument)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locks.Election("a").Leader(ended)
	expect(t, err, context.Canceled)
	_, err = locks.Election("a").Leader(t.Context()) // a script shows nothing
	expect(t, err, holdfast.ErrUnsupported)
	if calls := s.asked(); len(calls) != 0 {
		t.Errorf("the store was asked: %+v", calls)
	}
}

// Rule (Leader): it shows who leads, by label and token; ErrNotHeld when nobody does, also while a minimum hold keeps the lock.
func TestLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		watcher := connect(t, server).Election("a")
		reader := mustLock(t, connect(t, server).RWMutex("a").Reader()) // reads what leaders write, and leads nobody
		_, err := watcher.Leader(t.Context())
		expect(t, err, holdfast.ErrNotHeld, `"a"`, "nobody leads")
		mustUnlock(t, reader)
		hold := mustLock(t, campaigner{connect(t, server).Election("a", holdfast.Label("blue"), holdfast.MinHold(time.Hour))})
		time.Sleep(time.Minute)
		leader, err := watcher.Leader(t.Context())
		if err != nil || leader.Token != hold.Token() || !strings.HasSuffix(leader.Label, " blue") || leader.Held != time.Minute {
			t.Errorf("%+v, %v", leader, err)
		}
		mustUnlock(t, hold)
		if info, err := connect(t, server).Inspect(t.Context(), "a"); err != nil || len(info.Holders) != 1 || !info.Holders[0].Kept {
			t.Fatalf("not kept: %+v, %v", info, err)
		}
		_, err = watcher.Leader(t.Context())
		expect(t, err, holdfast.ErrNotHeld)
	})
}

// A sighting is what Observe showed, and when, since the test began.
type sighting struct {
	at   time.Duration
	what string
}

// watch collects what Observe shows until the loop ends.
func watch(begun time.Time, observed iter.Seq2[holdfast.Holder, error], each func(n int) (goOn bool)) (seen []sighting) {
	for leader, err := range observed {
		what := fmt.Sprint(leader.Token)
		switch {
		case errors.Is(err, holdfast.ErrNotHeld):
			what = "nobody"
		case err != nil:
			what = "trouble"
		}
		seen = append(seen, sighting{time.Since(begun), what})
		if each != nil && !each(len(seen)) {
			break
		}
	}
	return seen
}

// Rule (Observe): it shows who leads now, and whenever that changes, until ctx ends; what lies between two looks is not seen.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		e := connect(t, server).Election("a")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go func() {
			time.Sleep(1200 * time.Millisecond)
			hold := mustLock(t, campaigner{e})
			time.Sleep(1900 * time.Millisecond)
			mustUnlock(t, hold)
			mustUnlock(t, mustLock(t, campaigner{e})) // a short term that nobody sees
			hold = mustLock(t, campaigner{e})
			time.Sleep(3 * time.Second)
			mustUnlock(t, hold)
		}()
		begun := time.Now()
		seen := watch(begun, e.Observe(ctx), nil)
		took(t, "Observe", begun, 10*time.Second)
		want := []sighting{{0, "nobody"}, {1500 * time.Millisecond, "1"}, {3500 * time.Millisecond, "3"}, {6500 * time.Millisecond, "nobody"}}
		if !slices.Equal(seen, want) {
			t.Errorf("saw %v, want %v", seen, want)
		}
	})
}

// Rule (Observe): it ends when the loop is left; a context that has ended shows nothing.
func TestObserveIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, memlock.NewServer()).Election("a")
		time.AfterFunc(900*time.Millisecond, func() { mustLock(t, campaigner{e}) })
		if seen := watch(time.Now(), e.Observe(t.Context()), func(n int) bool { return n < 2 }); len(seen) != 2 || seen[1].at != time.Second {
			t.Errorf("saw %v", seen)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if seen := watch(time.Now(), e.Observe(ended), nil); len(seen) != 0 {
			t.Errorf("with a context that has ended: %v", seen)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if seen := watch(time.Now(), e.Observe(ctx), func(int) bool { cancel(); return true }); len(seen) != 1 {
			t.Errorf("its context ended during the loop: %v", seen)
		}
	})
}

// A watched is a script that can be inspected.
type watched struct {
	*script
	inspect func(ctx context.Context, ask int) (*holdfast.Info, error)
}

func (w *watched) Inspect(ctx context.Context, name string, _ holdfast.Mode) (*holdfast.Info, error) {
	return w.inspect(ctx, w.note(ctx, scriptCall{op: "inspect", name: name}))
}

func (w *watched) List(context.Context, string) iter.Seq2[*holdfast.Info, error] { return nil }

// ledBy is what Inspect shows while somebody leads.
func ledBy(token uint64, label string) *holdfast.Info {
	return &holdfast.Info{Name: "a", Holders: []holdfast.Holder{{Token: token, Label: label}}}
}

// Rule (Observe): that the store could not be asked is shown once; it goes on asking, less and less often but every 5 s at least, and
// shows the leader again when it can.
func TestObserveInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{script: newScript()}
		w.inspect = func(_ context.Context, ask int) (*holdfast.Info, error) {
			switch {
			case ask <= 3:
				return ledBy(7, "blue"), nil
			case ask <= 40:
				return nil, []error{errCut, &driver.Refused{Err: errFull}}[ask%2]
			case ask <= 43:
				return ledBy(7, "blue"), nil
			case ask <= 46:
				return nil, errCut
			}
			return nil, driver.ErrClosed
		}
		locks := holdfast.New(w)
		defer locks.Close()
		seen := watch(time.Now(), locks.Election("a").Observe(t.Context()), nil)
		var what []string
		for _, s := range seen {
			what = append(what, s.what)
		}
		if got := strings.Join(what, " "); got != "7 trouble 7 trouble" {
			t.Errorf("saw %s", got)
		}
		asks := w.asked("inspect")
		if len(asks) != 47 {
			t.Fatalf("asked %d times: it goes on after ErrClosed", len(asks))
		}
		for i := range asks[1:] {
			gap := asks[i+1].at - asks[i].at
			low, high := 500*time.Millisecond, 500*time.Millisecond
			if troubled := i >= 3 && i < 40; troubled {
				low, high = 250*time.Millisecond, 5*time.Second
				if i > 20 {
					low = 2500 * time.Millisecond
				}
			}
			if again := i >= 43; again { // it begins anew
				low, high = 250*time.Millisecond, 1125*time.Millisecond
			}
			if gap < low || gap > high {
				t.Errorf("look %d came %v after the one before, want %v to %v", i+2, gap, low, high)
			}
		}
	})
}

// Rule (Observe): a look that ctx cuts off is no trouble to tell of: it ends.
func TestObserveEndsDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{script: newScript()}
		w.inspect = func(ctx context.Context, ask int) (*holdfast.Info, error) {
			if ask > 1 {
				return nil, hang(ctx)
			}
			return ledBy(7, "blue"), nil
		}
		locks := holdfast.New(w)
		defer locks.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if seen := watch(begun, locks.Election("a").Observe(ctx), nil); len(seen) != 1 {
			t.Errorf("saw %v", seen)
		}
		took(t, "Observe", begun, time.Minute)
	})
}

// Rule (Observe): a leader of the same token is shown again when its label differs, and not otherwise.
func TestObserveLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{script: newScript()}
		w.inspect = func(_ context.Context, ask int) (*holdfast.Info, error) {
			if ask > 6 {
				return nil, driver.ErrUnsupported
			}
			return ledBy(0, []string{"blue", "green"}[ask/4]), nil // a store without tokens
		}
		locks := holdfast.New(w)
		defer locks.Close()
		var labels []string
		for leader, err := range locks.Election("a").Observe(t.Context()) {
			if err == nil {
				labels = append(labels, leader.Label)
			}
		}
		if got := strings.Join(labels, " "); got != "blue green" {
			t.Errorf("saw %s", got)
		}
	})
}

// Rule (Observe): what can never be answered is shown, and is the end.
func TestObserveHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := connect(t, memlock.NewServer())
		closed.Close()
		for _, c := range []struct {
			e   *holdfast.Election
			ctx context.Context
			is  error
		}{
			{newScript().open(t).Election("a"), t.Context(), holdfast.ErrUnsupported},
			{connect(t, memlock.NewServer()).Election("a\n"), t.Context(), holdfast.ErrName},
			{closed.Election("a"), t.Context(), holdfast.ErrClosed},
			{connect(t, memlock.NewServer()).Election("a"), noContext, holdfast.ErrArgument},
			{holdfast.New(nil).Election("a"), t.Context(), holdfast.ErrArgument},
		} {
			var errs []error
			for _, err := range c.e.Observe(c.ctx) {
				if errs = append(errs, err); len(errs) > 1 {
					break
				}
			}
			if len(errs) != 1 || !errors.Is(errs[0], c.is) {
				t.Errorf("saw %v, want once %v", errs, c.is)
			}
		}
	})
}
