package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// Rule: Inspect shows who holds a lock and who waits for it; a lock that nobody uses is no error.
func TestInspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		locks := connect(t, server, holdfast.Label("first"))
		hold := mustLock(t, locks.Mutex("a"))
		second := connect(t, server, holdfast.Label("second"))
		go second.Mutex("a").Lock(t.Context())
		time.Sleep(2 * time.Second)
		info, err := locks.Inspect(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Holders) != 1 || info.Holders[0].Token != hold.Token() || info.Holders[0].Held != 2*time.Second || info.Holders[0].Left != 8*time.Second {
			t.Errorf("holders: %+v", info.Holders)
		}
		if len(info.Waiters) != 1 || info.Waiters[0].Waited != 2*time.Second {
			t.Errorf("waiters: %+v", info.Waiters)
		}
		if info, err := locks.Inspect(t.Context(), "b"); err != nil || len(info.Holders)+len(info.Waiters) != 0 {
			t.Errorf("a lock that nobody uses: %+v, %v", info, err)
		}
	})
}

// Rule: List shows what begins with the prefix, and may be left early.
func TestList(t *testing.T) {
	locks := connect(t, memlock.NewServer())
	for _, name := range []string{"a/1", "a/2", "b/1"} {
		mustLock(t, locks.Mutex(name))
	}
	for prefix, want := range map[string][]string{"": {"a/1", "a/2", "b/1"}, "a/": {"a/1", "a/2"}, "c": {}} {
		got := make(map[string]bool)
		for info, err := range locks.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got[info.Name] = true
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, want) {
			t.Errorf("prefix %q: %v, want %v", prefix, names, want)
		}
	}
	n := 0
	for range locks.List(t.Context(), "") {
		n++
		break
	}
	if n != 1 {
		t.Errorf("left after one, saw %d", n)
	}
	for _, err := range locks.List(noContext, "") {
		expect(t, err, holdfast.ErrArgument, "context is nil")
	}
}

// A showingScript is a script whose List fails half way.
type showingScript struct{ *script }

func (s showingScript) Inspect(context.Context, string, driver.Mode) (*driver.Info, error) {
	return nil, errCut
}

func (s showingScript) List(context.Context, string) iter.Seq2[*driver.Info, error] {
	return func(yield func(*driver.Info, error) bool) {
		if yield(&driver.Info{Name: "a"}, nil) && yield(nil, errCut) {
			yield(&driver.Info{Name: "b"}, nil)
		}
	}
}

// Rule (errors): a store that cannot be asked is a *StoreError that names the operation; a List ends after the first error.
func TestInspectErrors(t *testing.T) {
	locks := holdfast.New(showingScript{newScript()})
	defer locks.Close()
	_, err := locks.Inspect(t.Context(), "a")
	expect(t, err, errCut, "inspect", "script://")
	var names []string
	var failed error
	for info, err := range locks.List(t.Context(), "") {
		if err != nil {
			failed = err
			continue
		}
		names = append(names, info.Name)
	}
	expect(t, failed, errCut, "list")
	if !slices.Equal(names, []string{"a"}) {
		t.Errorf("saw %v, want what came before the error", names)
	}
	var told *holdfast.StoreError
	if !errors.As(failed, &told) || told.Op != "list" {
		t.Errorf("got %#v", failed)
	}
}

// Rule of the driver contract: what a store is not is ErrUnsupported.
func TestStoreWithoutInspection(t *testing.T) {
	locks := newScript().open(t)
	_, err := locks.Inspect(t.Context(), "a")
	expect(t, err, holdfast.ErrUnsupported, "script://")
	n := 0
	for _, err := range locks.List(t.Context(), "") {
		expect(t, err, holdfast.ErrUnsupported)
		n++
	}
	if n != 1 {
		t.Errorf("%d results, want the error alone", n)
	}
	expect(t, locks.Break(t.Context(), "a", 1), holdfast.ErrUnsupported)
}

// Rule: Guarantees asks the store anew each time.
func TestGuarantees(t *testing.T) {
	s := newScript()
	locks := s.open(t)
	for _, durable := range []bool{false, true} {
		s.promises.SurvivesRestart = durable
		if g, err := locks.Guarantees(t.Context()); err != nil || g.SurvivesRestart != durable {
			t.Errorf("%+v, %v", g, err)
		}
	}
	s.guarantees = func(context.Context, int) (holdfast.Guarantees, error) { return holdfast.Guarantees{}, errCut }
	_, err := locks.Guarantees(t.Context())
	expect(t, err, errCut, "guarantees")
	_, err = locks.Guarantees(noContext)
	expect(t, err, holdfast.ErrArgument)
}

// Names: a prefix that no name could begin with is refused before the store is touched.
func TestListPrefix(t *testing.T) {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	for _, prefix := range []string{"a\r\nflush_all\r\n", "\xff", strings.Repeat("a", 513)} {
		for _, err := range locks.List(t.Context(), prefix) {
			expect(t, err, holdfast.ErrName, "prefix")
		}
	}
}

// Rule of ownership 1: a client or a hold that is printed shows no secret.
func TestPrintedClientAndHold(t *testing.T) {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold := mustLock(t, locks.Mutex("a"))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, locks); got != "holdfast client of mem://" {
			t.Errorf("%s of a client: %q", verb, got)
		}
		if got := fmt.Sprintf(verb, hold); got != `hold of "a", token 1` {
			t.Errorf("%s of a hold: %q", verb, got)
		}
	}
	if holdfast.Token(noContext) != 0 {
		t.Error("no context has a token")
	}
	if _, ok := locks.Held(noContext, "a"); ok {
		t.Error("no context holds")
	}
}
