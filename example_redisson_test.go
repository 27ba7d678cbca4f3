package holdfast_test

// What users of Redisson's RLock write here. The lines stand in docs/coming-from.md too, and a test keeps the two together.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// How long the examples hold and wait. Programs take more: a lease of 30 s and the patience of 5 s, for instance.
const lease, patience = 200 * time.Millisecond, 10 * time.Millisecond

// lock, unlock and their names.
func Example_redissonLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	fmt.Println(lock.Name(), err)
	fmt.Println(hold.Unlock())
	fmt.Println(errors.Is(hold.Unlock(), holdfast.ErrReleased))
	// Output:
	// orders/42 <nil>
	// <nil>
	// true
}

// lock(leaseTime, unit): not renewed. Here the holder learns of its end.
func Example_redissonLeaseTime() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	fixed := locks.Mutex("orders/42", holdfast.TTL(lease), holdfast.Fixed())
	hold, err := fixed.Lock(ctx)
	if err != nil {
		panic(err)
	}
	work := hold.Context(ctx)
	<-work.Done()
	fmt.Println(errors.Is(context.Cause(work), holdfast.ErrLost))
	fmt.Println(errors.Is(hold.Unlock(), holdfast.ErrLost))
	// Output:
	// true
	// true
}

// lockInterruptibly: every Lock can be interrupted, by its context, and leaves nothing behind.
func Example_redissonInterruptibly() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	fixed := locks.Mutex("orders/42", holdfast.TTL(time.Minute), holdfast.Fixed())
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	defer hold.Unlock()

	ctx, interrupt := context.WithCancel(ctx)
	time.AfterFunc(time.Millisecond, interrupt)
	first, err := lock.Lock(ctx)
	fmt.Println(first == nil, errors.Is(err, context.Canceled))
	second, err := fixed.Lock(ctx)
	fmt.Println(second == nil, errors.Is(err, context.Canceled))
	// Output:
	// true true
	// true true
}

// tryLock: an error instead of false, and it tells who is in the way.
func Example_redissonTryLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	fixed := locks.Mutex("orders/42", holdfast.TTL(10*time.Second), holdfast.Fixed())

	hold, err := lock.TryLock(ctx)
	fmt.Println("held:", err == nil)
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	{
		hold, err := lock.Lock(wait)
		fmt.Println("held:", hold != nil, "taken:", errors.Is(err, holdfast.ErrHeld), "in time:", !errors.Is(err, context.DeadlineExceeded))
	}
	hold.Unlock()

	wait, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	{
		hold, err := fixed.Lock(wait)
		fmt.Println("held:", err == nil, "and not renewed:", hold.Left() < 10*time.Second)
	}
	// Output:
	// held: true
	// held: false taken: true in time: false
	// held: true and not renewed: true
}

// forceUnlock: exactly the holds that were looked at. Where nobody holds there is nothing to do.
func Example_redissonForceUnlock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	dead, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		panic(err)
	}

	info, err := locks.Inspect(ctx, "orders/42")
	fmt.Println("locked:", len(info.Holders) > 0, err)
	for _, h := range info.Holders {
		err = locks.Break(ctx, "orders/42", h.Token, holdfast.Now())
	}
	fmt.Println("broken:", err == nil, "and told:", errors.Is(dead.Err(), holdfast.ErrLost))
	err = locks.Break(ctx, "orders/42", info.Holders[0].Token, holdfast.Now())
	fmt.Println("nobody else's:", errors.Is(err, holdfast.ErrNotHeld))
	// Output:
	// locked: true <nil>
	// broken: true and told: true
	// nobody else's: true
}

// isHeldByCurrentThread, isHeldByThread, getHoldCount, remainTimeToLive: a context and a hold stand where the thread stood.
func Example_redissonState() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}

	ctx = hold.Context(ctx)
	_, mine := locks.Held(ctx, "orders/42")
	fmt.Println("held by this context:", mine)
	fmt.Println("still good:", hold.Err() == nil)
	nested, err := lock.Lock(ctx)
	fmt.Println("entered:", hold.Count(), err)
	nested.Unlock()
	fmt.Println("left:", hold.Left() > 5*time.Second)
	info, err := locks.Inspect(ctx, "orders/42")
	fmt.Println("left in the store:", info.Holders[0].Left > 5*time.Second, err)
	hold.Unlock()
	// Output:
	// held by this context: true
	// still good: true
	// entered: 2 <nil>
	// left: true
	// left in the store: true <nil>
}

// lock() again: a lock is entered again by its hold's context, and then by that of the newest hold.
func Example_redissonReentry() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}

	nested, err := lock.Lock(hold.Context(ctx))
	fmt.Println("entered:", hold.Count(), err)
	innermost, err := lock.TryLock(nested.Context(ctx))
	fmt.Println("entered:", hold.Count(), err)
	_, err = lock.TryLock(hold.Context(ctx)) // Lock would wait for the end of nested
	fmt.Println("beside the nested one:", !errors.Is(err, holdfast.ErrHeld))
	fmt.Println(innermost.Unlock(), nested.Unlock(), hold.Unlock())
	// Output:
	// entered: 2 <nil>
	// entered: 3 <nil>
	// beside the nested one: false
	// <nil> <nil> <nil>
}

// lockWatchdogTimeout: the TTL, of a client or of one lock.
func Example_redissonWatchdog() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New(), holdfast.TTL(30*time.Second))
	defer locks.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	fmt.Println(hold.Left() > 20*time.Second, err)
	// Output: true <nil>
}
