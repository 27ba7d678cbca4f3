package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// At most so many at a time, on all machines together.
func ExampleSemaphore() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	uploads := locks.Semaphore("uploads", 2)
	for i := range 3 {
		_, err := uploads.TryAcquire(ctx, 1)
		fmt.Println(i+1, err == nil)
	}
	// Output:
	// 1 true
	// 2 true
	// 3 false
}

// Everybody names the same limit.
func ExampleClient_Semaphore() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	uploads := locks.Semaphore("uploads", 10)
	fmt.Println(uploads.Name(), uploads.Limit())
	// Output: uploads 10
}

// Acquire waits for all of its permits; Unlock gives them back.
func ExampleSemaphore_Acquire() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	memory := locks.Semaphore("gigabytes", 64)
	hold, err := memory.Acquire(ctx, 48)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	_, err = memory.TryAcquire(ctx, 48)
	fmt.Println("so much again:", err == nil)
	_, err = memory.TryAcquire(ctx, 16)
	fmt.Println("the rest:", err == nil)
	// Output:
	// so much again: false
	// the rest: true
}

// TryAcquire does not wait. Who is in the way stands in the error.
func ExampleSemaphore_TryAcquire() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Semaphore("uploads", 1).TryAcquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	_, err = locks.Semaphore("uploads", 1).TryAcquire(ctx, 1)
	var held *holdfast.HeldError
	fmt.Println(errors.As(err, &held) && held.Holders[0].Token == hold.Token())
	// Output: true
}

// Permits are a Locker: for Do, and as a part of a Multi.
func ExampleSemaphore_Permits() {
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	err := holdfast.Do(context.Background(), locks.Semaphore("uploads", 10).Permits(2), func(context.Context) error {
		fmt.Println("uploading two files")
		return nil
	})
	fmt.Println(err)
	// Output:
	// uploading two files
	// <nil>
}

// Inspect shows who has how many permits. The lock of the same name is something else.
func ExampleSemaphore_Inspect() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	uploads := locks.Semaphore("uploads", 10)
	hold, err := uploads.Acquire(ctx, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	info, err := uploads.Inspect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Mode == holdfast.Permits, info.Holders[0].N, "of", info.Limit)
	// Output: true 3 of 10
}

// Break takes permits back from a holder, as Client.Break takes a lock.
func ExampleSemaphore_Break() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	uploads := locks.Semaphore("uploads", 1)
	dead, err := uploads.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := uploads.Break(ctx, dead.Token(), holdfast.Now()); err != nil {
		log.Fatal(err)
	}
	_, err = uploads.TryAcquire(ctx, 1)
	fmt.Println("free:", err == nil)
	// Output: free: true
}

// Two programs that disagree about the limit are told so, both numbers included.
func ExampleLimitError() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Semaphore("uploads", 5).Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	_, err = locks.Semaphore("uploads", 7).Acquire(ctx, 1)
	var limit *holdfast.LimitError
	if errors.As(err, &limit) {
		fmt.Println("named:", limit.Want, "in use:", limit.Have)
	}
	_, err = locks.Semaphore("uploads", 5).Acquire(ctx, 6)
	fmt.Println("more than the limit:", errors.As(err, &limit), errors.Is(err, holdfast.ErrArgument))
	// Output:
	// named: 7 in use: 5
	// more than the limit: true true
}
