package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Work under a lock uses the hold's context: it ends when the lock is lost, and its cause says why. Here an operator breaks it.
func ExampleHold_Context() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := hold.Context(ctx)

	for page := 1; work.Err() == nil; page++ {
		fmt.Println("page", page)
		if page == 2 {
			locks.Break(ctx, "import", hold.Token())
		}
	}
	var lost *holdfast.LostError
	if errors.As(context.Cause(work), &lost) {
		fmt.Println("stopped, the lock is lost:", lost.Reason)
	}
	fmt.Println("Unlock says so too:", errors.Is(hold.Unlock(), holdfast.ErrLost))
	// Output:
	// page 1
	// page 2
	// stopped, the lock is lost: broken
	// Unlock says so too: true
}

// Lock with a context that comes from a hold nests in it: functions that take the lock themselves can be called while it is held.
func ExampleHold_Context_reentry() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	pay := func(ctx context.Context) error {
		return locks.Do(ctx, "account/7", func(ctx context.Context) error {
			hold, _ := locks.Held(ctx, "account/7")
			fmt.Println("entered", hold.Count(), "times, token", hold.Token())
			return nil
		})
	}
	pay(ctx)
	locks.Do(ctx, "account/7", pay)
	// Output:
	// entered 1 times, token 1
	// entered 2 times, token 2
}

// The token grows with every holder. A resource that remembers the greatest one it has seen, and refuses smaller ones, is safe from
// a holder that was stopped and writes too late.
func ExampleHold_Token() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	var newest uint64
	write := func(token uint64, text string) {
		if token < newest {
			fmt.Println("refused:", text)
			return
		}
		newest = token
		fmt.Println("written:", text)
	}

	first, err := locks.Mutex("file").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	locks.Break(ctx, "file", first.Token(), holdfast.Now()) // its holder seemed dead
	second, err := locks.Mutex("file").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	write(second.Token(), "from the second holder")
	write(first.Token(), "from the first holder, late")
	// Output:
	// written: from the second holder
	// refused: from the first holder, late
}

// Unlock may be called twice: the second time it does nothing, and says so.
func ExampleHold_Unlock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("a").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hold.Unlock())
	fmt.Println(hold.Unlock())
	fmt.Println(errors.Is(hold.Err(), holdfast.ErrReleased), hold.Left())
	// Output:
	// <nil>
	// holdfast: lock "a": it was unlocked before; Lock again to go on
	// true 0s
}

// Undo gives a lock back under which nothing was done: its minimum hold does not count, and the next one need not wait for that.
func ExampleHold_Undo() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	daily := locks.Mutex("daily-report", holdfast.MinHold(20*time.Hour))

	hold, err := daily.TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the disk is full:", hold.Undo())

	hold, err = daily.TryLock(ctx) // on another machine
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("done:", hold.Unlock())
	_, err = daily.TryLock(ctx)
	fmt.Println("again today:", !errors.Is(err, holdfast.ErrHeld))
	// Output:
	// the disk is full: <nil>
	// done: <nil>
	// again today: false
}

// Extend makes sure that at least so much is left. It never shortens, and extending twice does not add up.
func ExampleHold_Extend() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("backup", holdfast.Fixed(), holdfast.TTL(10*time.Second)).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()

	for _, d := range []time.Duration{time.Hour, time.Minute, time.Hour} {
		if err := hold.Extend(ctx, d); err != nil {
			log.Fatal(err)
		}
		fmt.Println(hold.Left().Round(time.Minute))
	}
	err = hold.Extend(ctx, 48*time.Hour)
	fmt.Println(errors.Is(err, holdfast.ErrTTL))
	// Output:
	// 1h0m0s
	// 1h0m0s
	// 1h0m0s
	// true
}

// Check asks the store whether it still has the hold. It is for long pauses; for certainty use the token.
func ExampleHold_Check() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("a").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("still held:", hold.Check(ctx) == nil)
	locks.Break(ctx, "a", hold.Token(), holdfast.Now())
	fmt.Println("lost:", errors.Is(hold.Check(ctx), holdfast.ErrLost))
	// Output:
	// still held: true
	// lost: true
}

// Held finds the hold that a context comes from, for code that wants to be sure that its caller has the lock.
func ExampleClient_Held() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	transfer := func(ctx context.Context) {
		_, ok := locks.Held(ctx, "accounts")
		fmt.Println("the caller holds the lock:", ok)
	}
	transfer(ctx)
	locks.Do(ctx, "accounts", func(ctx context.Context) error {
		transfer(ctx)
		return nil
	})
	// Output:
	// the caller holds the lock: false
	// the caller holds the lock: true
}

// The token travels with the context that Do hands to its function.
func ExampleToken() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	locks.Do(ctx, "a", func(ctx context.Context) error {
		fmt.Println(holdfast.Token(ctx))
		return nil
	})
	fmt.Println(holdfast.Token(ctx)) // no hold, no token
	// Output:
	// 1
	// 0
}
