package holdfast_test

// What users of redsync write here. The lines stand in docs/coming-from.md too, and a test keeps the two together.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// New and NewMutex. A redsync Mutex is not renewed by itself: Fixed is that; without it a hold is renewed until Unlock.
func Example_redsyncNew() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	lock := locks.Mutex("orders/42", holdfast.TTL(8*time.Second), holdfast.Fixed())
	fmt.Println(lock.Name())
	hold, err := lock.Lock(ctx)
	fmt.Println(hold.Left() < 8*time.Second, err)
	var options = []holdfast.Option{holdfast.TTL(8 * time.Second), holdfast.Label("night shift")}
	_, err = locks.Mutex("orders/43", options...).Lock(ctx)
	fmt.Println(err)
	// Output:
	// orders/42
	// true <nil>
	// <nil>
}

// Lock, TryLock and Unlock, with and without Context in their names.
func Example_redsyncLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")

	hold, err := lock.Lock(context.Background())
	fmt.Println(hold.Unlock(), err)
	hold, err = lock.Lock(ctx)
	fmt.Println(hold.Unlock(), err)
	hold, err = lock.TryLock(context.Background())
	fmt.Println(hold.Unlock(), err)
	hold, err = lock.TryLock(ctx)
	fmt.Println(hold.Unlock(), err)
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// <nil> <nil>
	// <nil> <nil>
}

// Value, Until, Valid and Extend.
func Example_redsyncState() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("orders/42", holdfast.TTL(8*time.Second), holdfast.Fixed()).Lock(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("token:", hold.Token())
	fmt.Println("left:", hold.Left() > 4*time.Second)
	fmt.Println("valid:", hold.Check(context.Background()) == nil)
	fmt.Println("valid:", hold.Check(ctx) == nil)
	err = hold.Extend(context.Background(), 8*time.Second)
	fmt.Println("extended:", err == nil, hold.Left() > 4*time.Second)
	err = hold.Extend(ctx, time.Minute)
	fmt.Println("extended:", err == nil, hold.Left() > 30*time.Second)
	hold.Unlock()
	// Output:
	// token: 1
	// left: true
	// valid: true
	// valid: true
	// extended: true true
	// extended: true true
}

// WithTries: how long, instead of how often.
func Example_redsyncTries() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42", holdfast.Label("night shift"))
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	defer hold.Unlock()

	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = lock.Lock(wait)
	fmt.Println("failed:", errors.Is(err, holdfast.ErrHeld))
	var held *holdfast.HeldError
	fmt.Println("taken:", errors.As(err, &held), held.Holders[0].Token)
	// Output:
	// failed: true
	// taken: true 1
}

// ErrLockAlreadyExpired and ErrExtendFailed: ErrLost, with the reason. A store that cannot be asked is something else.
func Example_redsyncErrors() {
	ctx := context.Background()
	server := memlock.NewServer()
	locks, operator := holdfast.New(server.Connect()), holdfast.New(server.Connect())
	defer locks.Close()
	defer operator.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		panic(err)
	}
	if err := operator.Break(ctx, "orders/42", hold.Token(), holdfast.Now()); err != nil {
		panic(err)
	}
	err = hold.Extend(ctx, 8*time.Second)
	fmt.Println("not extended:", errors.Is(err, holdfast.ErrLost))
	err = hold.Unlock()
	fmt.Println("not its own any more:", errors.Is(err, holdfast.ErrLost))
	var lost *holdfast.LostError
	fmt.Println("because:", errors.As(err, &lost), lost.Reason)
	var problem *holdfast.StoreError
	fmt.Println("the store failed:", errors.As(err, &problem))
	// Output:
	// not extended: true
	// not its own any more: true
	// because: true broken
	// the store failed: false
}
