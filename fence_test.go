package holdfast_test

import (
	"context"
	"errors"
	"testing"

	"holdfast.dev"
	"holdfast.dev/fence"
	"holdfast.dev/memlock"
)

// A hold passes a gate as it is, until the lock was granted to somebody else.
func TestHoldIsAFencer(t *testing.T) {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	m := locks.Mutex("account")
	var gate fence.Gate

	first, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Pass(ctx, "account", first); err != nil {
		t.Errorf("the holder is refused: %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatal(err)
	}
	second, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Unlock()
	if err := gate.Pass(ctx, "account", second); err != nil {
		t.Errorf("the next holder is refused: %v", err)
	}
	if err := gate.Pass(ctx, "account", first); !errors.Is(err, fence.ErrStale) {
		t.Errorf("the former holder passes: %v, want ErrStale", err)
	}
}
