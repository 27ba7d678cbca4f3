package holdfast_test

// What users of sync, of golang.org/x/sync/semaphore and of etcd's package concurrency write here. The lines stand in
// docs/coming-from.md too, and a test keeps the two together.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// sync.Mutex and sync.RWMutex: the same words, with a context to end the wait, and a hold to end the lock.
func Example_syncRWMutex() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	prices := locks.RWMutex("prices")
	{
		hold, err := prices.Lock(ctx)
		fmt.Println(hold.Unlock(), err)
	}
	{
		hold, err := prices.TryLock(ctx)
		fmt.Println(hold.Unlock(), err)
	}
	reader, err := prices.Reader().Lock(ctx)
	fmt.Println(reader.Unlock(), err)
	{
		reader, err := prices.Reader().TryLock(ctx)
		fmt.Println(reader.Unlock(), err)
	}
	var readers holdfast.Locker = prices.Reader()
	fmt.Println(holdfast.Do(ctx, readers, func(ctx context.Context) error { return ctx.Err() }))
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// <nil> <nil>
	// <nil> <nil>
	// <nil>
}

// semaphore.Weighted: permits come back as a hold.
func Example_xsyncSemaphore() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	uploads := locks.Semaphore("uploads", 10)
	hold, err := uploads.Acquire(ctx, 3)
	fmt.Println(hold.Unlock(), err)
	{
		hold, err := uploads.TryAcquire(ctx, 3)
		fmt.Println(hold.Unlock(), err)
	}
	_, err = uploads.Acquire(ctx, 11)
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// holdfast: bad argument: semaphore "uploads": 11 permits of a limit of 10: ask for at least one and at most the limit
}

// etcd's concurrency.Session and concurrency.Mutex.
func Example_etcdMutex() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New(), holdfast.TTL(60*time.Second))
	defer locks.Close()

	lock := locks.Mutex("orders/42")
	hold, err := lock.Lock(ctx)
	if err != nil {
		panic(err)
	}
	_, err = lock.TryLock(ctx)
	fmt.Println("locked by another:", errors.Is(err, holdfast.ErrHeld))
	token := hold.Token()
	work := hold.Context(ctx)
	fmt.Println(token, work.Err(), hold.Check(ctx))
	fmt.Println(hold.Unlock())
	<-work.Done()
	{
		hold, err := lock.TryLock(ctx)
		fmt.Println(hold.Token() > token, err)
	}
	// Output:
	// locked by another: true
	// 1 <nil> <nil>
	// <nil>
	// true <nil>
}

// etcd's concurrency.Election.
func Example_etcdElection() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	nightly := locks.Election("nightly", holdfast.Label("web-1"))
	_, err := nightly.Leader(ctx)
	fmt.Println("nobody leads:", errors.Is(err, holdfast.ErrNotHeld))
	hold, err := nightly.Campaign(ctx)
	if err != nil {
		panic(err)
	}
	leader, err := nightly.Leader(ctx)
	fmt.Println(strings.HasSuffix(leader.Label, "web-1"), leader.Token == hold.Token(), err)
	leaders := nightly.Observe(ctx)
	for leader, err := range leaders {
		fmt.Println("leads with token", leader.Token, err)
		break
	}
	fmt.Println("still leads:", hold.Err() == nil)
	fmt.Println(hold.Unlock())
	// Output:
	// nobody leads: true
	// true true <nil>
	// leads with token 1 <nil>
	// still leads: true
	// <nil>
}
