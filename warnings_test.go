package holdfast_test

import (
	"slices"
	"testing"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/memlock"
)

// An oddStore has something to say about itself.
type oddStore struct {
	driver.Store
	warnings []string
}

func (s *oddStore) Warnings() []string { return s.warnings }

// Rule (Warner): Warnings are the store's, before and after Close; a store that has nothing to say has none, and no store has none either.
func TestWarnings(t *testing.T) {
	want := []string{"it is even", "it is odd"}
	locks := holdfast.New(&oddStore{memlock.New(), want})
	if got := locks.Warnings(); !slices.Equal(got, want) {
		t.Errorf("it warns %q, want %q", got, want)
	}
	if err := locks.Close(); err != nil {
		t.Fatal(err)
	}
	if got := locks.Warnings(); !slices.Equal(got, want) {
		t.Errorf("closed, it warns %q, want %q", got, want)
	}
	for _, locks := range []*holdfast.Client{connect(t, memlock.NewServer()), holdfast.New(nil), holdfast.New(&oddStore{Store: memlock.New()})} {
		if got := locks.Warnings(); len(got) > 0 {
			t.Errorf("%v warns %q, and has nothing to say", locks, got)
		}
	}
}
