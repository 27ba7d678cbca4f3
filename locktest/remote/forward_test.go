package remote_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

func TestForwarded(t *testing.T) {
	store := memlock.New()
	addr, _ := serve(t, store)
	s := dial(t, addr)
	want, _ := store.Guarantees(t.Context())
	if got, err := s.Guarantees(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Guarantees = %+v, %v; want %+v", got, err, want)
	}
	identity, _ := store.Identity(t.Context())
	if got, err := s.Identity(t.Context()); err != nil || got != identity {
		t.Errorf("Identity = %q, %v; want %q", got, err, identity)
	}
	if got := s.String(); got != "remote-test://"+addr {
		t.Errorf("String = %q", got)
	}
	if s.Clock() != driver.Boot() {
		t.Error("its clock is not Boot")
	}

	permits := &driver.Request{
		Name: "p", Attempt: attempts.Next(), Label: "l", Mode: driver.Permits, N: 2, Limit: 3, TTL: long, Keep: long, NoWait: true,
	}
	mustAcquire(t, s, permits)
	r := exclusive(long)
	r.Reserve = 5
	if g := mustAcquire(t, s, r); g.Spare != 5 {
		t.Errorf("Spare = %d; want 5", g.Spare)
	}
	waiter := exclusive(long)
	askAndWait(t, t.Context(), s, waiter)

	inspector := s.(driver.Inspector)
	info, err := inspector.Inspect(t.Context(), "p", driver.Permits)
	if err != nil || info.Limit != 3 || len(info.Holders) != 1 || info.Holders[0].N != 2 || info.Holders[0].Label != "l" {
		t.Errorf("Inspect = %+v, %v", info, err)
	}
	if _, err := inspector.Inspect(t.Context(), "", driver.Exclusive); !errors.Is(err, driver.ErrName) {
		t.Errorf("Inspect of no name: %v; want ErrName", err)
	}
	seen := map[string]int{}
	for info, err := range inspector.List(t.Context(), "") {
		if err != nil {
			t.Fatalf("List: %v", err)
		}
		seen[info.Name] = len(info.Waiters)
	}
	if !reflect.DeepEqual(seen, map[string]int{"p": 0, "x": 1}) {
		t.Errorf("List showed %v", seen)
	}
	for range inspector.List(t.Context(), "") {
		break
	}
	if err := s.Release(t.Context(), permits); err != nil {
		t.Errorf("Release: %v", err)
	}
	if info, err := inspector.Inspect(t.Context(), "p", driver.Permits); err != nil || len(info.Holders) != 1 || !info.Holders[0].Kept {
		t.Errorf("Keep did not arrive: %+v, %v", info, err)
	}
}

// plain hides what a store can do beside driver.Store.
type plain struct{ driver.Store }

func TestUnsupported(t *testing.T) {
	addr, _ := serve(t, plain{memlock.New()})
	s := dial(t, addr)
	if _, err := s.(driver.Inspector).Inspect(t.Context(), "x", driver.Exclusive); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Inspect: %v; want ErrUnsupported", err)
	}
	var got error
	for _, err := range s.(driver.Inspector).List(t.Context(), "x") {
		got = err
	}
	if !errors.Is(got, driver.ErrUnsupported) {
		t.Errorf("List: %v; want ErrUnsupported", got)
	}
	if err := s.(driver.Breaker).Break(t.Context(), &driver.BreakRequest{Name: "x"}); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("Break: %v; want ErrUnsupported", err)
	}
}

func TestMalformedRequests(t *testing.T) {
	store := newWatched()
	addr, _ := serve(t, store)
	s := dial(t, addr)
	r := exclusive(long)
	r.Name = "a\x00b"
	if _, err := s.Acquire(t.Context(), r); !errors.Is(err, driver.ErrName) {
		t.Errorf("Acquire: %v; want ErrName", err)
	}
	if err := s.Release(t.Context(), r); !errors.Is(err, driver.ErrName) {
		t.Errorf("Release: %v; want ErrName", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Acquire(ended, exclusive(long))
	wantUnknown(t, "Acquire with an ended context", err)
	if _, err := s.Guarantees(t.Context()); err != nil { // what was sent before it has been carried out by now
		t.Fatal(err)
	}
	if len(store.acquired) > 0 {
		t.Error("the store was touched")
	}
}

func TestNoSecretIsPrinted(t *testing.T) {
	addr, _ := serve(t, memlock.New())
	s := dial(t, addr)
	r := exclusive(long)
	g := mustAcquire(t, s, r)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb+" "+verb+" "+verb, s, g.Lease, *g); strings.Contains(text, r.Attempt.Reveal()) {
			t.Errorf("%s shows the attempt's id: %s", verb, text)
		}
	}
}
