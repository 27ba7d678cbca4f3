package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Two accounts, of two stores, are held together. Whoever names them the other way round takes them in the same order.
func ExampleMulti() {
	ctx := context.Background()
	here, there := holdfast.New(memlock.New()), holdfast.New(memlock.New())
	defer here.Close()
	defer there.Close()

	both := holdfast.Multi(here.Mutex("account/7"), there.Mutex("account/9"))
	err := holdfast.Do(ctx, both, func(ctx context.Context) error {
		from, _ := here.Held(ctx, "account/7")
		to, _ := there.Held(ctx, "account/9")
		fmt.Println("tokens:", from.Token(), to.Token())
		return nil
	})
	fmt.Println(err)
	// Output:
	// tokens: 1 1
	// <nil>
}

// Lock waits until it holds all parts: readers, permits and other Multis too. The same lock twice is taken once.
func ExampleMultiLock_Lock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	report := holdfast.Multi(
		locks.RWMutex("prices").Reader(),
		locks.Mutex("report"),
		locks.Semaphore("printers", 3).Permits(1),
		holdfast.Multi(locks.Mutex("report")),
	)
	hold, err := report.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	fmt.Println(hold.Name())
	// Output: prices + printers + report
}

// TryLock holds all parts at once, or none.
func ExampleMultiLock_TryLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	other, err := locks.Mutex("b").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer other.Unlock()
	_, err = holdfast.Multi(locks.Mutex("a"), locks.Mutex("b")).TryLock(ctx)
	var held *holdfast.HeldError
	fmt.Println(errors.As(err, &held) && held.Name == "b")
	a, err := locks.Mutex("a").TryLock(ctx)
	fmt.Println("the other part is free:", err == nil)
	a.Unlock()
	// Output:
	// true
	// the other part is free: true
}

// The hold of a Multi has no token: each of its parts has one.
func ExampleHold_Parts() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := holdfast.Multi(locks.Mutex("b"), locks.Mutex("a")).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock() // the whole, not its parts
	for _, part := range hold.Parts() {
		fmt.Println(part.Name(), part.Token())
	}
	// Output:
	// a 1
	// b 2
}

// Who holds a lock and then wants one that others take before it could wait for them, and they for it. Multi refuses.
func ExampleErrDeadlock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	b, err := locks.Mutex("b").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = holdfast.Multi(locks.Mutex("a")).Lock(b.Context(ctx))
	fmt.Println(errors.Is(err, holdfast.ErrDeadlock))
	b.Unlock()

	both, err := holdfast.Multi(locks.Mutex("b"), locks.Mutex("a")).Lock(ctx)
	fmt.Println(err == nil, both.Name())
	both.Unlock()
	// Output:
	// true
	// true a + b
}
