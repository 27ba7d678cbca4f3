package driver

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
)

// emptyRegistry gives a test a registry of its own.
func emptyRegistry(t *testing.T) {
	before := registry.openers
	registry.openers = nil
	t.Cleanup(func() { registry.openers = before })
}

func opener(ctx context.Context, u *URL) (Store, error) { return nil, ErrUnsupported }

func TestRegistry(t *testing.T) {
	emptyRegistry(t)
	if _, ok := Lookup("a"); ok || len(Schemes()) != 0 {
		t.Error("an empty registry knows something")
	}
	for _, scheme := range []string{"redis", "mem", "a+b-c.1"} {
		Register(scheme, opener)
	}
	if got := Schemes(); !slices.Equal(got, []string{"a+b-c.1", "mem", "redis"}) {
		t.Errorf("Schemes returns %q, want them sorted", got)
	}
	open, ok := Lookup("mem")
	if !ok {
		t.Fatal("mem is not known")
	}
	if _, err := open(t.Context(), nil); err != ErrUnsupported {
		t.Error("Lookup returns another opener")
	}
	if _, ok := Lookup("MEM"); ok {
		t.Error("a scheme that was not registered is known")
	}
}

func TestRegisterPanics(t *testing.T) {
	emptyRegistry(t)
	Register("taken", opener)
	for _, c := range []struct {
		scheme string
		open   Opener
		says   string
	}{
		{"taken", opener, `"taken"): the scheme is registered already`},
		{"new", nil, "an Opener"},
		{"", opener, "a lower-case scheme"},
		{"Upper", opener, "a lower-case scheme"},
		{"1st", opener, "a lower-case scheme"},
		{"a b", opener, "a lower-case scheme"},
		{"a://", opener, "a lower-case scheme"},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.says) {
					t.Errorf("Register(%q) panics with %q, want %q in it", c.scheme, text, c.says)
				}
			}()
			Register(c.scheme, c.open)
		}()
	}
	if got := Schemes(); !slices.Equal(got, []string{"taken"}) {
		t.Errorf("after the panics these are known: %q", got)
	}
}

func TestRegistryConcurrentUse(t *testing.T) {
	emptyRegistry(t)
	var group sync.WaitGroup
	for _, scheme := range []string{"a", "b", "c", "d"} {
		group.Go(func() {
			Register(scheme, opener)
			Schemes()
			if _, ok := Lookup(scheme); !ok {
				t.Errorf("%q is not known", scheme)
			}
		})
	}
	group.Wait()
}
