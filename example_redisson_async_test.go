package holdfast_test

// The rest of what users of Redisson write here: the asynchronous twins, and the other kinds of locks. See docs/coming-from.md.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// An outcome is what a Lock on another goroutine came to.
type outcome struct {
	hold *holdfast.Hold
	err  error
}

// lockAsync and tryLockAsync: a goroutine, because a hold belongs to whoever has it.
func Example_redissonLockAsync() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	fixed := locks.Mutex("orders/42", holdfast.TTL(30*time.Second), holdfast.Fixed())
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	done := make(chan outcome)
	show := func() {
		o := <-done
		fmt.Println(o.err == nil, o.hold.Unlock())
	}
	go func() { hold, err := lock.Lock(ctx); done <- outcome{hold, err} }()
	show()
	go func() { hold, err := fixed.Lock(ctx); done <- outcome{hold, err} }()
	show()
	go func() { hold, err := lock.TryLock(ctx); done <- outcome{hold, err} }()
	show()
	go func() { hold, err := lock.Lock(wait); done <- outcome{hold, err} }()
	show()
	go func() { hold, err := fixed.Lock(wait); done <- outcome{hold, err} }()
	show()
	// Output:
	// true <nil>
	// true <nil>
	// true <nil>
	// true <nil>
	// true <nil>
}

// A threadId as an argument: the context of a hold says on whose behalf it is, on whatever goroutine.
func Example_redissonThreadID() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}

	owner := hold.Context(ctx)
	done := make(chan outcome)
	go func() { hold, err := lock.Lock(owner); done <- outcome{hold, err} }()
	nested := <-done
	fmt.Println("entered again:", nested.err == nil, nested.hold.Count())
	nested.hold.Unlock()
	go func() { hold, err := lock.TryLock(owner); done <- outcome{hold, err} }()
	nested = <-done
	fmt.Println("entered again:", nested.err == nil, nested.hold.Count())
	nested.hold.Unlock()

	released := make(chan error)
	go func() { released <- hold.Unlock() }()
	fmt.Println("released by another goroutine:", <-released == nil)
	// Output:
	// entered again: true 2
	// entered again: true 2
	// released by another goroutine: true
}

// forceUnlockAsync and isLockedAsync ask the store: a goroutine again.
func Example_redissonAskAsync() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		panic(err)
	}

	locked := make(chan bool)
	go func() { info, err := locks.Inspect(ctx, "orders/42"); locked <- err == nil && len(info.Holders) > 0 }()
	fmt.Println(<-locked)
	broken := make(chan error)
	go func() { broken <- locks.Break(ctx, "orders/42", hold.Token(), holdfast.Now()) }()
	fmt.Println(<-broken)
	// Output:
	// true
	// <nil>
}

// getFairLock and getSpinLock: how a waiter waits is the store's affair, and Guarantees tells.
func Example_redissonFairLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	g, err := locks.Guarantees(ctx)
	fmt.Println("first come first served:", g.FIFO, err)
	// Output: first come first served: true <nil>
}

// getReadWriteLock. A writer may read, and stays a writer until its last Unlock.
func Example_redissonReadWriteLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	prices := locks.RWMutex("prices")
	reader, err := prices.Reader().Lock(ctx)
	fmt.Println(reader.Token(), err)
	_, err = prices.Lock(reader.Context(ctx))
	fmt.Println(errors.Is(err, holdfast.ErrUpgrade))
	reader.Unlock()
	writer, err := prices.Lock(ctx)
	fmt.Println(writer.Token(), err)
	inside, err := prices.Reader().Lock(writer.Context(ctx))
	fmt.Println(writer.Unlock(), err)
	_, err = prices.Reader().TryLock(ctx)
	fmt.Println("other readers:", !errors.Is(err, holdfast.ErrHeld))
	fmt.Println(inside.Unlock())
	// Output:
	// 1 <nil>
	// true
	// 2 <nil>
	// <nil> <nil>
	// other readers: false
	// <nil>
}

// getMultiLock.
func Example_redissonMultiLock() {
	ctx := context.Background()
	one, two := holdfast.New(memlock.New()), holdfast.New(memlock.New())
	defer one.Close()
	defer two.Close()

	hold, err := holdfast.Multi(one.Mutex("orders/42"), two.Mutex("orders/42")).Lock(ctx)
	fmt.Println(len(hold.Parts()), err)
	// Output: 2 <nil>
}

// getSemaphore and getPermitExpirableSemaphore.
func Example_redissonSemaphore() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	uploads := locks.Semaphore("uploads", 10)
	{
		hold, err := uploads.Acquire(ctx, 3)
		fmt.Println(hold.Unlock(), err)
	}
	{
		hold, err := uploads.TryAcquire(ctx, 3)
		fmt.Println(hold.Unlock(), err)
	}
	hold, err := uploads.Acquire(wait, 3)
	if err != nil {
		panic(err)
	}
	info, err := uploads.Inspect(ctx)
	free := uploads.Limit()
	for _, h := range info.Holders {
		free -= h.N
	}
	fmt.Println("free:", free, err)
	_, err = locks.Semaphore("uploads", 20).TryAcquire(ctx, 1)
	fmt.Println(err)
	hold.Unlock()

	expirable := locks.Semaphore("uploads", 10, holdfast.TTL(30*time.Second), holdfast.Fixed())
	hold, err = expirable.Acquire(ctx, 3)
	fmt.Println(hold.Left() < 30*time.Second, err)
	err = hold.Extend(ctx, time.Minute)
	fmt.Println(hold.Left() >= 30*time.Second, err)
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// free: 7 <nil>
	// holdfast: semaphore "uploads": the limit is 20 here but 10 where the semaphore is in use: everybody who uses it must name the same
	// true <nil>
	// true <nil>
}

// getFencedLock: every lock is one.
func Example_redissonFencedLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")

	hold, err := lock.Lock(ctx)
	token := hold.Token()
	fmt.Println(token, err)
	hold.Unlock()
	hold, err = lock.TryLock(ctx)
	fmt.Println(hold.Token() > token, err)
	// Output:
	// 1 <nil>
	// true <nil>
}
