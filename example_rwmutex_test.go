package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"holdfast.dev"
	"holdfast.dev/memlock"
)

// Any number of readers hold together, or one writer alone.
func ExampleRWMutex() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	prices := locks.RWMutex("prices")

	first, err := prices.Reader().Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	second, err := prices.Reader().Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the same token:", first.Token() == second.Token())
	_, err = prices.TryLock(ctx)
	fmt.Println("a writer waits:", errors.Is(err, holdfast.ErrHeld))
	first.Unlock()
	second.Unlock()
	writer, err := prices.Lock(ctx)
	fmt.Println("a writer alone:", err == nil, "with a greater token:", writer.Token() > first.Token())
	// Output:
	// the same token: true
	// a writer waits: true
	// a writer alone: true with a greater token: true
}

// An RWMutex is a name and options, like a Mutex; the writer of that name and the Mutex of that name are the same lock.
func ExampleClient_RWMutex() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.RWMutex("prices").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	_, err = locks.Mutex("prices").TryLock(ctx)
	fmt.Println(errors.Is(err, holdfast.ErrHeld))
	// Output: true
}

// A writer may read: the reader nests in it.
func ExampleRWMutex_Lock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	prices := locks.RWMutex("prices")
	writer, err := prices.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Unlock()
	reader, err := prices.Reader().Lock(writer.Context(ctx))
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Unlock()
	fmt.Println("entered", reader.Count(), "times")
	// Output: entered 2 times
}

// TryLock writes at once or not at all.
func ExampleRWMutex_TryLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	hold, err := locks.RWMutex("prices").TryLock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hold.Name(), hold.Token())
	hold.Unlock()
	// Output: prices 1
}

// A Reader is a Locker of its own, for Do and Multi too.
func ExampleRWMutex_Reader() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	err := holdfast.Do(ctx, locks.RWMutex("prices").Reader(), func(context.Context) error {
		fmt.Println("reading")
		return nil
	})
	fmt.Println(err)
	// Output:
	// reading
	// <nil>
}

// A reader that comes while a writer holds, or waits, waits behind it. Its context bounds the wait.
func ExampleReader_Lock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	var prices *holdfast.Reader = locks.RWMutex("prices").Reader()
	hold, err := prices.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock()
	fmt.Println(prices.Name(), "is read")
	// Output: prices is read
}

// TryLock of a reader does not wait for a writer.
func ExampleReader_TryLock() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	writer, err := locks.RWMutex("prices").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Unlock()
	_, err = locks.RWMutex("prices").Reader().TryLock(ctx) // not the writer's context: a stranger
	fmt.Println(errors.Is(err, holdfast.ErrHeld))
	// Output: true
}

// A reader that wants to write would wait for itself. It is told so at once.
func ExampleErrUpgrade() {
	ctx := context.Background()
	locks := holdfast.New(memlock.New())
	defer locks.Close()
	prices := locks.RWMutex("prices")
	reader, err := prices.Reader().Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = prices.Lock(reader.Context(ctx))
	fmt.Println(errors.Is(err, holdfast.ErrUpgrade))
	reader.Unlock() // and then, with what was read perhaps out of date:
	writer, err := prices.Lock(ctx)
	fmt.Println(err == nil, writer.Token() > reader.Token())
	// Output:
	// true
	// true true
}
