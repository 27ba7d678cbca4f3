package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"
	"testing/synctest"
	"time"

	"holdfast.dev"
	"holdfast.dev/memlock" // registers mem:// too; a program that needs no more imports it as _
)

// A function runs while its lock is held. Its context ends, with a cause, before anybody else can hold the lock.
func Example() {
	ctx := context.Background()
	locks, err := holdfast.Open(ctx, "mem://") // import _ "holdfast.dev/memlock"
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()

	err = locks.Do(ctx, "nightly-email", func(ctx context.Context) error {
		fmt.Println("sending, with token", holdfast.Token(ctx))
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// sending, with token 1
	// error: <nil>
}

// A URL that cannot be used says what to write instead. Passwords in URLs are never printed.
func ExampleOpen() {
	_, err := holdfast.Open(context.Background(), "mem://user:secret@orders")
	fmt.Println(errors.Is(err, holdfast.ErrURL))
	fmt.Println(err)
	// Output:
	// true
	// holdfast: not a usable store URL (mem://…): memory has no users and no passwords; write mem:// or mem://NAME
}

// A store that was built by hand: two clients of one server in memory, as two processes would be of a server elsewhere.
func ExampleNew() {
	ctx := context.Background()
	server := memlock.NewServer()
	one, two := holdfast.New(server.Connect()), holdfast.New(server.Connect())
	defer one.Close()
	defer two.Close()

	hold, err := one.Mutex("orders/42").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()

	_, err = two.Mutex("orders/42").TryLock(ctx)
	fmt.Println("held by another:", errors.Is(err, holdfast.ErrHeld))
	// Output:
	// held by another: true
}

// Where a hold outlives a function, or several functions share it, Lock returns it. The context bounds the wait and nothing else.
func ExampleMutex_Lock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	hold, err := locks.Mutex("orders/42", holdfast.TTL(30*time.Second)).Lock(wait)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()

	work := hold.Context(ctx) // not wait: that one ends in 5 s
	fmt.Println("may go on:", work.Err() == nil, "token:", hold.Token())
	// Output:
	// may go on: true token: 1
}

// TryLock holds at once or not at all, and then the error tells who is in the way.
func ExampleMutex_TryLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	first, err := locks.Mutex("import", holdfast.Label("import of Monday")).TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Unlock()

	_, err = locks.Mutex("import").TryLock(ctx)
	var held *holdfast.HeldError
	if errors.As(err, &held) {
		fmt.Println("token of the one who holds it:", held.Holders[0].Token)
		// held.Holders[0].Label is "host:pid import of Monday"; RetryIn says when it is worth asking again.
	}
	// Output:
	// token of the one who holds it: 1
}

// A wait that its context has cut off is ErrHeld, with the holders, and the context's error as well.
func ExampleHeldError() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	hold, err := locks.Mutex("import").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()

	wait, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = locks.Mutex("import").Lock(wait)
	fmt.Println(errors.Is(err, holdfast.ErrHeld), errors.Is(err, context.DeadlineExceeded))
	// Output:
	// true true
}

// Do takes any Locker.
func ExampleDo() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()

	var l holdfast.Locker = locks.Mutex("report", holdfast.TTL(5*time.Second))
	failed := errors.New("the printer is out of paper")
	err := holdfast.Do(ctx, l, func(context.Context) error { return failed })
	fmt.Println(err == failed, errors.Is(err, holdfast.ErrLost))
	// Output:
	// true false
}

// nightly is a piece of a program, to be tested below: it works under a lock, and gives up if that is not to be had in a minute.
func nightly(ctx context.Context, locks *holdfast.Client, work func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	hold, err := locks.Mutex("nightly", holdfast.Grace(2*time.Second)).Lock(wait)
	if err != nil {
		return err
	}
	return errors.Join(work(hold.Context(ctx)), hold.Unlock())
}

// Code with locks is tested in fake time. In a bubble of testing/synctest the store mem://, the waits and the renewals all use the
// bubble's clock: minutes pass in microseconds, and every duration is exact. Make the store inside the bubble.
func TestExampleInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := memlock.NewServer()
		one, two := holdfast.New(server.Connect()), holdfast.New(server.Connect()) // two machines
		defer one.Close()
		defer two.Close()

		slow := func(context.Context) error { time.Sleep(40 * time.Second); return nil }
		go nightly(t.Context(), one, slow)
		synctest.Wait() // until the first one works

		begun := time.Now()
		if err := nightly(t.Context(), two, slow); err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d != 80*time.Second { // its turn came after 40 s
			t.Errorf("took %v", d)
		}
	})
}

// A loss is tested in the same way: here an operator breaks the lock.
func TestExampleLossInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := holdfast.New(memlock.New())
		defer locks.Close()
		time.AfterFunc(time.Hour, func() {
			info, err := locks.Inspect(t.Context(), "nightly")
			if err != nil {
				t.Error(err)
				return
			}
			locks.Break(t.Context(), "nightly", info.Holders[0].Token)
		})
		err := nightly(t.Context(), locks, func(ctx context.Context) error {
			<-ctx.Done() // work that stops when it is told to
			return nil
		})
		var lost *holdfast.LostError
		if !errors.As(err, &lost) || lost.Reason != holdfast.ReasonBroken {
			t.Errorf("got %v, want a loss because somebody broke the lock", err)
		}
	})
}
