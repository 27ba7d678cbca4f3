package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Left is what remains if nothing is renewed any more: enough for a step that must not be cut short, or not.
func ExampleHold_Left() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("a", holdfast.TTL(time.Minute), holdfast.Fixed()).Lock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("enough for half a minute:", hold.Left() > 30*time.Second)
	hold.Unlock()
	fmt.Println("afterwards:", hold.Left())
	// Output:
	// enough for half a minute: true
	// afterwards: 0s
}

// Count tells how deep a lock is entered.
func ExampleHold_Count() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	outer, err := locks.Mutex("a").Lock(ctx)
	if err != nil {
		panic(err)
	}
	inner, err := locks.Mutex("a").Lock(outer.Context(ctx))
	if err != nil {
		panic(err)
	}
	fmt.Println(outer.Count(), inner.Count())
	inner.Unlock()
	fmt.Println(outer.Count(), inner.Count())
	outer.Unlock()
	// Output:
	// 2 2
	// 1 0
}

// Err tells whether a hold is still good, and if not, why.
func ExampleHold_Err() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("a").Lock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(hold.Err())
	locks.Break(ctx, "a", hold.Token())
	var lost *holdfast.LostError
	fmt.Println(errors.As(hold.Err(), &lost) && lost.Reason == holdfast.ReasonBroken)
	// Output:
	// <nil>
	// true
}

// A RequirementError lists what a store lacks.
func ExampleRequirementError() {
	locks := holdfast.New(memlock.New(), holdfast.Require(holdfast.Correctness))
	defer locks.Close()
	_, err := locks.Mutex("a").Lock(context.Background())
	var lacks *holdfast.RequirementError
	if errors.As(err, &lacks) {
		for _, missing := range lacks.Missing {
			fmt.Println(missing)
		}
	}
	// Output:
	// its fencing tokens are volatile, not durable
	// a restart can give a lock twice
	// a failover can give a lock twice
}

// A store that restarted grants nothing until what it granted before has run out: wait, or come back.
func ExampleGuardedError() {
	err := error(&holdfast.GuardedError{Name: "nightly", Left: 28 * time.Second}) // as TryLock returns it
	var guarded *holdfast.GuardedError
	if errors.As(err, &guarded) {
		fmt.Println("try again in", guarded.Left)
	}
	// Output: try again in 28s
}

// A Mutex is a name and options: it costs nothing, and is made wherever it is needed.
func ExampleClient_Mutex() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	m := locks.Mutex("orders/42", holdfast.TTL(30*time.Second))
	hold, err := m.Lock(context.Background())
	if err != nil {
		panic(err)
	}
	defer hold.Unlock()
	fmt.Println(m.Name(), hold.Name())
	// Output: orders/42 orders/42
}

// A function is an Observer too.
func ExampleObserverFunc() {
	count := make(map[holdfast.Kind]int)
	locks := holdfast.New(memlock.New(), holdfast.WithObserver(holdfast.ObserverFunc(func(_ context.Context, e holdfast.Event) {
		count[e.Kind]++
	})))
	hold, err := locks.Mutex("a").Lock(context.Background())
	if err != nil {
		panic(err)
	}
	hold.Unlock()
	locks.Close()
	fmt.Println(count[holdfast.EventAcquired], count[holdfast.EventReleased])
	// Output: 1 1
}
