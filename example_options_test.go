package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// The TTL is how long others wait after a crash of the holder. It has bounds, and the error names them.
func ExampleTTL() {
	locks := holdfast.New(memlock.New(), holdfast.TTL(30*time.Second)) // for all locks of this client
	defer locks.Close()
	_, err := locks.Mutex("a", holdfast.TTL(time.Millisecond)).Lock(context.Background()) // for this one
	fmt.Println(errors.Is(err, holdfast.ErrTTL))
	fmt.Println(err)
	// Output:
	// true
	// holdfast: duration out of bounds: TTL is 1ms, from 100ms to 24h0m0s are allowed
}

// With Grace the context ends while the lock is still ours, so that work can be wound up before anybody else begins.
func ExampleGrace() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	m := locks.Mutex("a", holdfast.TTL(2*time.Second), holdfast.Grace(time.Second), holdfast.MaxHold(1100*time.Millisecond))
	hold, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	<-hold.Context(ctx).Done()
	fmt.Println("time to wind up:", hold.Left() > 0)
	fmt.Println(errors.Is(hold.Unlock(), holdfast.ErrLost)) // the work was cut short
	// Output:
	// time to wind up: true
	// true
}

// A Fixed hold is not renewed: it ends when its TTL is over, whether its holder is well or not.
func ExampleFixed() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.Mutex("a", holdfast.Fixed(), holdfast.TTL(holdfast.MinTTL)).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	work := hold.Context(ctx)
	<-work.Done()
	var lost *holdfast.LostError
	if errors.As(context.Cause(work), &lost) {
		fmt.Println("lost:", lost.Reason)
	}
	// Output:
	// lost: expired
}

// MaxHold ends a hold whose holder is alive but never comes to an end, and gives the lock to the next.
func ExampleMaxHold() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	stuck, err := locks.Mutex("a", holdfast.MaxHold(50*time.Millisecond)).Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	next, err := locks.Mutex("a").Lock(ctx) // waits
	if err != nil {
		log.Fatal(err)
	}
	defer next.Unlock()

	var lost *holdfast.LostError
	if errors.As(stuck.Err(), &lost) {
		fmt.Println("the first one was lost:", lost.Reason)
	}
	fmt.Println("the next one has it:", next.Err() == nil)
	// Output:
	// the first one was lost: maxhold
	// the next one has it: true
}

// MinHold keeps a lock taken after a quick job: a machine whose clock is late does not run it again.
func ExampleMinHold() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	err := locks.Do(ctx, "daily-report", func(context.Context) error { return nil }, holdfast.MinHold(time.Minute))
	if err != nil {
		log.Fatal(err)
	}
	_, err = locks.Mutex("daily-report").TryLock(ctx)
	var held *holdfast.HeldError
	if errors.As(err, &held) {
		fmt.Println("taken, by nobody:", held.Holders[0].Kept)
	}
	// Output:
	// taken, by nobody: true
}

// A label tells people which part of which program holds a lock.
func ExampleLabel() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New(), holdfast.Label("checkout"))
	defer locks.Close()
	hold, err := locks.Mutex("orders/42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	info, err := locks.Inspect(ctx, "orders/42")
	if err != nil {
		log.Fatal(err)
	}
	_, text, _ := strings.Cut(info.Holders[0].Label, " ") // host:pid checkout
	fmt.Println(text)
	// Output:
	// checkout
}

// Require makes Open insist on a store that work may rely on which must never be done twice. Memory is none.
func ExampleRequire() {
	_, err := holdfast.Open(context.Background(), "mem://", holdfast.Require(holdfast.Correctness))
	var lacks *holdfast.RequirementError
	if errors.As(err, &lacks) {
		for _, missing := range lacks.Missing {
			fmt.Println("-", missing)
		}
	}
	// Output:
	// - its fencing tokens are volatile, not durable
	// - a restart can give a lock twice
	// - a failover can give a lock twice
}
