package memlock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func TestInspect(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		free := look(t, st, "x", driver.Exclusive)
		if free.Name != "x" || free.Mode != driver.Exclusive || len(free.Holders)+len(free.Waiters) != 0 {
			t.Errorf("a free lock: %+v", free)
		}
		a := take(t, st, ask("x", driver.Shared, label("a")))
		time.Sleep(time.Second)
		take(t, st, ask("x", driver.Shared, label("b"), lasting(time.Minute)))
		queue(t, st, ask("x", driver.Exclusive, label("c")))
		time.Sleep(2 * time.Second)
		queue(t, st, ask("x", driver.Shared, label("d")))

		info := look(t, st, "x", driver.Exclusive)
		equal(t, "mode", info.Mode, driver.Shared)
		if want := []driver.Holder{
			{Label: "a", Token: a.Token, Mode: driver.Shared, Held: 3 * time.Second, Left: 7 * time.Second},
			{Label: "b", Token: a.Token, Mode: driver.Shared, Held: 2 * time.Second, Left: 58 * time.Second},
		}; !slices.Equal(info.Holders, want) {
			t.Errorf("holders %+v, want %+v", info.Holders, want)
		}
		if want := []driver.Waiter{
			{Label: "c", Mode: driver.Exclusive, Waited: 2 * time.Second},
			{Label: "d", Mode: driver.Shared},
		}; !slices.Equal(info.Waiters, want) {
			t.Errorf("waiters %+v, want %+v", info.Waiters, want)
		}
	})
}

func TestInspectSemaphore(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		equal(t, "mode of a free one", look(t, st, "x", driver.Permits).Mode, driver.Permits)
		take(t, st, ask("x", driver.Permits, permits(2, 3)))
		queue(t, st, ask("x", driver.Permits, permits(3, 3)))
		info := look(t, st, "x", driver.Permits)
		equal(t, "mode", info.Mode, driver.Permits)
		equal(t, "limit", info.Limit, 3)
		equal(t, "held", info.Holders[0].N, 2)
		equal(t, "wanted", info.Waiters[0].N, 3)
		equal(t, "holders of the lock of that name", len(look(t, st, "x", driver.Exclusive).Holders), 0)
	})
}

// Waiters are shown in the order of service, those whose callers are away among them.
func TestInspectOrder(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("x", driver.Exclusive))
		for i := range 6 {
			r := ask("x", driver.Exclusive, label(fmt.Sprint(i)))
			if i%2 == 0 {
				waitsAway(t, st, r)
			} else {
				queue(t, st, r)
			}
		}
		var shown []string
		for _, w := range look(t, st, "x", driver.Exclusive).Waiters {
			shown = append(shown, w.Label)
		}
		equal(t, "order", strings.Join(shown, " "), "0 1 2 3 4 5")
	})
}

func TestList(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		for _, name := range []string{"b/2", "a", "b/1", "b", "c"} {
			take(t, st, ask(name, driver.Exclusive))
		}
		take(t, st, ask("b/1", driver.Permits, permits(1, 1)))
		wantError(t, st.Release(background, ask("b/3", driver.Exclusive)), driver.ErrGone) // a tombstone is not shown
		list := func(prefix string) string {
			var names []string
			for info, err := range st.List(background, prefix) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, fmt.Sprint(info.Name, " ", info.Mode))
			}
			return strings.Join(names, ", ")
		}
		equal(t, "all", list(""), "a exclusive, b exclusive, b/1 exclusive, b/1 permits, b/2 exclusive, c exclusive")
		equal(t, "b/", list("b/"), "b/1 exclusive, b/1 permits, b/2 exclusive")
		equal(t, "none", list("d"), "")

		for range st.List(background, "") {
			break // ends early
		}
	})
}

// What has ended while the list is read is left out.
func TestListWhileItChanges(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		take(t, st, ask("a", driver.Exclusive))
		b := ask("b", driver.Exclusive)
		take(t, st, b)
		shown := 0
		for info, err := range st.List(background, "") {
			if err != nil || info.Name != "a" {
				t.Errorf("%+v, %v", info, err)
			}
			shown++
			release(t, st, b)
		}
		equal(t, "shown", shown, 1)
	})
}

func TestInspectionErrors(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		_, err := st.Inspect(background, "", driver.Exclusive)
		wantError(t, err, driver.ErrName)
		take(t, st, ask("a", driver.Exclusive))
		take(t, st, ask("b", driver.Exclusive))
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, err = st.Inspect(ctx, "a", driver.Exclusive)
		wantError(t, err, context.Canceled)
		shown := 0
		for _, err := range st.List(ctx, "") {
			wantError(t, err, context.Canceled)
			shown++
		}
		equal(t, "it ends after the first error", shown, 1)
	})
}

// An attempt's id is a secret: nothing that can be printed shows it.
func TestSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, st *memlock.Store) {
		r := ask("x", driver.Exclusive)
		grant := take(t, st, r)
		held := refused(t, st, ask("x", driver.Exclusive))
		info := look(t, st, "x", driver.Exclusive)
		// Reveal writes hexadecimal digits; fmt would write bytes in decimal or hexadecimal ones.
		raw, err := driver.ParseAttempt(r.Attempt.Reveal())
		if err != nil || raw != r.Attempt {
			t.Fatal("an attempt does not survive Reveal and ParseAttempt")
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			for what, printed := range map[string]string{
				"grant": fmt.Sprintf(verb, grant), "lease": fmt.Sprintf(verb, grant.Lease), "answer": fmt.Sprintf(verb, held),
				"info": fmt.Sprintf(verb, info), "store": fmt.Sprintf(verb, st), "server": fmt.Sprintf(verb, st.Server()),
			} {
				if strings.Contains(printed, "client") || strings.Contains(printed, "attempt") ||
					strings.Contains(printed, r.Attempt.Reveal()[:8]) {
					t.Errorf("%s printed with %s shows the attempt: %s", what, verb, printed)
				}
			}
		}
		equal(t, "store", fmt.Sprintf("%+v", st), "mem://")
		equal(t, "lease", fmt.Sprintf("%#v", grant.Lease), "lease of mem://")
	})
}
