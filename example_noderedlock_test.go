package holdfast_test

// What users of node-redlock write here. The lines stand in docs/coming-from.md too, and a test keeps the two together.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// acquire, extend and release; of version 4 lock, extend and unlock.
func Example_nodeRedlockAcquire() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	hold, err := locks.Mutex("orders/42", holdfast.TTL(5*time.Second), holdfast.Fixed()).Lock(ctx)
	fmt.Println(err)
	err = hold.Extend(ctx, 5*time.Second)
	fmt.Println(err, hold.Left() > 4*time.Second)
	err = hold.Unlock()
	fmt.Println(err)
	both, err := holdfast.Multi(locks.Mutex("orders/42"), locks.Mutex("users/7")).Lock(ctx)
	fmt.Println(err, len(both.Parts()))
	fmt.Println(both.Unlock())
	err = locks.Close()
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil> true
	// <nil>
	// <nil> 2
	// <nil>
	// <nil>
}

// using, and its signal: the context of the function ends when the lock is lost.
func Example_nodeRedlockUsing() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	work := func(ctx context.Context) error {
		fmt.Println("aborted:", ctx.Err() != nil)
		return nil
	}
	err := locks.Do(ctx, "orders/42", func(ctx context.Context) error { return work(ctx) })
	fmt.Println(err)
	// Output:
	// aborted: false
	// <nil>
}

// retryCount and its kin: how long, instead of how often. What node-redlock calls an ExecutionError is told apart here.
func Example_nodeRedlockErrors() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	defer hold.Unlock()
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = lock.Lock(wait)
	fmt.Println("held:", errors.Is(err, holdfast.ErrHeld))
	var problem *holdfast.StoreError
	fmt.Println("the servers failed:", errors.As(err, &problem))
	// Output:
	// held: true
	// the servers failed: false
}
