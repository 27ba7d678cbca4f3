package holdfast_test

import (
	"context"
	"errors"
	"fmt"

	"holdfast.dev"
	"holdfast.dev/driver"
	"holdfast.dev/fence"
	"holdfast.dev/memlock"
)

// Do on a client is the shortest way: a name and a function.
func ExampleClient_Do() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	err := locks.Do(context.Background(), "nightly-email", func(ctx context.Context) error {
		fmt.Println("sending, token", holdfast.Token(ctx))
		return nil
	})
	fmt.Println(err)
	// Output:
	// sending, token 1
	// <nil>
}

// A LostError tells why, so that a program can react: begin again after a failure of the store, stop when an operator said so.
func ExampleLostError() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New(), holdfast.Label("operator"))
	defer locks.Close()
	err := locks.Do(ctx, "import", func(work context.Context) error {
		locks.Break(ctx, "import", holdfast.Token(work)) // somebody wants it back
		<-work.Done()
		return context.Cause(work)
	})
	var lost *holdfast.LostError
	if errors.As(err, &lost) {
		fmt.Println(lost.Name, lost.Token, lost.Reason)
	}
	// Output: import 1 broken
}

// unreachable is a store behind a cable that nobody plugged in.
type unreachable struct{ driver.Store }

func (unreachable) Guarantees(context.Context) (holdfast.Guarantees, error) {
	return holdfast.Guarantees{}, errors.New("connection refused")
}

// A StoreError is the store's trouble, not somebody else's lock.
func ExampleStoreError() {
	locks := holdfast.New(unreachable{memlock.New()})
	defer locks.Close()
	_, err := locks.Mutex("orders/42").TryLock(context.Background())
	var problem *holdfast.StoreError
	fmt.Println(errors.As(err, &problem), errors.Is(err, holdfast.ErrHeld))
	fmt.Println(err)
	// Output:
	// true false
	// holdfast: lock "orders/42": store mem://: connection refused
}

// A gate takes a hold as it is.
func ExampleHold_FenceToken() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	var gate fence.Gate
	first, _ := locks.Mutex("account").Lock(ctx)
	first.Unlock()
	second, _ := locks.Mutex("account").Lock(ctx)
	defer second.Unlock()

	fmt.Println(gate.Pass(ctx, "account", second))
	fmt.Println(errors.Is(gate.Pass(ctx, "account", first), fence.ErrStale))
	// Output:
	// <nil>
	// true
}
